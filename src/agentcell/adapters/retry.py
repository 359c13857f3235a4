"""A failed attempt, to the seconds until the next one, or to None: give up.

This is the only owner of retries; the SDKs' own are off. Only kinds that may succeed later are
tried again, and never after any of the answer was shown.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from agentcell.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently to ask again.

    Parameters
    ----------
    max_retries
        How many attempts may follow the first.
    first_wait, longest_wait
        Seconds; each wait is twice the one before, up to the longest, less up to a quarter.
    longest_asked
        Seconds; a service that asks for a longer wait is not asked again.
    budget
        Seconds of waiting in all.
    """

    max_retries: int = 2
    first_wait: float = 0.5
    longest_wait: float = 8.0
    longest_asked: float = 60.0
    budget: float = 120.0

    @classmethod
    def of(cls, max_retries: int | RetryPolicy) -> RetryPolicy:
        """Return `max_retries` as a policy."""
        return max_retries if isinstance(max_retries, cls) else cls(max_retries=max_retries)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if isinstance(self.max_retries, bool) or not isinstance(self.max_retries, int):
            raise TypeError(f"max_retries is {self.max_retries!r}; a whole number was expected")
        if self.max_retries < 0:
            raise ValueError(f"max_retries is {self.max_retries}; 0 or more was expected")
        for name in ("first_wait", "longest_wait", "longest_asked", "budget"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} is {value!r}; a number of seconds was expected")
            if not value >= 0:  # NaN neither
                raise ValueError(f"{name} is {value!r}; 0 seconds or more was expected")

    def wait(self, error: ModelError, retries: int, waited: float) -> float | None:
        """Return the seconds to wait before the next attempt, or None if there is to be none.

        Parameters
        ----------
        error
            Why the last attempt failed.
        retries
            How many attempts have followed the first.
        waited
            Seconds of waiting so far.
        """
        if not error.retryable or retries >= self.max_retries:
            return None
        if error.retry_after is not None:
            wait = error.retry_after
            if wait > self.longest_asked:
                return None
            wait += random.uniform(0, 0.1 * min(wait, 10))  # noqa: S311 (not all at one moment)
        else:
            wait = min(self.first_wait * 2**retries, self.longest_wait)
            wait *= random.uniform(0.75, 1)  # noqa: S311
        return wait if waited + wait <= self.budget else None


def retry_after_seconds(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return what the headers ask for, in seconds, or None.

    ``retry-after-ms`` comes first; ``retry-after`` holds seconds or an HTTP date. `now` is in
    seconds since 1970.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:  # "-0000": a time in UTC
        date = date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - (time.time() if now is None else now))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
