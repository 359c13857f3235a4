"""A recording's text file ↔ its entries, found by the key of their question.

One line says what the file is, then one line for each question, sorted by key: recording again
changes only the lines whose answers changed, and two people's additions merge.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from agentcell.adapters.file_lock import alone
from agentcell.adapters.recording.content import digests
from agentcell.adapters.recording.entry import Entry
from agentcell.adapters.recording.media_folder import MediaFolder
from agentcell.adapters.recording.no_keys import without_keys
from agentcell.errors import HistoryError

VERSION = 1

_KEY_STARTS = len('{"key":"')
_KEY_ENDS = _KEY_STARTS + 64
_AS_WRITTEN = re.compile('{"key":"[0-9a-f]{64}"')

_CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
"""How lines begin that git leaves where two sides changed the same."""

_WRITABLE = 0o222


class Recording:
    """The entries of one file. Safe to share between threads; nothing is read until it is used.

    Parameters
    ----------
    path
        For example ``recordings/tutorial.jsonl``. Made with the first entry.
    redact
        Takes what must not stand in the file out of each line; by default every key that this
        process knows.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, redact: Callable[[str], str] | None = None
    ) -> None:
        self.path = Path(path)
        self._media = MediaFolder(self.path)
        self._redact = redact or without_keys
        self._lines: dict[str, str] = {}
        self._about: dict[str, Any] = {}
        self._used: set[str] = set()
        self._known: tuple[int, int, int] | None = None
        self._lock = threading.RLock()

    def __copy__(self) -> Self:
        return self  # a copied model keeps its answers in the same file

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopened, (type(self), self.path, self._redact))

    def __repr__(self) -> str:
        return f"Recording({str(self.path)[-80:]!r})"

    def __len__(self) -> int:
        with self._lock:
            self._read()
            return len(self._lines)

    def get(self, key: str) -> Entry | None:
        """Return the entry of a question, None where there is none.

        Parameters
        ----------
        key
            See `canonical.key_of`.

        Raises
        ------
        HistoryError
            If the file is no recording, or its entry is damaged.
        """
        with self._lock:
            self._read()
            line = self._lines.get(key)
            if line is None:
                return None
            self._used.add(key)
        return Entry.of_line(line, self.path.name, self._media.read)

    def put(self, entry: Entry) -> None:
        """Keep an entry, over one of the same question. The file is written whole.

        Parameters
        ----------
        entry
            Its texts pass `redact` first.

        Raises
        ------
        HistoryError
            If the file cannot be written; it then stays as it was.
        """
        media: dict[str, bytes] = {}
        line = self._redact(entry.line(media.__setitem__))
        with self._lock, self._alone():
            self._media.write(media)
            self._read()
            self._used.add(entry.key)
            if self._lines.get(entry.key) != line:
                self._lines[entry.key] = line
                self._write()

    def entries(self) -> Iterator[Entry]:
        """Yield every entry, in the file's order."""
        with self._lock:
            self._read()
            lines = list(self._lines.values())
        return (Entry.of_line(line, self.path.name) for line in lines)

    def offered(self, name: str) -> bool:
        """Whether a question offered a tool of that name. Entries that are damaged do not count."""
        with self._lock:
            self._read()
            lines = [line for line in self._lines.values() if name in line]
        for line in lines:
            with contextlib.suppress(HistoryError):
                tools = Entry.of_line(line, self.path.name).asked.get("tools", ())
                if any(tool.get("name") == name for tool in tools):
                    return True
        return False

    @property
    def default_model(self) -> str:
        """The model that was asked where a cell named none, when this was recorded; or ""."""
        with self._lock:
            self._read()
            return str(self._about.get("default_model", ""))

    @default_model.setter
    def default_model(self, name: str) -> None:
        with self._lock, self._alone():
            self._read()
            if self._about.get("default_model") != name:
                self._about["default_model"] = name
                if self._lines:
                    self._write()

    def unused(self) -> list[Entry]:
        """Return the entries that nobody asked for since this object was made."""
        return [entry for entry in self.entries() if entry.key not in self._used]

    def prune(self) -> int:
        """Take the unused entries out of the file, and return how many these were.

        Raises
        ------
        HistoryError
            If the file cannot be written.
        """
        with self._lock, self._alone():
            self._read()
            kept = {key: line for key, line in self._lines.items() if key in self._used}
            gone = len(self._lines) - len(kept)
            if gone:
                self._lines = kept
                self._write()
                self._media.keep_only({one for line in kept.values() for one in digests(line)})
            return gone

    def _read(self) -> None:
        """Read the file where it changed since it was last seen."""
        try:
            state = _state(self.path)
            if state == self._known:
                return
            text = self.path.read_bytes().decode("utf-8-sig")  # some editors begin with a mark
        except FileNotFoundError:
            self._lines, self._known = {}, None
            return
        except (OSError, UnicodeDecodeError) as error:
            raise HistoryError(
                f"The recording '{self.path}' cannot be read: {error}.",
                fix="restore it from a copy, or record into another file.",
            ) from error
        # A third of the time of `read_text`, and JSON has no ends of lines in its texts.
        first, *lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if first.startswith(_CONFLICT):
            raise self._unreadable(1, first)
        about = self._header(first)
        self._lines = {
            self._key(number, line): line for number, line in enumerate(lines, 2) if line.strip()
        }
        self._about, self._known = about, state

    def _key(self, number: int, line: str) -> str:
        """Return the key in a line, also in one that people or programs wrote otherwise."""
        if _AS_WRITTEN.match(line):
            return line[_KEY_STARTS:_KEY_ENDS]
        try:
            key = json.loads(line)["key"]
        except (ValueError, TypeError, KeyError, RecursionError):
            key = None
        if not isinstance(key, str):
            raise self._unreadable(number, line)
        return key

    def _unreadable(self, number: int, line: str) -> HistoryError:
        """Return the error about a line that is no entry. The file stays as it is."""
        if line.startswith(_CONFLICT):
            problem = f"Line {number} of the recording '{self.path}' is a mark of a merge in git"
            fix = "keep the lines of both sides, and take out those that begin with <, |, = or >."
        else:
            problem = f"Line {number} of the recording '{self.path}' is no entry"
            fix = "take that line out, or restore the file from a copy."
        return HistoryError(f"{problem}: {line[:60]!r}.", fix=fix)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes, and other objects for the same file, from writing meanwhile."""
        place = hashlib.sha256(os.fsencode(os.path.realpath(self.path))).hexdigest()[:32]
        user = os.getuid() if hasattr(os, "getuid") else "user"
        lock = Path(tempfile.gettempdir()) / f"agentcell-recording-{user}-{place}.lock"
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # no place for a lock: then without
                stack.enter_context(alone(lock))
            yield

    def _header(self, line: str) -> dict[str, Any]:
        try:
            about = json.loads(line)
            version = about["version"] if about["agentcell"] == "recording" else None
        except (ValueError, KeyError, TypeError):
            version = None
        if not isinstance(version, int):
            raise HistoryError(
                f"'{self.path}' is no recording: it begins with {line[:60]!r}.",
                fix="name another file, or move this one away.",
            )
        if version > VERSION:
            raise HistoryError(
                f"'{self.path}' was written by a newer agentcell (format {version}; this one"
                f" reads up to {VERSION}).",
                fix="pip install --upgrade agentcell.",
            )
        return dict(about)

    def _write(self) -> None:
        # The first line stands out in a diff, and is the place for what is true of all.
        about = {"agentcell": "recording", "version": VERSION, **self._about}
        header = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
        self._lines = dict(sorted(self._lines.items()))
        text = "\n".join([header, *self._lines.values(), ""])
        path = Path(os.path.realpath(self.path))  # a link stays one
        partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
            if mode is not None and not mode & _WRITABLE:  # a rename would go past that
                raise PermissionError(errno.EACCES, "it is read-only")
            with partial.open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            if mode is not None:
                partial.chmod(mode)
            partial.replace(path)
            self._known = _state(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            self._known = None
            raise HistoryError(
                f"The recording '{self.path}' cannot be written: {error.strerror or error}.",
                fix="free some space, or choose a file and a folder that can be written.",
            ) from error


def _reopened(kind: type[Recording], path: Path, redact: Callable[[str], str]) -> Recording:
    return kind(path, redact=redact)


def _state(path: Path) -> tuple[int, int, int]:
    """Return what differs when a file was written anew."""
    facts = path.stat()
    return facts.st_ino, facts.st_mtime_ns, facts.st_size
