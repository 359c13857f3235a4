"""What every adapter must do, whatever its protocol: one set of checks for all of them.

An adapter's tests describe it as a `Subject` and run each function in `CHECKS` on it::

    @pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
    def test_the_chat_adapter_does_what_every_adapter_must(check):
        check(Subject(LegacyOpenAIModel, ChatServer, functools.partial(wire.check, "chat")))

Each check talks to a real server on loopback.
"""

from __future__ import annotations

from collections.abc import Callable

from agentcell.testing.conformance import answers, failures, input, waiting
from agentcell.testing.conformance.subject import HI, KEY, TOOLS, Subject

__all__ = ["CHECKS", "HI", "KEY", "TOOLS", "Subject", "name_of"]

CHECKS = [
    *answers.CHECKS,
    *failures.CHECKS,
    *waiting.CHECKS,
    *input.CHECKS,
]


def name_of(check: Callable[[Subject], None]) -> str:
    """Return a check's name, for the list of tests."""
    return check.__name__
