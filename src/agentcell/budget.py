"""What may be spent, and what a question will cost → go on, ask the person, or refuse."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from agentcell.adapters.estimate_cost import CostEstimate, estimate_cost
from agentcell.adapters.events import Usage
from agentcell.adapters.model import Model
from agentcell.adapters.pricing import cost, price_of
from agentcell.amounts import amount, dollars, next_cent, plain_amount
from agentcell.errors import BudgetExceeded
from agentcell.messages import Message

VARIABLE = "AGENTCELL_BUDGET"
ABOVE_VARIABLE = "AGENTCELL_ASK_ABOVE"

_USUAL_SHARE = Decimal("0.1")
"""Of the budget: a question that is expected to cost more is asked about, where nothing is said."""

_LEAST = Decimal("0.01")

_MANY = Usage(input_tokens=1_000_000, output_tokens=1_000_000)

Confirm: TypeAlias = "Callable[[CostQuestion], Any]"
"""Asked about the cost of a question: True asks it; False does not; a text says why nobody could
answer. It may be a coroutine function."""


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """What a session may spend.

    Parameters
    ----------
    usd
        US dollars; a number, or a text such as ``"2.00"``. 0: only what is free.
    ask_above
        A question that is expected to cost more is asked about. None: a tenth of the budget.

    Raises
    ------
    PriceError
        If one is no amount of US dollars.
    """

    usd: Decimal
    ask_above: Decimal | None

    def __init__(
        self,
        *,
        usd: Decimal | str | float,
        ask_above: Decimal | str | float | None = None,
    ) -> None:
        above = None if ask_above is None else amount(ask_above, "The amount to ask above")
        object.__setattr__(self, "usd", amount(usd))
        object.__setattr__(self, "ask_above", above)

    @classmethod
    def from_environment(cls) -> Budget | None:
        """Return the budget that the environment sets; None if it sets none.

        ``AGENTCELL_BUDGET`` is an amount, or ``off``; ``AGENTCELL_ASK_ABOVE`` an amount.

        Raises
        ------
        PriceError
            If one is anything else.
        """
        usd = os.environ.get(VARIABLE, "").strip()
        above = os.environ.get(ABOVE_VARIABLE, "").strip()
        if not usd or usd.casefold() == "off":
            return None
        return cls(
            usd=amount(usd, f"The environment variable {VARIABLE}"),
            ask_above=amount(above, f"The environment variable {ABOVE_VARIABLE}")
            if above
            else None,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_made, (self.usd, self.ask_above))

    @property
    def threshold(self) -> Decimal:
        """A question that is expected to cost more is asked about."""
        return self.usd * _USUAL_SHARE if self.ask_above is None else self.ask_above

    def __str__(self) -> str:
        return f"{dollars(self.usd)}, questions above {dollars(self.threshold)} are asked about"


def _made(usd: Decimal, ask_above: Decimal | None) -> Budget:
    return Budget(usd=usd, ask_above=ask_above)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What asking will cost, as far as that can be known before.

    Parameters
    ----------
    is_free
        Whether it costs nothing for certain.
    cost
        None where it is free, or the price is not known.
    """

    is_free: bool = False
    cost: CostEstimate | None = None

    def __str__(self) -> str:
        if self.is_free:
            return "free"
        return "cost unknown" if self.cost is None else str(self.cost)


def foreseen(
    model: Model,
    messages: list[Message],
    tools: Sequence[Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Foreseen:
    """Return what asking `model` will cost. Nothing is sent.

    Parameters
    ----------
    model, messages, tools, settings
        See `Model.invoke`.

    Raises
    ------
    PriceError
        If the file that ``AGENTCELL_PRICES`` names cannot be read.
    """
    price_of(model)  # says so here if the file of prices is broken; `cost` would not
    much = cost(model, _MANY)
    if much is None:
        return Foreseen()
    if not much.total:
        return Foreseen(is_free=True)
    return Foreseen(cost=estimate_cost(messages, model, tools=tools, settings=settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class CostQuestion:
    """What a person is asked before a question goes out.

    Parameters
    ----------
    why
        ``unknown``: nobody knows the price; ``threshold``: it is expected to cost more than
        questions may that are not asked about; ``cap``: it could pass the budget.
    spent
        US dollars until now, with what is expected of questions that are on their way.
    """

    model: str
    why: Literal["unknown", "threshold", "cap"]
    budget: Budget
    spent: Decimal
    foreseen: Foreseen

    @property
    def left(self) -> Decimal:
        """US dollars that may still be spent."""
        return max(Decimal(0), self.budget.usd - self.spent)

    def __str__(self) -> str:
        left = f"{dollars(self.left)} of {dollars(self.budget.usd)} left"
        if self.why == "unknown":
            return f"what {self.model} costs is not known, with {left}"
        about = f"it costs {self.foreseen}, with {left}"
        return f"{about}, which it could pass" if self.why == "cap" else about

    def refusal(self, reason: str = "") -> BudgetExceeded:
        """Return the error of a question that may not go out unasked.

        Parameters
        ----------
        reason
            Why nobody can be asked.
        """
        because = f" ({reason})" if reason else ""
        fix = {
            "unknown": "say what it costs with set_price(…) or AGENTCELL_PRICES, or turn the budget"
            " off with %agent budget off.",
            "threshold": "ask in a cell where you can answer, or allow it with"
            f" %agent budget {plain_amount(self.budget.usd)} usd --ask-above {self._above()}.",
            "cap": "allow less with --max-tokens, or raise the budget, for example"
            f" %agent budget {self._enough()} usd.",
        }[self.why]
        return self._error(f"Nothing was sent: {self}{because}.", fix)

    def exceeded(self, *, during: bool = False) -> BudgetExceeded:
        """Return the error of a question that would pass the budget.

        Parameters
        ----------
        during
            Whether it has begun, and goes on after calls of tools.
        """
        what = "The answer was stopped after its tools ran" if during else "Nothing was sent"
        cost_ = self.foreseen.cost
        more = f" and this costs about {dollars(cost_.expected.total)} more" if cost_ else ""
        return self._error(
            f"{what}: of the budget of {dollars(self.budget.usd)}, {dollars(self.spent)} are spent"
            f" or on their way{more}.",
            f"raise it, for example %agent budget {self._enough()} usd, or ask a free model"
            " (-m local).",
        )

    def _error(self, problem: str, fix: str) -> BudgetExceeded:
        expected = self.foreseen.cost.expected.total if self.foreseen.cost else None
        return BudgetExceeded(
            problem, fix=fix, usd=self.budget.usd, spent=self.spent, expected=expected
        )

    def _enough(self) -> str:
        """Return a budget that this fits in, to the next cent."""
        cost_ = self.foreseen.cost
        high = cost_.high.total if cost_ else _LEAST  # with no more than is spent, nothing goes
        return plain_amount(next_cent(max(self.spent + high, self.budget.usd)))

    def _above(self) -> str:
        expected = self.foreseen.cost.expected.total if self.foreseen.cost else Decimal(0)
        return plain_amount(next_cent(expected))


def question(
    model: str, budget: Budget, spent: Decimal, coming: Foreseen, *, during: bool = False
) -> CostQuestion | None:
    """Return what the person is to be asked; None where the question may go out.

    Parameters
    ----------
    model
        Its name.
    spent
        US dollars until now, with what is expected of questions that are on their way.
    during
        Whether this is a further round of a question that was let go.

    Raises
    ------
    BudgetExceeded
        If it would pass the budget.
    """
    if coming.is_free:
        return None

    def asked(why: Literal["unknown", "threshold", "cap"]) -> CostQuestion:
        return CostQuestion(model=model, why=why, budget=budget, spent=spent, foreseen=coming)

    left = budget.usd - spent
    if left <= 0:
        raise asked("cap").exceeded(during=during)
    if coming.cost is None:
        return None if during else asked("unknown")
    if coming.cost.expected.total > left:
        raise asked("cap").exceeded(during=during)
    if during:
        return None
    if coming.cost.high.total > left:
        return asked("cap")
    return asked("threshold") if coming.cost.expected.total > budget.threshold else None
