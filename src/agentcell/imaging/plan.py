"""A wish, before it is sent → who makes it, for how much, and whether it may be paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.wish import GenerationWish

Confirm: TypeAlias = Callable[[Any], Any]
"""Asked about the cost; see `agentcell.budget.Confirm`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who makes a wish, and for how much.

    Parameters
    ----------
    backend
        Who makes it.
    wish
        With that backend's own name for the model.
    price
        US dollars; None where nobody knows.
    is_free
        Whether it costs nothing for certain.
    is_replayed
        Whether it comes from a recording, so that nobody is asked or paid.
    """

    backend: ImageBackend = field(repr=False)
    wish: GenerationWish
    price: Decimal | None
    is_free: bool
    is_replayed: bool = False

    @property
    def name(self) -> str:
        """``backend/model``, or ``backend``."""
        model = self.wish.model
        return f"{self.backend.name}/{model}" if model else self.backend.name


class Till(Protocol):
    """Lets what costs money go out, or not, and books it; the session's budget."""

    async def admit(self, job_id: str, plan: Plan, confirm: Confirm | None) -> None:
        """Let a job go out; `confirm` may be asked.

        Raises
        ------
        BudgetExceeded
            If it would pass the budget, or nobody can say whether it would.
        Stopped
            If the person says no.
        """

    def book(self, job_id: str, cost: Decimal | None) -> None:
        """Keep what a job cost; None: it cost something that nobody knows."""

    def drop(self, job_id: str) -> None:
        """Forget a job that costs nothing after all."""
