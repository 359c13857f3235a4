"""Rows → jobs of the provider's own batch service, and their answers, once and in order.

What a job holds is written into the journal before it is given, its name as soon as the service
tells it; so whoever runs the batch again waits for the jobs that are there and gives no row twice.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agentcell.adapters.batch_jobs import BatchService, JobAnswer, JobState
from agentcell.adapters.batch_services import batch_service
from agentcell.adapters.recording import RecordingModel
from agentcell.batch.books import known_row
from agentcell.batch.journal import Journal
from agentcell.batch.outcome import Item, Outcome
from agentcell.batch.plan import Plan
from agentcell.batch.progress import progress_of
from agentcell.batch.result import BatchResult
from agentcell.batch.rows import Rows
from agentcell.batch.run import Gathered, cap_of, ended_early, find_key, opened_journal, run_here
from agentcell.batch.spending import Cap, Tally
from agentcell.batch.work import Asked, Call, Work, key_of_row
from agentcell.errors import (
    BatchError,
    BudgetExceeded,
    ConnectionFailed,
    RateLimited,
    ServiceError,
    Stopped,
)
from agentcell.loop import LOOP

_LOOK = 0.2
"""Seconds between looks for an interrupt, while a job is waited for."""

_MISSES = 10
"""Looks at a job that may fail one after the other: the job goes on, whoever looks."""

_ID_DIGITS = 32


@dataclass(slots=True)
class _Job:
    """A job at the service: our name for it, its own, and the requests in it.

    Of `settled` ones the journal tells what came of them, though the job was not read to its end.
    """

    token: str
    ids: frozenset[str]
    begun: float
    job_id: str | None = None
    is_over: bool = False
    settled: frozenset[str] = frozenset()
    misses: int = 0


@dataclass(slots=True)
class _Sheet:
    """Requests that will be one job."""

    ids: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    size: int = 0

    def has_room(self, line: bytes, service: BatchService) -> bool:
        """Whether one more request fits."""
        return (
            len(self.lines) < service.most_rows and self.size + len(line) + 1 <= service.most_bytes
        )

    def add(self, custom_id: str, line: bytes) -> None:
        """Take one more request."""
        self.ids.append(custom_id)
        self.lines.append(line)
        self.size += len(line) + 1


def run_at_provider(work: Work, rows: Rows, plan: Plan) -> BatchResult:
    """Give the rows to the provider's batch service and wait for their answers.

    Parameters
    ----------
    work, rows, plan
        See `run_batch`.

    Raises
    ------
    BatchStopped
        If the person interrupts: the jobs go on, and the same journal fetches their answers.
    BatchError
        If there is no journal, or the rows ask for more than one answer each.
    Exception
        What the iterator of rows or `Plan.on_row` raised, and what the service said to a job that
        was given, or again and again to looks at one. Its ``batch_result`` holds what came.
    Unsupported
        If the provider has no batch service.
    """
    if isinstance(work.model, RecordingModel):
        if work.model.mode != "replay":
            raise BatchError(
                "A provider's batch cannot be recorded: its answers come by another way.",
                fix="leave the recording out, or let threads ask: leave executor out.",
            )
        return run_here(work, rows, plan)
    service = batch_service(work.model)
    if plan.journal is None:
        raise BatchError(
            "A provider's batch takes up to a day, and no journal was given: with this process its"
            " answers would be lost, and they are paid for.",
            fix='give one, for example journal="batch.jsonl".',
        )
    find_key(work.model)
    gathered = Gathered(work, rows, plan)
    with ExitStack() as stack:
        journal = opened_journal(plan, stack)
        assert journal is not None  # noqa: S101 (the plan names one)
        progress = progress_of(plan.progress, work.model)
        progress.begin(rows.count)
        stack.callback(progress.end)
        run = _Run(work, service, journal, cap_of(work, plan, journal, stack), plan.poll)
        gathered.tally = run.tally
        try:
            for outcome in run.outcomes(rows):
                gathered.take(outcome)
                progress.row(failed=outcome.error is not None)
        except KeyboardInterrupt:
            gathered.mark_rest(
                run.unfinished(), Stopped("before this row had an answer, as you asked.")
            )
            raise gathered.stopped(
                "the provider goes on with its jobs: run the batch again with the same journal to"
                " fetch their answers"
            ) from None
        except Exception as error:
            gathered.mark_rest(run.unfinished(), ended_early(error))
            gathered.attach(error)
            raise
    return gathered.result()


class _Run:
    """One run: what is known, what is given, and what is waited for."""

    def __init__(
        self, work: Work, service: BatchService, journal: Journal, cap: Cap | None, poll: float
    ) -> None:
        self._work = work
        self._service = service
        self._journal = journal
        self._cap = cap
        self._poll = poll
        self._over: BudgetExceeded | None = None
        self._items: dict[str, Item] = {}
        self._answered: set[str] = set()
        self._jobs: list[_Job] = []
        self.tally = Tally(work.model)

    def outcomes(self, rows: Rows) -> Iterator[Outcome]:
        """Yield what becomes of each row."""
        self._jobs = self._open_jobs()
        given = {custom_id for job in self._jobs for custom_id in job.ids - job.settled}
        sheet = _Sheet()
        for index, row in enumerate(rows.each):
            item = Item(index, row)
            outcome, line = self._prepared(item, given)
            if outcome is not None:
                yield outcome
            elif line is not None:
                if sheet.lines and not sheet.has_room(line, self._service):
                    self._give(sheet)
                    sheet = _Sheet()
                sheet.add(item.key, line)
        if sheet.lines:
            self._give(sheet)
        while waiting := [job for job in self._jobs if not job.is_over]:
            for job in waiting:
                yield from self._look(job)
            if any(not job.is_over for job in self._jobs):
                _pause(self._poll)

    def unfinished(self) -> list[tuple[int, Any]]:
        """Return the rows that have no answer yet, with their numbers."""
        return [(item.index, item.row) for item in self._items.values()]

    # -- before --------------------------------------------------------------------------------

    def _open_jobs(self) -> list[_Job]:
        """Return the jobs of earlier runs that are not over; one that was never given is none."""
        jobs: dict[str, _Job] = {}
        for fact in self._journal.jobs():
            token = str(fact["token"])
            if "ids" in fact:
                jobs[token] = _Job(token, frozenset(fact["ids"]), float(fact["begun"]))
            elif token in jobs:
                jobs[token].job_id = fact.get("id", jobs[token].job_id)
                jobs[token].is_over = jobs[token].is_over or bool(fact.get("over"))
        opened = [job for job in jobs.values() if not job.is_over]
        known = {job.job_id for job in jobs.values()}
        for job in opened:
            if job.job_id is None:  # it was about to be given when the process died
                find = self._service.find(job.token, job.begun, len(job.ids))
                job.job_id = LOOP.run(find)
                if job.job_id is not None and job.job_id not in known:
                    self._journal.put_job(token=job.token, id=job.job_id)
                else:
                    job.job_id, job.is_over = None, True
                    self._journal.put_job(token=job.token, over=True)
        for job in opened:
            job.settled = frozenset(self._journal.settled(job.token))
            self._answered |= self._journal.settled(job.token, answered=True)
        return [job for job in opened if not job.is_over]

    def _prepared(self, item: Item, given: set[str]) -> tuple[Outcome | None, bytes | None]:
        """Return a row's outcome, if it has one already; or its request, if it is to be given."""
        try:
            item.asked = self._work.asked(item.row)
            key = key_of_row(self._work, item.asked)
            if (kept := self._journal.take(key)) is not None:
                return known_row(item.index, kept, self._work, self.tally), None
            item.key = self._free_name(key)
            line = None if item.key in given else self._request(item, item.asked)
        except Exception as error:  # noqa: BLE001 (it is the row's, whatever it is)
            return Outcome(index=item.index, row=item.row, error=error), None
        self._items[item.key] = item
        return None, line

    def _request(self, item: Item, asked: Asked) -> bytes:
        """Return a row's request, if it may be given."""
        if asked.tools:
            raise BatchError(
                "A provider's batch answers once, and this row may call tools.",
                fix="take the tools out, or leave executor out.",
            )
        line = self._service.request(item.key, asked.messages, asked.settings)
        if len(line) > self._service.most_bytes:
            raise BatchError(
                f"This row comes to {len(line):,} bytes; a batch takes"
                f" {self._service.most_bytes:,}.",
                fix="attach a smaller copy, or ask about this row by itself.",
            )
        self._admit(item, asked)
        return line

    def _free_name(self, key: str) -> str:
        """Return a name for a request: of equal rows each has its own, always the same."""
        number, short = 0, key[:_ID_DIGITS]
        while f"{short}-{number}" in self._items or f"{short}-{number}" in self._answered:
            number += 1
        return f"{short}-{number}"

    def _admit(self, item: Item, asked: Asked) -> None:
        if self._over is not None:
            raise self._over
        if self._cap is None:
            return
        expected = self._cap.expected(asked)
        if not self._cap.admits(expected):
            self._over = self._cap.exceeded(expected)
            raise self._over
        item.expected = expected

    # -- at the service ------------------------------------------------------------------------

    def _give(self, sheet: _Sheet) -> None:
        """Give a job; the journal knows of it before the service does."""
        job = _Job(f"agentcell-{uuid.uuid4().hex[:16]}", frozenset(sheet.ids), time.time())
        self._journal.put_job(token=job.token, ids=sheet.ids, begun=round(job.begun, 3))
        job.job_id = LOOP.run(self._service.create(sheet.lines, job.token))
        self._journal.put_job(token=job.token, id=job.job_id)
        self._jobs.append(job)

    def _look(self, job: _Job) -> Iterator[Outcome]:
        if job.job_id is None:
            return
        state = self._state(job, job.job_id)
        if not state.is_over:
            return
        left = Counter(job.ids - job.settled)
        if state.failure is None:
            with contextlib.closing(LOOP.iterate(self._service.answers(job.job_id))) as answers:  # type: ignore[type-var]
                for answer in answers:
                    if left[answer.custom_id]:
                        left[answer.custom_id] -= 1
                        yield from self._settled(answer, job)
        for custom_id in left.elements():
            error = state.failure or self._service.unanswered(custom_id).error
            yield from self._settled(JobAnswer(custom_id=custom_id, error=error), job)
        job.is_over = True
        self._journal.put_job(token=job.token, over=True)

    def _state(self, job: _Job, job_id: str) -> JobState:
        """Look at a job; a look that fails for what passes is one that came too early."""
        try:
            state = LOOP.run(self._service.look(job_id))
        except (ConnectionFailed, RateLimited, ServiceError):
            job.misses += 1
            if job.misses > _MISSES:
                raise
            return JobState(is_over=False)
        job.misses = 0
        return state

    def _settled(self, answer: JobAnswer, job: _Job) -> Iterator[Outcome]:
        """Yield the outcome of a request; none if its row is not among those of this run."""
        item = self._items.pop(answer.custom_id, None)
        key = answer.custom_id.rpartition("-")[0]
        value, error, reason, calls = self._read(answer)
        paid = self.tally.add(calls)
        if self._cap is not None:
            expected = None if item is None else item.expected
            self._cap.book(expected or Decimal(0), paid)
        index = -1 if item is None else item.index
        if error is None:
            kept = self._work.kept(value)
            self._journal.put(key, index, kept, calls, reason, of=(job.token, answer.custom_id))
        elif calls:
            of = (job.token, answer.custom_id)
            self._journal.put_error(key, index, error, calls, of=of)
        if item is not None:
            yield Outcome(
                index=item.index,
                row=item.row if error is not None else None,
                value=value,
                error=error,
                calls=calls,
                is_cut=reason == "length",
            )

    def _read(self, answer: JobAnswer) -> tuple[Any, Exception | None, str, tuple[Call, ...]]:
        if answer.gathering is None:
            return None, answer.error, "", ()
        calls = (Call(answer.gathering.usage, processing="batch"),)
        try:
            result: Mapping[str, Any] = answer.gathering.result()
            value = self._work.read(result)
        except Exception as error:  # noqa: BLE001 (it is the row's, whatever it is)
            return None, error, "", calls
        return value, None, str(result["finish_reason"]), calls


def _pause(seconds: float) -> None:
    """Wait; an interrupt gets through."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(_LOOK, left))
