"""One rule, to a check that knows which adapters it is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from agentcell.testing.conformance.subject import Subject

Rule: TypeAlias = Callable[[Subject], None]


@dataclass(frozen=True, slots=True)
class Check:
    """A rule that an adapter must keep.

    Parameters
    ----------
    rule
        Raises if the subject does not keep it.
    needs
        Names of `FACTS` that must be so.
    """

    rule: Rule
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The rule, as a sentence with underscores."""
        return self.rule.__name__

    def __str__(self) -> str:
        return self.name

    def why_not(self, subject: Subject) -> str:
        """Return why the rule does not apply to `subject`; empty if it does.

        Parameters
        ----------
        subject
            Its capabilities decide, and how it is made.
        """
        return next((FACTS[need][1] for need in self.needs if not FACTS[need][0](subject)), "")

    def __call__(self, subject: Subject) -> None:
        """Run it, whether it applies or not.

        Parameters
        ----------
        subject
            The adapter under test.

        Raises
        ------
        AssertionError
            If the rule is broken.
        """
        if not __debug__:
            raise RuntimeError("python -O takes the checks out; run without it")
        self.rule(subject)


def needs(*facts: str) -> Callable[[Rule], Check]:
    """Make a check of a rule.

    Parameters
    ----------
    facts
        What must be so for the rule to apply; see `FACTS`.
    """
    return lambda rule: Check(rule, facts)


FACTS: dict[str, tuple[Callable[[Subject], bool], str]] = {
    "server": (lambda s: s.server is not None, "no server speaks its protocol"),
    "options": (lambda s: s.takes_options, "make() takes no **options as RemoteModel has them"),
    "streaming": (lambda s: s.streams, "it does not stream"),
    "asynchronous": (lambda s: s.streams_on_loops, "it has no astream() of its own"),
    "tools": (lambda s: s.able.tools, "it declares to call no tools"),
    "no tools": (lambda s: not s.able.tools, "it declares to call tools"),
    "images": (lambda s: s.able.image_input, "it declares to take no images"),
    "no images": (lambda s: not s.able.image_input, "it declares to take images"),
    "pdfs": (lambda s: s.able.pdf_input, "it declares to take no PDFs"),
    "no pdfs": (lambda s: not s.able.pdf_input, "it declares to take PDFs"),
}
"""What may be so of an adapter, and what is said where it is not."""
