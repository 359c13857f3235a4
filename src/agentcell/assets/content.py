"""A file or bytes -> a snapshot that no later change of the source can reach.

A source is read once, and hashed on the way. Up to `MEMORY_BYTES` are kept in memory; more goes
to a private file that lives as long as its `Content`.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import os
import threading
import weakref
from pathlib import Path
from typing import Any, BinaryIO

from agentcell.errors import AttachmentError

MEMORY_BYTES = 8 * 1024 * 1024
"""Longer contents are kept in a file."""

_PIECE = 1024 * 1024


class Content:
    """Bytes that never change, in memory or in a private file. Safe to share between threads.

    Made by `of_bytes` and `of_file`. `digest` is the SHA-256 of the bytes in hex; `size_bytes`
    their number.
    """

    __slots__ = ("__weakref__", "_data", "_file", "_stamp", "digest", "size_bytes")

    digest: str
    size_bytes: int

    def __init__(self, digest: str, size_bytes: int, data: bytes | None, file: str = "") -> None:
        self.digest = digest
        self.size_bytes = size_bytes
        self._data = data
        self._file = file
        self._stamp = _stamp(os.stat(file)) if file else None  # noqa: PTH116 (a path is a text here)
        if file:
            weakref.finalize(self, _remove, file, os.getpid())

    @classmethod
    def of_bytes(cls, data: bytes) -> Content:
        """Keep `data`; a long one in a file, so that it may leave memory."""
        digest = hashlib.sha256(data).hexdigest()
        file = ""
        if len(data) > MEMORY_BYTES:
            with contextlib.suppress(OSError):  # no room for the file: memory will do
                descriptor, file = _new_file()
                with os.fdopen(descriptor, "wb") as sink:
                    sink.write(data)
                return cls(digest, len(data), None, file)
            _remove(file, os.getpid())
        return cls(digest, len(data), data)

    @classmethod
    def of_file(cls, descriptor: int, limit: int) -> Content | None:
        """Read an open file to its end; None if it holds more than `limit` bytes."""
        size = os.fstat(descriptor).st_size
        if size > limit:
            return None
        if size <= MEMORY_BYTES:
            with os.fdopen(os.dup(descriptor), "rb", buffering=0) as source:
                data = _read_up_to(source, size, MEMORY_BYTES + 1)
                if len(data) <= MEMORY_BYTES:
                    return cls.of_bytes(data) if len(data) <= limit else None
                rest = source.read(max(limit + 1 - len(data), 0)) or b""  # it grew meanwhile
            data += rest
            return cls.of_bytes(data) if len(data) <= limit else None
        try:
            return cls._copied(descriptor, limit)
        except OSError:  # no room for the file: memory will do
            os.lseek(descriptor, 0, os.SEEK_SET)
            with os.fdopen(os.dup(descriptor), "rb") as source:
                data = source.read(limit + 1)
            if len(data) > limit:
                return None
            return cls(hashlib.sha256(data).hexdigest(), len(data), data)

    @classmethod
    def _copied(cls, descriptor: int, limit: int) -> Content | None:
        sink, file = _new_file()
        digest, size = hashlib.sha256(), 0
        piece = memoryview(bytearray(_PIECE))
        kept = False
        try:
            with (
                os.fdopen(sink, "wb", buffering=0) as copy,
                os.fdopen(os.dup(descriptor), "rb", buffering=0) as source,
            ):
                while count := source.readinto(piece):
                    size += count
                    if size > limit:
                        return None
                    digest.update(piece[:count])
                    written = 0
                    while written < count:
                        written += copy.write(piece[written:count]) or 0
            kept = True
        finally:
            if not kept:
                _remove(file, os.getpid())
        return cls(digest.hexdigest(), size, None, file)

    def read(self) -> bytes:
        """Return all of it."""
        if self._data is not None:
            return self._data
        with self.open() as source:
            return source.read()

    def open(self) -> BinaryIO:
        """Return a new binary stream at the first byte; the caller closes it.

        Raises
        ------
        AttachmentError
            If somebody removed the private file, or wrote to it.
        """
        if self._data is not None:
            return io.BytesIO(self._data)
        try:
            source = Path(self._file).open("rb")  # noqa: SIM115 (the caller closes it)
        except OSError as error:
            raise AttachmentError(
                f"The copy of an attachment of {self.size_bytes:,} bytes is gone from"
                f" {Path(self._file).parent.parent}: {error.strerror}.",
                fix="attach the file again.",
            ) from error
        if not self.is_unchanged(source):
            source.close()
            raise AttachmentError(
                f"The copy of an attachment of {self.size_bytes:,} bytes, in"
                f" {Path(self._file).parent.parent}, was changed by another program.",
                fix="attach the file again.",
            )
        return source

    def is_unchanged(self, source: BinaryIO) -> bool:
        """Return whether nobody wrote to the file that `source`, from `open`, reads."""
        return self._stamp is None or _stamp(os.fstat(source.fileno())) == self._stamp

    @property
    def file(self) -> str:
        """The private file's path, or "" where the bytes are in memory. Only to be read."""
        return self._file

    def head(self, count: int) -> bytes:
        """Return the first `count` bytes, or all if there are fewer."""
        if self._data is not None:
            return self._data[:count]
        with self.open() as source:
            return source.read(count)

    def __copy__(self) -> Content:
        return self

    def __deepcopy__(self, memo: object) -> Content:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (Content.of_bytes, (self.read(),))

    def __repr__(self) -> str:
        return f"Content(sha256:{self.digest[:12]}…, {self.size_bytes} bytes)"


def _stamp(status: os.stat_result) -> tuple[int, int]:
    """Return what a later write to a file changes."""
    return status.st_size, status.st_mtime_ns


def _read_up_to(source: io.FileIO, expected: int, limit: int) -> bytes:
    """Read to the end, but no more than `limit` bytes; one read where the size is as expected."""
    pieces = []
    left = limit
    while left > 0 and (piece := source.read(min(left, expected + 1))):
        pieces.append(piece)
        left -= len(piece)
        expected = max(expected, _PIECE)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_folder_lock = threading.Lock()
_folder = ""
_folder_owner = 0


def _new_file() -> tuple[int, str]:
    """Return a new private file's descriptor and path."""
    import tempfile

    global _folder, _folder_owner
    with _folder_lock:
        # A forked child makes a folder of its own: it must not remove its parent's.
        if _folder_owner != os.getpid() or not Path(_folder).is_dir():
            _sweep()
            folder = tempfile.mkdtemp(prefix=_PREFIX)
            atexit.register(_remove_folder, folder, os.getpid())
            _mark_alive(Path(folder))
            _folder, _folder_owner = folder, os.getpid()
        return tempfile.mkstemp(dir=_folder)


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _remove(file: str, owner: int) -> None:
    if file and os.getpid() == owner:
        with contextlib.suppress(OSError):
            Path(file).unlink()


_PREFIX = "agentcell-snapshots-"
_alive: list[int] = []


def _mark_alive(folder: Path) -> None:
    """Hold a lock on the folder for as long as this process lives, however it ends.

    While it is held, `_sweep` and the cleaners of ``/tmp`` (systemd-tmpfiles) leave the folder be.
    """
    if (fcntl := _fcntl()) is not None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _alive.append(descriptor)


def _sweep() -> None:
    """Remove the folders of processes that were killed: those whose lock nobody holds."""
    import shutil
    import tempfile

    if (fcntl := _fcntl()) is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
            descriptor = os.open(folder, flags)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _fcntl() -> Any:
    """Return the module that locks, or None on Windows: there only a regular exit tidies up."""
    try:
        import fcntl
    except ImportError:
        return None
    return fcntl
