"""Who asks the person for a key that is nowhere; set by the magics, called by `places`. Light."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from agentcell.keys.places import Question

Ask: TypeAlias = "Callable[[Question], str | None]"
"""Asks the person for a key, hidden while typed; None where nobody can answer."""

_ask: list[Ask] = []


def on_missing(ask: Ask | None) -> None:
    """Let `ask` ask the person for a key that is nowhere; None: nobody is asked.

    Parameters
    ----------
    ask
        Called in the main thread alone.
    """
    _ask[:] = [] if ask is None else [ask]


def asker() -> Ask | None:
    """Return what was set last."""
    return _ask[0] if _ask else None
