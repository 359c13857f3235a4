"""A batch's rows, and those that come back → the row that is handed over next."""

from __future__ import annotations

import heapq
import itertools
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from agentcell.batch.outcome import Item

MOST_LOSSES = 3
"""How often a row is handed over again after its worker was lost."""


class Waiting:
    """The rows that nobody has just now. For one thread.

    Parameters
    ----------
    rows
        Taken one by one.
    window
        How many may be taken of which the first has no outcome yet; None: any number.
    """

    def __init__(self, rows: Iterator[Any], window: int | None) -> None:
        self._rows = enumerate(rows)
        self._window = window
        self._held: Item | None = None
        self._again: deque[Item] = deque()
        self._delayed: list[tuple[float, int, Item]] = []
        self._numbers = itertools.count()
        self._taken = 0
        self.given = 0
        """Outcomes that the caller has, in the rows' order."""
        self.is_alone = False
        """Whether the row that was given last may take its workers with it: no other must go."""
        self.broken: Exception | None = None
        """What the iterator of rows raised."""
        self._no_more = False

    def hold(self, item: Item) -> None:
        """Take a row back that must wait until another has ended; it is the next one."""
        self._held = item

    def again(self, item: Item) -> None:
        """Take a row back whose worker was lost."""
        self._again.append(item)

    def later(self, item: Item, seconds: float) -> None:
        """Take a row back that is to be sent again after some time."""
        heapq.heappush(self._delayed, (time.monotonic() + seconds, next(self._numbers), item))

    @property
    def has_any(self) -> bool:
        """Whether a row may be had without looking past the window."""
        return self._may_take() or bool(self._again or self._delayed or self._held)

    @property
    def is_over(self) -> bool:
        """Whether no row waits, and none will come."""
        return self._no_more and not (self._again or self._delayed or self._held)

    @property
    def seconds(self) -> float | None:
        """Until the next row may be sent again that was told to wait; None if there is none."""
        return self._delayed[0][0] - time.monotonic() if self._delayed else None

    def items(self) -> Iterator[Item]:
        """Yield the rows that were taken already."""
        yield from self._again
        yield from (entry[2] for entry in self._delayed)
        if self._held is not None:
            yield self._held

    def next(self, *, any_flying: bool, at_once: bool) -> Item | None:
        """Return the next row to hand over; None where there is none for now.

        Parameters
        ----------
        any_flying
            Whether other rows are on their way.
        at_once
            Whether rows that were told to wait need not, since nothing is sent any more.
        """
        if self._held is not None:
            item, self._held = self._held, None
            return item
        if self._again:
            return self._next_again(any_flying=any_flying)
        if self._delayed and (at_once or self._delayed[0][0] <= time.monotonic()):
            return heapq.heappop(self._delayed)[2]
        return self._next_new()

    def _next_again(self, *, any_flying: bool) -> Item | None:
        """Return a row whose worker was lost.

        One that may take its workers with it is sent alone, so that it is found out.
        """
        if self._again[0].losses >= MOST_LOSSES - 1:
            if any_flying:
                return None
            self.is_alone = True
        return self._again.popleft()

    def _next_new(self) -> Item | None:
        if self._no_more or not self._may_take():
            return None
        try:
            for index, row in self._rows:
                self._taken += 1
                return Item(index, row)
        except Exception as error:  # noqa: BLE001 (an iterator of anyone's may raise anything)
            self.broken = error  # raised once the rows on their way have come to their end
        self._no_more = True
        return None

    def _may_take(self) -> bool:
        return self._window is None or self._taken - self.given < self._window
