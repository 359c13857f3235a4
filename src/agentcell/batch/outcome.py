"""What became of a row of a batch, and what is still to be done with one."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agentcell.adapters.rate_limits import Place
from agentcell.batch.work import Asked, Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A row that came to its end.

    Parameters
    ----------
    index
        Which row, counted from 0.
    row
        As it was given; None once there is an answer.
    value, error
        Its answer, or why there is none.
    calls
        Every call of the model for it.
    is_from_journal
        Whether nobody was asked: it was finished in an earlier run.
    is_cut
        Whether the answer stops at the limit of its tokens.
    """

    index: int
    row: Any = field(default=None, repr=False)
    value: Any = field(default=None, repr=False)
    error: Exception | None = None
    calls: tuple[Call, ...] = ()
    is_from_journal: bool = False
    is_cut: bool = False


@dataclass(slots=True, eq=False)
class Item:
    """A row on its way through a batch."""

    index: int
    row: Any
    key: str = ""
    asked: Asked | None = None
    expected: Decimal | None = None
    """What was put aside for it, of a budget."""
    calls: tuple[Call, ...] = ()
    """Of earlier attempts."""
    attempts: int = 0
    """How often it failed for what may pass."""
    losses: int = 0
    """How often the worker that had it was lost."""
    place: Place | None = None
