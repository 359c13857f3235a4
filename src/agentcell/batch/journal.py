"""The rows of a batch that are finished ↔ lines of a file, so that none is asked about twice.

One line says what the file is; then comes one line for each row that ended, and for each job that
was given to a provider's own batch service. Lines are only ever added. Each is handed to the system
in one write as soon as its row ends: a killed process loses none. It is forced onto the disk
(fsync) at most once a second, and at the end: a machine that loses power may lose the last second.
Half a line at the end, from a crash in the middle of a write, is taken away.

A row is known by the SHA-256 of what it asks: model, instructions, question, settings, tools, and
its attachments' content. It holds answers and counts, no question and no key.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import stat
import threading
import time
import weakref
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from agentcell.adapters.events import Usage
from agentcell.adapters.recording.no_keys import without_keys
from agentcell.batch.work import Call
from agentcell.errors import BatchError

VERSION = 1

_HEADER = b'{"agentcell":"batch","version":'
"""How the first line begins, of every version."""

_KEY_DIGITS = 32
"""Hexadecimal digits of a row's key that are kept: 128 bits."""

_SYNC_SECONDS = 1.0

_COUNTS = [one.name for one in fields(Usage)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A finished row, as the journal tells it.

    Parameters
    ----------
    value
        What `Work.kept` made of the answer's value.
    calls
        What was paid for it.
    """

    value: Any
    calls: tuple[Call, ...]
    finish_reason: str = ""


class Journal:
    """Opened for one run of a batch; a context manager. One process at a time may have it open.

    Parameters
    ----------
    path
        Made, with its folder, if it is not there.

    Raises
    ------
    BatchError
        If the file is no journal, cannot be written, or another run has it open.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._at: dict[bytes, array[int]] = {}
        self._jobs: list[dict[str, Any]] = []
        self._settled: dict[str, dict[str, bool]] = {}
        self._synced = time.monotonic()
        self.calls: list[Call] = []
        """Calls of rows that failed, which were paid for all the same."""
        try:
            self.path = self.path.expanduser()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self.path.open("a+b")
        except (OSError, RuntimeError, ValueError) as error:  # no such home; a NUL in the path
            said = str(getattr(error, "strerror", None) or error).rstrip(".")
            raise self._unusable(f"cannot be written: {said}") from error
        try:
            self._check_kind()
            self._keep_others_out()
            _OPEN.add(self)
            _let_go_in_children()
            self._read()
        except BaseException:
            self._file.close()
            raise

    def __repr__(self) -> str:
        return f"Journal({str(self.path)[-80:]!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """How many finished rows it holds that were not taken yet."""
        return sum(map(len, self._at.values()))

    def close(self) -> None:
        """Force what was written onto the disk, and let others open it."""
        with self._lock:
            if not self._file.closed:
                with contextlib.suppress(OSError):  # a pipe, or a disk that is gone
                    os.fsync(self._file.fileno())
                with contextlib.suppress(OSError):  # a full disk was told of when it was written
                    self._file.close()

    def let_go(self) -> None:
        """Leave the file to the process that this one was forked from."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, self._file.fileno(), inheritable=False)
        os.close(nowhere)

    def take(self, key: str) -> Kept | None:
        """Return the next finished row of a key, each one once; None if there is none left.

        Parameters
        ----------
        key
            See `agentcell.adapters.recording.canonical.key_of`.
        """
        with self._lock:
            places = self._at.get(_short(key))
            if not places:
                return None
            at = places.pop(0)
            if not places:
                del self._at[_short(key)]
            self._file.seek(at)
            entry = json.loads(self._file.readline())
        calls = tuple(map(_call, entry.get("calls", ())))
        return Kept(value=entry["value"], calls=calls, finish_reason=entry.get("end", ""))

    def spent_calls(self) -> Iterator[Call]:
        """Yield every call that the file tells of, those of rows that failed too."""
        yield from self.calls
        for places in list(self._at.values()):
            for at in places:
                self._file.seek(at)
                yield from map(_call, json.loads(self._file.readline()).get("calls", ()))

    def settled(self, token: str, *, answered: bool = False) -> set[str]:
        """Return the requests of a job that was not read to its end of which this tells what came.

        Parameters
        ----------
        token
            The job's.
        answered
            Only those that have an answer.
        """
        return {
            name
            for name, is_answer in self._settled.get(token, {}).items()
            if is_answer or not answered
        }

    def put(  # noqa: PLR0913, PLR0917 (each is a fact of its own about the row)
        self,
        key: str,
        index: int,
        value: Any,
        calls: tuple[Call, ...],
        finish_reason: str,
        of: tuple[str, str] | None = None,
    ) -> None:
        """Keep a finished row.

        Parameters
        ----------
        key, index, value, calls, finish_reason
            The row's.
        of
            The job that answered it, by its token, and the request's name in it.

        Raises
        ------
        BatchError
            If the file cannot be written.
        """
        entry = {"key": _short(key).hex(), "row": index, "value": value}
        if finish_reason not in ("", "stop"):
            entry["end"] = finish_reason
        self._write(entry if of is None else {**entry, "of": of}, calls)

    def put_error(
        self,
        key: str,
        index: int,
        error: Exception,
        calls: tuple[Call, ...],
        of: tuple[str, str] | None = None,
    ) -> None:
        """Keep that a row failed: it is asked about again, and what it cost is not forgotten."""
        said = f"{type(error).__name__}: {getattr(error, 'problem', error)}"[:500]
        entry = {"failed": _short(key).hex(), "row": index, "error": said}
        self._write(entry if of is None else {**entry, "of": of}, calls)

    def put_job(self, **facts: Any) -> None:
        """Keep a fact about a job of a provider's batch service, before anything is waited for."""
        self._write({"job": facts}, (), now=True)

    def jobs(self) -> list[dict[str, Any]]:
        """Return what was kept by `put_job`, in order, earlier runs' too."""
        return list(self._jobs)

    def _write(
        self, entry: Mapping[str, Any], calls: tuple[Call, ...], *, now: bool = False
    ) -> None:
        if paid := [_written(call) for call in calls]:
            entry = {**entry, "calls": paid}
        try:
            text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise self._unusable(f"takes JSON values only: {error}") from error
        self._add(without_keys(text), now=now)
        if "job" in entry:
            self._jobs.append(dict(entry["job"]))

    def _add(self, text: str, *, now: bool = False) -> None:
        data = f"{text}\n".encode("utf-8", "replace")
        with self._lock:
            try:
                self._file.write(data)
                self._file.flush()
                if now or time.monotonic() - self._synced > _SYNC_SECONDS:
                    os.fsync(self._file.fileno())
                    self._synced = time.monotonic()
            except (OSError, ValueError) as error:
                raise self._unusable(f"cannot be written: {error}") from error

    def _read(self) -> None:
        """Note where each finished row stands; what is half written at the end goes."""
        self._file.seek(0)
        at = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                if at == 0 and not (_HEADER.startswith(line) or line.startswith(_HEADER)):
                    raise self._unusable("is no journal of a batch")  # somebody's own text
                self._file.truncate(at)
                break
            self._note(line, number, at)
            at += len(line)
        self._file.seek(0, os.SEEK_END)
        if at == 0:
            self._add(f'{{"agentcell":"batch","version":{VERSION}}}')

    def _note(self, line: bytes, number: int, at: int) -> None:
        try:
            entry = json.loads(line)
            if number == 1:
                self._check_header(entry)
            elif "key" in entry:
                _check_row(entry)
                self._at.setdefault(bytes.fromhex(entry["key"]), array("Q")).append(at)
            elif "job" in entry:
                self._jobs.append(_checked_job(entry["job"]))
            elif "failed" in entry:
                self.calls += map(_call, entry.get("calls", ()))
            if number > 1 and "of" in entry:
                token, name = map(str, entry["of"])
                self._settled.setdefault(token, {})[name] = "key" in entry
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            if isinstance(error, BatchError):
                raise
            raise self._unusable(f"is damaged in line {number}: {line[:60]!r}") from error

    def _check_header(self, entry: Any) -> None:
        if not isinstance(entry, dict) or entry.get("agentcell") != "batch":
            raise self._unusable("is no journal of a batch")
        if entry["version"] > VERSION:
            raise self._unusable("was written by a newer agentcell")

    def _check_kind(self) -> None:
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            raise self._unusable("is no ordinary file")  # a device may have no end

    def _keep_others_out(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows keeps no file that is open from others; lines still are whole
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise self._unusable("is in use by another run of a batch") from error

    def _unusable(self, problem: str) -> BatchError:
        fix = "name another file, or move this one away."
        if "in use" in problem:
            fix = "wait for that run, or interrupt it; or name another file."
        return BatchError(f"The journal '{self.path}' {problem}.", fix=fix)


_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()


@functools.cache
def _let_go_in_children() -> None:
    """Let processes forked from this one hold no journal open.

    A pool's workers outlive a process that is killed, and would keep its journal locked.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_let_go)


def _let_go() -> None:
    for journal in list(_OPEN):
        with contextlib.suppress(OSError, ValueError):  # it is closed
            journal.let_go()


def _short(key: str) -> bytes:
    return bytes.fromhex(key[:_KEY_DIGITS])


def _written(call: Call) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if call.usage is not None:
        counts = {name: getattr(call.usage, name) for name in _COUNTS}
        known = {name: value for name, value in counts.items() if value is not None}
        if not known["estimated"]:
            del known["estimated"]
        said["usage"] = known
    if call.recorded is not None:
        said["cost"] = call.recorded
    if call.processing is not None:
        said["by"] = call.processing
    if call.is_replayed:
        said["replayed"] = True
    return said


def _check_row(entry: Mapping[str, Any]) -> None:
    entry["value"]
    for said in entry.get("calls", ()):
        _call(said)


def _checked_job(said: Any) -> dict[str, Any]:
    job = dict(said)
    job["token"]
    if "ids" in job:
        list(job["ids"])
        float(job["begun"])
    return job


def _call(said: Any) -> Call:
    """Return a call that a line tells of.

    Raises
    ------
    TypeError, ArithmeticError
        If it tells of none: somebody wrote into the file.
    """
    if not isinstance(said, dict):
        raise TypeError(f"a call is {type(said).__name__}")
    usage = said.get("usage")
    known = {name: value for name, value in (dict(usage or {})).items() if name in _COUNTS}
    if not all(value is None or isinstance(value, int) for value in known.values()):
        raise TypeError("a count is no whole number")
    if cost := said.get("cost"):
        Decimal(cost)
    return Call(
        None if usage is None else Usage(**known),
        said.get("cost"),
        said.get("by"),
        "replayed" in said,
    )
