"""A session's budget → one batch's rows go out or do not; all else that the session pays counts."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

from agentcell.amounts import dollars
from agentcell.batch.result import Spending
from agentcell.batch.spending import Cap
from agentcell.budget import Budget
from agentcell.errors import BudgetExceeded
from agentcell.history.spent import Spent
from agentcell.metering import Ledger

_NOTHING = Decimal(0)


class SessionCap(Cap):
    """What a batch may spend out of a session's budget, beside others that run at the same time.

    Safe to share between threads. It serves the batch that it was made for, and its retries.

    Parameters
    ----------
    ledger
        The session's: it knows what all others spent, and are expected to.
    budget
        What the whole session may spend.
    model
        Who is asked.
    """

    def __init__(self, ledger: Ledger, budget: Budget, model: Any) -> None:
        super().__init__(budget, _NOTHING, model)
        self._ledger = ledger
        self._name = f"batch-{uuid.uuid4().hex[:12]}"
        self._unbooked = _NOTHING

    def check(self) -> None:
        """Refuse a batch whose cost nobody knows; look up what other kernels spent.

        Raises
        ------
        BudgetExceeded
            If that is so.
        """
        super().check()
        self._ledger.total()

    def admits(self, usd: Decimal) -> bool:
        """Whether a row that is expected to cost `usd` may be sent; it is then on its way."""
        with self._ledger.lock:  # of two batches at once, the second knows of the first
            others = self._ledger.spent_but(self._name, looks=False)
            self.spent = others + self._unbooked
            is_admitted = super().admits(usd)
            self._tell()
        return is_admitted

    def book(self, expected: Decimal, paid: Spending) -> None:
        """Put what a row came to in the place of what was expected of it."""
        with self._ledger.lock:
            self.reserved -= expected
            self._unbooked += max(paid.usd, expected) if paid.unknown else paid.usd
            self._tell()

    def book_row(self, spent: Spent) -> None:
        """Let the ledger have what a row cost; it is no longer this batch's to know."""
        with self._ledger.lock:
            self._ledger.book(uuid.uuid4().hex[:12], spent)
            self._unbooked = max(_NOTHING, self._unbooked - spent.usd)
            self._tell()

    def close(self) -> None:
        """Nothing more of this batch is on its way."""
        with self._ledger.lock:
            self.reserved = self._unbooked = _NOTHING
            self._ledger.book(self._name, Spent())

    def exceeded(self, usd: Decimal) -> BudgetExceeded:
        """Return the error of a row that is not sent."""
        return BudgetExceeded(
            f"This row was not sent: of the budget of {dollars(self.budget.usd)},"
            f" {dollars(self.spent + self.reserved)} are spent or on their way, and it costs about"
            f" {dollars(usd)} more.",
            fix="raise the budget; with a journal, finished rows are not asked about again.",
            usd=self.budget.usd,
            spent=self.spent,
            expected=usd,
        )

    def _tell(self) -> None:
        self._ledger.expect(self._name, self.reserved + self._unbooked)
