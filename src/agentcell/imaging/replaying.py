"""What was recorded of a generation → the same events and the same files, and nobody is asked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agentcell.assets.asset import ImageAsset
from agentcell.imaging.events import Accepted, Generated, GenerationEvent, Planned, Saved
from agentcell.imaging.generation import Artifact, Generation
from agentcell.imaging.job import Job, record_of
from agentcell.imaging.recorded import MadeFile, MadeOnce
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
