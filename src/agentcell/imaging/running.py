"""A backend's events → files on disk and lines in the ledger: one job, from plan to end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from agentcell.errors import (
    AgentcellError,
    AttachmentError,
    DownloadError,
    GenerationFailed,
    HistoryError,
    ModelError,
)
from agentcell.imaging import mishaps
from agentcell.imaging.account import Account
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
from agentcell.imaging.generation import Artifact, Generation, other_count
from agentcell.imaging.job import Job, JobState
from agentcell.imaging.plan import Confirm, Plan
from agentcell.imaging.prices import given_price
from agentcell.imaging.recorded import MadeOnce, Tape, files_of
from agentcell.imaging.saving import Target, drop, held_path, hold
from agentcell.imaging.web_text import without_queries
from agentcell.imaging.wish import GenerationWish
from agentcell.imaging.writing import Writer, parents_of

_REFUSALS = range(400, 500)
"""Statuses with which a service takes nothing."""


@dataclass(slots=True, kw_only=True)
class Run:
    """One job on its way. Used once.

    Parameters
    ----------
    backend, wish
        Who makes what.
    target
        Where its files go.
    tape, account
        Where it is recorded, written down and paid for.
    as_made
        See `Generator.stream`.
    """

    backend: ImageBackend
    wish: GenerationWish
    target: Target
    tape: Tape
    account: Account
    as_made: bool = False
    _request_id: str = ""
    _is_accepted: bool = False
    _is_disk_at_fault: bool = False
    _made: int = 0
    _artifacts: list[Artifact] = field(default_factory=list)
    _missing: list[str] = field(default_factory=list)
    _remarks: list[str] = field(default_factory=list)
    _is_from_disk: bool = False
    _held: list[Path] = field(default_factory=list)
    _revised: str = ""
    _ended: Ended = field(default_factory=Ended)

    async def begin(self, plan: Plan, confirm: Confirm | None) -> AsyncGenerator[GenerationEvent]:
        """Let the job be paid for, write it down, send it, and yield what happens."""
        account, is_sent = self.account, False
        key = await account.open(plan, confirm)
        try:
            yield Planned(account.job_id, plan.name, plan.price)
            account.update(state="submitted")
            is_sent = True
            events = self._taken(self.backend.run(self.wish, key=key))
            async with contextlib.aclosing(events):
                async for event in events:
                    yield event
        finally:
            if not is_sent:
                account.update(state="cancelled", problem="it was stopped before it was sent")
            account.release()

    async def again(self, job: Job) -> AsyncGenerator[GenerationEvent]:
        """Go on with a job that was cut off, and yield what happens; see `Generator.resume`."""
        self.account.reopen(job, self.backend)
        self._request_id = job.request_id
        kept = [path for path in job.held if path.is_file()]
        can_ask = bool(job.request_id) and self.backend.can_resume
        if kept and not (can_ask and len(kept) < self.wish.count):
            source, self._is_from_disk = _from_disk(kept, job), True
            self._held = list(kept)
            if lost := self.wish.count - len(kept):
                self._missing.append(f"{lost} of {self.wish.count} were lost when it was cut off.")
        elif not job.is_unfinished and not (job.state == "done" and can_ask):
            raise mishaps.ended(job)
        elif can_ask:
            source = self.backend.resume(job.request_id, self.wish)
        elif self.backend.keeps_keys and not job.request_id:
            self.wish = job.wish_again()
            source = self.backend.run(self.wish, key=job.key)
        else:
            problem = "its answer was lost; it may have been charged"
            self.account.update(state="failed", problem=problem)
            raise mishaps.lost(job)
        yield Planned(job.id, job.backend)
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
            # Also what a process raises that ends: its threads and its loop are gone then.
            can_go_on = bool(self._held or (self._request_id and self.backend.can_resume))
            self._failed(mishaps.broken_backend(self.backend.name, error, can_go_on=can_go_on))
            raise
        yield Generated(await asyncio.to_thread(self._finished))

    async def _told(self, event: BackendEvent) -> AsyncIterator[GenerationEvent]:
        match event:
            case Accepted(request_id):
                self._request_id, self._is_accepted = request_id, True
                self.account.update(state="accepted", request_id=request_id)
                yield event
            case Progressed() | PartialImage():
                yield event
            case Ended():
                self._ended = event
                count, asked = self._made, self.wish.count
                if count not in (0, asked) and not self._is_from_disk:
                    self._remarks.append(other_count(asked, count))
            case Made():
                self._revised = event.revised_prompt or self._revised
                index, self._made = self._made, self._made + 1
                try:
                    made = await self._saved(event, index)
                except (AttachmentError, DownloadError, OSError) as problem:
                    if isinstance(problem, AttachmentError) and index < len(self._held):
                        drop(self._held[index])  # it will never be a picture
                    said = mishaps.not_kept(problem, self.backend.name)
                    self._is_disk_at_fault |= isinstance(problem, OSError)
                    self._missing.append(said)
                    yield NotSaved(index, said)
                else:
                    self._artifacts.append(made)
                    files = [one.path for one in self._artifacts]
                    self.account.update(state="saving", files=files)
                    sources = map(without_queries, (event.url, event.thumbnail_url))
                    yield Saved(made.path, index, *sources)

    async def _saved(self, made: Made, index: int) -> Artifact:
        account = self.account
        writer = Writer(
            backend=self.backend,
            wish=self.wish,
            target=self.target.named(self._request_id or account.job_id),
            job_id=account.job_id,
            request_id=self._request_id,
            as_made=self.as_made,
        )
        if made.data is None:
            account.update(state="saving")
            return await writer.fetched(made, index)
        if account.job is not None and index >= len(self._held):
            place = held_path(self.target.folder, account.job_id, index)
            self._held.append(place)
            account.update(state="saving", held=self._held)  # first: a stop may come meanwhile
            await asyncio.to_thread(hold, place, made.data)
        return await asyncio.to_thread(writer.written, made, made.data, index)

    # -- how it ends

    def _finished(self) -> Generation:
        if not self._artifacts:
            raise self._failed(self._without_files())
        account = self.account
        generation = Generation(
            artifacts=tuple(self._artifacts),
            prompt=self.wish.prompt,
            model=self._ended.model or self.wish.model,
            backend=self.backend.name,
            seed=self.wish.seed if self._ended.seed is None else self._ended.seed,
            parents=parents_of(self.wish),
            cost=self._cost(),
            job_id=account.job_id,
            request_id=self._request_id,
            revised_prompt=self._revised,
            missing=(*self._missing, *self._remarks),
        )
        account.update(
            state="done",
            model=generation.model,
            files=generation.paths,
            held=(),
            cost=generation.cost,
            problem="; ".join(self._missing),
        )
        account.book(generation.cost)
        for path in self._held:
            drop(path)
        self.tape.keep(self._once(generation))
        return generation

    def _cost(self) -> Decimal | None:
        if self.account.is_free:
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
            files=files_of(generation) if self.tape.is_recording else (),
        )

    def _without_files(self) -> GenerationFailed:
        name = self.backend.name
        if not self._missing:
            return mishaps.nothing_sent(name, self.wish)
        return mishaps.nothing_saved(
            name,
            self.wish,
            self.account.job_id,
            self._missing[0],
            request_id=self._request_id,
            is_disk=self._is_disk_at_fault,
            can_go_on=any(path.is_file() for path in self._held)
            or bool(self._request_id and self.backend.can_resume),
            is_free=self.account.is_free,
        )

    def _failed(self, error: AgentcellError) -> AgentcellError:
        """Write down that it failed; return the error, which then names the job."""
        account = self.account
        billed = error.is_billed if isinstance(error, ModelError) else False
        is_refusal = isinstance(error, ModelError) and error.status in _REFUSALS
        if billed is None and is_refusal and not self._is_accepted:
            billed = False
        is_over = getattr(error, "is_over", True)
        if isinstance(error, GenerationFailed) and not error.job_id and account.job is not None:
            error.job_id = account.job_id
            error.fix = error.fix.replace(
                mishaps.RESUME, f"{mishaps.RESUME[:-1]} {account.job_id}`"
            )
        state: JobState = "failed"
        if not is_over:
            state = "saving" if self._held else "accepted" if self._request_id else "unknown"
        elif billed is None and not self._request_id:
            state = "unknown"
        account.update(state=state, problem=error.problem)
        if not is_over:
            account.keep_reserved()
        elif billed is not False:
            account.book(None)
        if isinstance(error, ModelError):
            with contextlib.suppress(HistoryError):  # the failure itself is what is to be told
                self.tape.keep(
                    MadeOnce(
                        backend=self.backend.name,
                        job_id=account.job_id,
                        request_id=self._request_id,
                        model=self.wish.model,
                        failure=error,
                    )
                )
        return error

    def _stopped(self) -> None:
        account = self.account
        if self._held:
            account.update(problem="it was stopped while its files were written")
        elif self._request_id and self.backend.can_resume:
            account.update(problem="it was stopped here; the service may go on with it")
            account.keep_reserved()
        else:
            problem = "it was stopped before its answer came; it may have been charged"
            account.update(state="unknown", problem=problem)
            account.book(None)


async def _from_disk(paths: list[Path], job: Job) -> AsyncIterator[BackendEvent]:
    """Yield an answer that was written down as it came."""
    for path in paths:
        data = await asyncio.to_thread(path.read_bytes)
        yield Made(kind="video" if job.wish.get("kind") == "video" else "image", data=data)
    yield Ended(model=job.model, cost=job.cost)


async def _closable(source: AsyncIterator[BackendEvent]) -> AsyncGenerator[BackendEvent]:
    """Yield what `source` yields, and close it at the end, whatever kind of iterator it is."""
    try:
        async for event in source:
            yield event
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()
