"""One file, to pieces of text and data, each with the words that say where it stands."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentcell.errors import ScanError

_LARGEST = 1 << 30
"""Bytes of a file, or of what is unpacked from it, that are searched."""

_DATABASE = b"SQLite format 3\0"

_PICTURES = (
    *(b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*"),
    *(b"\0\0\0\x1cftyp", b"\0\0\0\x18ftyp", b"\0\0\0 ftyp"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Something to search: a text, or data in which a short run comes up by chance.

    Parameters
    ----------
    where
        For people, for example ``output 1, text/plain``.
    cell
        The notebook's cell, counted from 1.
    part, separator, first
        What `text` is made of, so that a finding can be told more closely: lines, from 1.
    """

    where: str
    text: str = field(default="", repr=False)
    data: bytes = field(default=b"", repr=False)
    cell: int | None = None
    part: str = ""
    separator: str = "\n"
    first: int = 1
    is_rest: bool = False
    """Whether it holds what other pieces hold too: only what was not found there counts."""


def is_picture(data: bytes) -> bool:
    """Whether a file or a value that begins with `data` is a picture."""
    return data.startswith(_PICTURES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def pieces_of(path: Path, *, was_named: bool) -> Iterator[Piece]:
    """Yield the pieces of the file at `path`.

    Parameters
    ----------
    was_named
        Whether a person named this file: pictures are then searched too.

    Raises
    ------
    ScanError
        If it cannot be read.
    """
    from agentcell.scan.database import rows
    from agentcell.scan.notebook import cells

    try:
        if path.stat().st_size > _LARGEST:
            raise ScanError(f"{path.name} is larger than 1 GB; it is not searched.")
        with path.open("rb") as file:
            head = file.read(16)
            if is_picture(head) and not was_named:
                return
            content = head + file.read()
    except OSError as problem:
        raise ScanError(f"{path.name} cannot be read: {problem.strerror or problem}.") from problem
    if head == _DATABASE:
        yield from rows(path)
        yield Piece(where="pages of the file, among them deleted rows", data=content, is_rest=True)
        return
    if path.suffix.lower() == ".ipynb":
        yield from cells(content, path.name)
        return
    if is_picture(head) or head[-4:] == b"-wal":
        yield Piece(where="data", data=content)
        return
    yield from value_pieces(content, "", part="line")


def value_pieces(content: bytes, where: str, *, part: str = "") -> Iterator[Piece]:
    """Yield what bytes without a declared type hold: text of any usual encoding, or data."""
    unpacked = _unpacked(content)
    text = decoded(unpacked)
    if text is None:
        yield Piece(where=where or "data", data=unpacked)
    else:
        yield Piece(where=where, text=text, part=part)


def decoded(content: bytes) -> str | None:
    """Return the text that `content` is; None if it is data."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if b"\0" in content[:8192]:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None if is_picture(content) else content.decode("latin-1")


def _unpacked(content: bytes) -> bytes:
    """Return what is packed in `content` by gzip or zlib; else `content`."""
    try:
        if content[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                return file.read(_LARGEST)
        if content[:1] == b"\x78" and int.from_bytes(content[:2]) % 31 == 0:  # as RFC 1950 says
            return zlib.decompressobj().decompress(content, _LARGEST)
    except (OSError, EOFError, zlib.error):
        pass
    return content


def as_json(content: bytes) -> object:
    """Return what JSON text says.

    Raises
    ------
    ValueError
        If it is none, or too deeply nested.
    """
    try:
        return json.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("too deeply nested") from None
