"""A database in trouble → what of it can still be read, and words for what happened."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from agentcell.errors import HistoryError
from agentcell.history.attachment_table import forgotten, set_forgotten
from agentcell.history.database import Database, replacing
from agentcell.history.schema import STEPS
from agentcell.history.store import TurnStore
from agentcell.history.turns import Turn

MOST_KEPT = 1_000
"""As many turns of each conversation go on in memory: the last ones."""

_TABLES = (
    *("notebook", "conversation", "run", "turn", "body", "attached"),
    *("attachment", "forgotten", "spent"),
)

_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}


class Moved(OSError):
    """The folder was removed, or another one stands in its place."""


def is_damage(error: Exception) -> bool:
    """Whether a file is damaged, or no database at all."""
    return isinstance(error, sqlite3.DatabaseError) and _code(error) in _DAMAGED


def reason(error: Exception, folder: Path) -> str:
    """Return in words why a folder cannot hold the history."""
    if isinstance(error, HistoryError):
        return f"{error.problem.rstrip('.')}; {error.fix.rstrip('.')}"
    number = error.errno if isinstance(error, OSError) else None
    code = _code(error)
    cases = {
        f"'{folder}' was removed or replaced while the kernel ran": isinstance(error, Moved),
        f"'{folder}' is a file where a folder was expected": isinstance(
            error, FileExistsError | NotADirectoryError
        ),
        f"the disk of '{folder}' is full": number in _FULL or code == sqlite3.SQLITE_FULL,
        f"'{folder}' cannot be written": number in _REFUSED or code in _UNWRITABLE,
        f"another program keeps the history in '{folder}' locked": code in _LOCKED,
    }
    other = f"the history in '{folder}' cannot be written ({error})"
    return next((words for words, fits in cases.items() if fits), other)


def set_aside(file: Path) -> Path:
    """Give a damaged database, and the files beside it, a name with the day; return that."""
    day = datetime.now().astimezone().strftime("%Y-%m-%d")
    names = (f"{file.stem}.damaged-{day}{more}" for more in ("", *(f"-{n}" for n in range(2, 999))))
    name = next(one for one in names if not file.with_name(f"{one}.sqlite").exists())
    aside = file.with_name(f"{name}.sqlite")
    for ending in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{file}{ending}").rename(f"{aside}{ending}")
    return aside


def salvage(damaged: Path, fresh: Database) -> int:
    """Copy what can be read of a damaged database into a new one; return how many turns."""
    with contextlib.suppress(*_UNREADABLE), contextlib.closing(_read_only(damaged)) as source:
        if source.execute("PRAGMA user_version").fetchone()[0] != len(STEPS):
            return 0
        with fresh.transaction():
            for table in _TABLES:
                _copy_rows(source, fresh, table)
            fresh.write("DELETE FROM turn WHERE seq NOT IN (SELECT turn FROM body)")
            for table in ("attached", "body"):
                fresh.write(f"DELETE FROM {table} WHERE turn NOT IN (SELECT seq FROM turn)")
            fresh.write(
                "UPDATE counter SET value = (SELECT coalesce(max(max(seq, changed)), 0) FROM turn)"
                " WHERE name = 'changes'"
            )
    return int(fresh.read("SELECT count(*) FROM turn WHERE state = 0")[0][0])


def move_turns(source: TurnStore, target: TurnStore) -> None:
    """Put the last turns of each conversation that can be read into another store."""
    trouble = (*_UNREADABLE, OSError, HistoryError, LookupError)
    names: tuple[str, ...] = ()
    with contextlib.suppress(*trouble):
        names = source.names()
    for name in names:
        for turn in _readable_turns(source, name, trouble):
            target.put(name, replace(turn, follows=0, stale=False))
    with contextlib.suppress(*trouble):
        for fingerprint in forgotten(source):
            set_forgotten(target, fingerprint, is_forgotten=True)


def _readable_turns(
    source: TurnStore, name: str, trouble: tuple[type[Exception], ...]
) -> list[Turn]:
    """Return the last turns of a conversation: fewer where not so many can be read."""
    for last in (MOST_KEPT, 300, 100, 30, 10, 3, 1):
        with contextlib.suppress(*trouble):
            return source.turns(name, last=last)
    return []


def read_only(file: Path) -> Database | None:
    """Return a copy in memory of a database that cannot be written; None if it cannot be read."""
    copy = Database(None)
    try:
        with contextlib.closing(_read_only(file)) as source:
            if source.execute("PRAGMA user_version").fetchone()[0] != len(STEPS):
                return None
            with copy.transaction():
                for table in (*_TABLES, "counter"):
                    _copy_rows(source, copy, table)
    except _UNREADABLE:
        return None
    return copy


def _read_only(file: Path) -> sqlite3.Connection:
    address = f"{file.absolute().as_uri()}?mode=ro"
    for options in ("", "&immutable=1"):  # a folder that cannot be written takes no lock file
        source = sqlite3.connect(address + options, uri=True)
        source.text_factory = replacing
        try:
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except _UNREADABLE:
            source.close()
        else:
            return source
    raise sqlite3.OperationalError("the file cannot be read")


def _copy_rows(source: sqlite3.Connection, target: Database, table: str) -> None:
    """Copy a table's rows from its beginning, and where that fails from its end."""
    for order in ("", " ORDER BY 1 DESC"):
        try:
            for row in source.execute(f"SELECT * FROM {table}{order}"):
                marks = ", ".join("?" * len(row))
                target.write(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", *row)
        except _UNREADABLE:
            continue
        break


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
