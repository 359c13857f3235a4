"""What was recorded of a generation → the same events and the same files, and nobody is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agentcell.adapters.recording.recorder import Recorder
from agentcell.assets.asset import ImageAsset
from agentcell.errors import GenerationError, ModelError
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.choosing import Backends
from agentcell.imaging.events import Accepted, Generated, GenerationEvent, Planned, Saved
from agentcell.imaging.generation import Artifact, Generation
from agentcell.imaging.job import Job, record_of
from agentcell.imaging.plan import Plan
from agentcell.imaging.recorded import MadeFile, MadeOnce, Tape, asked_again, asked_of
from agentcell.imaging.saving import (
    POSTER,
    Target,
    alt_text,
    artifact,
    clip_artifact,
    saved,
)
from agentcell.imaging.wish import GenerationWish
from agentcell.imaging.writing import parents_of


class Replays:
    """What a session's recording gives, and the jobs that it told of.

    Parameters
    ----------
    recorder
        The session's; None: there is none.
    home
        The notebook's folder: paths in it are written without it.
    """

    def __init__(self, recorder: Recorder | None, home: Path | None) -> None:
        self._recorder = recorder
        self._home = home
        self._jobs: dict[str, Job] = {}

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Those that were not at their end when they were recorded, and were not resumed since."""
        return tuple(self._jobs.values())

    def tape(self, wish: GenerationWish) -> Tape:
        """Return the recording, asked for `wish`."""
        return Tape(self._recorder, asked_of(wish))

    def tape_again(self, name: str) -> Tape:
        """Return the recording, asked for the job of that name once more."""
        return Tape(self._recorder, asked_again(name))

    def events(
        self, once: MadeOnce, wish: GenerationWish, target: Target
    ) -> Iterator[GenerationEvent]:
        """Yield the events of a recorded job; parameters and errors as for `replayed`."""
        try:
            for event in replayed(once, wish, target):
                if isinstance(event, Generated):
                    self._jobs.pop(once.job_id, None)
                yield event
        except ModelError as failure:
            if once.request_id and not getattr(failure, "is_over", True):
                self._jobs[once.job_id] = replayed_job(once, wish, self._home)
            raise

    def wish_of(self, job_id: str) -> GenerationWish:
        """Return what was asked for with a job; a recording that tells only its end says less."""
        job = self._jobs.get(job_id)
        return GenerationWish(prompt="resumed") if job is None else job.wish_again(is_whole=False)


def replayed_plan(once: MadeOnce, wish: GenerationWish, backends: Backends) -> Plan:
    """Return the plan of what is replayed: nothing needs to be set up for it.

    Parameters
    ----------
    once, wish
        As for `replayed`.
    backends
        Who makes pictures here.
    """
    try:
        backend = backends.named(once.backend)
    except GenerationError:  # a package that is not installed here
        backend = ImageBackend()
    return Plan(
        backend=backend,
        wish=replace(wish, model=once.model),
        price=once.cost,
        is_free=once.cost == 0,
        is_replayed=True,
    )


def replayed(once: MadeOnce, wish: GenerationWish, target: Target) -> Iterator[GenerationEvent]:
    """Yield the events of a recorded job; its files are written, byte for byte.

    Parameters
    ----------
    once
        What was recorded.
    wish
        What was asked for now.
    target
        Where files go now.

    Raises
    ------
    ModelError
        If it failed when it was recorded.
    """
    name = f"{once.backend}/{once.model}" if once.model else once.backend
    yield Planned(once.job_id, name, once.cost)
    if once.request_id:
        yield Accepted(once.request_id)
    if once.failure is not None:
        raise once.failure
    target = target.named(once.request_id or once.job_id)
    artifacts: list[Artifact] = []
    posters = {n: one for n, one in enumerate(once.files[1:]) if one.kind == "poster"}
    for number, file in enumerate(once.files):
        if file.kind == "poster":
            continue
        index = len(artifacts)
        made = _restored(file, posters.get(number), target, index, alt_text(wish.prompt))
        artifacts.append(made)
        yield Saved(made.path, index)
    yield Generated(
        Generation(
            artifacts=tuple(artifacts),
            prompt=wish.prompt,
            model=once.model,
            backend=once.backend,
            seed=once.seed,
            parents=parents_of(wish),
            cost=once.cost,
            job_id=once.job_id,
            request_id=once.request_id,
            revised_prompt=once.revised_prompt,
            missing=once.missing,
        )
    )


def replayed_job(once: MadeOnce, wish: GenerationWish, home: Path | None) -> Job:
    """Return the job that a recording tells of, which can be resumed from it too."""
    beginning = datetime.fromtimestamp(0, UTC)
    return Job(
        id=once.job_id,
        key="",
        backend=once.backend,
        wish=record_of(wish, home),
        state="accepted",
        created=beginning,
        updated=beginning,
        request_id=once.request_id,
        problem=once.failure.problem if once.failure else "",
        home=home,
    )


def _restored(
    file: MadeFile, poster: MadeFile | None, target: Target, index: int, alt: str
) -> Artifact:
    path = saved(target.path(index, _ending(file)), file.data)
    if file.kind == "image":
        return artifact(path, ImageAsset.from_bytes(file.data), alt)
    if poster is not None:
        saved(path.with_name(f"{path.stem}{POSTER}.{_ending(poster)}"), poster.data)
    return clip_artifact(path, alt)


def _ending(file: MadeFile) -> str:
    return file.name.rpartition(".")[2]
