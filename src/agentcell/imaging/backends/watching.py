"""A job that a service keeps → how it is, looked at again and again until it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agentcell.errors import GenerationFailed, ModelError
from agentcell.imaging.patience import check_seconds

GONE = {401, 403, 404, 410}
"""Statuses that no waiting changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a job is waited for, and how often it is looked at. Seconds.

    Parameters
    ----------
    total
        In all.
    interval
        Between two looks.
    longest
        Between two looks that went wrong: each wait is twice the one before.

    Raises
    ------
    ValueError
        If one of them is no number of seconds.
    """

    total: float = 600.0
    interval: float = 5.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        check_seconds(self)


class TooLong(Exception):
    """It is not over in time.

    Parameters
    ----------
    asked
        Seconds until the service may be asked again, if it said so.
    """

    def __init__(self, asked: float | None = None) -> None:
        super().__init__()
        self.asked = asked


async def looks(
    look: Callable[[], Awaitable[dict[str, Any]]],
    patience: Patience,
    *,
    is_over: Callable[[dict[str, Any]], bool],
    first: dict[str, Any] | None = None,
) -> AsyncGenerator[dict[str, Any]]:
    """Yield how a job is, until it is over.

    Parameters
    ----------
    look
        Asks the service.
    is_over
        Whether that was the last.
    first
        How it was when it was accepted; None: it is looked at at once.

    Raises
    ------
    TooLong
        If it is not over in time.
    ModelError
        If no waiting helps: the service does not know it, the key is refused, or what it says
        cannot be taken.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + patience.total
    failures, asked = 0, None
    said = first
    if said is not None:
        yield said
    while said is None or not is_over(said):
        if said is not None or failures:
            wait = min(patience.longest, patience.interval * 2**failures)
            wait = max(wait, asked or 0.0)
            if clock() + wait > deadline:
                raise TooLong(asked)
            await asyncio.sleep(wait)
        try:
            said, failures, asked = await look(), 0, None
        except ModelError as error:
            if error.status in GONE or isinstance(error, GenerationFailed):
                raise
            failures, asked = min(failures + 1, 16), error.retry_after
            continue
        yield said
