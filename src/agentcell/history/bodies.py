"""Turns by their numbers: as JSON in a database's table, or as the objects that they are."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol

from agentcell.history.database import Database
from agentcell.history.kept_assets import KeptAssets
from agentcell.history.turn_json import turn_from_json, turn_from_record, turn_to_json
from agentcell.history.turns import Turn

_MOST_ASKED = 500
"""Turns that one statement reads."""

_MOST_LOADED = 256
"""Turns that stay loaded: those which the next request carries need not be read again."""


class Bodies(Protocol):
    """Keeps turns whole. A turn of a number never changes."""

    def keep(self, number: int, turn: Turn) -> None:
        """Keep a turn, in the transaction of whoever calls."""

    def remember(self, number: int, turn: Turn) -> None:
        """Have a turn at hand that was kept: the transaction is over."""

    def load(self, numbers: Sequence[int]) -> list[Turn]:
        """Return turns."""

    def drop(self, number: int) -> None:
        """Forget a turn."""


class ObjectBodies:
    """Turns in memory."""

    def __init__(self) -> None:
        self._turns: dict[int, Turn] = {}

    def keep(self, number: int, turn: Turn) -> None:
        """Keep a turn, in the transaction of whoever calls."""
        self._turns[number] = turn

    def remember(self, number: int, turn: Turn) -> None:
        """Have a turn at hand that was kept: the transaction is over."""

    def load(self, numbers: Sequence[int]) -> list[Turn]:
        """Return turns."""
        return [self._turns[number] for number in numbers]

    def drop(self, number: int) -> None:
        """Forget a turn."""
        self._turns.pop(number, None)


class JsonBodies:
    """Turns in the table ``body``.

    Parameters
    ----------
    missing
        Is told of attachments whose content is gone.
    """

    def __init__(
        self, database: Database, assets: KeptAssets, missing: Callable[[str], None]
    ) -> None:
        self._database = database
        self._assets = assets
        self._missing = missing
        self._loaded: OrderedDict[int, Turn] = OrderedDict()

    def keep(self, number: int, turn: Turn) -> None:
        """Keep a turn, in the transaction of whoever calls."""
        text = turn_to_json(turn, self._assets)
        self._database.write("INSERT INTO body VALUES (?, ?)", number, text)

    def load(self, numbers: Sequence[int]) -> list[Turn]:
        """Return turns; one that cannot be read says so, and is not sent again."""
        found = {number: self._loaded[number] for number in numbers if number in self._loaded}
        missing = [number for number in numbers if number not in found]
        for start in range(0, len(missing), _MOST_ASKED):
            some = missing[start : start + _MOST_ASKED]
            rows = self._database.read(
                f"SELECT turn, json FROM body WHERE turn IN ({', '.join('?' * len(some))})", *some
            )
            found |= zip((number for number, _ in rows), self._read(rows), strict=True)
        turns = [found.get(number) or _unreadable(number) for number in numbers]
        for number, turn in zip(numbers[-_MOST_LOADED:], turns[-_MOST_LOADED:], strict=True):
            self.remember(number, turn)
        return turns

    def _read(self, rows: list[tuple[int, str]]) -> list[Turn]:
        try:  # all at once, which takes less time
            records = json.loads(f"[{','.join([text for _, text in rows])}]")
            return [turn_from_record(one, self._assets, self._missing) for one in records]
        except (ValueError, RecursionError):
            return [self._read_one(number, text) for number, text in rows]

    def _read_one(self, number: int, text: str) -> Turn:
        try:
            return turn_from_json(text, self._assets, self._missing)
        except ValueError:
            return _unreadable(number)

    def drop(self, number: int) -> None:
        """Forget a turn."""
        self._database.write("DELETE FROM body WHERE turn = ?", number)
        self._loaded.pop(number, None)

    def remember(self, number: int, turn: Turn) -> None:
        """Have a turn at hand that was kept: the transaction is over."""
        self._loaded[number] = turn
        self._loaded.move_to_end(number)
        if len(self._loaded) > _MOST_LOADED:
            self._loaded.popitem(last=False)


def _unreadable(number: int) -> Turn:
    return Turn(
        id=f"unreadable-{number}",
        cell_id=None,
        messages=({"role": "user", "content": "(This turn cannot be read.)"},),
        status="failed",
        model="",
        error="The turn cannot be read: its record is damaged.",
    )
