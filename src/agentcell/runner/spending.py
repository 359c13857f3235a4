"""A runner's budget and what its runs spent → whether the next call of the model may go out."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

from agentcell.adapters.model import Model
from agentcell.adapters.recording.model import RecordingModel
from agentcell.amounts import next_cent, plain_amount
from agentcell.budget import Budget, Foreseen, foreseen, question
from agentcell.errors import BudgetExceeded

_NOTHING = Decimal(0)
_LEAST = Decimal("0.01")


class Spending:
    """What all runs of one runner may spend together, and have. Safe to share between threads.

    Parameters
    ----------
    budget
        A `Budget`, or an amount of US dollars such as ``"2.00"``; None: no limit. Nobody is
        asked: a first call that could pass it, one that `Budget.ask_above` names, and one whose
        price nobody knows do not go out. Of a function that asks a model itself nothing can be
        known before: it is called until the costs that it reports reach the budget.
    """

    def __init__(self, budget: Budget | Decimal | str | float | None) -> None:
        is_amount = budget is not None and not isinstance(budget, Budget)
        self.budget: Budget | None = Budget(usd=budget) if is_amount else budget  # type: ignore[arg-type, assignment]
        self.spent = _NOTHING
        self._unknown: set[str] = set()
        self._expected: dict[str, Decimal] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Spending({self.spent} of {self.budget})"

    def check(  # noqa: PLR0913 (what the model is asked)
        self,
        run_id: str,
        model: Model | None,
        messages: list[Any],
        tools: list[Any] | None,
        settings: dict[str, Any] | None,
        *,
        during: bool,
    ) -> None:
        """Let the next call of a run go out, and count what it is expected to cost.

        Raises
        ------
        BudgetExceeded
            If it may not.
        """
        if self.budget is None:
            return
        if isinstance(model, RecordingModel) and model.is_answered(messages, tools, settings):
            return
        try:
            if model is None:
                self._check_reported(self.budget)
            else:
                self._check_foreseen(self.budget, run_id, model, messages, tools, settings, during)
        except BudgetExceeded as error:
            raise _worded(error) from None

    def _check_foreseen(  # noqa: PLR0913, PLR0917 (what the model is asked)
        self,
        budget: Budget,
        run_id: str,
        model: Model,
        messages: list[Any],
        tools: list[Any] | None,
        settings: dict[str, Any] | None,
        during: bool,
    ) -> None:
        coming = foreseen(model, messages, tools, settings)
        with self._lock:
            others = sum((v for k, v in self._expected.items() if k != run_id), _NOTHING)
            asked = question(model.name, budget, self.spent + others, coming, during=during)
            if asked is not None and (asked.why != "threshold" or budget.ask_above is not None):
                raise asked.refusal("a runner asks nobody")
            self._expected[run_id] = coming.cost.expected.total if coming.cost else _NOTHING

    def _check_reported(self, budget: Budget) -> None:
        is_known = not self._unknown
        asked = question("this llm_call", budget, self.spent, Foreseen(), during=is_known)
        if asked is not None:
            raise asked.refusal("it reports no cost")

    def count(self, run_id: str, cost: Decimal | None) -> None:
        """Count what a call cost; None where that is not known: then what was expected."""
        with self._lock:
            expected = self._expected.pop(run_id, _NOTHING)
            if cost is None:
                self._unknown.add(run_id)
            self.spent += expected if cost is None else cost

    def forget(self, run_id: str) -> None:
        """Expect nothing more of a run that is over."""
        with self._lock:
            self._expected.pop(run_id, None)


def _worded(error: BudgetExceeded) -> BudgetExceeded:
    """Return `error` with the ways out that there are in Python."""
    if error.usd is None or error.spent is None:
        return error
    if error.expected is None and error.spent < error.usd:
        error.fix = "say what it costs with set_price(…) or AGENTCELL_PRICES, or give no budget."
        return error
    enough = next_cent(max(error.usd, error.spent + (error.expected or _LEAST)))
    error.fix = (
        f'give the runner more, for example budget="{plain_amount(enough)}", or set a smaller'
        " max_tokens."
    )
    return error
