"""An SQLite file, to its pieces: every text and every blob of every table. It is only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentcell.errors import ScanError
from agentcell.scan.pieces import Piece, decoded, is_picture, value_pieces

_ROWS = 1_000
"""Rows that are searched together; a finding is then told by its row."""

_BETWEEN = "\x1e"
"""Stands between rows: no text of people's holds it."""

_PATIENCE = 2.0
"""Seconds to wait for another process's lock."""


def rows(path: Path) -> Iterator[Piece]:
    """Yield the pieces of the database at `path`; a journal beside it is read along with it.

    Raises
    ------
    ScanError
        If it is damaged or locked.
    """
    try:
        with closing(_opened(path)) as database:
            database.text_factory = bytes
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (name,) in tables.fetchall():
                yield from _table(database, name.decode("utf-8", "replace"))
    except sqlite3.Error as problem:
        raise ScanError(
            f"{path.name} cannot be read as a database: {problem}.",
            fix="close what uses it, or restore it from a copy.",
        ) from problem


def _opened(path: Path) -> sqlite3.Connection:
    """Open without leaving files: where nobody writes, SQLite needs none beside the database."""
    journal = path.with_name(f"{path.name}-wal")
    is_quiet = not (journal.exists() and journal.stat().st_size)
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    if is_quiet:
        database = sqlite3.connect(f"{address}&immutable=1", uri=True, timeout=_PATIENCE)
    else:
        database = sqlite3.connect(address, uri=True, timeout=_PATIENCE)
    return database


def _table(database: sqlite3.Connection, name: str) -> Iterator[Piece]:
    quoted = name.replace('"', '""')
    try:
        cursor = database.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608 (the file's own name)
    except sqlite3.OperationalError as problem:
        if "no such module" in str(problem):
            return  # a table of another program's extension; its shadow tables hold its text
        raise
    columns = [column[0] for column in cursor.description]
    first = 1
    while batch := cursor.fetchmany(_ROWS):
        for column, values in zip(columns, zip(*batch, strict=True), strict=True):
            yield from _column(f"{name}.{column}", values, first)
        first += len(batch)


def _column(where: str, values: tuple[Any, ...], first: int) -> Iterator[Piece]:
    texts: list[str] = []
    for row, value in enumerate(values, start=first):
        text = ""
        if isinstance(value, bytes) and value:
            found = None if is_picture(value) else decoded(value)
            if found is not None and value[:1] not in b"\x1f\x78":
                text = found
            else:
                yield from value_pieces(value, f"{where}, row {row}")
        texts.append(text)
    if any(texts):
        yield Piece(
            where=where, text=_BETWEEN.join(texts), part="row", separator=_BETWEEN, first=first
        )
