"""Pieces of files as a browser sends them -> whole files in a private folder, one use each.

A message of more than 10 MiB never arrives (tornado's limit, and nobody is told), so a file comes
in pieces of at most 1 MiB; the page sends the next when the last was written. Memory holds one.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from agentcell.assets.wording import clean_name
from agentcell.errors import PanelError
from agentcell_widgets.panel.message import Message

PIECE_BYTES = 1024 * 1024
"""Of one piece at most."""

MOST_BYTES = 100 * 1024 * 1024
"""Of one file."""

MOST_AT_ONCE = 8
"""Files that one panel may have begun."""

STALE_AFTER = 120.0
"""Seconds without a piece after which a file may be given up: its page was closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """A file that came whole.

    Parameters
    ----------
    path
        Where it is until the panel has taken it.
    name
        As the browser calls it, without folders; may be empty.
    size_bytes
        Its length.
    """

    path: Path
    name: str
    size_bytes: int


@dataclass(slots=True, kw_only=True)
class _Begun:
    path: Path
    name: str
    size: int
    sink: BinaryIO = field(repr=False)
    received: int = 0
    touched: float = field(default_factory=time.monotonic)


class Uploads:
    """The files that one panel's pages are sending. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[str, _Begun] = {}
        self._is_closed = False

    def begin(self, message: Message) -> str:
        """Make room for a file, and return what it is called until it is whole.

        Parameters
        ----------
        message
            ``name``; ``size`` in bytes.

        Raises
        ------
        PanelError
            If it is too large, or too many are on the way.
        """
        name = clean_name(message.text("name", longest=1_000)) or ""
        shown = name or "The file"
        size = message.number("size", least=0, most=2**53)
        if size > MOST_BYTES:
            raise PanelError(
                f"{shown} is {size:,} bytes; at most {MOST_BYTES:,} come through a page.",
                fix="put it into the notebook's folder and give its path, or use a smaller copy.",
            )
        if not size:
            raise PanelError(f"{shown} is empty.", fix="choose another file.")
        self._give_up_stale()
        with self._lock:
            if self._is_closed or len(self._begun) >= MOST_AT_ONCE:
                raise PanelError(
                    f"{len(self._begun)} files are on the way; no more than {MOST_AT_ONCE} may be.",
                    fix="wait for one of them, or cancel one.",
                )
            descriptor, path = tempfile.mkstemp(prefix="agentcell-upload-")
            known = uuid.uuid4().hex
            self._begun[known] = _Begun(
                path=Path(path), name=name, size=size, sink=os.fdopen(descriptor, "wb")
            )
        return known

    def add(self, message: Message) -> int:
        """Write the next piece, and return how many bytes there are now.

        Parameters
        ----------
        message
            ``upload``, what `begin` returned; ``offset``, where the piece belongs; and its bytes.

        Raises
        ------
        PanelError
            If there is no such file, or the piece is not the next one. The file is then given up.
        """
        begun = self._of(message)
        pieces = message.buffers
        offset = message.number("offset", least=0, most=MOST_BYTES)
        length = pieces[0].nbytes if len(pieces) == 1 else 0
        if offset != begun.received or not 0 < length <= min(
            PIECE_BYTES, begun.size - begun.received
        ):
            self.cancel(message)
            raise PanelError(
                f"A piece of {length:,} bytes came for byte {offset:,} of {begun.name or 'a file'};"
                f" byte {begun.received:,} of {begun.size:,} was expected.",
                fix="send the file again.",
            )
        try:
            begun.sink.write(pieces[0])
        except (OSError, ValueError) as error:
            self.cancel(message)
            raise PanelError(
                f"{begun.name or 'The file'} cannot be kept: {error}.",
                fix="make room on the disk, and send it again.",
            ) from error
        begun.received += length
        begun.touched = time.monotonic()
        return begun.received

    @contextlib.contextmanager
    def whole(self, message: Message) -> Iterator[Uploaded]:
        """Give a file that came whole; afterwards it is deleted.

        Parameters
        ----------
        message
            ``upload``, what `begin` returned.

        Raises
        ------
        PanelError
            If there is no such file, or some of it is missing.
        """
        begun = self._of(message)
        with self._lock:
            self._begun.pop(message.text("upload"), None)
        try:
            begun.sink.close()
            if begun.received != begun.size:
                raise PanelError(
                    f"{begun.name or 'The file'} is not whole:"
                    f" {begun.received:,} of {begun.size:,} bytes came.",
                    fix="send it again.",
                )
            yield Uploaded(path=begun.path, name=begun.name, size_bytes=begun.size)
        finally:
            _delete(begun)

    def cancel(self, message: Message) -> None:
        """Give a file up; one that is not there is none to give up.

        Parameters
        ----------
        message
            ``upload``, what `begin` returned.
        """
        with self._lock:
            begun = self._begun.pop(message.text("upload", longest=64), None)
        if begun is not None:
            _delete(begun)

    def close(self) -> None:
        """Give up all of them."""
        with self._lock:
            self._is_closed = True
            begun, self._begun = list(self._begun.values()), {}
        for one in begun:
            _delete(one)

    def __len__(self) -> int:
        return len(self._begun)

    def _give_up_stale(self) -> None:
        """Make room where a page went away in the middle of its files."""
        with self._lock:
            if len(self._begun) < MOST_AT_ONCE:
                return
            since = time.monotonic() - STALE_AFTER
            stale = [name for name, one in self._begun.items() if one.touched < since]
            given_up = [self._begun.pop(name) for name in stale]
        for one in given_up:
            _delete(one)

    def _of(self, message: Message) -> _Begun:
        with self._lock:
            begun = self._begun.get(message.text("upload", longest=64))
        if begun is None:
            raise PanelError("There is no such file on the way.", fix="send it again.")
        return begun


def _delete(begun: _Begun) -> None:
    with contextlib.suppress(OSError):
        begun.sink.close()
    with contextlib.suppress(OSError):
        begun.path.unlink(missing_ok=True)
