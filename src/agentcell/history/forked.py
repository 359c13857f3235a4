"""A conversation's turns, up to one of them → the same turns in a new conversation."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from decimal import Decimal

from agentcell.errors import HistoryError
from agentcell.history.conversation_ids import VISIBLE
from agentcell.history.notebook import NotebookHistory
from agentcell.history.panel_cells import new_panel_cell
from agentcell.history.store import TurnStore

_NUMBERED = re.compile(r"(.*?)-(\d{1,6})")


def fork(history: NotebookHistory, turn_id: str, *, before: bool = False, name: str = "") -> str:
    """Begin a conversation with copies of turns, and return its name.

    The copies cost nothing again, and stand for no cell: running one changes only the former.

    Parameters
    ----------
    history
        The notebook's.
    turn_id
        The last turn that is copied.
    before
        Copy only those before it.
    name
        Of the new conversation. Empty: the former's, with the next number.

    Raises
    ------
    HistoryError
        If there is no such turn, or a conversation of that name.
    """
    former = conversation_of(history, turn_id)
    if former is None:
        raise HistoryError(
            f"There is no turn {turn_id[:80]!r} in this notebook.",
            fix="see %agent history for what is there.",
        )
    taken = set(history.conversations)
    if name in taken:
        raise HistoryError(
            f"There is a conversation {name[:80]!r} already.", fix="choose another name."
        )
    name = name or next_name(former, taken)
    turns = history.turns(former)
    end = next(place for place, turn in enumerate(turns) if turn.id == turn_id)
    for turn in turns[: end if before else end + 1]:
        copy = replace(
            turn,
            id=uuid.uuid4().hex[:12],
            cell_id=new_panel_cell(),
            part=1,
            usage=None,
            cost=Decimal(0),
            follows=0,
            stale=False,
        )
        history.put(name, copy)
    return name


def conversation_of(history: NotebookHistory, turn_id: str) -> str | None:
    """Return the name of the conversation in which a turn is in force; None if it is in none.

    Parameters
    ----------
    history
        The notebook's.
    turn_id
        Its `Turn.id`.
    """

    def task(store: TurnStore) -> str | None:
        rows = store.database.read(
            "SELECT c.name FROM turn JOIN conversation c ON c.id = turn.conversation"
            f" WHERE turn.id = ? AND state = 0 AND conversation IN ({VISIBLE}) LIMIT 1",
            *(turn_id, store.ids.notebook(), store.run),
        )
        return str(rows[0][0]) if rows else None

    return history.work(task)


def next_name(name: str, taken: set[str]) -> str:
    """Return a conversation's name with the next number that is free: ``main-2``.

    Parameters
    ----------
    name
        What it is made of; a number at its end is counted on.
    taken
        The names that there are.
    """
    match = _NUMBERED.fullmatch(name)
    stem, number = (match[1], int(match[2])) if match else (name, 1)
    while True:
        number += 1
        if (found := f"{stem}-{number}") not in taken:
            return found
