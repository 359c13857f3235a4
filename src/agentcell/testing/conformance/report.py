"""A subject, to the checks that apply to it, and what came of them."""

from __future__ import annotations

import threading
import traceback
from dataclasses import dataclass, field

from agentcell.testing.conformance.check import Check
from agentcell.testing.conformance.every_check import CHECKS
from agentcell.testing.conformance.subject import Subject


@dataclass(frozen=True, slots=True)
class Report:
    """Which checks apply, which do not and why, and which failed. Printed, it is a list.

    Parameters
    ----------
    applied
        Names of checks.
    left_out
        Why a check does not apply, by its name.
    failed
        What went wrong, by the check's name; empty as long as nothing was run.
    """

    applied: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    def __str__(self) -> str:
        lines = [f"{len(self.applied)} checks apply, {len(self.failed)} of them failed:"]
        for name in self.applied:
            failure = f": {self.failed[name]}" if name in self.failed else ""
            lines.append(f"  {'FAILED' if failure else 'applies'}  {name}{failure}")
        lines.append(f"{len(self.left_out)} checks do not apply:")
        lines += [f"  {name}: {reason}" for name, reason in self.left_out.items()]
        return "\n".join(lines)


def checks(subject: Subject) -> list[Check]:
    """Return the checks that apply to `subject`.

    Parameters
    ----------
    subject
        The adapter under test.
    """
    return [check for check in CHECKS if not check.why_not(subject)]


def report(subject: Subject) -> Report:
    """Return which checks apply to `subject` and which do not. None is run.

    Parameters
    ----------
    subject
        The adapter under test.
    """
    reasons = {check.name: check.why_not(subject) for check in CHECKS}
    return Report(
        tuple(name for name, reason in reasons.items() if not reason),
        {name: reason for name, reason in reasons.items() if reason},
    )


def run(subject: Subject) -> Report:
    """Run all checks that apply to `subject`, without pytest, and return what came of them.

    Parameters
    ----------
    subject
        The adapter under test.
    """
    planned = report(subject)
    # A notebook's thread runs an event loop, in which the checks could not run one of their own.
    worker = threading.Thread(target=_run, args=(subject, planned))
    worker.start()
    worker.join()
    return planned


def _run(subject: Subject, planned: Report) -> None:
    for check in checks(subject):
        try:
            check(subject)
        except Exception as error:  # noqa: BLE001 (whatever an adapter raises is its failure)
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} (line {where.lineno}: {where.line})"
            planned.failed[check.name] = " ".join(text.split())
