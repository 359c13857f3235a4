"""What went wrong with a job's files → what is said of it, and whether it can be had again."""

from __future__ import annotations

import os

from agentcell.adapters.failures import one_line
from agentcell.errors import AgentcellError, AttachmentError, GenerationFailed, NotResumable
from agentcell.imaging.job import Job
from agentcell.imaging.wish import GenerationWish

_SHOWN = 120
"""Characters of a service's name for a job."""

RESUME = "`%generate resume`"
"""What a backend writes that cannot know what its job is called here; the name is put into it."""


def not_kept(problem: Exception, backend: str) -> str:
    """Return why one file could not be saved, as a sentence."""
    if isinstance(problem, AttachmentError):
        return f"What {backend} sent cannot be kept: {problem.problem}"
    if isinstance(problem, AgentcellError):
        return problem.problem
    reason = os.strerror(problem.errno) if isinstance(problem, OSError) and problem.errno else ""
    return f"A file could not be written: {reason or type(problem).__name__}."


def nothing_sent(backend: str, wish: GenerationWish) -> GenerationFailed:
    """Return the error of a service that is done and has made nothing."""
    return GenerationFailed(
        f"{backend} is done, and sent no {wish.kind}. Whether it is charged is not known.",
        fix="word the prompt differently, then ask anew.",
        provider=backend,
        model=wish.model,
        is_billed=None,
    )


def nothing_saved(  # noqa: PLR0913 (each is a fact of its own)
    backend: str,
    wish: GenerationWish,
    job_id: str,
    why: str,
    *,
    request_id: str,
    is_disk: bool,
    can_go_on: bool,
    is_free: bool,
) -> GenerationFailed:
    """Return the error of a job of which nothing could be saved."""
    named = one_line(request_id, _SHOWN)
    way = f"mend that, then run `%generate resume {job_id}`: it is not paid for again."
    anew = "word the prompt differently, then ask anew."
    if is_disk:
        again = "" if is_free else ": it is paid for anew"
        anew = f"make room or leave to write there, then run the cell again{again}."
    return GenerationFailed(
        f"{backend} made {named or 'it'}, but nothing could be saved: {why}",
        fix=way if can_go_on else anew,
        provider=backend,
        model=wish.model,
        job_id=job_id,
        request_id=request_id or None,
        is_billed=not is_free,
        is_over=not can_go_on,
    )


def broken_backend(backend: str, problem: Exception, *, can_go_on: bool) -> GenerationFailed:
    """Return what is written down of a backend that has a fault of its own."""
    return GenerationFailed(
        f"The backend {backend} failed with {type(problem).__name__}; whether it is charged is"
        " not known.",
        provider=backend,
        is_billed=None,
        is_over=not can_go_on,
    )


def lost(job: Job) -> NotResumable:
    """Return the error of a job whose answer nobody can have any more."""
    return NotResumable(
        f"{job.id} was sent to {job.backend}, its answer never came, and {job.backend} keeps no"
        " jobs: nothing is sent again by itself.",
        fix="look at your account there, it may have been charged; then ask anew.",
    )


def ended(job: Job) -> NotResumable:
    """Return the error of a job that is at its end."""
    because = f": {job.problem.rstrip('.')}" if job.problem else ""
    return NotResumable(f"{job.id} is {job.state}{because}.", fix="ask for it anew.")
