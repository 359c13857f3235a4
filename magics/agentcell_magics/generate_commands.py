"""`%generate models|backends|jobs|cancel`, and what became of a job that a person stopped."""

from __future__ import annotations

from collections.abc import Iterator

from agentcell.adapters.price_table import shown as dollars
from agentcell.errors import AgentcellError, CellError, NotResumable, Stopped
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.job import Job
from agentcell.loop import LOOP
from agentcell.safe_text import on_one_line, plain
from agentcell.session import Session
from agentcell_magics import cards
from agentcell_magics.background import background
from agentcell_magics.live import show
from agentcell_magics.wording import say, word

_LONGEST_PROMPT = 60
_LONGEST_PROBLEM = 80
_MOST_JOBS = 30

_NEEDS = {
    "hosted": "AGENTCELL_MEDIA_URL, AGENTCELL_MEDIA_TOKEN",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
"""What opens a maker that is no free one."""

_STATES = {
    "planned": "written down, not sent",
    "submitted": "sent, no answer came",
    "accepted": "its service has it",
    "saving": "made, not all saved",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "unknown": "nobody knows what became of it",
}


def run_generate_command(session: Session, name: str, arguments: list[str]) -> None:
    """Do what `%generate` was told, where it is not to make anything.

    Parameters
    ----------
    name, arguments
        As `generate_options.command_of` returned them.

    Raises
    ------
    AgentcellError
        If it cannot be done.
    """
    if name == "jobs":
        _jobs(session, every="--all" in arguments)
    elif name == "cancel":
        _cancel(session, arguments[0])
    elif name == "models":
        show(cards.rows("What --model may name", _models(session)))
    else:
        show(cards.rows("Who makes pictures and clips", _backends(session)))


def left_over(session: Session) -> str:
    """Return what is told once of jobs that an earlier kernel left; empty if there is none.

    Parameters
    ----------
    session
        Before its first generation.
    """
    count = sum(job.is_unfinished for job in session.generator.jobs())
    if not count:
        return ""
    one = "One job of before is not finished: %generate jobs tells of it."
    many = "{count} jobs of before are not finished: %generate jobs tells of them."
    return say(one) if count == 1 else say(many, count=count)


def became(session: Session, job_id: str, seconds: float) -> Stopped:
    """Return what a person is told who stopped the wait for a job: where it is, and its cost.

    Parameters
    ----------
    job_id
        In the ledger; empty where it was not written down yet.
    seconds
        How long it ran.
    """
    after = f"after {seconds:.1f} s, as you asked."
    job = next((one for one in session.generator.jobs() if job_id and one.id == job_id), None)
    if job is None and job_id:
        return Stopped(f"{after} It costs nothing.", fix="run the cell again to make it anew.")
    if job is None or job.state in {"planned", "cancelled"}:
        return Stopped(f"{after} Nothing was sent, and nothing is to be paid.")
    return _under_way(session, job, after) if job.is_unfinished else _over(job, after)


def _over(job: Job, after: str) -> Stopped:
    """Return what is said of a job that came to its end just before the stop."""
    if job.state == "done":
        return Stopped(
            f"{after} {job.id} was made before that: its files are saved.",
            fix=f"%generate resume {job.id} gives it; nothing is asked anew.",
        )
    return Stopped(f"{after} {job.id} had failed before that: {job.problem}")


def _under_way(session: Session, job: Job, after: str) -> Stopped:
    """Return what is said of a job that was sent, and is not over."""
    maker = job.backend
    if job.held:
        return Stopped(
            f"{after} {job.id} is made and paid for, and was not all saved.",
            fix=f"%generate resume {job.id} saves it; nothing is asked anew.",
        )
    backend = _backend(session, job)
    if job.request_id and backend is not None and backend.can_resume:
        return Stopped(
            f"{after} {maker} goes on with {job.id}, which may be charged.",
            fix=f"%generate resume {job.id} fetches it without a second charge;"
            f" %generate cancel {job.id} asks {maker} to stop it.",
        )
    if not job.request_id and backend is not None and backend.keeps_keys:
        return Stopped(
            f"{after} Whether {maker} took {job.id} is not known: no answer came.",
            fix=f"%generate resume {job.id} asks for it under the same key, so that it is charged"
            " once at most.",
        )
    return Stopped(
        f"{after} {maker} may have charged {job.id}, and its answer cannot be fetched any more.",
        fix=f"look at your account at {maker}.",
    )


def _backend(session: Session, job: Job) -> ImageBackend | None:
    try:
        return session.generator.backends.named(job.backend)
    except AgentcellError:  # another machine's, or one that is gone
        return None


# -- jobs


def _jobs(session: Session, *, every: bool) -> None:
    running = background(session).running
    jobs = session.generator.jobs()
    wanted = [job for job in jobs if every or job.is_unfinished]
    facts = [(handle.name, handle.describe()) for handle in running if not handle.conversation]
    facts += [(job.id, _about(job)) for job in reversed(wanted[-_MOST_JOBS:])]
    if facts:
        show(cards.rows("Jobs" if every else "Jobs that are not finished", facts))
        if any(job.is_unfinished for job in wanted):
            show(cards.line("%generate resume ID fetches one; nothing is paid for twice."))
    elif jobs:
        said = "Nothing is under way; {count} jobs are finished (%generate jobs --all)."
        one = "Nothing is under way; one job is finished (%generate jobs --all)."
        show(cards.line(say(one) if len(jobs) == 1 else say(said, count=len(jobs))))
    elif session.recorder.mode == "replay":
        show(cards.line("Nothing is under way."))
    else:
        show(cards.line("No picture or clip was paid for here."))


def _about(job: Job) -> str:
    told = [on_one_line(job.prompt, _LONGEST_PROMPT), _maker(job), word(_STATES[job.state])]
    if job.cost is not None:
        told.append(dollars(job.cost) if job.cost else say("free"))
    if job.problem:
        told.append(on_one_line(job.problem, _LONGEST_PROBLEM))
    if job.files:
        told.append(say(", ").join(path.name for path in job.files))
    if job.created.year > 1970:  # noqa: PLR2004 (a recording tells no time)
        told.append(f"{job.created.astimezone():%Y-%m-%d %H:%M}")
    return " · ".join(told)


def _maker(job: Job) -> str:
    """Return ``backend/model``, or the backend alone."""
    model = plain(job.model or str(job.wish.get("model", "")))
    model = model.removeprefix(job.backend).lstrip("/")  # as it was asked for, or as it was made
    return f"{job.backend}/{model}" if model else job.backend


def _cancel(session: Session, name: str) -> None:
    """Stop what runs in the background under a name, or a job at its service.

    Raises
    ------
    NotResumable
        If there is no such job, or its service does not stop it.
    """
    running = background(session)
    if name == "all" or any(one.name == name for one in running.running):
        stopped = [one for one in running.running if name in ("all", one.name)]
        stopped = [one for one in stopped if not one.conversation]
        if not stopped:
            raise CellError(
                "Nothing is made in the background.", fix="see %generate jobs, and name one."
            )
        for handle in stopped:
            handle.cancel()
        for handle in stopped:
            handle.wait(1)
        names = ", ".join(handle.name for handle in stopped)
        show(cards.line(say("Stopped: {names}.", names=names)))
        return
    generator = session.generator
    if LOOP.run(generator.cancel(name)):
        job = generator.ledger.find(name)
        show(cards.line(say("{job} is cancelled at {maker}.", job=job.id, maker=job.backend)))
        return
    job = generator.ledger.find(name)
    raise NotResumable(
        f"{job.backend} did not stop {job.id}: it may go on, and be charged.",
        fix=f"%generate resume {job.id} fetches it when it is done.",
    )


# -- makers


def _backends(session: Session) -> Iterator[tuple[str, str]]:
    backends = session.generator.backends
    ready = {name for kind in ("image", "video") for name in backends.set_up(kind)}
    for name in backends.names:
        try:
            backend = backends.named(name)
        except AgentcellError as error:
            yield name, error.problem
            continue
        told = [_kinds(backend)]
        if backend.is_free:
            told.append(say("free; only where it is named"))
        else:
            told.append(say("set up") if name in ready else _opening(backend))
        yield name, " · ".join(filter(None, told))


def _kinds(backend: ImageBackend) -> str:
    names = {"image": say("pictures"), "video": say("clips")}
    return say(" and ").join(names[kind] for kind in sorted(backend.kinds))


def _opening(backend: ImageBackend) -> str:
    needed = _NEEDS.get(backend.name)
    return say("needs {what}", what=needed) if needed else say("only where it is named")


def _models(session: Session) -> Iterator[tuple[str, str]]:
    backends = session.generator.backends
    for name in backends.names:
        try:
            backend = backends.named(name)
        except AgentcellError:  # `%generate backends` tells of it
            continue
        yield name, "\n".join([_kinds(backend), *_known(backend)])


def _known(backend: ImageBackend) -> Iterator[str]:
    """Yield the models that a maker tells of; one that is a service is asked, which is free."""
    yield from (f"{backend.name}/{model}" for model in backend.known_models)
    ask = getattr(backend, "models", None)
    if ask is None or not backend.is_at_hand():
        return
    try:
        told = LOOP.run(ask())
    except AgentcellError as error:
        yield error.problem
        return
    for model in told.get("curated", ()) if isinstance(told, dict) else ():
        if isinstance(model, dict) and isinstance(model.get("id"), str):
            kind = word(_MODALITIES.get(str(model.get("modality")), ""))
            yield " ".join(filter(None, [f"{backend.name}/{plain(model['id'])[:100]}", kind]))


_MODALITIES = {"image": "pictures", "video": "clips"}


def makers(session: Session) -> tuple[str, ...]:
    """Return what `--model` may name, as far as it is known here; nobody is asked."""
    backends, found = session.generator.backends, []
    for name in backends.names:
        try:
            backend = backends.named(name)
        except AgentcellError:  # of another package, and broken
            continue
        found += [name, *(f"{name}/{model}" for model in backend.known_models)]
    return tuple(found)
