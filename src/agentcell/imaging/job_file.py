"""Lines ↔ the file of a notebook's jobs: each whole and on disk, from several processes at once."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from agentcell.adapters.file_lock import alone


def read(path: Path) -> bytes:
    """Return what is in the file; nothing where there is none, a link or a device."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""


def append(path: Path, text: str) -> None:
    """Add a line, on disk before this returns.

    Raises
    ------
    OSError
        If it is not: no folder, no leave, a full disk.
    """
    _make_folder(path.parent)
    with alone(path.with_suffix(".lock")):
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
            is_cut = end > 0 and file.read(1) != b"\n"  # a line before was not finished
            data = b"\n" * is_cut + text.encode() + b"\n"
            try:
                _write_all(file, data)
                os.fsync(file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    file.truncate(end)
                raise


def _write_all(file: BinaryIO, data: bytes) -> None:
    if file.write(data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _make_folder(folder: Path) -> None:
    if folder.name != ".agentcell":
        folder.mkdir(parents=True, exist_ok=True)
        return
    # The notebook's folder itself is not made: where it is gone, so is the notebook.
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
