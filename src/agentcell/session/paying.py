"""A generation's price, and the session's budget → it goes out, a person is asked, or it is not."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from decimal import Decimal

from agentcell.adapters.estimate import Estimate
from agentcell.adapters.estimate_cost import CostEstimate
from agentcell.adapters.price_table import shown
from agentcell.adapters.pricing import Cost
from agentcell.amounts import plain_amount
from agentcell.budget import Budget, Confirm, CostQuestion, Foreseen, question
from agentcell.errors import BudgetExceeded, Stopped
from agentcell.history.spent import Spent
from agentcell.imaging.plan import Plan
from agentcell.metering import Ledger


class PiecePrice(CostEstimate):
    """About what a picture or a clip costs, where no tokens are counted before."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"about {shown(self.expected.total)}"


class SessionTill:
    """Lets generations be paid for out of a session's budget; see `agentcell.imaging.plan.Till`.

    Parameters
    ----------
    ledger
        The session's, which knows what its questions cost too.
    budget
        Returns what may be spent, as it is now; None: anything.
    """

    def __init__(self, ledger: Ledger, budget: Callable[[], Budget | None]) -> None:
        self._ledger = ledger
        self._budget = budget

    async def admit(self, job_id: str, plan: Plan, confirm: Confirm | None) -> None:
        """Let a job go out; what it is expected to cost is reserved until it is booked.

        Parameters
        ----------
        job_id
            A name for it.
        plan
            Who makes it, and for how much.
        confirm
            Asked where the budget wants it; it may be a coroutine function. None: nobody is asked,
            and only what would pass the budget, or has no known price, is refused.

        Raises
        ------
        BudgetExceeded
            If it would pass the budget, or nobody can say whether it would.
        Stopped
            If the person says no.
        """
        asked = self._judged(job_id, plan)
        if asked is None:
            return
        if confirm is None:
            if asked.why == "unknown":
                raise _worded(asked.refusal("nobody can be asked here"), plan)
        else:
            is_async = inspect.iscoroutinefunction(confirm)
            said = await confirm(asked) if is_async else await asyncio.to_thread(confirm, asked)
            if isinstance(said, str) and said.strip():
                raise _worded(asked.refusal(said), plan)
            if said is not True:
                raise Stopped("before anything was sent, as you asked: it was not to cost that.")
        self._ledger.expect(job_id, plan.price or Decimal(0))

    def _judged(self, job_id: str, plan: Plan) -> CostQuestion | None:
        """Return what is to be asked; where nothing is, other questions know of this job."""
        budget = self._budget()
        with self._ledger.lock:  # of two at once, the second knows of the first
            asked = None
            if budget is not None:
                spent = self._ledger.spent_but(job_id)
                try:
                    asked = question(plan.name, budget, spent, _foreseen(plan))
                except BudgetExceeded as error:
                    raise _worded(error, plan) from None
            if asked is None:
                self._ledger.expect(job_id, plan.price or Decimal(0))
        return asked

    def book(self, job_id: str, cost: Decimal | None) -> None:
        """Keep what a job cost; None: something that nobody knows."""
        spent = Spent(unknown=1) if cost is None else Spent(usd=cost)
        self._ledger.book(job_id, spent)

    def drop(self, job_id: str) -> None:
        """Forget what a job is expected to cost."""
        self._ledger.book(job_id, Spent())


def _foreseen(plan: Plan) -> Foreseen:
    if plan.is_free or plan.price is None:
        return Foreseen(is_free=plan.is_free)
    price = Cost(output=plan.price)
    return Foreseen(
        cost=PiecePrice(
            tokens=Estimate(model=plan.name, parts=()),
            answer_tokens=0,
            is_bounded=True,
            expected=price,
            low=price,
            high=price,
        )
    )


def _worded(error: BudgetExceeded, plan: Plan) -> BudgetExceeded:
    """Return `error` with the ways out that there are for a picture or a clip."""
    if plan.price is None:
        piece = "per_image" if plan.wish.kind == "image" else "per_second"
        error.fix = (
            f'say what it costs, set_price("{plan.name}", {piece}=…), or turn the budget off with'
            " %agent budget off."
        )
    elif error.usd is not None and error.spent is not None:
        enough = plain_amount(max(error.usd, error.spent + plan.price))
        error.fix = f"raise it, for example %agent budget {enough} usd"
        by_rule = plan.wish.kind == "image"
        error.fix += ", or draw by rule: --model procedural." if by_rule else "."
    return error
