"""A service's word for how a job is → whether it is over; and how long and often it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from agentcell.imaging.patience import check_seconds

if TYPE_CHECKING:
    from agentcell.imaging.wish import Kind

Outcome: TypeAlias = Literal["going on", "made", "failed"]

MADE = "success"

FAILED = frozenset(
    {
        *("failed", "failure", "fail", "error", "errored", "rejected", "refused", "denied"),
        *("cancelled", "canceled", "aborted", "expired", "blocked", "timeout", "timed_out"),
        *("timedout", "terminated", "deleted"),
    }
)
"""Words after which nothing more comes. The protocol names ``failed``; others were seen."""


def outcome(state: str) -> Outcome:
    """Return what a word means; one that nobody knows means that the job goes on."""
    word = state.strip().lower().replace("-", "_").replace(" ", "_")
    if word == MADE:
        return "made"
    return "failed" if word in FAILED else "going on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a job is waited for, and how often it is asked after.

    Parameters
    ----------
    image, video
        Seconds from its submit on.
    interval
        Seconds between two questions.
    longest
        Seconds between two questions that went wrong: each wait is twice the one before.

    Raises
    ------
    ValueError
        If one of them is no number of seconds.
    """

    image: float = 300.0
    video: float = 420.0
    interval: float = 4.0
    longest: float = 30.0

    def __post_init__(self) -> None:
        check_seconds(self)

    def budget(self, kind: Kind) -> float:
        """Return the seconds that a job of that kind is waited for."""
        return self.video if kind == "video" else self.image

    def wait(self, failures: int, asked: float | None) -> float:
        """Return the seconds until the next question.

        Parameters
        ----------
        failures
            How many questions went wrong, one after the other.
        asked
            What the service asked for, in seconds.
        """
        wait = self.interval
        if failures:
            wait = max(wait, min(self.longest, self.interval * 2 ** min(failures, 16)))
        return wait if asked is None else max(wait, asked)
