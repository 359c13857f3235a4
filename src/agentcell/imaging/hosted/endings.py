"""A job that ends badly, or not in time → the error that says what was paid and what to do."""

from __future__ import annotations

from agentcell.adapters.failures import Origin, asked_wait
from agentcell.errors import GenerationFailed
from agentcell.imaging.hosted.answers import Snapshot, failed

PERMANENT = {
    401: "not authorised, the token is refused",
    403: "not authorised, the token may not ask for it",
    404: "unknown request, the service does not know it",
    410: "unknown request, the service does not keep it any more",
}
"""Statuses of a question about a job that no waiting changes."""

_MAY_BE_HAD = (401, 403)
"""With another token it may still be had."""

_BILLED = "It was accepted and billed"
_LEAVE_IT = "Do not retry automatically; tell the person, who decides."


def timed_out(
    origin: Origin, job: Snapshot, seconds: float, asked: float | None = None
) -> GenerationFailed:
    """Return the error about a job that is not over yet.

    Parameters
    ----------
    seconds
        How long it was waited for.
    asked
        Seconds until the service may be asked again, if it said so.
    """
    until = asked_wait(asked)
    state = f"'{job.status}'" if job.status else "not known"
    return failed(
        origin,
        f"{job.name} was not ready within {seconds:g} seconds; its last state is {state}."
        f" {_BILLED}, and may still be running: asking anew makes and bills another one."
        f" {_LEAVE_IT}{until and f' {until}'}",
        f"later, `%generate resume {job.name}` fetches it without a second charge.",
        request_id=job.request_id,
        is_billed=True,
        is_over=False,
    )


def gone(origin: Origin, job: Snapshot, status: int) -> GenerationFailed:
    """Return the error about a job that the service does not tell of.

    Parameters
    ----------
    status
        One of `PERMANENT`.
    """
    may_be_had = status in _MAY_BE_HAD
    ask = f"ask the service's support about {job.name}."
    again = f"check the token, then run `%generate resume {job.name}`."
    return failed(
        origin,
        f"The media service answered {status} about {job.name}: {PERMANENT[status]}."
        f" {_BILLED}; asking anew bills another one. {_LEAVE_IT}",
        again if may_be_had else ask,
        request_id=job.request_id,
        status=status,
        is_billed=True,
        is_over=not may_be_had,
    )


def gave_up(origin: Origin, job: Snapshot) -> GenerationFailed:
    """Return the error about a job that the service says has failed."""
    because = f": {job.reason}" if job.reason else ", and gives no reason"
    return failed(
        origin,
        f"The media service says that {job.name} is '{job.status}'{because}. Whether it is"
        " billed it does not say; nothing is sent again by itself.",
        "change the prompt or the model, and ask anew.",
        request_id=job.request_id,
        is_billed=None,
    )


def empty(origin: Origin, job: Snapshot) -> GenerationFailed:
    """Return the error about a job that is made, and of which there is nothing."""
    return failed(
        origin,
        f"The media service says that {job.name} is made, and names no file that it made."
        f" {_BILLED}.",
        f"ask the service's support about {job.name}.",
        request_id=job.request_id,
        is_billed=True,
    )
