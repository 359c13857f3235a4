"""A notebook's turns → a long list that is read piece by piece, and searched without being kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from agentcell.history.conversation_ids import VISIBLE
from agentcell.history.notebook import NotebookHistory
from agentcell.history.rows import END, START, last_rows, stale_flags
from agentcell.history.schema import IN_FORCE, UNDONE
from agentcell.history.store import TurnStore
from agentcell.history.turns import Turn

State: TypeAlias = Literal["in force", "replaced", "taken back"]

_PIECE = 200
"""Turns that a search reads at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One turn of the list; what was said is not read for it.

    Parameters
    ----------
    seq
        Its number in the whole file; a later change has a larger one.
    id
        Its `Turn.id`.
    conversation
        The name.
    number
        Its place in the conversation, from 1; 0 if it is not in force.
    stale
        Whether a turn before it was asked again after it.
    """

    seq: int
    id: str
    conversation: str
    number: int
    stale: bool = False
    state: State = "in force"


def entries(
    history: NotebookHistory, *, conversation: str | None = None, gone: bool = False
) -> list[Entry]:
    """Return all turns, the last first: as they came, or in the order of one conversation.

    Parameters
    ----------
    history
        The notebook's.
    conversation
        The name of one; None: all.
    gone
        Also those that were replaced or taken back.
    """

    def find(store: TurnStore) -> list[Entry]:
        names = store.names() if conversation is None else (conversation,)
        found = [entry for name in names for entry in _in_force(store, name)]
        if gone:
            found += _gone(store, conversation)
        if conversation is None or gone:
            found.sort(key=lambda one: one.seq, reverse=True)
        else:
            found.reverse()
        return found

    return history.work(find)


def turns_of(history: NotebookHistory, some: Sequence[Entry]) -> list[Turn | None]:
    """Return the turns of entries, in their order; None for one that is there no more.

    Parameters
    ----------
    history
        The notebook's.
    some
        As `entries` returned them.
    """

    def find(store: TurnStore) -> list[Turn | None]:
        marks = ", ".join("?" * len(some))
        rows = store.database.read(
            f"SELECT seq, id FROM turn WHERE seq IN ({marks})", *(one.seq for one in some)
        )
        ids = dict(rows)
        there = [one for one in some if ids.get(one.seq) == one.id]
        turns = store.bodies.load([one.seq for one in there])
        known = {
            (one.seq, one.id): replace(turn, stale=one.stale)
            for one, turn in zip(there, turns, strict=True)
        }
        return [known.get((one.seq, one.id)) for one in some]

    return history.work(find) if some else []


def search(
    history: NotebookHistory,
    some: Sequence[Entry],
    text: str,
    *,
    goes_on: Callable[[], bool] = lambda: True,
) -> list[Entry]:
    """Return the entries whose question, answer, model or tags hold every word of a text.

    Parameters
    ----------
    history
        The notebook's.
    some
        Those that are looked through.
    text
        Words between blanks; capitals do not count.
    goes_on
        Asked now and then: False ends the search with what was found.
    """
    words = text.casefold().split()
    if not words:
        return list(some)
    found: list[Entry] = []
    for piece in _pieces(some):
        if not goes_on():
            break
        for entry, turn in zip(piece, turns_of(history, piece), strict=True):
            if turn is not None:
                said = _said(turn)
                if all(word in said for word in words):
                    found.append(entry)
    return found


def _said(turn: Turn) -> str:
    tags = " ".join(block.tag for block in turn.attachments)
    return f"{turn.question}\n{turn.answer}\n{turn.model}\n{tags}".casefold()


def _pieces(some: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    for start in range(0, len(some), _PIECE):
        yield some[start : start + _PIECE]


def _in_force(store: TurnStore, name: str) -> Iterator[Entry]:
    ids = store.ids.conversations(name)
    rows = last_rows(store.database, ids, START, END, -1)
    flags = stale_flags(store.database, ids, rows)
    for number, (row, stale) in enumerate(zip(rows, flags, strict=True), start=1):
        yield Entry(seq=row.number, id=row.id, conversation=name, number=number, stale=stale)


def _gone(store: TurnStore, name: str | None) -> Iterator[Entry]:
    rows = store.database.read(
        "SELECT t.seq, t.id, t.state, c.name FROM turn t JOIN conversation c"
        f" ON c.id = t.conversation WHERE t.conversation IN ({VISIBLE}) AND t.state <> {IN_FORCE}"
        " AND (? IS NULL OR c.name = ?)",
        *(store.ids.notebook(), store.run, name, name),
    )
    for seq, turn, state, conversation in rows:
        was: State = "taken back" if state == UNDONE else "replaced"
        yield Entry(seq=seq, id=turn, conversation=conversation, number=0, state=was)
