"""A job that a service has → how it is, each time that it is asked after, until it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from agentcell.errors import ModelError
from agentcell.imaging.hosted import endings
from agentcell.imaging.hosted.answers import NoAnswer, Refused, Snapshot
from agentcell.imaging.hosted.client import MediaClient
from agentcell.imaging.hosted.states import Patience, outcome

_NOTHING = 0.002
"""Seconds that are as good as none: a clock's tick."""


async def states(
    client: MediaClient, job: Snapshot, seconds: float, patience: Patience
) -> AsyncGenerator[Snapshot]:
    """Yield `job`, and how it is after each question, until it is over.

    A question that goes wrong is asked again, later and later, unless no waiting helps.

    Parameters
    ----------
    job
        As its submit was answered; without a status it is asked after at once.
    seconds
        How long to wait in all.

    Raises
    ------
    GenerationFailed
        If it is not over in time, or the service does not tell of it.
    """
    deadline = _now() + seconds
    failures, asked_for = 0, None
    is_new = not job.status
    if not is_new:
        yield job
    while outcome(job.status) == "going on":
        left = deadline - _now()
        wait = 0.0 if is_new else patience.wait(failures, asked_for)
        if left <= _NOTHING and not is_new:
            raise endings.timed_out(client.origin, job, seconds, asked_for)
        await asyncio.sleep(min(wait, max(0.0, left)))
        if asked_for is not None and asked_for > left and not is_new:
            raise endings.timed_out(
                client.origin, job, seconds, asked_for
            )  # sooner it must not be asked
        is_new = False
        try:
            job = _same(job, await client.look(job.request_id))
        except (NoAnswer, Refused):
            failures, asked_for = failures + 1, None
        except ModelError as error:
            if error.status in endings.PERMANENT:
                raise endings.gone(client.origin, job, error.status) from None
            failures, asked_for = failures + 1, error.retry_after
        else:
            failures, asked_for = 0, None
            yield job


def _same(job: Snapshot, look: Snapshot) -> Snapshot:
    """Return `look` if it is at the job that was asked after."""
    if look.request_id != job.request_id:
        raise NoAnswer("another job")
    return look


def _now() -> float:
    return asyncio.get_running_loop().time()
