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

import json
import os
import threading
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from agentcell.adapters.recording.no_keys import without_keys
from agentcell.batch.journal_file import JournalFile
from agentcell.batch.journal_lines import call_of, check_row, checked_job, written_call
from agentcell.batch.work import Call
from agentcell.errors import BatchError

VERSION = 1

_HEADER = b'{"agentcell":"batch","version":'
"""How the first line begins, of every version."""

_KEY_DIGITS = 32
"""Hexadecimal digits of a row's key that are kept: 128 bits."""


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
        self._lock = threading.Lock()
        self._at: dict[bytes, array[int]] = {}
        self._jobs: list[dict[str, Any]] = []
        self._settled: dict[str, dict[str, bool]] = {}
        self.calls: list[Call] = []
        """Calls of rows that failed, which were paid for all the same."""
        self._file = JournalFile(path)
        self.path = self._file.path
        try:
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

    def close(self) -> None:
        """Force what was written onto the disk, and let others open it."""
        self._file.close()

    def __len__(self) -> int:
        """How many finished rows it holds that were not taken yet."""
        return sum(map(len, self._at.values()))

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
            entry = json.loads(self._file.line_at(at))
        calls = tuple(map(call_of, entry.get("calls", ())))
        return Kept(value=entry["value"], calls=calls, finish_reason=entry.get("end", ""))

    def spent_calls(self) -> Iterator[Call]:
        """Yield every call that the file tells of, those of rows that failed too."""
        yield from self.calls
        for places in list(self._at.values()):
            for at in places:
                entry = json.loads(self._file.line_at(at))
                yield from map(call_of, entry.get("calls", ()))

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
        if paid := [written_call(call) for call in calls]:
            entry = {**entry, "calls": paid}
        try:
            text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise self._file.unusable(f"takes JSON values only: {error}") from error
        self._file.add(without_keys(text), now=now)
        if "job" in entry:
            self._jobs.append(dict(entry["job"]))

    def _read(self) -> None:
        """Note where each finished row stands."""
        number = 0
        for number, (at, line) in enumerate(self._file.lines(_HEADER), 1):
            self._note(line, number, at)
        if not number:
            self._file.add(f'{{"agentcell":"batch","version":{VERSION}}}')

    def _note(self, line: bytes, number: int, at: int) -> None:
        try:
            entry = json.loads(line)
            if number == 1:
                self._check_header(entry)
            elif "key" in entry:
                check_row(entry)
                self._at.setdefault(bytes.fromhex(entry["key"]), array("Q")).append(at)
            elif "job" in entry:
                self._jobs.append(checked_job(entry["job"]))
            elif "failed" in entry:
                self.calls += map(call_of, entry.get("calls", ()))
            if number > 1 and "of" in entry:
                token, name = map(str, entry["of"])
                self._settled.setdefault(token, {})[name] = "key" in entry
        except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
            if isinstance(error, BatchError):
                raise
            raise self._file.unusable(f"is damaged in line {number}: {line[:60]!r}") from error

    def _check_header(self, entry: Any) -> None:
        if not isinstance(entry, dict) or entry.get("agentcell") != "batch":
            raise self._file.unusable("is no journal of a batch")
        if entry["version"] > VERSION:
            raise self._file.unusable("was written by a newer agentcell")


def _short(key: str) -> bytes:
    return bytes.fromhex(key[:_KEY_DIGITS])
