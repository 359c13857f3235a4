"""A PDF's compressed streams -> none of them swells into memory once a page is drawn.

PDFium unpacks a page's drawing commands whole, and holds about fifteen times their size while it
draws; 500 MB of them, 1 MB in the file, took 7.5 GB and 46 seconds (pypdfium2 5.15). Pictures are
unpacked line by line, and are left alone.
"""

from __future__ import annotations

import mmap
import re
import zlib
from collections.abc import Iterator

from agentcell.assets.content import Content
from agentcell.assets.header import Damaged
from agentcell.assets.pdf_forms import Bytes, Stream, check_forms, object_number

MAX_UNPACKED = 32_000_000
"""The most bytes that drawing commands, or all heavily packed ones together, may unpack to."""

_BEST_RATIO = 1032  # the most that deflate can pack
_HEAVY_RATIO = 100
_PIECE = 1 << 20
_MAX_ROUNDS = 3
_DICTIONARY = 4096


def check_streams(content: Content) -> None:
    """Refuse a PDF whose pages would fill the memory.

    Raises
    ------
    Damaged
        If a stream other than a picture unpacks to more than `MAX_UNPACKED` bytes.
    """
    if content.file:
        with (
            content.open() as source,
            mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            _check(data)
    else:
        _check(content.read())


def _check(data: Bytes) -> None:
    heavy = 0
    drawings = []
    for stream in _streams(data):
        rounds = len(re.findall(rb"/(?:FlateDecode|Fl)\b", stream.head))
        if re.search(rb"/Image\b|/EmbeddedFile\b", stream.head) and not stream.is_form:
            continue
        drawings.append(stream)
        packed = stream.packed
        if not rounds:
            continue
        if rounds == 1 and packed * _BEST_RATIO <= min(MAX_UNPACKED, MAX_UNPACKED - heavy):
            continue
        unpacked = _unpacked_size(data, stream.start, packed, rounds)
        heavy += unpacked if unpacked > packed * _HEAVY_RATIO else 0
        if max(unpacked, heavy) > MAX_UNPACKED:
            raise Damaged(f"its pages unpack to more than {MAX_UNPACKED:,} bytes")
    if any(stream.is_form for stream in drawings):
        check_forms(data, drawings)


def _streams(data: Bytes) -> Iterator[Stream]:
    for found in re.finditer(rb"stream\r?\n", data):
        if data[found.start() - 3 : found.start()] == b"end":
            continue
        before = data[max(0, found.start() - _DICTIONARY) : found.start()]
        end = data.find(b"endstream", found.end())
        packed = (end if end >= 0 else len(data)) - found.end()
        head = before[before.rfind(b"obj") + 1 :]
        yield Stream(object_number(before), head, found.end(), packed)


def _unpacked_size(data: Bytes, start: int, packed: int, rounds: int) -> int:
    """Return how much a stream unpacks to; counting ends above `MAX_UNPACKED`."""
    pieces: Iterator[bytes] = (
        bytes(data[at : min(at + _PIECE, start + packed)])
        for at in range(start, start + packed, _PIECE)
    )
    for _ in range(min(rounds, _MAX_ROUNDS)):
        pieces = _unpack(pieces)
    total = 0
    try:
        for piece in pieces:
            total += len(piece)
            if total > MAX_UNPACKED:
                break
    except zlib.error:
        pass  # damaged, or encrypted: PDFium gets no further either
    return total


def _unpack(pieces: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    for piece in pieces:
        left = piece
        while left and not unpacker.eof:
            yield unpacker.decompress(left, _PIECE)
            left = unpacker.unconsumed_tail
