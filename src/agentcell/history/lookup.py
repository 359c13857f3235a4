"""What a person calls a turn → the turns of that name; and those that are no longer in force."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentcell.history.notebook import NotebookHistory
from agentcell.history.rows import END, last_rows, stale_flags
from agentcell.history.schema import IN_FORCE, UNDONE
from agentcell.history.store import TurnStore
from agentcell.history.turns import Turn

SHORTEST_ID = 4
"""Characters that the beginning of an id must have, to be taken for one."""

_MOST_FOUND = 8

_OWN = "conversation IN (SELECT id FROM conversation WHERE notebook = ? AND run IN ('', ?))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One turn, and where it is.

    Parameters
    ----------
    conversation
        The name.
    number
        Its place in the conversation, counted from 1; 0 if it is not in force.
    is_undone
        Whether it was taken back; one that is not in force otherwise was replaced.
    """

    turn: Turn
    conversation: str
    number: int = 0
    is_undone: bool = False


def numbered(history: NotebookHistory, name: str, *, last: int) -> list[Found]:
    """Return a conversation's last turns with their numbers, oldest first.

    Parameters
    ----------
    history
        The notebook's.
    name
        Of the conversation.
    last
        How many, from the end.
    """
    turns = history.turns(name, last=last)
    first = history.count(name) - len(turns) + 1
    return [
        Found(turn=turn, conversation=name, number=number)
        for number, turn in enumerate(turns, start=first)
    ]


def stale_ones(history: NotebookHistory, name: str, *, last: int) -> dict[str, bool]:
    """Return which of a conversation's last turns are stale, by their ids; none is read whole.

    Parameters
    ----------
    history
        The notebook's.
    name
        Of the conversation.
    last
        How many, from the end.
    """

    def find(store: TurnStore) -> dict[str, bool]:
        ids = store.ids.conversations(name)
        rows = last_rows(store.database, ids, (0, 0), END, last)
        flags = stale_flags(store.database, ids, rows)
        return {row.id: flag for row, flag in zip(rows, flags, strict=True)}

    return history.work(find)


def at_number(history: NotebookHistory, name: str, number: int) -> Found | None:
    """Return the turn of that number in a conversation; None if there is none.

    Parameters
    ----------
    history
        The notebook's.
    name
        Of the conversation.
    number
        Counted from 1.
    """
    back = history.count(name) - number + 1
    if number < 1 or back < 1:
        return None

    def find(store: TurnStore) -> Turn:
        ids = store.ids.conversations(name)
        row = last_rows(store.database, ids, (0, 0), END, back)[0]
        (stale,) = stale_flags(store.database, ids, [row])
        return replace(store.bodies.load([row.number])[0], stale=stale)

    return Found(turn=history.work(find), conversation=name, number=number)


def by_id(history: NotebookHistory, beginning: str) -> list[Found]:
    """Return the turns whose ids begin so, in force or not; at most eight.

    Parameters
    ----------
    history
        The notebook's.
    beginning
        At least `SHORTEST_ID` characters.
    """
    if len(beginning) < SHORTEST_ID:
        return []

    def find(store: TurnStore) -> list[Found]:
        return _found(
            store,
            "substr(t.id, 1, ?) = ? AND t.id BETWEEN ? AND ? ORDER BY t.seq LIMIT ?",
            *(len(beginning), beginning, beginning, beginning + "\U0010ffff", _MOST_FOUND),
        )

    return history.work(find)


def in_place_of(history: NotebookHistory, turn: Turn) -> Turn | None:
    """Return the turn that is in force where `turn` stood; None if there is none.

    Parameters
    ----------
    history
        The notebook's.
    turn
        No longer in force itself.
    """
    if turn.cell_id is None:
        return None

    def find(store: TurnStore) -> list[Found]:
        condition = f"t.cell = ? AND t.part = ? AND t.state = {IN_FORCE} LIMIT 1"
        return _found(store, condition, turn.cell_id, turn.part)

    found = history.work(find)
    return found[0].turn if found else None


def gone(history: NotebookHistory, name: str, *, last: int) -> list[Found]:
    """Return what is no longer in force of a conversation: the last turns, oldest first.

    Parameters
    ----------
    history
        The notebook's.
    name
        Of the conversation.
    last
        How many, from the end.
    """

    def find(store: TurnStore) -> list[Found]:
        condition = f"t.state <> {IN_FORCE} AND c.name = ? ORDER BY t.seq DESC LIMIT ?"
        return _found(store, condition, name, last)[::-1]

    return history.work(find)


def names_of_gone(history: NotebookHistory) -> list[str]:
    """Return the names of the conversations of which a turn is no longer in force.

    Parameters
    ----------
    history
        The notebook's.
    """

    def find(store: TurnStore) -> list[str]:
        rows = store.database.read(
            f"SELECT DISTINCT c.name FROM turn t JOIN conversation c ON c.id = t.conversation"
            f" WHERE t.{_OWN} AND t.state <> {IN_FORCE} ORDER BY c.id",
            *(store.ids.notebook(), store.run),
        )
        return [name for (name,) in rows]

    return history.work(find)


def is_known(history: NotebookHistory) -> bool:
    """Whether turns of this notebook were ever kept here, be they forgotten since.

    Parameters
    ----------
    history
        The notebook's.
    """
    return history.work(lambda store: bool(store.ids.notebook()))


def _found(store: TurnStore, condition: str, *values: object) -> list[Found]:
    rows = store.database.read(
        "SELECT t.seq, t.state, c.name FROM turn t JOIN conversation c ON c.id = t.conversation"
        f" WHERE t.{_OWN} AND {condition}",
        *(store.ids.notebook(), store.run, *values),
    )
    turns = store.bodies.load([number for number, _, _ in rows])
    return [
        Found(turn=turn, conversation=name, is_undone=state == UNDONE)
        for turn, (_, state, name) in zip(turns, rows, strict=True)
    ]
