"""One job's line in the ledger and its place in the budget, kept in step."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from decimal import Decimal

from agentcell.adapters.recording.canonical import key_of
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.job import Job
from agentcell.imaging.jobs import JobLedger
from agentcell.imaging.plan import Confirm, Plan, Till
from agentcell.imaging.recorded import asked_of


@dataclass(slots=True, kw_only=True)
class Account:
    """What is written down of one job, and what is reserved or booked for it.

    Parameters
    ----------
    ledger, till
        The session's.
    cell
        The notebook cell that asks.
    was_done
        Whether the job was done and booked before; see `reopen`.
    """

    ledger: JobLedger
    till: Till | None
    cell: str = ""
    job: Job | None = None
    job_id: str = ""
    is_free: bool = False
    was_done: bool = False
    _reserved: str = ""

    async def open(self, plan: Plan, confirm: Confirm | None) -> str:
        """Let a job be paid for and write it down; return the key to send it with.

        What costs nothing and cannot be asked for again is not written down: nothing can be lost.
        Its name follows from what is asked for.

        Raises
        ------
        BudgetExceeded, Stopped
            If it may not be paid for.
        """
        self.is_free = plan.is_free
        if self.till is not None and not plan.is_free:
            reserved = uuid.uuid4().hex
            await self.till.admit(reserved, plan, confirm)
            self._reserved = reserved
        backend = plan.backend
        if plan.is_free and not backend.can_resume:
            self.job_id = f"{backend.name}-{key_of(asked_of(plan.wish))[:10]}"
            return self.job_id
        self.job = self.ledger.plan(plan.wish, backend.name, cell=self.cell)
        self.job_id = self.job.id
        return self.job.key

    def reopen(self, job: Job, backend: ImageBackend) -> None:
        """Go on with a job that was written down earlier."""
        self.job, self.job_id, self.is_free = job, job.id, backend.is_free
        self.was_done = job.state == "done"

    def update(self, **facts: object) -> None:
        """Write down what is new; see `JobLedger.update`.

        A job that was done stays so: that a file is fetched which was missing changes it only when
        all is there that can be had.
        """
        if self.was_done and facts.get("state") != "done":
            return
        if self.job is not None:
            self.job = self.ledger.update(self.job, **facts)  # type: ignore[arg-type]

    def book(self, cost: Decimal | None) -> None:
        """Book what it cost; None: something that nobody knows."""
        if self.till is not None and not self.is_free and not self.was_done:
            self.till.book(self.job_id, cost)
        self.release()

    def release(self) -> None:
        """End what is reserved for it."""
        if self.till is not None and self._reserved:
            self.till.drop(self._reserved)
        self._reserved = ""

    def keep_reserved(self) -> None:
        """Let what is reserved stand: it may still have to be paid for."""
        self._reserved = ""
