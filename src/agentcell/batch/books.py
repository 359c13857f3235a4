"""Rows as they are begun and ended → what is known already, what may be sent, and what it cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from agentcell.batch.journal import Journal, Kept
from agentcell.batch.outcome import Item, Outcome
from agentcell.batch.spending import Cap, Tally
from agentcell.batch.work import Work, key_of_row


class Books:
    """What a batch keeps of its rows: in the journal, in the budget, in the sum of all calls.

    Parameters
    ----------
    work
        What is done with each row.
    journal
        Rows that it knows as finished are not sent; None: none is kept.
    cap
        What may be spent; None: anything.
    """

    def __init__(self, work: Work, journal: Journal | None, cap: Cap | None) -> None:
        self._work = work
        self._journal = journal
        self._cap = cap
        self.tally = Tally(work.model)

    @property
    def looks_first(self) -> bool:
        """Whether it must be known what a row asks, before the row is sent."""
        return self._journal is not None or self._cap is not None

    def known(self, item: Item) -> Outcome | None:
        """Return the outcome of a row that the journal knows as finished."""
        if self._journal is None or item.key or item.asked is None:
            return None
        item.key = key_of_row(self._work, item.asked)
        kept = self._journal.take(item.key)
        if kept is None:
            return None
        return known_row(item.index, kept, self._work, self.tally)

    def admits(self, item: Item, *, may_wait: bool) -> bool:
        """Whether the budget lets a row go now.

        Parameters
        ----------
        may_wait
            Whether others are on their way, which may cost less than was put aside for them.

        Raises
        ------
        BudgetExceeded
            If it lets it go never.
        """
        if self._cap is None or item.asked is None or item.expected is not None:
            return True
        expected = self._cap.expected(item.asked)
        if self._cap.admits(expected):
            item.expected = expected
            return True
        if may_wait:
            return False
        raise self._cap.exceeded(expected)

    def ended(
        self, item: Item, *, value: Any = None, error: Exception | None = None, reason: str = ""
    ) -> Outcome:
        """Return a row's outcome; what it cost is booked."""
        paid = self.tally.add(item.calls)
        if self._cap is not None:
            self._cap.book(item.expected or Decimal(0), paid)
        return Outcome(
            index=item.index,
            row=None if error is None else item.row,
            value=value,
            error=error,
            calls=item.calls,
            is_cut=error is None and reason == "length",
        )

    def keep(self, item: Item, outcome: Outcome, reason: str) -> None:
        """Let the journal know of a row that ended.

        Raises
        ------
        BatchError
            If it cannot be written.
        """
        if self._journal is None or not item.key:
            return
        if outcome.error is None:
            kept = self._work.kept(outcome.value)
            self._journal.put(item.key, item.index, kept, item.calls, reason)
        elif item.calls:
            self._journal.put_error(item.key, item.index, outcome.error, item.calls)

    def close_budget(self) -> None:
        """Let no budget hold back what is only being put away, after a stop."""
        self._cap = None


def known_row(index: int, kept: Kept, work: Work, tally: Tally) -> Outcome:
    """Return the outcome of a row that the journal knows as finished; it counts as paid for."""
    tally.add(kept.calls)
    return Outcome(
        index=index,
        value=work.restored(kept.value),
        calls=kept.calls,
        is_from_journal=True,
        is_cut=kept.finish_reason == "length",
    )
