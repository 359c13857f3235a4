"""Where turns stand in a conversation, and which of them are stale: questions to the database.

A conversation of a person's has up to two rows: one for the turns of cells, which outlive the
kernel, and one for turns without a cell, which belong to one life of the kernel. Its turns are
those of both, by place and part.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from agentcell.history.database import Database
from agentcell.history.schema import IN_FORCE

Spot: TypeAlias = tuple[int, int]
"""A place and a part."""

START: Spot = (0, 0)
END: Spot = (2**62, 0)

_BOUNDS = "conversation = ? AND state = 0 AND place BETWEEN ? AND ? AND (place, part) {} (?, ?)"


class Row(NamedTuple):
    """What the database says of a turn in force, but for the turn itself."""

    place: int
    part: int
    number: int
    id: str
    fresh: int
    asked: int
    changed: int
    again: int

    @property
    def spot(self) -> Spot:
        """Where it stands."""
        return (self.place, self.part)


_spot = itemgetter(0, 1)

_COLUMNS = "place, part, seq, id, fresh, asked, changed, again"


def last_rows(
    database: Database, ids: Sequence[int], start: Spot, end: Spot, most: int
) -> list[Row]:
    """Return the last turns from `start` on and before `end`, oldest first; `most` -1 is all."""
    found: list[Row] = []
    for one in ids:
        rows = database.read(
            f"SELECT {_COLUMNS} FROM turn INDEXED BY turn_order WHERE {_BOUNDS.format('<')}"
            " ORDER BY place DESC, part DESC LIMIT ?",
            *(one, start[0], end[0], *end, most),
        )
        found += map(Row._make, rows)
    found.sort(key=_spot)
    if start > START:
        found = [row for row in found if row.spot >= start]
    return found if most < 0 else found[max(0, len(found) - most) :]


def next_rows(database: Database, ids: Sequence[int], after: Spot, most: int) -> list[Row]:
    """Return the turns that follow `after`, up to the next fresh start, oldest first."""
    found: list[Row] = []
    for one in ids:
        rows = database.read(
            f"SELECT {_COLUMNS} FROM turn INDEXED BY turn_order WHERE {_BOUNDS.format('>')}"
            " ORDER BY place, part LIMIT ?",
            *(one, after[0], END[0], *after, most),
        )
        found += map(Row._make, rows)
    found.sort(key=_spot)
    ends = [at for at, row in enumerate(found) if row.fresh]
    return found[: ends[0] if ends else most][:most]


def fresh_start(database: Database, ids: Sequence[int], end: Spot) -> Spot:
    """Return where the last fresh start before `end` is."""
    return max(_last(database, ids, "fresh", START, end), default=(START, None))[0]


def last_given(
    database: Database, ids: Sequence[int], column: str, start: Spot, end: Spot
) -> tuple[int, Any] | None:
    """Return the last turn from `start` on and before `end` that gave something, and what.

    Parameters
    ----------
    column
        ``system`` or ``skills``.
    """
    spot, found = max(_last(database, ids, column, start, end), default=(start, None))
    return found if spot >= start else None


def stale_flags(database: Database, ids: Sequence[int], rows: Sequence[Row]) -> list[bool]:
    """Return for each of a conversation's turns whether one before it was asked again after it.

    Parameters
    ----------
    rows
        Turns that follow each other, oldest first.
    """
    flags: list[bool] = []
    highest = _highest_before(database, ids, rows[0]) if rows else 0
    for row in rows:
        if row.fresh:
            highest = 0
        flags.append(row.asked < highest)
        if row.again:
            highest = max(highest, row.changed)
    return flags


def _last(
    database: Database, ids: Sequence[int], column: str, start: Spot, end: Spot
) -> list[tuple[Spot, tuple[int, Any]]]:
    given = "fresh = 1" if column == "fresh" else f"{column} IS NOT NULL"  # as the indexes say it
    found: list[tuple[Spot, tuple[int, Any]]] = []
    for one in ids:
        rows = database.read(
            f"SELECT place, part, seq, {column} FROM turn INDEXED BY turn_{column}"
            f" WHERE {_BOUNDS.format('<')} AND {given} ORDER BY place DESC, part DESC LIMIT 1",
            *(one, start[0], end[0], *end),
        )
        found += [((place, part), (number, value)) for place, part, number, value in rows]
    return found


def _highest_before(database: Database, ids: Sequence[int], row: Row) -> int:
    """Return the last change among the turns that `row` follows and that came after others."""
    if row.fresh:
        return 0
    start = fresh_start(database, ids, row.spot)
    highest = 0
    for one in ids:
        rows = database.read(
            "SELECT changed FROM turn INDEXED BY turn_again"
            " WHERE conversation = ? AND state = 0 AND again = 1 AND changed > ?"
            " AND (place, part) < (?, ?) AND (place, part) >= (?, ?)"
            " ORDER BY changed DESC LIMIT 1",
            *(one, highest, *row.spot, *start),
        )
        highest = rows[0][0] if rows else highest
    return highest


assert IN_FORCE == 0  # noqa: S101 (the statements above, and the indexes, say 0)
