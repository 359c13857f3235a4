"""The names of a notebook and its conversations → the numbers of their rows in the database."""

from __future__ import annotations

import time

from agentcell.history.database import Database

_COUNTED_CELL = "vscode-notebook-cell:"

VISIBLE = "SELECT id FROM conversation WHERE notebook = ? AND run IN ('', ?)"
"""The conversations of a notebook (its number) that one life of the kernel (its name) sees."""


class ConversationIds:
    """One notebook's numbers, for one life of its kernel; each is looked up once.

    Parameters
    ----------
    database
        Several notebooks may share it.
    notebook, run, cells_last
        See `TurnStore`.
    """

    def __init__(self, database: Database, *, notebook: str, run: str, cells_last: bool) -> None:
        self._database = database
        self._name = notebook
        self._run = run
        self._cells_last = cells_last
        self._notebook: int | None = None
        self._known: dict[tuple[str, str], int] = {}

    def notebook(self, *, make: bool = False) -> int:
        """Return the notebook's number; 0 if it has none yet and none is to be made."""
        if self._notebook is None:
            find = "SELECT id FROM notebook WHERE name = ?"
            rows = self._database.read(find, self._name)
            if not rows and make:
                self._database.write("INSERT INTO notebook (name) VALUES (?)", self._name)
                rows = self._database.read(find, self._name)
            self._notebook = rows[0][0] if rows else None
        return self._notebook or 0

    def conversations(self, name: str) -> list[int]:
        """Return the numbers of a conversation's rows."""
        found = (self._conversation(name, run, make=False) for run in ("", self._run))
        return [one for one in found if one]

    def conversation(self, name: str, cell_id: str | None, *, make: bool = False) -> int:
        """Return the number of the row for turns of that cell; 0 if there is none."""
        return self._conversation(name, self.run_of(cell_id), make=make)

    def run_of(self, cell_id: str | None) -> str:
        """Return the life of the kernel that a turn of that cell belongs to; "" for all of them.

        VS Code counts its cells anew each time it opens a notebook.
        """
        if cell_id is None or not self._cells_last or cell_id.startswith(_COUNTED_CELL):
            return self._run
        return ""

    def forget(self) -> None:
        """Look up all of them anew."""
        self._known.clear()
        self._notebook = None

    def _conversation(self, name: str, run: str, *, make: bool) -> int:
        known_id = self._known.get((name, run))
        if known_id:
            return known_id
        notebook = self.notebook(make=make)
        find = "SELECT id FROM conversation WHERE notebook = ? AND name = ? AND run = ?"
        rows = self._database.read(find, notebook, name, run)
        if not rows and make:
            self._database.write(
                "INSERT INTO conversation (notebook, name, run) VALUES (?, ?, ?)",
                *(notebook, name, run),
            )
            if run:
                self._database.write(
                    "INSERT OR IGNORE INTO run VALUES (?, ?, ?)", notebook, run, time.time()
                )
            rows = self._database.read(find, notebook, name, run)
        if not rows:
            return 0
        self._known[name, run] = found = int(rows[0][0])
        return found
