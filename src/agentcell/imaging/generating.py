"""A wish → events of the job that makes it, and files on disk: what every door uses.

The order is always the same: check, let it be paid for, write it down, send, save, say so. What is
sent once is never sent again by itself. A job that was cut off anywhere is found in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from decimal import Decimal
from pathlib import Path

from agentcell.adapters.recording.recorder import Recorder
from agentcell.assets.access import AccessPolicy, Asker
from agentcell.errors import GenerationError, ModelError, NoBackend, NotResumable
from agentcell.imaging.account import Account
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.choosing import Backends
from agentcell.imaging.events import Generated, GenerationEvent
from agentcell.imaging.generation import Generation
from agentcell.imaging.job import Job
from agentcell.imaging.jobs import JobLedger
from agentcell.imaging.plan import Confirm, Plan, Till
from agentcell.imaging.recorded import Tape
from agentcell.imaging.replaying import Replays, replayed_plan
from agentcell.imaging.running import Run
from agentcell.imaging.saving import FOLDER, Target
from agentcell.imaging.under_way import UnderWay
from agentcell.imaging.wish import GenerationWish, Kind
from agentcell.imaging.writing import generation_of

__all__ = ["Confirm", "Generator", "Plan", "Till"]


class Generator:
    """Makes pictures and clips for one session, and knows its jobs.

    Parameters
    ----------
    ledger
        Where jobs are written down.
    access
        Says where files may be written, and hears of those that are made.
    till
        Lets jobs be paid for; None: everything is let go, and nothing booked.
    recorder
        Whether and where generations are recorded or replayed.
    backends
        Who makes them.
    changed
        Called after each generation.
    """

    def __init__(  # noqa: PLR0913 (each is a part of its own)
        self,
        *,
        ledger: JobLedger,
        access: AccessPolicy,
        till: Till | None = None,
        recorder: Recorder | None = None,
        backends: Backends | None = None,
        changed: Callable[[], None] | None = None,
    ) -> None:
        self.ledger = ledger
        self.backends = backends or Backends()
        self.model: dict[Kind, str] = {}
        """Who makes pictures and clips where nobody is named: ``backend/model``."""
        self._access = access
        self._till = till
        self._recorder = recorder
        self._changed = changed
        self._generations: list[Generation] = []
        self._replays = Replays(recorder, ledger.home)
        self.under_way = UnderWay(changed)
        """The jobs that this kernel waits for."""

    def __repr__(self) -> str:
        return f"Generator({len(self._generations)} generations, {self.ledger!r})"

    @property
    def generations(self) -> tuple[Generation, ...]:
        """What was made in this session, in order."""
        return tuple(self._generations)

    @property
    def access(self) -> AccessPolicy:
        """Which local files may be read and written for it."""
        return self._access

    @property
    def folder(self) -> Path:
        """Where files lie, if nothing else is said."""
        return self._access.root / FOLDER

    @property
    def recorder(self) -> Recorder | None:
        """What is recorded or replayed of it."""
        return self._recorder

    @property
    def is_replaying(self) -> bool:
        """Whether a recording alone answers: then nobody is asked or paid, and nobody need be."""
        return self._recorder is not None and self._recorder.mode == "replay"

    def is_free(self, wish: GenerationWish) -> bool:
        """Whether `wish` costs nothing, because of who makes it or because it is replayed.

        Parameters
        ----------
        wish
            See `backend_for`; so are the errors, except in a replay: that needs nobody.
        """
        return self.is_replaying or self.backend_for(wish).is_free

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs of the notebook's folder, and those that a recording tells of.

        While a recording alone is replayed, those of the recording: what a notebook shows then
        must not depend on what was paid for on this machine.
        """
        if self.is_replaying:
            return self._replays.jobs
        known = self.ledger.jobs()
        ids = {job.id for job in known}
        return (*known, *(job for job in self._replays.jobs if job.id not in ids))

    def backend_for(self, wish: GenerationWish) -> ImageBackend:
        """Return who makes `wish`.

        Parameters
        ----------
        wish
            Its `model` may be ``backend/model``, ``backend``, a model's id, or empty.

        Raises
        ------
        NoBackend
            If nobody is named and nobody is set up; its text says how to.
        GenerationError
            If what is named is not known.
        """
        return self.backends.chosen(wish, self.model.get(wish.kind, ""))[0]

    def plan(self, wish: GenerationWish) -> Plan:
        """Return who makes `wish`, and for how much. Everything is checked, nothing is sent.

        Parameters
        ----------
        wish
            See `backend_for`.

        Raises
        ------
        GenerationError
            If it cannot be made as it is asked for.
        """
        tape = self._replays.tape(wish)
        once = tape.found()
        if once is not None:
            return replayed_plan(once, wish, self.backends)
        if tape.must_replay:
            with contextlib.suppress(NoBackend, ModelError):  # a key is not needed here
                named, own = self.backends.chosen(wish, self.model.get(wish.kind, ""))
                named.check(own)  # what cannot be is told as it was when it was recorded
            raise tape.missed()
        backend, own = self.backends.chosen(wish, self.model.get(wish.kind, ""))
        backend.check(own)
        if backend.is_free:
            price: Decimal | None = Decimal(0)
        else:
            price = backend.price(own)
        return Plan(backend=backend, wish=own, price=price, is_free=backend.is_free or price == 0)

    async def stream(  # noqa: PLR0913 (each is a fact of its own)
        self,
        wish: GenerationWish,
        *,
        confirm: Confirm | None = None,
        output: str | os.PathLike[str] | None = None,
        asked_by: Asker = "person",
        as_made: bool = False,
        cell: str = "",
    ) -> AsyncGenerator[GenerationEvent]:
        """Make `wish` and yield what happens; the last event is `Generated`.

        Closing it early ends the wait. What the service goes on with stands in `jobs`.

        Parameters
        ----------
        wish
            See `backend_for`.
        confirm
            Asked about the cost where the budget wants it.
        output
            The file, in the notebook's folder if it is relative; several get numbers. None: in
            `folder`, by the job's name.
        asked_by
            A model may write into approved folders alone.
        as_made
            Whether files stay byte for byte as they came: of the type that the service chose, and
            without a word on how they came to be.
        cell
            The id of the notebook cell that asks, for the ledger.

        Raises
        ------
        GenerationError, AttachmentError
            If it cannot be made as it is asked for, or not written there. Nothing was sent.
        BudgetExceeded, Stopped
            If it may not be paid for. Nothing was sent.
        ModelError
            If the service refuses or fails; `is_billed` says whether it may have been paid for.
        """
        tape = self._replays.tape(wish)
        once = tape.found()
        if once is not None:
            target = self._target(output, wish, asked_by, is_replayed=True)
            for event in self._replays.events(once, wish, target):
                yield self._noted(event)
            return
        plan = self.plan(wish)
        target = self._target(output, plan.wish, asked_by, is_replayed=plan.is_free)
        await asyncio.to_thread(target.check)
        run = self._run(plan.backend, plan.wish, target, tape, as_made=as_made, cell=cell)
        async with contextlib.aclosing(self.under_way.follow(run.begin(plan, confirm))) as events:
            async for event in events:
                yield self._noted(event)

    async def resume(
        self, job_id: str, *, as_made: bool = False
    ) -> AsyncGenerator[GenerationEvent]:
        """Ask for a job that was begun earlier, and yield what happens, as `stream` does.

        Nothing is paid for twice: what is on disk is used, a job that was accepted is asked for by
        its request id, and only where a service keeps idempotency keys is one sent again whose
        answer was lost.

        Parameters
        ----------
        job_id
            Of the job, the service's, or the beginning of one.
        as_made
            As for `stream`.

        Raises
        ------
        NotResumable
            If there is no such job, somebody waits for it already, or nothing can be had of it any
            more.
        ModelError
            As for `stream`.
        """
        tape = self._replays.tape_again(job_id)
        once = tape.found()
        if once is not None:
            wish = self._replays.wish_of(once.job_id)
            target = self._target(None, wish, "person", is_replayed=True)
            for event in self._replays.events(once, wish, target):
                yield self._noted(event)
            return
        if tape.must_replay:
            raise tape.missed()
        job = self.ledger.find(job_id)
        if job.state == "done":
            generation = generation_of(job)
            if generation is None:
                raise NotResumable(
                    f"{job.id} is done, and its files are gone.", fix="ask for it anew."
                )
            if not self._may_be_more(job):
                yield Generated(generation)
                return
        backend = self.backends.named(job.backend)
        target = Target(folder=self.folder, count=int(job.wish.get("count", 1)))
        wish = job.wish_again(is_whole=False)
        run = self._run(backend, wish, target, tape, as_made=as_made)
        async with contextlib.aclosing(self.under_way.follow(run.again(job), job.id)) as events:
            async for event in events:
                yield self._noted(event)

    def _may_be_more(self, job: Job) -> bool:
        """Whether a file is missing of a job that is done, for which its service can be asked."""
        if not (job.problem and job.request_id):
            return False
        try:
            return self.backends.named(job.backend).can_resume
        except GenerationError:  # the package that brought it is gone; what is here is here
            return False

    async def cancel(self, job_id: str) -> bool:
        """Ask the service to stop a job; return whether it said that it did.

        Parameters
        ----------
        job_id
            As for `resume`.

        Raises
        ------
        NotResumable
            If there is no such job, or it is at its end.
        ModelError
            If the service cannot be asked.
        """
        job = self.ledger.find(job_id)
        if not job.is_unfinished:
            raise NotResumable(f"{job.id} is {job.state}; nothing of it is under way.")
        if not job.request_id:
            return False
        done = await self.backends.named(job.backend).cancel(job.request_id)
        if done:
            self.ledger.update(job, state="cancelled", problem="cancelled by the person")
        return done

    # -- within

    def _run(  # noqa: PLR0913 (what a run has)
        self,
        backend: ImageBackend,
        wish: GenerationWish,
        target: Target,
        tape: Tape,
        *,
        as_made: bool,
        cell: str = "",
    ) -> Run:
        return Run(
            backend=backend,
            wish=wish,
            target=target,
            tape=tape,
            account=Account(ledger=self.ledger, till=self._till, cell=cell),
            as_made=as_made,
        )

    def _target(
        self,
        output: str | os.PathLike[str] | None,
        wish: GenerationWish,
        asked_by: Asker,
        *,
        is_replayed: bool,
    ) -> Target:
        if output is None:
            return Target(folder=self.folder, count=wish.count)
        place = self._access.resolve_output(output, asked_by=asked_by)
        return Target.of(place, wish, may_be_there=is_replayed)

    def _noted(self, event: GenerationEvent) -> GenerationEvent:
        if isinstance(event, Generated):
            self._generations.append(event.generation)
            for path in event.generation.paths:
                self._access.made(path)
            if self._changed is not None:
                self._changed()
        return event
