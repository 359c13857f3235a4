"""Bytes as they come → a file that is there whole, under a name of its own, or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import time
import uuid
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO

from agentcell.imaging.media_type import HEAD_BYTES, MediaType, media_type

_SUFFIX = ".part"
_PREFIX = ".agentcell-"

_STALE_SECONDS = 24 * 3600
"""How old a file must be that a killed process has left, before it is taken away."""

_LONGEST = 100
"""Characters of a name: file systems take 255 bytes in all."""

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file that is whole, on disk, and has no name yet: `put` it, or `discard` it.

    Parameters
    ----------
    path
        Its temporary place, hidden, in the folder that it is meant for.
    media
        What it holds, by its content.
    digest
        SHA-256 of its bytes, in hexadecimal.
    size_bytes
        Of the file.
    """

    path: Path
    media: MediaType
    digest: str
    size_bytes: int

    def put(self, stem: str, *, extension: str = "") -> Path:
        """Give the file its name in its folder, in one step, and return where it is.

        A file of that name is left as it is: if it holds the same, it is the one; else a number
        is added to the name of this one.

        Parameters
        ----------
        stem
            The name without its ending; see `safe_id`.
        extension
            In the place of the one that belongs to the content.

        Raises
        ------
        OSError
            If the folder takes no file. The temporary one is gone then.
        """
        ending = extension or self.media.extension
        try:
            for number in count(1):
                name = f"{stem}.{ending}" if number == 1 else f"{stem}-{number}.{ending}"
                place = self.path.with_name(name)
                if _named(self.path, place) or self._is_in(place):
                    return place
        finally:
            self.discard()
        raise AssertionError("unreachable: count never ends")

    def discard(self) -> None:
        """Take the file away, if it has no name yet."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _is_in(self, place: Path) -> bool:
        """Whether a file holds the same."""
        try:
            with place.open("rb") as file:
                if os.fstat(file.fileno()).st_size != self.size_bytes:
                    return False
                digest = hashlib.sha256()
                while piece := file.read(_READ_BYTES):
                    digest.update(piece)
        except OSError:
            return False
        return digest.hexdigest() == self.digest


class PartWriter:
    """Writes one file under a temporary name; `finish` it, or `discard` what was written.

    Parameters
    ----------
    folder
        Where it is meant for; made if need be.

    Raises
    ------
    OSError
        If nothing can be written there; so do all methods.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        self.path = folder / f"{_PREFIX}{uuid.uuid4().hex}{_SUFFIX}"
        self.size_bytes = 0
        self._digest = hashlib.sha256()
        self._head = bytearray()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._file: BinaryIO = os.fdopen(os.open(self.path, flags, 0o666), "wb", buffering=0)

    def write(self, data: bytes) -> None:
        """Add `data`."""
        if len(self._head) < HEAD_BYTES:
            self._head += data[:HEAD_BYTES]
        self._digest.update(data)
        self.size_bytes += len(data)
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]

    def finish(self) -> Part:
        """Return what was written, on disk."""
        os.fsync(self._file.fileno())
        self._file.close()
        return Part(
            path=self.path,
            media=media_type(bytes(self._head)),
            digest=self._digest.hexdigest(),
            size_bytes=self.size_bytes,
        )

    def discard(self) -> None:
        """Take away what was written."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self.path.unlink()


def part_of(data: bytes, folder: Path) -> Part:
    """Return a file of `data` that is to lie in `folder`; errors as for `PartWriter`."""
    writer = PartWriter(folder)
    try:
        writer.write(data)
        return writer.finish()
    except BaseException:
        writer.discard()
        raise


def safe_id(text: str) -> str:
    """Return a service's name for a job as part of a file's name.

    ASCII letters, digits and hyphens stay; any other character becomes ``_``. Of a long one the
    end is a digest.
    """
    safe = re.sub(r"[^A-Za-z0-9-]", "_", text)
    if len(safe) <= _LONGEST:
        return safe
    return f"{safe[: _LONGEST - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _named(part: Path, place: Path) -> bool:
    """Give `part` also the name `place`, or say that there is a file of that name."""
    try:
        os.link(part, place)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        return True
    try:  # a file system without links: the name is taken first, then the file put in its place
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    try:
        part.replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise
    return True


def _sweep(folder: Path) -> None:
    """Take away what processes left that were killed."""
    for left in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with contextlib.suppress(OSError):  # another process was quicker
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                left.unlink()
