"""What turns cost ↔ a table beside them, which an undo, a reset or a deleted turn leaves alone."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from agentcell.adapters.price_table import shown
from agentcell.history.notebook import NotebookHistory
from agentcell.history.store import TurnStore

_PICO = Decimal("1e12")
_MOST_PICO = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a notebook's turns cost.

    Parameters
    ----------
    usd
        US dollars, as far as that is known.
    unknown
        How many turns cost something besides that is not known.
    """

    usd: Decimal = Decimal(0)
    unknown: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(usd=self.usd + other.usd, unknown=self.unknown + other.unknown)

    def __str__(self) -> str:
        turns = f"{self.unknown:,} turn{'' if self.unknown == 1 else 's'} of unknown cost"
        if not self.unknown:
            return shown(self.usd)
        return f"at least {shown(self.usd)} ({turns})" if self.usd else f"unknown ({turns})"


def put_spent(history: NotebookHistory, turn_id: str, cost: Spent) -> None:
    """Keep what a turn cost; a second time for the same turn takes the first one's place.

    Parameters
    ----------
    history
        The notebook's.
    turn_id
        See `Turn.id`.
    cost
        Of this turn alone.
    """
    pico = min(int(cost.usd * _PICO), _MOST_PICO)

    def task(store: TurnStore) -> None:
        with store.changing():
            store.database.write(
                "INSERT OR REPLACE INTO spent VALUES (?, ?, ?, ?)",
                *(store.ids.notebook(make=True), turn_id, pico, int(not cost.unknown)),
            )

    history.work(task, make=True, quiet=True)  # the turn itself comes next


def total_spent(history: NotebookHistory) -> Spent:
    """Return what all turns of the notebook cost, those of earlier lives of the kernel too.

    Parameters
    ----------
    history
        The notebook's.
    """

    def task(store: TurnStore) -> Spent:
        # Two whole numbers for each sum: one alone might be too large for the database.
        billion = 1_000_000_000
        ((high, low, unknown),) = store.database.read(
            f"SELECT sum(pico / {billion}), sum(pico % {billion}), sum(known = 0)"
            " FROM spent WHERE notebook = ?",
            store.ids.notebook(),
        )
        pico = (high or 0) * billion + (low or 0)
        return Spent(usd=Decimal(pico) / _PICO, unknown=unknown or 0)

    return history.work(task)
