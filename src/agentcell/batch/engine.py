"""Rows and a crew of workers → outcomes, as they come or in the rows' order.

One thread, the caller's, takes rows, hands them over, and reads what comes back; so a journal has
one writer and a budget one keeper. Rows are taken only as there is room for them.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from typing import Any

from agentcell.batch.books import Books
from agentcell.batch.executors import Crew, gone, takes_no_more
from agentcell.batch.limiting import Gate
from agentcell.batch.outcome import Item, Outcome
from agentcell.batch.waiting import MOST_LOSSES, Waiting
from agentcell.batch.work import Done, Work
from agentcell.errors import (
    AuthenticationError,
    BatchError,
    BudgetExceeded,
    KeyMissing,
    ModelError,
    QuotaExceeded,
    UnknownModel,
)

HOPELESS = 3
"""As many rows in a row fail for what concerns them all, such as a refused key: then it is over."""

_POLL = 0.2
"""Seconds between looks for an interrupt and for rows whose wait is over."""

_GRACE = 0.5
"""Seconds in which, after an interrupt, rows that are just ending may still be kept."""

_LONGEST_DELAY = 60.0
_MOST_READY = 64
"""Outcomes that may wait for the caller."""

_Arrival = tuple[str, Item, Any]


class Engine:
    """One run of a batch.

    Parameters
    ----------
    work
        What is done with each row.
    rows
        Taken one by one.
    crew
        Who does it.
    books
        What is known of rows already, what may be sent, and what it cost.
    gate
        Where rows wait for rate limits; None: nowhere.
    retries, retry_delay
        See `Plan`.
    room
        How many rows may be on their way at once.
    window
        How many rows may be taken of which the first has no outcome yet; None: any number.
    """

    def __init__(  # noqa: PLR0913 (each is a part of its own)
        self,
        work: Work,
        rows: Iterator[Any],
        crew: Crew,
        *,
        books: Books,
        gate: Gate | None,
        retries: int,
        retry_delay: float,
        room: int,
        window: int | None,
    ) -> None:
        self._work = work
        self._looks_first = books.looks_first or gate is not None
        self._waiting = Waiting(rows, window)
        self._crew = crew
        self.books = books
        self._gate = gate
        self._retries = retries
        self._retry_delay = retry_delay
        self._room = room
        self._inbox: queue.SimpleQueue[_Arrival] = queue.SimpleQueue()
        self._flying: dict[Item, Executor | None] = {}
        self._futures: dict[Item, Future[Any]] = {}
        self._begun: Item | None = None
        """What is being looked at just now, and stands nowhere else."""
        self._at_gate = False
        self._ready: deque[Outcome] = deque()
        self._over: Exception | None = None
        self._hopeless = 0
        self.leftover: list[Outcome] = []
        """What came to its end between a stop and the end of the run."""

    # -- giving out ------------------------------------------------------------------------

    def outcomes(self, *, ordered: bool) -> Iterator[Outcome]:
        """Yield what becomes of each row. Closing the iterator early stops the batch."""
        found = self._in_order() if ordered else self._as_they_come()
        try:
            yield from found
        except BaseException:
            self._stop()
            raise
        finally:
            self._crew.close()

    def _in_order(self) -> Iterator[Outcome]:
        early: dict[int, Outcome] = {}
        for outcome in self._as_they_come():
            early[outcome.index] = outcome
            while self._waiting.given in early:
                self._waiting.given += 1
                yield early.pop(self._waiting.given - 1)

    def _as_they_come(self) -> Iterator[Outcome]:
        while True:
            self._fill()
            while self._ready:
                yield self._ready.popleft()
            if self._is_done():
                break
            self._wait()
        if self._waiting.broken is not None:
            raise self._waiting.broken

    def _is_done(self) -> bool:
        return self._waiting.is_over and not (self._flying or self._ready)

    # -- handing over ----------------------------------------------------------------------

    def _fill(self) -> None:
        while self._has_room():
            self._begun = item = self._waiting.next(
                any_flying=bool(self._flying), at_once=self._over is not None
            )
            if item is None or not self._begin(item):
                return
            self._begun = None

    def _has_room(self) -> bool:
        if self._waiting.is_alone or self._at_gate or len(self._ready) >= _MOST_READY:
            return False
        return self._waiting.has_any and len(self._flying) < self._room

    def _begin(self, item: Item) -> bool:
        """Send a row, or settle it without; False: it must wait until another has ended."""
        try:
            if item.asked is None and self._looks_first:
                item.asked = self._work.asked(item.row)
            if (known := self.books.known(item)) is not None:
                self._ready.append(known)
                return True
            is_over = self._over is not None
            if not (is_over or self.books.admits(item, may_wait=bool(self._flying))):
                self._waiting.hold(item)
                return False
        except Exception as error:  # noqa: BLE001 (it is the row's, whatever it is)
            if isinstance(error, BudgetExceeded):
                self._over = error
            self._end(item, error=error)
            return True
        if self._over is not None:
            self._end(item, error=self._over)
            return True
        self._flying[item] = None
        if self._gate is not None and item.place is None and item.asked is not None:
            self._at_gate = True
            self._futures[item] = self._gate.pass_(
                item.asked, lambda found: self._inbox.put(("gate", item, found))
            )
        else:
            self._send(item)
        return True

    def _send(self, item: Item) -> None:
        executor = self._crew.executor
        self._flying[item] = executor
        try:
            future = self._crew.send(item.row)
        except BatchError as error:
            self._inbox.put(("done", item, Done(error=error)))
        except BrokenExecutor as error:
            self._inbox.put(("lost", item, error))
        except Exception as error:  # noqa: BLE001 (it is shut down, or has no workers)
            self._over = self._over or takes_no_more(executor, error)
            self._inbox.put(("done", item, Done(error=self._over)))
        else:
            self._futures[item] = future
            future.add_done_callback(partial(self._arrived, item))

    def _arrived(self, item: Item, future: Future[Done]) -> None:
        """Put what came into the inbox; in whatever thread that is told."""
        try:
            self._inbox.put(("done", item, future.result()))
        except BaseException as error:  # noqa: BLE001 (a lost worker, or a cancelled row)
            self._inbox.put(("lost", item, error))

    # -- taking back -----------------------------------------------------------------------

    def _wait(self) -> None:
        seconds = _POLL
        if (left := self._waiting.seconds) is not None:
            seconds = min(seconds, max(0.001, left))
        with contextlib.suppress(queue.Empty):
            self._take(self._inbox.get(timeout=seconds))
            while len(self._ready) < _MOST_READY:
                self._take(self._inbox.get_nowait())

    def _take(self, arrival: _Arrival) -> None:
        kind, item, what = arrival
        if kind == "gate":
            self._passed(item, what)
            return
        self._begun = item
        executor = self._flying.pop(item, None)
        self._futures.pop(item, None)
        self._waiting.is_alone = False
        if item.place is not None:
            item.place.leave()
            item.place = None
        if kind == "done" and isinstance(what, Done):
            self._settle(item, what)
        else:
            self._lost(item, what, executor)
        self._begun = None

    def _passed(self, item: Item, found: Future[Any]) -> None:
        self._at_gate = False
        try:
            item.place = found.result()
        except Exception as error:  # noqa: BLE001 (nobody went out for too long)
            self._flying.pop(item, None)
            self._end(item, error=error)
            return
        self._send(item)

    def _settle(self, item: Item, done: Done) -> None:
        item.calls += done.calls
        error = done.error
        if error is None:
            self._hopeless = 0
            self._end(item, value=done.value, reason=done.finish_reason)
            return
        if self._may_pass(error) and item.attempts < self._retries:
            item.attempts += 1
            self._waiting.later(item, self._delay(error, item))
            return
        if isinstance(error, (AuthenticationError, KeyMissing, QuotaExceeded, UnknownModel)):
            self._hopeless += 1
            if self._hopeless >= HOPELESS and self._over is None:
                self._over = error
        self._end(item, error=error)

    @staticmethod
    def _may_pass(error: Exception) -> bool:
        return isinstance(error, ModelError) and error.retryable

    def _delay(self, error: Exception, item: Item) -> float:
        asked = getattr(error, "retry_after", None)
        own = self._retry_delay * 2.0 ** (item.attempts - 1)
        return float(min(asked if asked is not None else own, _LONGEST_DELAY))

    def _lost(self, item: Item, error: BaseException, executor: Executor | None) -> None:
        """Hand a row over again whose worker was lost; it may have been asked about already."""
        item.losses += 1
        is_broken = isinstance(error, BrokenExecutor) and executor is not None
        if is_broken and executor is not None and not self._crew.renew(executor):
            self._over = self._over or gone(error)
        if self._over is not None:
            self._end(item, error=self._over)
        elif item.losses >= MOST_LOSSES:
            self._end(item, error=gone(error, item.losses))
        else:
            self._waiting.again(item)

    def _end(
        self, item: Item, *, value: Any = None, error: Exception | None = None, reason: str = ""
    ) -> None:
        """Settle a row."""
        self._waiting.is_alone = False
        outcome = self.books.ended(item, value=value, error=error, reason=reason)
        self._ready.append(outcome)  # first: where the journal cannot be written it is there still
        self.books.keep(item, outcome, reason)

    def unfinished(self) -> Iterator[tuple[int, Any]]:
        """Yield the rows that were taken and came to no end, by their numbers; after a stop."""
        items = [*self._flying, *self._waiting.items()]
        items += [self._begun] if self._begun is not None else []
        yield from ((item.index, item.row) for item in items)

    # -- stopping --------------------------------------------------------------------------

    def _stop(self) -> None:
        """Give up what is on its way; what ends within moments is kept."""
        self._crew.stop()
        for future in list(self._futures.values()):
            with contextlib.suppress(Exception):
                future.cancel()
        end = time.monotonic() + _GRACE
        self._retries = 0
        self.books.close_budget()
        with contextlib.suppress(queue.Empty, KeyboardInterrupt):
            while self._flying and time.monotonic() < end:
                self._put_away(self._inbox.get(timeout=max(0.01, end - time.monotonic())))
        for item in self._flying:
            if item.place is not None:
                item.place.leave()
        self.leftover += self._ready
        self._ready.clear()

    def _put_away(self, arrival: _Arrival) -> None:
        """Keep an answer, and what was paid; let go of all else that comes after a stop."""
        kind, item, what = arrival
        if kind == "done" and (what.error is None or what.calls):
            with contextlib.suppress(BatchError):  # of the journal, told already or on the way
                self._take(arrival)
            return
        self._flying.pop(item, None)
        self._waiting.again(item)
        if kind == "gate":
            with contextlib.suppress(Exception, CancelledError):
                item.place = what.result()
        if item.place is not None:
            item.place.leave()
            item.place = None
