"""Lines that one process adds ↔ a file that it alone has open, and where each is whole."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from agentcell.errors import BatchError

_SYNC_SECONDS = 1.0


class JournalFile:
    """Opened until it is closed. Safe to share between threads.

    Parameters
    ----------
    path
        Made, with its folder, if it is not there.

    Raises
    ------
    BatchError
        If it is no ordinary file, cannot be written, or another process has it open.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._synced = time.monotonic()
        try:
            self.path = self.path.expanduser()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self.path.open("a+b")
        except (OSError, RuntimeError, ValueError) as error:  # no such home; a NUL in the path
            said = str(getattr(error, "strerror", None) or error).rstrip(".")
            raise self.unusable(f"cannot be written: {said}") from error
        try:
            self._check_kind()
            self._keep_others_out()
        except BaseException:
            self._file.close()
            raise
        _OPEN.add(self)
        _let_go_in_children()

    def lines(self, header: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield where each line begins, and the line; half a line at the end is taken away.

        Parameters
        ----------
        header
            How the first line begins; what begins otherwise is somebody's own text.
        """
        self._file.seek(0)
        at = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                if at == 0 and not (header.startswith(line) or line.startswith(header)):
                    raise self.unusable("is no journal of a batch")
                self._file.truncate(at)
                break
            yield at, line
            at += len(line)
        self._file.seek(0, os.SEEK_END)

    def line_at(self, at: int) -> bytes:
        """Return the line that begins there."""
        with self._lock:
            self._file.seek(at)
            return self._file.readline()

    def add(self, text: str, *, now: bool = False) -> None:
        """Add a line; force it onto the disk if that was not done for a second, or is to be `now`.

        Raises
        ------
        BatchError
            If it cannot be written.
        """
        data = f"{text}\n".encode("utf-8", "replace")
        with self._lock:
            try:
                self._file.write(data)
                self._file.flush()
                if now or time.monotonic() - self._synced > _SYNC_SECONDS:
                    os.fsync(self._file.fileno())
                    self._synced = time.monotonic()
            except (OSError, ValueError) as error:
                raise self.unusable(f"cannot be written: {error}") from error

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

    def unusable(self, problem: str) -> BatchError:
        """Return the error of a file that is not as it must be."""
        fix = "name another file, or move this one away."
        if "in use" in problem:
            fix = "wait for that run, or interrupt it; or name another file."
        return BatchError(f"The journal '{self.path}' {problem}.", fix=fix)

    def _check_kind(self) -> None:
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            raise self.unusable("is no ordinary file")  # a device may have no end

    def _keep_others_out(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows keeps no file that is open from others; lines still are whole
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise self.unusable("is in use by another run of a batch") from error


_OPEN: weakref.WeakSet[JournalFile] = weakref.WeakSet()


@functools.cache
def _let_go_in_children() -> None:
    """Let processes forked from this one hold no journal open.

    A pool's workers outlive a process that is killed, and would keep its journal locked.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_let_go)


def _let_go() -> None:
    for one in list(_OPEN):
        with contextlib.suppress(OSError, ValueError):  # it is closed
            one.let_go()
