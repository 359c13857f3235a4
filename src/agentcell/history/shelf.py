"""A notebook's folder → the store that its turns are in, whatever becomes of the disk.

The file is made with the first turn. In trouble a damaged file makes room for a new one, and all
else goes on in memory; either is told once.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from agentcell.errors import AgentcellError, HistoryError
from agentcell.history.attachment_table import clean
from agentcell.history.bodies import JsonBodies
from agentcell.history.database import Database, damaged
from agentcell.history.kept_assets import KeptAssets
from agentcell.history.renamed import find_former_name, set_aside_another_s
from agentcell.history.rescue import (
    Moved,
    is_damage,
    move_turns,
    read_only,
    reason,
    salvage,
    set_aside,
)
from agentcell.history.store import Change, TurnStore
from agentcell.history.turns import Turn

_T = TypeVar("_T")

FOLDER = ".agentcell"
DATABASE = "session.sqlite"

_MOST_RECENT = 50
"""Turns that are at hand while the file is in trouble: the last ones."""

_TROUBLE = (sqlite3.Error, OSError)


class _Unusable(HistoryError):
    """The file is fine, but not for this version."""


class Shelf:
    """Hands a store to work on to whoever asks. Safe to share between threads.

    Parameters
    ----------
    folder
        The notebook's own. None: turns are kept in memory.
    notebook, run, cells_last
        See `TurnStore`.
    tell
        Takes a sentence about trouble, for the person.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        notebook: str,
        run: str,
        tell: Callable[[str], None],
        cells_last: bool = True,
    ) -> None:
        self.folder = folder
        self._notebook = notebook
        self._run = run
        self._cells_last = cells_last
        self._tell = tell
        self._lock = threading.RLock()
        self._store: TurnStore | None = None
        self._blank: TurnStore | None = None
        self._to_tell: dict[str, None] = {}
        self._told: set[str] = set()
        self._recent: list[tuple[str, Turn]] = []
        self._again: list[tuple[str, Turn]] = []

    @property
    def home(self) -> Path | None:
        """Where the files are, or would be; None for memory."""
        return None if self.folder is None else self.folder / FOLDER

    def work(
        self, task: Callable[[TurnStore], _T], *, make: bool = False, quiet: bool = False
    ) -> _T:
        """Return what `task` makes of the store; in trouble it is called again with another one.

        Parameters
        ----------
        make
            Make the file, if there is none yet.
        quiet
            Leave it to the next task to tell of trouble: this one is part of something greater,
            and where warnings are errors the rest of it would not be done.
        """
        with self._lock:
            for attempt in range(3):
                try:
                    store = self._found(make=make)
                    while self._again:  # what trouble may have taken
                        store.put(*self._again[0])
                        del self._again[0]
                    done = task(store)
                    break
                except AgentcellError as error:
                    if not isinstance(error, _Unusable) or self.folder is None:
                        raise
                    self._help(error, self.folder / FOLDER)
                except Exception as error:
                    is_trouble = isinstance(error, _TROUBLE)
                    if self.folder is None or not (is_trouble or self._is_damaged()):
                        raise
                    cause = error if is_trouble else damaged()
                    self._help(cause, self.folder / FOLDER, in_place=attempt == 0)
            if quiet:
                return done
            texts, self._to_tell = list(self._to_tell), {}
        for text in texts:  # last: a warning may be an error here
            self._tell(text)
        return done

    def put(self, name: str, turn: Turn) -> Change:
        """Keep a turn, and have it at hand: a file may be damaged where it is written next.

        Parameters
        ----------
        name, turn
            See `TurnStore.put`.
        """
        with self._lock:
            self._recent = [one for one in self._recent if not _goes(one[1], turn)][-_MOST_RECENT:]
            self._recent.append((name, replace(turn, follows=0)))
        return self.work(lambda store: store.put(name, turn), make=True)

    def change(self, task: Callable[[TurnStore], _T]) -> _T:
        """Like `work`, where turns may go that were kept a moment ago.

        Parameters
        ----------
        task
            See `work`.
        """
        with self._lock:
            self._recent.clear()
            return self.work(task)

    def close(self) -> None:
        """Let go of the file; it is opened again when it is needed."""
        with self._lock:
            if self._store is not None and self.folder is not None:
                self._store.database.close()
                self._store = None

    def _found(self, *, make: bool) -> TurnStore:
        store = self._store
        if store is not None and store.database.is_in_place:
            return store
        if store is not None and not store.database.is_forked:
            raise Moved
        home = self.home
        if home is None:
            self._store = self._memory()
            return self._store
        if store is not None:
            store.database.leave()
        elif not make and not (home / DATABASE).exists():
            self._blank = self._blank or self._memory()
            return self._blank
        self._store = None
        self._store = self._opened(home)
        return self._store

    def _opened(self, home: Path) -> TurnStore:
        home.mkdir(parents=True, exist_ok=True)
        ignore = home / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        try:
            database = Database(home / DATABASE)
        except HistoryError as error:
            raise _Unusable(error.problem, fix=error.fix) from error
        if database.read("SELECT count(*) FROM counter WHERE value >= 0") != [(2,)]:
            database.close()
            raise damaged()
        store = self._store_of(database, KeptAssets(home / "assets"))
        with contextlib.suppress(*_TROUBLE):  # of no matter for the turns
            clean(store)
        find_former_name(store, home.parent)
        set_aside_another_s(store, home.parent)
        return store

    def _memory(self) -> TurnStore:
        return self._store_of(Database(None), KeptAssets(None))

    def _store_of(self, database: Database, assets: KeptAssets) -> TurnStore:
        return TurnStore(
            database,
            assets,
            notebook=self._notebook,
            run=self._run,
            missing=self._say,
            cells_last=self._cells_last,
        )

    def _say(self, text: str) -> None:
        """Tell something once, when the work is done."""
        if text not in self._told:
            self._told.add(text)
            self._to_tell[text] = None

    # -- trouble ----------------------------------------------------------------------------

    def _is_damaged(self) -> bool:
        """Whether the file's content is the cause of an error that is none of SQLite's."""
        store = self._store
        return (
            store is not None and store.database.file is not None and not store.database.is_sound()
        )

    def _help(self, error: Exception, home: Path, *, in_place: bool = False) -> None:
        """Have another store in the place of the one in trouble.

        Parameters
        ----------
        in_place
            Whether a new file may take the place of a damaged one; if that did not help, memory
            must.
        """
        self._again = list(self._recent)
        if in_place and is_damage(error):
            try:
                self._replace_damaged(home)
            except (*_TROUBLE, HistoryError) as another:
                error = another
            else:
                return
        former = self._store or self._readable(home)
        memory = self._memory()
        if former is not None:
            move_turns(former, memory)
        self._store, self.folder = memory, None
        if former is not None:
            former.database.close()
        self._say(
            f"The conversation is kept in memory only, until this kernel ends:"
            f" {reason(error, home)}."
        )

    def _replace_damaged(self, home: Path) -> None:
        file = home / DATABASE
        if self._store is not None:
            self._store.database.close()
            self._store = None
        with contextlib.suppress(*_TROUBLE):
            database = Database(file)
            if database.is_sound():  # another kernel was faster
                database.close()
                return
            database.close()
        aside = set_aside(file)
        fresh = Database(file)
        count = salvage(aside, fresh)
        fresh.close()
        turns = f"{count:,} turn{'' if count == 1 else 's'} could be read and"
        kept = f"{turns} went into a new file" if count else "a new file was begun"
        self._say(
            f"The history in '{home}' was damaged: {kept}; the damaged one is now '{aside.name}'."
        )

    def _readable(self, home: Path) -> TurnStore | None:
        """Return a store of what can be read where nothing can be written."""
        with contextlib.suppress(*_TROUBLE):
            database = read_only(home / DATABASE)
            if database is not None:
                assets = KeptAssets(home / "assets")
                store = self._store_of(database, assets)
                store.bodies = JsonBodies(database, assets, self._say)
                return store
        return None


def _goes(old: Turn, new: Turn) -> bool:
    """Whether a turn is replaced by another, or is the same one."""
    same_cell = old.cell_id is not None and old.cell_id == new.cell_id
    return old.id == new.id or (same_cell and new.part in (old.part, 1))
