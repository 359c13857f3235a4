"""Calls that were paid for → what they came to; and whether one more row may be sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agentcell.adapters.events import Usage
from agentcell.adapters.model import Model
from agentcell.adapters.pricing import call_cost, cost
from agentcell.adapters.recording import RecordingModel
from agentcell.amounts import dollars
from agentcell.batch.result import Spending, summed
from agentcell.batch.work import Asked, Call
from agentcell.budget import Budget, foreseen
from agentcell.errors import BudgetExceeded

_NOTHING = Decimal(0)
_ONE_OF_EACH = Usage(input_tokens=1, output_tokens=1)


class Tally:
    """Adds up what calls came to.

    Parameters
    ----------
    model
        Who was asked; its prices hold, in this process.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.spending = Spending()

    def add(self, calls: Iterable[Call]) -> Spending:
        """Count calls; return what those came to that were paid for, and not replayed."""
        paid = Spending()
        for call in calls:
            price = call_cost(self._model, call.usage, call.recorded, processing=call.processing)
            one = Spending(
                usage=call.usage,
                usd=_NOTHING if price is None else price,
                unknown=int(price is None),
                calls=1,
            )
            self.spending = summed(self.spending, one)
            if not call.is_replayed:
                paid = summed(paid, one)
        return paid


@dataclass(slots=True)
class Cap:
    """What a batch may spend, with what is expected of the rows that are on their way.

    Parameters
    ----------
    budget
        What may be spent.
    spent
        US dollars until now.
    model
        Who is asked.
    """

    budget: Budget
    spent: Decimal
    model: Any
    reserved: Decimal = _NOTHING

    def check(self) -> None:
        """Refuse a batch whose cost nobody knows.

        Raises
        ------
        BudgetExceeded
            If that is so.
        """
        if not isinstance(self.model, Model):
            raise self._unknown(type(self.model).__name__)
        is_replay = isinstance(self.model, RecordingModel) and self.model.mode == "replay"
        if not is_replay and cost(self.model, _ONE_OF_EACH) is None:
            raise self._unknown(self.model.name)

    def expected(self, asked: Asked) -> Decimal:
        """Return what a row is expected to cost.

        Raises
        ------
        BudgetExceeded
            If nobody knows what the model costs.
        """
        messages, tools, settings = asked.messages, asked.tools, asked.settings
        if isinstance(self.model, RecordingModel) and self.model.is_answered(
            messages, tools, settings
        ):
            return _NOTHING
        coming = foreseen(self.model, messages, tools, settings)
        if coming.is_free:
            return _NOTHING
        if coming.cost is None:
            raise self._unknown(self.model.name)
        return coming.cost.expected.total

    def admits(self, usd: Decimal) -> bool:
        """Whether a row that is expected to cost `usd` may be sent; it is then on its way."""
        if usd and self.spent + self.reserved + usd > self.budget.usd:
            return False
        self.reserved += usd
        return True

    def book(self, expected: Decimal, paid: Spending) -> None:
        """Put what a row came to in the place of what was expected of it."""
        self.reserved -= expected
        self.spent += max(paid.usd, expected) if paid.unknown else paid.usd

    def close(self) -> None:
        """Take note that the batch is over."""

    def exceeded(self, usd: Decimal) -> BudgetExceeded:
        """Return the error of a row that is not sent."""
        return BudgetExceeded(
            f"This row was not sent: of the batch's budget of {dollars(self.budget.usd)},"
            f" {dollars(self.spent)} are spent, and it costs about {dollars(usd)} more.",
            fix="give a larger budget; with a journal, finished rows are not asked about again.",
            usd=self.budget.usd,
            spent=self.spent,
            expected=usd,
        )

    def _unknown(self, name: str) -> BudgetExceeded:
        return BudgetExceeded(
            f"What {name} costs is not known, so a batch with a budget cannot be begun.",
            fix="say what it costs with set_price(…) or AGENTCELL_PRICES, or give no budget.",
            usd=self.budget.usd,
            spent=self.spent,
        )
