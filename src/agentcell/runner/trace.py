"""A run's records → one file of lines that only grows; and back. Media are kept once, by digest.

Each record is one line of JSON, written with one call when it happens: a process that is killed
leaves a file that can be read, at most without its last line. It holds no key, no address's query
and no base64.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from agentcell.assets.intake import local_path
from agentcell.assets.wording import short
from agentcell.errors import HistoryError
from agentcell.runner.timeline import timeline
from agentcell.runner.trace_record import digest_of

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_IGNORE = "# Made by agentcell: traces hold what was said.\n*\n"


def new_trace_id() -> str:
    """Return a name for a trace; later ones sort after earlier ones."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"


class TraceStore(Protocol):
    """Where runs are traced. `FileSystemTraceStore` is one; anything with these two is."""

    def append(self, trace_id: str, record: dict[str, Any]) -> None:
        """Keep one record, after those of that trace that came before."""
        ...

    def put_media(self, data: bytes, mime_type: str) -> str:
        """Keep a file's bytes once, and return their SHA-256."""
        ...


class Trace:
    """One run's records, as they were written; a timeline in a notebook.

    Parameters
    ----------
    trace_id
        Its name.
    records
        In order.
    is_whole
        Whether its last record is ``final``: a killed process leaves it without.
    """

    def __init__(self, trace_id: str, records: tuple[dict[str, Any], ...]) -> None:
        self.trace_id = trace_id
        self.records = records

    @property
    def is_whole(self) -> bool:
        """Whether the run came to an end, of whatever kind."""
        return bool(self.records) and self.records[-1].get("type") == "final"

    @property
    def stop_reason(self) -> str | None:
        """Why it ended; None where the process was gone before."""
        return str(self.records[-1].get("stop_reason")) if self.is_whole else None

    def __repr__(self) -> str:
        return f"Trace({self.trace_id!r}, {len(self.records)} records, {self.stop_reason})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return timeline(self.records)


class FileSystemTraceStore:
    """Traces in a folder: ``<id>.jsonl``, and ``media/ab/<sha256>`` beside them.

    Parameters
    ----------
    base_path
        The folder; made when the first record comes, with a ``.gitignore`` for all in it.
    """

    def __init__(self, base_path: str | os.PathLike[str]) -> None:
        self.base_path = local_path(base_path)

    def __repr__(self) -> str:
        return f"FileSystemTraceStore({short(str(self.base_path))!r})"

    def append(self, trace_id: str, record: dict[str, Any]) -> None:
        """Write one record at the end of its trace.

        Parameters
        ----------
        trace_id
            Letters, digits, ``-``, ``_`` and ``.``; at most 100.
        record
            JSON values.

        Raises
        ------
        HistoryError
            If it cannot be written.
        """
        path = self._path(trace_id)
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=True)
        data = f"{line}\n".encode("utf-8", "replace")
        try:
            self._make_folder()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            handle = os.open(path, flags, 0o600)
            try:
                while data:
                    data = data[os.write(handle, data) :]
            finally:
                os.close(handle)
        except OSError as error:
            raise _unwritable(path, error) from None

    def put_media(self, data: bytes, mime_type: str) -> str:
        """Keep a file's bytes, if they are not there yet.

        Parameters
        ----------
        data
            The file.
        mime_type
            Its type; the records say it.

        Raises
        ------
        HistoryError
            If it cannot be written.
        """
        digest = digest_of(data)
        path = self._media_path(digest)
        if path.is_file():
            return digest
        try:
            self._make_folder()
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new.")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError as error:
            raise _unwritable(path, error) from None
        del mime_type
        return digest

    def ids(self) -> list[str]:
        """Return the names of all traces, the oldest first."""
        return sorted(path.stem for path in self.base_path.glob("*.jsonl"))

    def read(self, trace_id: str) -> Trace:
        """Return one trace; a last line that is torn is left out.

        Parameters
        ----------
        trace_id
            See `ids`.

        Raises
        ------
        HistoryError
            If there is none of that name, or it is damaged before its last line.
        """
        path = self._path(trace_id)
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise HistoryError(
                f"There is no trace {trace_id!r} in {short(str(self.base_path))!r}:"
                f" {error.strerror}.",
                fix="see FileSystemTraceStore.ids() for those that are there.",
            ) from None
        records: list[dict[str, Any]] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                records.append(json.loads(line))
            except ValueError:
                if number == len(lines):  # no line end: the process ended while it was written
                    break
                raise HistoryError(
                    f"The trace {trace_id!r} is damaged in line {number}.",
                    fix="take that line out of the file.",
                ) from None
        return Trace(trace_id, tuple(records))

    def media(self, digest: str) -> bytes:
        """Return a file's bytes.

        Parameters
        ----------
        digest
            The SHA-256 that a record names, with or without ``sha256:``.

        Raises
        ------
        HistoryError
            If there is none.
        """
        found = digest.removeprefix("sha256:")
        if not _DIGEST.fullmatch(found):
            raise HistoryError(f"{digest[:80]!r} is no SHA-256.", fix="give 64 hexadecimal digits.")
        try:
            return self._media_path(found).read_bytes()
        except OSError as error:
            raise HistoryError(
                f"There is no file {found[:12]}… in {short(str(self.base_path))!r}:"
                f" {error.strerror}.",
                fix="keep the folder's media beside its traces.",
            ) from None

    def _path(self, trace_id: str) -> Path:
        if not isinstance(trace_id, str) or not _ID.fullmatch(trace_id):
            raise HistoryError(
                f"{str(trace_id)[:80]!r} is no trace's name.",
                fix="use letters, digits, - and _, at most 100.",
            )
        return self.base_path / f"{trace_id}.jsonl"

    def _media_path(self, digest: str) -> Path:
        return self.base_path / "media" / digest[:2] / digest

    def _make_folder(self) -> None:
        if self.base_path.is_dir():
            return
        self.base_path.mkdir(parents=True, exist_ok=True)
        ignore = self.base_path / ".gitignore"
        if not ignore.exists():
            ignore.write_text(_IGNORE, encoding="utf-8")


class NoTraceStore:
    """Keeps nothing; files are told by their digests all the same."""

    def append(self, trace_id: str, record: dict[str, Any]) -> None:
        """Do nothing."""

    def put_media(self, data: bytes, mime_type: str) -> str:
        """Return the SHA-256 of `data`."""
        del mime_type
        return digest_of(data)


def _unwritable(path: Path, error: OSError) -> HistoryError:
    return HistoryError(
        f"{short(str(path))!r} cannot be written: {error.strerror}.",
        fix="make room, or give the trace store another folder.",
    )
