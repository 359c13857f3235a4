"""Turns of one notebook ↔ the tables of a database; every change is one transaction."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from agentcell.adapters.events import Usage
from agentcell.history.bodies import Bodies, JsonBodies, ObjectBodies
from agentcell.history.conversation_ids import VISIBLE, ConversationIds
from agentcell.history.database import Database, damaged
from agentcell.history.kept_assets import KeptAssets
from agentcell.history.past import MOST_TURNS, Past, first_to_go
from agentcell.history.records import Missing, block_record
from agentcell.history.rows import (
    END,
    START,
    Spot,
    fresh_start,
    last_given,
    last_rows,
    next_rows,
    stale_flags,
)
from agentcell.history.schema import REPLACED
from agentcell.history.turn_json import as_json, known, usage_record
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock, media_blocks

MOST_MARKS = 1_000
"""As many later turns a change tells of: the next ones."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a change did.

    Parameters
    ----------
    turn
        The turn that came, went or came back; None if nothing was to be done.
    conversation
        The name of its conversation.
    stale
        The turns whose mark may be another now, by their ids: whether they are stale. No more
        than the next 1,000.
    """

    turn: Turn | None = None
    conversation: str = ""
    stale: Mapping[str, bool] = field(default_factory=dict)


class TurnStore:
    """One notebook's turns, for one life of its kernel. Safe to share between threads.

    Parameters
    ----------
    database
        Several notebooks may share it.
    assets
        Keeps the attachments.
    notebook
        The name of the notebook's file.
    run
        The name of this life of the kernel, to which turns without a cell belong.
    missing
        Is told of attachments whose content is gone.
    cells_last
        Whether cells have the same ids in every life of the kernel.
    """

    def __init__(  # noqa: PLR0913 (each is a fact of its own)
        self,
        database: Database,
        assets: KeptAssets,
        *,
        notebook: str,
        run: str,
        missing: Missing,
        cells_last: bool = True,
    ) -> None:
        self.database = database
        self.assets = assets
        self.notebook = notebook
        self.run = run
        self.ids = ConversationIds(database, notebook=notebook, run=run, cells_last=cells_last)
        self.bodies: Bodies = (
            ObjectBodies() if database.file is None else JsonBodies(database, assets, missing)
        )

    def __repr__(self) -> str:
        return f"TurnStore({self.notebook[-80:]!r}, {self.database!r})"

    # -- reading ----------------------------------------------------------------------------

    def past(
        self,
        name: str,
        cell_id: str | None,
        part: int = 1,
        *,
        most: int = MOST_TURNS,
        fresh: bool = False,
    ) -> Past:
        """Return what a question of this cell follows in a conversation.

        Parameters
        ----------
        name
            Of the conversation.
        cell_id, part
            Of the question; see `Turn`.
        most
            How many turns go out at most; 0 is all.
        fresh
            The question begins the conversation anew.
        """
        if fresh:
            return Past(follows=self._count())
        ids = self.ids.conversations(name)
        place = self._place(self.ids.conversation(name, cell_id), cell_id)
        end = END if place is None else (place, part)
        start = fresh_start(self.database, ids, end)
        rows = last_rows(self.database, ids, start, end, most + 1 if most > 0 else -1)
        first = first_to_go([row.place for row in rows], most) if most > 0 else 0
        system = last_given(self.database, ids, "system", start, end)
        taught = last_given(self.database, ids, "skills", start, end)
        return Past(
            turns=tuple(self.bodies.load([row.number for row in rows[first:]])),
            system=None if system is None else system[1],
            skills=(self.bodies.load([taught[0]])[0].skills or ()) if taught else (),
            is_cut=first > 0,
            follows=self._count(),
        )

    def turns(self, name: str, *, last: int = 0) -> list[Turn]:
        """Return a conversation's turns, oldest first, each with its mark.

        Parameters
        ----------
        last
            How many, from the end; 0 is all.
        """
        ids = self.ids.conversations(name)
        rows = last_rows(self.database, ids, START, END, last or -1)
        flags = stale_flags(self.database, ids, rows)
        turns = self.bodies.load([row.number for row in rows])
        return [
            replace(turn, stale=True) if stale else turn
            for turn, stale in zip(turns, flags, strict=True)
        ]

    def stale(self, name: str) -> list[str]:
        """Return the ids of a conversation's stale turns, oldest first."""
        ids = self.ids.conversations(name)
        rows = last_rows(self.database, ids, START, END, -1)
        flags = stale_flags(self.database, ids, rows)
        return [row.id for row, flag in zip(rows, flags, strict=True) if flag]

    def count(self, name: str) -> int:
        """Return how many turns a conversation has."""
        counted = "SELECT count(*) FROM turn WHERE conversation = ? AND state = 0"
        return sum(self.database.read(counted, one)[0][0] for one in self.ids.conversations(name))

    def names(self) -> tuple[str, ...]:
        """Return the names of the conversations with turns, by their first turns."""
        rows = self.database.read(
            "SELECT name, (SELECT min(place) FROM turn WHERE conversation = c.id AND state = 0)"
            " AS first FROM conversation c"
            " WHERE notebook = ? AND run IN ('', ?) AND first IS NOT NULL ORDER BY first",
            *(self.ids.notebook(), self.run),
        )
        return tuple(dict.fromkeys(name for name, _ in rows))

    def find(self, turn_id: str) -> Turn | None:
        """Return the turn of that id, if it is in force."""
        rows = self._numbered(turn_id, "AND state = 0")
        return self.bodies.load(rows)[0] if rows else None

    def usages(self, *, replaced: bool = False) -> list[tuple[str, Usage]]:
        """Return model and tokens of each turn for which a provider told them.

        Parameters
        ----------
        replaced
            Also of turns that are no longer in force: they were paid for.
        """
        condition = "" if replaced else "AND state = 0"
        rows = self.database.read(
            "SELECT model, usage FROM turn WHERE usage IS NOT NULL"
            f" AND conversation IN ({VISIBLE}) {condition}",
            *(self.ids.notebook(), self.run),
        )
        return [(model, known(Usage, json.loads(usage))) for model, usage in rows]

    # -- writing ----------------------------------------------------------------------------

    def put(self, name: str, turn: Turn) -> Change:
        """Add a turn, in place of what its cell asked before; a second time does nothing.

        With a cell's first question the cell runs anew: its further ones go as well. What is
        replaced stays in the database.
        """
        turn = turn if turn.at else replace(turn, at=time.time())
        blocks = {block.fingerprint: block for block in media_blocks(turn.messages)}
        skills = tuple(media_blocks([{"content": list(turn.skills or ())}]))
        for block in (*blocks.values(), *skills):  # outside the transaction: it may take long
            self.assets.put(block.asset)
        with self.changing():
            if self._numbered(turn.id):
                return Change()
            number = self.next_change()
            conversation = self.ids.conversation(name, turn.cell_id, make=True)
            place = self._place(conversation, turn.cell_id) or number
            if turn.cell_id is not None:
                self._replace(turn, number)
            self._insert(turn, conversation, number, place)
            self.bodies.keep(number, turn)
            self._attach(turn, number, blocks, [block.fingerprint for block in skills])
            if self._numbered(turn.id, "AND state = 0") != [number]:
                raise damaged()  # an index is, which SQLite tells nobody
        self.bodies.remember(number, turn)
        spot = (place, turn.part)
        return Change(turn, name, {} if place == number else self.marks(name, spot))

    def marks(self, name: str, after: Spot) -> dict[str, bool]:
        """Return which of the turns after a place are stale, by their ids."""
        ids = self.ids.conversations(name)
        rows = next_rows(self.database, ids, after, MOST_MARKS)
        flags = stale_flags(self.database, ids, rows)
        return {row.id: flag for row, flag in zip(rows, flags, strict=True)}

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Let all that is done within be one change of the database."""
        try:
            with self.database.transaction():
                yield
        except BaseException:
            self.ids.forget()
            raise

    def next_change(self) -> int:
        """Return the number of a change that begins."""
        self.database.write("UPDATE counter SET value = value + 1 WHERE name = 'changes'")
        return self._count()

    # -- one turn ---------------------------------------------------------------------------

    def _count(self) -> int:
        return int(self.database.read("SELECT value FROM counter WHERE name = 'changes'")[0][0])

    def _place(self, conversation: int, cell_id: str | None) -> int | None:
        """Return the place of a cell, which it keeps also while it has no turn in force."""
        if cell_id is None:
            return None
        rows = self.database.read(
            "SELECT place FROM turn WHERE cell = ? AND conversation = ? LIMIT 1",
            *(cell_id, conversation),
        )
        return rows[0][0] if rows else None

    def _numbered(self, turn_id: str, condition: str = "") -> list[int]:
        rows = self.database.read(
            f"SELECT seq FROM turn WHERE id = ? AND conversation IN ({VISIBLE}) {condition}",
            *(turn_id, self.ids.notebook(), self.run),
        )
        return [number for (number,) in rows]

    def _replace(self, turn: Turn, number: int) -> None:
        self.database.write(
            f"UPDATE turn SET state = {REPLACED}, replaced_by = ? WHERE cell = ?"
            f" AND conversation IN ({VISIBLE}) AND state = 0 AND (part = ? OR ? = 1)",
            *(number, turn.cell_id, self.ids.notebook(), self.run, turn.part, turn.part),
        )

    def _insert(self, turn: Turn, conversation: int, number: int, place: int) -> None:
        usage = None if turn.usage is None else as_json(usage_record(turn.usage))
        self.database.write(
            "INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?, 0, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(number, conversation, turn.id, turn.cell_id, place, turn.part),
            *(turn.follows or number, number, int(place != number)),
            *(turn.at, turn.status, int(turn.fresh), turn.system),
            *(None if turn.skills is None else 1, turn.model, usage),
        )

    def _attach(
        self,
        turn: Turn,
        number: int,
        blocks: Mapping[str, MediaMessageBlock],
        others: Iterable[str],
    ) -> None:
        run = self.ids.run_of(turn.cell_id)
        forms = turn.forms if turn.is_sent_again else {}
        for fingerprint in dict.fromkeys((*blocks, *turn.forms, *others)):
            form = forms.get(fingerprint)
            self.database.write(
                "INSERT INTO attached VALUES (?, ?, ?, ?)",
                *(number, fingerprint),
                *((form.detail, form.pdf_as) if form else (None, None)),
            )
        for fingerprint, block in blocks.items():
            self.assets.put(block.asset)  # a cleaning may have come between
            self.database.write(
                "INSERT OR IGNORE INTO attachment VALUES (?, ?, ?, ?, ?)",
                *(self.ids.notebook(), run, block.tag, fingerprint),
                as_json(block_record(block)),
            )
