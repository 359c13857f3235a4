"""A file, or memory → an SQLite database with the tables of this version, shared by threads."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentcell.errors import HistoryError
from agentcell.history.schema import STEPS
from agentcell.safe_text import whole_characters

WAIT = 5.0
"""Seconds to wait for another kernel that writes."""


class Database:
    """One connection. Statements of several threads come one after the other.

    Parameters
    ----------
    file
        Made if it is not there; its folder must be. None: the database is in memory.
    steps
        What makes tables of each version from those of the version before.

    Raises
    ------
    HistoryError
        If a newer version of agentcell wrote the file.
    sqlite3.Error
        If it cannot be opened, or is no database.
    """

    def __init__(self, file: Path | None, steps: Sequence[Sequence[str]] = STEPS) -> None:
        self.file = file
        self._lock = threading.RLock()
        self._connection = _opened(file, steps)
        self._mark = _mark(file)
        self._process = os.getpid()
        self._close = weakref.finalize(self, self._connection.close)

    def __repr__(self) -> str:
        return f"Database({str(self.file)[-80:] if self.file else 'memory'!r})"

    @property
    def is_in_place(self) -> bool:
        """Whether the file is still the one that was opened, by this process."""
        return self.file is None or (self._mark == _mark(self.file) and not self.is_forked)

    @property
    def is_forked(self) -> bool:
        """Whether a parent process opened it: its connection must not be used in this one."""
        return self._process != os.getpid()

    def read(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows that a statement gives.

        Parameters
        ----------
        statement, values
            SQL, and what its question marks stand for.
        """
        return self._done(statement, values).fetchall()

    def write(self, statement: str, *values: Any) -> int:
        """Carry out a statement and return how many rows it changed.

        Parameters
        ----------
        statement, values
            As for `read`.
        """
        return self._done(statement, values).rowcount

    def _done(self, statement: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        with self._lock:
            try:
                return self._connection.execute(statement, values)
            except UnicodeEncodeError:  # half a character in a name
                whole = [whole_characters(one) if isinstance(one, str) else one for one in values]
                return self._connection.execute(statement, whole)
            except UnicodeDecodeError as error:
                raise damaged() from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Let all that is done within be there as a whole, or not at all."""
        with self._lock:
            if self._connection.in_transaction:  # an interrupt came between an error and its end
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def wipe(self) -> None:
        """Let what was deleted not stay in the file beside the database."""
        with contextlib.suppress(sqlite3.Error):
            self.read("PRAGMA wal_checkpoint(TRUNCATE)")

    def is_sound(self) -> bool:
        """Whether all of the file can be read, and its tables are there."""
        try:
            counters = self.read("SELECT count(*) FROM counter WHERE value >= 0")
            return self.read("PRAGMA integrity_check(1)") == [("ok",)] and counters == [(2,)]
        except sqlite3.Error:
            return False

    def leave(self) -> None:
        """Leave the connection to the process that opened it."""
        self._close.detach()

    def close(self) -> None:
        """Let go of the file."""
        self._close()


def _opened(file: Path | None, steps: Sequence[Sequence[str]]) -> sqlite3.Connection:
    end = time.monotonic() + WAIT
    while True:
        connection = sqlite3.connect(
            ":memory:" if file is None else file,
            timeout=WAIT,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.text_factory = replacing
        try:
            _set_up(connection, steps)
        except sqlite3.OperationalError as error:
            connection.close()
            # A change of the journal's mode does not wait for others by itself.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.02)
        except UnicodeDecodeError as error:
            connection.close()
            raise damaged() from error
        except BaseException:
            connection.close()
            raise
        else:
            return connection


def damaged() -> sqlite3.DatabaseError:
    """Return what SQLite says of a damaged file."""
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _set_up(connection: sqlite3.Connection, steps: Sequence[Sequence[str]]) -> None:
    version = _version(connection)
    if version > len(steps):
        raise HistoryError(
            f"A newer version of agentcell wrote this notebook's history (version {version} of its"
            f" tables; {len(steps)} was expected).",
            fix="update agentcell.",
        )
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")  # a turn that was written outlives a power cut
    connection.execute("PRAGMA secure_delete=ON")
    if version < len(steps):
        _migrate(connection, steps)


def _migrate(connection: sqlite3.Connection, steps: Sequence[Sequence[str]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[_version(connection) :]:  # another kernel may have done it meanwhile
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def replacing(content: bytes) -> str:
    """Return a text, with ``�`` for what is none."""
    return content.decode("utf-8", "replace")


def _mark(file: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from another one in its place; None if there is none."""
    try:
        status = file.stat() if file else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status else None
