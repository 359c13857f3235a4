"""Work, rows and a plan → a `BatchResult`, or outcomes one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from agentcell.adapters.model import Model, innermost
from agentcell.adapters.recording import RecordingModel
from agentcell.adapters.remote import RemoteModel
from agentcell.batch.books import Books
from agentcell.batch.engine import Engine
from agentcell.batch.executors import Crew
from agentcell.batch.journal import Journal
from agentcell.batch.limiting import Gate, keeps_limits
from agentcell.batch.outcome import Outcome
from agentcell.batch.plan import Plan
from agentcell.batch.progress import progress_of
from agentcell.batch.result import BatchResult, RowError
from agentcell.batch.rows import Rows, rows_of
from agentcell.batch.spending import Cap, Tally
from agentcell.batch.work import Work
from agentcell.errors import BatchError, BatchStopped, Stopped
from agentcell.loop import LOOP

_ROOM = 2
"""Rows that may be handed over for each worker: one under way, one that waits."""

_WINDOW = 8
"""Rows that may be taken for each worker, where the order is kept."""


def run_batch(work: Work, rows: Any, plan: Plan) -> BatchResult:
    """Ask about every row and return all that came.

    Parameters
    ----------
    work
        What is done with each row.
    rows
        See `rows_of`.
    plan
        How.

    Raises
    ------
    BatchStopped
        If the person interrupts; its `result` holds what came until then.
    BatchError, BudgetExceeded, KeyMissing
        Before anything is sent.
    Exception
        What the iterator of rows or `Plan.on_row` raised, or the journal's error once it cannot
        be written. Its ``batch_result`` holds what came until then.
    """
    _check_thread()
    found = rows_of(rows)
    if plan.executor == "provider":
        from agentcell.batch.provider_run import run_at_provider

        return run_at_provider(work, found, plan)
    return run_here(work, found, plan)


def run_here(work: Work, found: Rows, plan: Plan) -> BatchResult:
    """Like `run_batch`, by workers of the caller's.

    Parameters
    ----------
    work, plan
        See `run_batch`.
    found
        What `rows_of` returned.
    """
    gathered = Gathered(work, found, plan)
    with ExitStack() as stack:
        engine = _engine(work, found, plan, stack, ordered=False)
        progress = progress_of(plan.progress, work.model)
        progress.begin(found.count)
        stack.callback(progress.end)
        outcomes = engine.outcomes(ordered=False)
        try:
            for outcome in outcomes:
                gathered.take(outcome)
                progress.row(failed=outcome.error is not None)
        except KeyboardInterrupt:
            outcomes.close()  # type: ignore[attr-defined]  # it is a generator
            gathered.stop(engine, Stopped("before this row had an answer, as you asked."))
            raise gathered.stopped() from None
        except Exception as error:
            outcomes.close()  # type: ignore[attr-defined]
            gathered.stop(engine, ended_early(error))
            gathered.attach(error)
            raise
        gathered.tally = engine.books.tally
    return gathered.result()


def iterate_batch(work: Work, rows: Any, plan: Plan) -> Iterator[Outcome]:
    """Yield what becomes of each row; only a window of rows is in memory.

    Parameters
    ----------
    work, rows, plan
        See `run_batch`.
    """
    _check_thread()
    if plan.executor == "provider":
        raise BatchError(
            "A provider's batch service answers all rows at once; imap gives them one by one.",
            fix="use map, or another executor.",
        )
    found = rows_of(rows)
    with ExitStack() as stack:
        engine = _engine(work, found, plan, stack, ordered=plan.ordered)
        progress = progress_of(plan.progress, work.model)
        progress.begin(found.count)
        stack.callback(progress.end)
        outcomes = stack.enter_context(contextlib.closing(engine.outcomes(ordered=plan.ordered)))  # type: ignore[type-var]
        for outcome in outcomes:
            progress.row(failed=outcome.error is not None)
            if plan.on_row is not None:
                plan.on_row(outcome)
            yield outcome


def ended_early(error: Exception) -> BatchError:
    """Return the error of rows that had no answer when another error ended the batch."""
    return BatchError(
        f"The batch ended before this row had an answer, with {type(error).__name__}.",
        fix="see that error; what came until then is its batch_result.",
    )


def _check_thread() -> None:
    if LOOP.is_here():
        raise BatchError(
            "A batch cannot be waited for on the loop that its own requests run on.",
            fix="call it from a plain function, or by asyncio.to_thread(agent.map, rows).",
        )


def _engine(work: Work, rows: Rows, plan: Plan, stack: ExitStack, *, ordered: bool) -> Engine:
    journal = opened_journal(plan, stack)
    books = Books(work, journal, cap_of(work, plan, journal, stack))
    find_key(work.model)
    is_here = plan.executor is None or isinstance(plan.executor, ThreadPoolExecutor)
    is_exact = plan.worker_limits is None and is_here and keeps_limits(work.model)
    crew = Crew(
        work,
        None if isinstance(plan.executor, str) else plan.executor,
        workers=plan.workers,
        model_limits=plan.limits if is_exact else plan.worker_limits,
    )
    has_gate = plan.limits is not None and not is_exact
    gate = Gate(plan.limits, work.model) if plan.limits is not None and has_gate else None
    room = crew.size if gate is not None else crew.size * _ROOM
    window = max(plan.ahead or crew.size * _WINDOW, 1)
    return Engine(
        work,
        rows.each,
        crew,
        books=books,
        gate=gate,
        retries=plan.retries,
        retry_delay=plan.retry_delay,
        room=min(room, window) if plan.ahead else room,
        window=window if ordered else None,
    )


def opened_journal(plan: Plan, stack: ExitStack) -> Journal | None:
    """Return the plan's journal, open until `stack` ends."""
    return None if plan.journal is None else stack.enter_context(Journal(plan.journal))


def cap_of(work: Work, plan: Plan, journal: Journal | None, stack: ExitStack) -> Cap | None:
    """Return what may be spent, until `stack` ends.

    Of a budget of the batch's own, what a journal's earlier runs cost is spent already.
    """
    if plan.cap is not None:
        plan.cap.check()
        stack.callback(plan.cap.close)
        return plan.cap
    budget = plan.checked_budget()
    if budget is None:
        return None
    before = Tally(work.model)
    spent = before.add(journal.spent_calls() if journal is not None else ())
    cap = Cap(budget, spent.usd, work.model)
    cap.check()
    return cap


def find_key(model: Any) -> None:
    """Look for the model's key before anything is sent; a person may be asked for it."""
    if isinstance(model, RecordingModel) and model.mode == "replay":
        return
    inner = innermost(model) if isinstance(model, Model) else model
    if isinstance(inner, RemoteModel):
        inner.find_key()


class Gathered:
    """Takes outcomes, and makes one result of them."""

    def __init__(self, work: Work, rows: Rows, plan: Plan) -> None:
        self._work = work
        self._rows = rows
        self._plan = plan
        self._values: dict[int, Any] = {}
        self._cut: list[int] = []
        self._resumed = 0
        self.tally = Tally(work.model)

    def take(self, outcome: Outcome) -> None:
        """Keep what became of one row."""
        is_error = outcome.error is not None
        value = RowError(outcome.index, outcome.row, outcome.error) if is_error else outcome.value  # type: ignore[arg-type]
        self._values[outcome.index] = value
        self._resumed += outcome.is_from_journal
        if outcome.is_cut:
            self._cut.append(outcome.index)
        if self._plan.on_row is not None:
            self._plan.on_row(outcome)

    def stop(self, engine: Engine, why: Exception) -> None:
        """Take what came last, and mark the rest.

        Parameters
        ----------
        engine
            What was stopped.
        why
            The error of rows without an answer.
        """
        self.tally = engine.books.tally
        for outcome in engine.leftover:
            with contextlib.suppress(Exception):  # of `on_row`; the row is kept before it
                self.take(outcome)
        self.mark_rest(engine.unfinished(), why)

    def mark_rest(self, unfinished: Iterable[tuple[int, Any]], why: Exception) -> None:
        """Note that these rows have no answer, and those that were not come to either.

        Parameters
        ----------
        unfinished
            Numbers and rows.
        why
            Their error.
        """
        for index, row in unfinished:
            self.mark_stopped(index, row, why)
        if len(self._values) < (self._rows.count or 0) and self._rows.source is not None:
            for index, row in enumerate(rows_of(self._rows.source).each):
                self.mark_stopped(index, row, why)

    def mark_stopped(self, index: int, row: Any, why: Exception) -> None:
        """Note that a row has no answer, unless it has one."""
        self._values.setdefault(index, RowError(index, row, why))

    def attach(self, error: Exception) -> None:
        """Put the result until then into an error that ended the batch."""
        result = self.result()
        with contextlib.suppress(AttributeError):  # a class that takes no attribute
            error.batch_result = result  # type: ignore[attr-defined]
            answers = len(result) - len(result.failed)
            error.add_note(
                f"It ended the batch after {answers:,} answers; in a notebook they are in"
                " sys.last_value.batch_result."
            )

    def stopped(self, how: str = "") -> BatchStopped:
        """Return the error of a batch that was stopped, with the result until then.

        Parameters
        ----------
        how
            How to go on.
        """
        result = self.result()
        answers = len(result) - len(result.failed)
        if not how and self._plan.journal is None:
            how = (
                "sys.last_value.result.retry() asks about the others; a journal= resumes by itself"
            )
        how = how or "run it again with the same journal to go on"
        return BatchStopped(
            f"after {answers:,} of {len(result):,} rows, as you asked; these are kept in the"
            " error's result.",
            fix=f"{how}.",
            result=result,
        )

    def result(self) -> BatchResult:
        """Return all that came, in the rows' order."""

        def again(rows: Any, executor: Any = None, **options: Any) -> BatchResult:
            chosen = self._plan.executor if executor is None else executor
            plan = Plan.of(chosen, {**self._options(), **options})
            if options.get("budget") is None:
                plan = replace(plan, cap=self._plan.cap)
            return run_batch(self._work, rows, plan)

        return BatchResult(
            [self._values[index] for index in sorted(self._values)],
            source=self._rows.source,
            spending=self.tally.spending,
            resumed=self._resumed,
            cut=sorted(self._cut),
            names=getattr(self._work, "names", ()),
            again=again,
        )

    def _options(self) -> dict[str, Any]:
        names = (name for name in Plan.__dataclass_fields__ if name not in {"executor", "cap"})
        return {name: getattr(self._plan, name) for name in names}
