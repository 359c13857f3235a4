"""A backend's events → files on disk and lines in the ledger: one job, from plan to end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from agentcell.adapters.recording.canonical import key_of
from agentcell.assets.asset import ImageAsset
from agentcell.assets.sniff import EXTENSIONS
from agentcell.errors import (
    AgentcellError,
    AttachmentError,
    DownloadError,
    GenerationFailed,
    ModelError,
    NotResumable,
)
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import (
    Accepted,
    BackendEvent,
    Ended,
    Generated,
    GenerationEvent,
    Made,
    NotSaved,
    PartialImage,
    Planned,
    Progressed,
    Saved,
)
from agentcell.imaging.generation import Artifact, Generation
from agentcell.imaging.job import Job, JobState
from agentcell.imaging.jobs import JobLedger
from agentcell.imaging.media_type import HEAD_BYTES, media_type
from agentcell.imaging.placing import Part, part_of, safe_id
from agentcell.imaging.plan import Confirm, Plan, Till
from agentcell.imaging.prices import given_price
from agentcell.imaging.provenance import Provenance, written
from agentcell.imaging.recorded import MadeFile, MadeOnce, Tape, asked_of
from agentcell.imaging.saving import (
    Target,
    alt_text,
    artifact,
    encoded,
    held,
    saved,
)
from agentcell.imaging.web_text import without_queries
from agentcell.imaging.wish import GenerationWish


@dataclass(slots=True, kw_only=True)
class Run:
    """One job on its way. Used once.

    Parameters
    ----------
    backend, wish
        Who makes what.
    target
        Where its files go.
    tape, ledger, till
        Where it is recorded, written down, paid for.
    cell
        The notebook cell that asks.
    as_made
        See `Generator.stream`.
    """

    backend: ImageBackend
    wish: GenerationWish
    target: Target
    tape: Tape
    ledger: JobLedger
    till: Till | None
    cell: str = ""
    as_made: bool = False
    _job: Job | None = None
    _id: str = ""
    _reserved: str = ""
    _request_id: str = ""
    _is_sent: bool = False
    _is_free: bool = False
    _made: int = 0
    _artifacts: list[Artifact] = field(default_factory=list)
    _missing: list[str] = field(default_factory=list)
    _held: list[Path] = field(default_factory=list)
    _revised: str = ""
    _ended: Ended = field(default_factory=Ended)

    async def begin(self, plan: Plan, confirm: Confirm | None) -> AsyncGenerator[GenerationEvent]:
        """Let the job be paid for, write it down, send it, and yield what happens."""
        self._is_free = plan.is_free
        self._reserved = uuid.uuid4().hex
        if self.till is not None and not plan.is_free:
            await self.till.admit(self._reserved, plan, confirm)
        try:
            if plan.is_free and not self.backend.can_resume:  # then nothing can be lost
                self._id = f"{self.backend.name}-{_wish_digest(self.wish)}"
                key = self._id
            else:
                self._job = self.ledger.plan(self.wish, self.backend.name, cell=self.cell)
                self._id, key = self._job.id, self._job.key
            yield Planned(self._id, plan.name, plan.price)
            self._update(state="submitted")
            self._is_sent = True
            events = self._taken(self.backend.run(self.wish, key=key))
            async with contextlib.aclosing(events):
                async for event in events:
                    yield event
        finally:
            if not self._is_sent:
                self._update(state="cancelled", problem="it was stopped before it was sent")
            self._release()

    async def again(self, job: Job) -> AsyncGenerator[GenerationEvent]:
        """Go on with a job that was cut off, and yield what happens; see `Generator.resume`."""
        self._job, self._id, self._request_id = job, job.id, job.request_id
        self._is_free = self.backend.is_free
        kept = [path for path in job.held if path.is_file()]
        if kept:
            source = _from_disk(kept, self.wish.kind, job)
            self._held = list(kept)
        elif not job.is_unfinished:
            raise NotResumable(
                f"{job.id} is {job.state}{f': {job.problem}' if job.problem else ''}.",
                fix="ask for it anew.",
            )
        elif job.request_id:
            source = self.backend.resume(job.request_id, self.wish)
        elif self.backend.keeps_keys:
            self.wish = job.wish_again()
            source = self.backend.run(self.wish, key=job.key)
        else:
            raise NotResumable(
                f"{job.id} was sent to {job.backend}, its answer never came, and {job.backend}"
                " keeps no jobs: nothing is sent again by itself.",
                fix="look at your account there, it may have been charged; then ask anew.",
            )
        self._is_sent = True
        yield Planned(self._id, job.backend)
        events = self._taken(source)
        async with contextlib.aclosing(events):
            async for event in events:
                yield event

    # -- what the backend says

    async def _taken(self, source: AsyncIterator[BackendEvent]) -> AsyncGenerator[GenerationEvent]:
        try:
            async with contextlib.aclosing(_closable(source)) as events:
                async for event in events:
                    async for told in self._told(event):
                        yield told
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt):
            self._stopped()
            raise
        except AgentcellError as error:
            if not self._artifacts:
                raise self._failed(error) from error.__cause__
            self._missing.append(error.problem)  # what came is kept, and was paid for
            yield NotSaved(self._made, error.problem)
        except Exception as error:
            self._failed(self._unknown(f"{type(error).__name__} in {self.backend.name}"))
            raise
        yield Generated(await asyncio.to_thread(self._finished))

    async def _told(self, event: BackendEvent) -> AsyncIterator[GenerationEvent]:
        match event:
            case Accepted(request_id):
                self._request_id = request_id
                self._update(state="accepted", request_id=request_id)
                yield event
            case Progressed() | PartialImage():
                yield event
            case Ended():
                self._ended = event
            case Made():
                self._revised = event.revised_prompt or self._revised
                index, self._made = self._made, self._made + 1
                try:
                    made = await self._saved(event, index)
                except (AttachmentError, DownloadError, OSError) as problem:
                    said = _said(problem, self.backend.name)
                    self._missing.append(said)
                    yield NotSaved(index, said)
                else:
                    self._artifacts.append(made)
                    self._update(state="saving", files=[one.path for one in self._artifacts])
                    sources = map(without_queries, (event.url, event.thumbnail_url))
                    yield Saved(made.path, index, *sources)

    async def _saved(self, made: Made, index: int) -> Artifact:
        if made.data is None:
            return await self._fetched(made, index)
        data, kept = made.data, None
        if self._job is not None and not self._held_already(index):
            kept = await asyncio.to_thread(held, self.target.folder, self._id, index, data)
            if kept is not None:
                self._held.append(kept)
                self._update(state="saving", held=self._held)
        return await asyncio.to_thread(self._written, made, data, index)

    def _held_already(self, index: int) -> bool:
        return index < len(self._held)

    async def _fetched(self, made: Made, index: int) -> Artifact:
        self._update(state="saving")
        downloader = self.backend.downloader()
        part = await downloader.fetch(made.url, self.target.folder)
        try:
            if self.as_made or part.media.kind == "video":
                done = await asyncio.to_thread(self._put, part, index)
            else:
                data = await asyncio.to_thread(part.path.read_bytes)
                done = await asyncio.to_thread(self._written, made, data, index)
        finally:
            part.discard()
        if made.kind == "video" and made.thumbnail_url:
            done = replace(done, poster=await self._poster(made.thumbnail_url, index))
        return done

    async def _poster(self, url: str, index: int) -> Path | None:
        """Fetch a clip's still picture; the clip is as good without it."""
        with contextlib.suppress(DownloadError, OSError):
            part = await self.backend.downloader().fetch(url, self.target.folder)
            with contextlib.closing(contextlib.ExitStack()) as stack:
                stack.callback(part.discard)
                if part.media.kind == "image":
                    stem = self._path(index, "mp4").stem
                    return await asyncio.to_thread(part.put, f"{stem}-poster")
        return None

    def _put(self, part: Part, index: int) -> Artifact:
        """Give a file that was fetched its name, as it came."""
        alt = alt_text(self.wish.prompt)
        path = part.put(self._path(index, part.media.extension).stem)
        if part.media.kind == "image":
            return artifact(path, ImageAsset.from_path(path), alt)
        return Artifact(
            path=path,
            kind="video",
            mime_type=part.media.mime_type,
            digest=part.digest,
            size_bytes=part.size_bytes,
            alt=alt,
        )

    def _written(self, made: Made, data: bytes, index: int) -> Artifact:
        alt = alt_text(self.wish.prompt)
        if made.kind == "video":
            seen = media_type(data[:HEAD_BYTES])
            if not seen.extension or seen.kind != "video":
                raise AttachmentError(f"it is {seen.noun}, and no clip.")
            return self._put(part_of(data, self.target.folder), index)
        if self.as_made:
            asset = ImageAsset.from_bytes(data)
        else:
            data, asset = encoded(data, self.wish.format)
            data = written(data, self._provenance(made), alt)
            asset = ImageAsset.from_bytes(data)
        path = self._path(index, EXTENSIONS[asset.mime_type])
        return artifact(saved(path, data), asset, alt)

    def _path(self, index: int, ending: str) -> Path:
        target = self.target
        if not target.stem:
            target = replace(target, stem=safe_id(self._request_id or self._id))
        return target.path(index, ending)

    def _provenance(self, made: Made) -> Provenance:
        return Provenance.of(
            self.wish.prompt,
            backend=self.backend.name,
            model=made.model or self.wish.model,
            seed=self.wish.seed if made.seed is None else made.seed,
            parents=_parents(self.wish),
            job_id=self._id,
            request_id=self._request_id,
        )

    # -- how it ends

    def _finished(self) -> Generation:
        if not self._artifacts:
            raise self._failed(self._nothing_saved())
        generation = Generation(
            artifacts=tuple(self._artifacts),
            prompt=self.wish.prompt,
            model=self._ended.model or self.wish.model,
            backend=self.backend.name,
            seed=self.wish.seed if self._ended.seed is None else self._ended.seed,
            parents=_parents(self.wish),
            cost=self._cost(),
            job_id=self._id,
            request_id=self._request_id,
            revised_prompt=self._revised,
            missing=tuple(self._missing),
        )
        self._update(
            state="done",
            model=generation.model,
            files=generation.paths,
            held=(),
            cost=generation.cost,
            problem="; ".join(self._missing) or None,
        )
        for path in self._held:
            path.unlink(missing_ok=True)
        self._book(generation.cost)
        self.tape.keep(self._once(generation))
        return generation

    def _cost(self) -> Decimal | None:
        if self._is_free:
            return Decimal(0)
        given = given_price(self.backend.name, self.wish)
        return self._ended.cost if given is None else given

    def _once(self, generation: Generation) -> MadeOnce:
        return MadeOnce(
            backend=generation.backend,
            job_id=generation.job_id,
            request_id=generation.request_id,
            model=generation.model,
            seed=generation.seed,
            cost=generation.cost,
            revised_prompt=generation.revised_prompt,
            missing=generation.missing,
            files=tuple(
                MadeFile(name=one.path.name, kind=one.kind, data=one.path.read_bytes())
                for one in (generation.artifacts if self.tape.is_recording else ())
            ),
        )

    def _nothing_saved(self) -> GenerationFailed:
        name = self.backend.name
        if not self._missing:
            return GenerationFailed(
                f"{name} is done, and sent no {self.wish.kind}.",
                fix="word the prompt differently, then ask anew.",
                provider=name,
                model=self.wish.model,
                is_billed=None,
            )
        can_go_on = bool(self._held) or bool(self._request_id and self.backend.can_resume)
        way = f"mend that, then run `%generate resume {self._id}`: it is not paid for again."
        return GenerationFailed(
            f"{name} made it, but nothing could be saved: {self._missing[0]}",
            fix=way if can_go_on else "word the prompt differently, then ask anew.",
            provider=name,
            model=self.wish.model,
            job_id=self._id,
            is_billed=not self._is_free,
            is_over=not can_go_on,
        )

    def _unknown(self, what: str) -> GenerationFailed:
        return GenerationFailed(
            f"{what}; whether it is paid for is not known.", provider=self.backend.name
        )

    def _failed(self, error: AgentcellError) -> AgentcellError:
        """Write down that it failed; return the error, which then names the job."""
        billed = error.is_billed if isinstance(error, ModelError) else False
        is_over = getattr(error, "is_over", True)
        if isinstance(error, GenerationFailed) and not error.job_id and self._job is not None:
            error.job_id = self._id
        state: JobState = "failed"
        if not is_over:
            state = "saving" if self._held else "accepted" if self._request_id else "unknown"
        elif billed is None and not self._is_free:
            state = "unknown" if not self._request_id else "failed"
        self._update(state=state, problem=error.problem)
        if is_over and billed is not False:
            self._book(None)
        elif is_over:
            self._release()
        else:
            self._reserved = ""  # what it is expected to cost stays reserved while it may go on
        if isinstance(error, ModelError):
            made = MadeOnce(
                backend=self.backend.name,
                job_id=self._id,
                request_id=self._request_id,
                model=self.wish.model,
                failure=error,
            )
            self.tape.keep(made)
        return error

    def _stopped(self) -> None:
        if self._held:
            self._update(problem="it was stopped while its files were written")
        elif self._request_id and self.backend.can_resume:
            self._update(problem="it was stopped here; the service may go on with it")
            self._reserved = ""
        else:
            self._update(
                state="unknown",
                problem="it was stopped before its answer came; it may have been charged",
            )
            self._book(None)

    # -- ledger and till

    def _update(self, **facts: object) -> None:
        if self._job is not None:
            self._job = self.ledger.update(self._job, **facts)  # type: ignore[arg-type]

    def _book(self, cost: Decimal | None) -> None:
        if self.till is not None and not self._is_free:
            self.till.book(self._id, cost)
        self._release()

    def _release(self) -> None:
        if self.till is not None and self._reserved:
            self.till.drop(self._reserved)
        self._reserved = ""


def generation_of(job: Job) -> Generation | None:
    """Return what came of a job that is done; None where its files are gone."""
    wish = job.wish_again(is_whole=False)
    alt = alt_text(wish.prompt)
    found = []
    for path in job.files:
        if not path.is_file():
            continue
        if wish.kind == "image":
            found.append(artifact(path, ImageAsset.from_path(path), alt))
            continue
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        found.append(
            Artifact(
                path=path,
                kind="video",
                mime_type=f"video/{path.suffix[1:]}",
                digest=digest,
                size_bytes=path.stat().st_size,
                alt=alt,
            )
        )
    if not found:
        return None
    return Generation(
        artifacts=tuple(found),
        prompt=wish.prompt,
        model=job.model,
        backend=job.backend,
        seed=wish.seed,
        parents=_parents(wish),
        cost=job.cost,
        job_id=job.id,
        request_id=job.request_id,
        missing=() if len(found) == len(job.files) else ("A file of it is gone.",),
    )


async def _from_disk(paths: list[Path], kind: str, job: Job) -> AsyncIterator[BackendEvent]:
    """Yield an answer that was written down as it came."""
    for path in paths:
        data = await asyncio.to_thread(path.read_bytes)
        yield Made(kind="video" if kind == "video" else "image", data=data)
    yield Ended(model=job.model, cost=job.cost)


def _parents(wish: GenerationWish) -> tuple[str, ...]:
    return wish.parents or tuple(one.fingerprint() for one in wish.references)


def _said(problem: Exception, name: str) -> str:
    if isinstance(problem, AttachmentError):
        return f"What {name} sent cannot be kept: {problem.problem}"
    if isinstance(problem, AgentcellError):
        return problem.problem
    reason = os.strerror(problem.errno) if isinstance(problem, OSError) and problem.errno else ""
    return f"A file could not be written: {reason or type(problem).__name__}."


def _wish_digest(wish: GenerationWish) -> str:
    """Return ten characters that are the same for the same wish."""
    return key_of(asked_of(wish))[:10]


async def _closable(source: AsyncIterator[BackendEvent]) -> AsyncGenerator[BackendEvent]:
    """Yield what `source` yields, and close it at the end, whatever kind of iterator it is."""
    try:
        async for event in source:
            yield event
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()
