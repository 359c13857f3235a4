"""An adapter, to one test for each check: by inheriting from one class."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from agentcell.adapters.model import Model
from agentcell.testing.conformance.check import Check
from agentcell.testing.conformance.every_check import CHECKS
from agentcell.testing.conformance.subject import KEY, Subject
from agentcell.testing.provider_server import ProviderServer


class AdapterConformance:
    """What every adapter must do. Inherit, say how yours is made, and run pytest.

    For example::

        class TestMine(AdapterConformance):
            server = ChatServer  # leave this line out if it speaks a protocol of its own

            def make(self, server_url):
                return MyModel("my-model", self.key, server_url)

    A check that does not apply to the adapter is shown as skipped, with the reason. See `Subject`
    for what each attribute means.
    """

    make: Callable[..., Model]
    server: ClassVar[type[ProviderServer] | None] = None
    key: ClassVar[str] = KEY

    def subject(self) -> Subject:
        """Return the adapter under test."""
        if not hasattr(self, "make"):
            raise TypeError(f"{type(self).__name__} must define make(self, server_url)")
        return Subject(self.make, self.server, self.check_body, self.key)

    def check_body(self, body: Mapping[str, Any]) -> None:
        """Raise if the service would not take `body`; here all is well. Called for each request.

        Parameters
        ----------
        body
            As it was sent, parsed.
        """


def _test(check: Check) -> Callable[[AdapterConformance], None]:
    def test(self: AdapterConformance) -> None:
        subject = self.subject()
        if reason := check.why_not(subject):
            raise unittest.SkipTest(f"does not apply: {reason}")
        check(subject)

    test.__name__ = f"test_{check.name}"
    test.__qualname__ = f"AdapterConformance.{test.__name__}"
    test.__doc__ = check.rule.__doc__
    return test


for _check in CHECKS:
    setattr(AdapterConformance, f"test_{_check.name}", _test(_check))
