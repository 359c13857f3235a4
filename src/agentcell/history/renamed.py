"""A notebook that a database does not know → the history that its cells have under another name.

Cells keep their ids when a notebook is renamed or copied. If the file of the former name is gone,
the history goes by the new name; if it is still there, the copy begins with a copy of it. A name
may also come again, with another notebook: then what the name stands for becomes a former life of
the kernel, which can be restored.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from agentcell.history.copying import copy_turn
from agentcell.history.database import Database
from agentcell.history.panel_cells import is_panel_cell
from agentcell.history.store import TurnStore

_WRITING = 5.0
"""Seconds that an answer may take to be in the file, and clocks may differ."""

_MOST_LOOKED_FOR = 50
"""As many cells, of the first and of the last, tell whether a notebook is the one that asked."""


def find_former_name(store: TurnStore, folder: Path) -> None:
    """Give a notebook without turns those that its cells asked under another name.

    Parameters
    ----------
    store
        Of the notebook.
    folder
        Where the notebooks are.
    """
    if store.ids.notebook():
        return
    others = store.database.read("SELECT id, name FROM notebook")
    ids = cell_ids(folder / store.notebook) if others else frozenset()
    if not ids:
        return
    with store.changing():
        if store.ids.notebook():
            return
        best, former = max((_shared(store.database, one, ids), one) for one, _ in others)
        if not best:
            return
        name = dict(others)[former]
        if (folder / name).exists():
            _copy(store, former, ids)
        else:
            statement = "UPDATE notebook SET name = ? WHERE id = ?"
            store.database.write(statement, store.notebook, former)


def set_aside_another_s(store: TurnStore, folder: Path) -> None:
    """Make the turns of cells a former life's, if none of the cells is in the notebook's file.

    So it is with a new notebook under the name of one that was deleted; and with one of an old
    format, whose cells get other ids each time it is opened. Cells that asked after the file was
    written last are not looked for: they may not be saved yet.
    """
    file = folder / store.notebook
    try:
        cells = _asking_cells(store, file.stat().st_mtime - _WRITING)
        content = file.read_bytes() if cells else b""
    except OSError:
        return
    if not cells or any(cell.encode() in content for cell in cells):
        return
    run, notebook = uuid.uuid4().hex, store.ids.notebook()
    with store.changing():
        write = store.database.write
        began = store.database.read(
            "SELECT min(ended) FROM turn JOIN conversation c ON c.id = conversation"
            " WHERE c.notebook = ? AND c.run = ''",
            notebook,
        )[0][0]
        write("INSERT INTO run VALUES (?, ?, ?)", notebook, run, began)
        for table in ("conversation", "attachment"):
            write(f"UPDATE {table} SET run = ? WHERE notebook = ? AND run = ''", run, notebook)
    store.ids.forget()


def _asking_cells(store: TurnStore, until: float) -> list[str]:
    """Return some of the cells whose turns are in force, and ended before a time."""
    found: list[str] = []
    rows = store.database.read(
        "SELECT id FROM conversation WHERE notebook = ? AND run = ''", store.ids.notebook()
    )
    for (conversation,) in rows:
        for order in ("", "DESC"):
            cells = store.database.read(
                "SELECT cell, ended FROM turn INDEXED BY turn_order"
                " WHERE conversation = ? AND state = 0"
                f" ORDER BY place {order}, part {order} LIMIT ?",
                *(conversation, _MOST_LOOKED_FOR),
            )
            found += [cell for cell, ended in cells if ended < until and not is_panel_cell(cell)]
    return found


def cell_ids(file: Path) -> frozenset[str]:
    """Return the ids of a notebook's cells; none if it cannot be read."""
    try:
        cells: Any = json.loads(file.read_bytes())["cells"]
        return frozenset(cell["id"] for cell in cells if isinstance(cell.get("id"), str))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return frozenset()


def _shared(database: Database, notebook: int, ids: frozenset[str]) -> int:
    """Return how many of the cells have a turn in a notebook."""
    count = "SELECT count(*) FROM conversation WHERE notebook = ? AND run = '' AND id IN"
    turns = "(SELECT conversation FROM turn WHERE cell = ?)"
    return sum(bool(database.read(f"{count} {turns}", notebook, one)[0][0]) for one in ids)


def _copy(store: TurnStore, former: int, ids: frozenset[str]) -> None:
    read, write = store.database.read, store.database.write
    own = store.ids.notebook(make=True)
    rows = read(
        "SELECT t.seq, t.cell, c.name, t.place FROM turn t JOIN conversation c"
        " ON c.id = t.conversation WHERE c.notebook = ? AND c.run = '' AND t.state = 0"
        " ORDER BY t.place, t.part",
        former,
    )
    for number, cell, name, place in rows:
        if cell not in ids:
            continue
        copy_turn(store, number, store.ids.conversation(name, cell, make=True), place)
    write(
        "INSERT INTO attachment SELECT ?, run, tag, fingerprint, json FROM attachment"
        " WHERE notebook = ? AND run = ''",
        *(own, former),
    )
    write(
        "INSERT INTO forgotten SELECT ?, fingerprint FROM forgotten WHERE notebook = ?", own, former
    )
