"""The boxes of a HEIC or AVIF file -> the shown size of its primary picture, and its turn.

The format: ISO/IEC 14496-12 (boxes) and 23008-12 (``pitm``, ``iprp``, ``ispe``, ``irot``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

_MAX_META = 4 << 20
_MAX_BOXES = 10_000


def primary_picture(stream: BinaryIO) -> tuple[int, int, int] | None:
    """Return width and height in pixels, before turning, and the number of quarter turns."""
    meta = _meta(stream)
    properties = dict(_boxes(meta[4:])).get(b"iprp", b"")
    boxes = list(_boxes(properties))
    container = list(_boxes(next((data for name, data in boxes if name == b"ipco"), b"")))
    chosen: list[tuple[bytes, bytes]] = []
    item = _primary_item(dict(_boxes(meta[4:])).get(b"pitm", b""))
    for name, data in boxes:
        if name == b"ipma" and item is not None:
            chosen += [
                container[index - 1]
                for index in _property_indices(data, item)
                if 0 < index <= len(container)
            ]
    size = _clean_aperture(chosen) or _size(chosen) or _largest(container)
    if size is None:
        return None
    turns = next((data[0] & 3 for name, data in chosen if name == b"irot" and data), 0)
    return size[0], size[1], turns


def _meta(stream: BinaryIO) -> bytes:
    at = 0
    for _ in range(_MAX_BOXES):
        stream.seek(at)
        head = stream.read(16)
        if len(head) < 8:  # noqa: PLR2004 (size and name)
            break
        size, header = int.from_bytes(head[:4], "big"), 8
        if size == 1:
            size, header = int.from_bytes(head[8:16], "big"), 16
        if head[4:8] == b"meta":
            stream.seek(at + header)
            return stream.read(min(size - header, _MAX_META) if size else _MAX_META)
        if size < header or at + size >= 1 << 62:
            break
        at += size
    return b""


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at + 8 <= len(data):
        size, header = int.from_bytes(data[at : at + 4], "big"), 8
        if size == 1:
            size, header = int.from_bytes(data[at + 8 : at + 16], "big"), 16
        elif size == 0:
            size = len(data) - at
        if size < header:
            return
        yield data[at + 4 : at + 8], data[at + header : at + size]
        at += size


def _primary_item(box: bytes) -> int | None:
    if len(box) < 6:  # noqa: PLR2004 (version, flags, a short id)
        return None
    return int.from_bytes(box[4:6] if box[0] == 0 else box[4:8], "big")


def _property_indices(box: bytes, wanted: int) -> list[int]:
    """Read which properties belong to the item `wanted`; counted from 1."""
    if len(box) < 8:  # noqa: PLR2004 (version, flags, a count)
        return []
    id_size = 4 if box[0] else 2
    index_size = 2 if box[3] & 1 else 1
    count, at = int.from_bytes(box[4:8], "big"), 8
    for _ in range(min(count, len(box))):
        item = int.from_bytes(box[at : at + id_size], "big")
        at += id_size
        if at >= len(box):
            return []
        end = at + 1 + box[at] * index_size
        if item == wanted:
            mask = 0x7FFF if index_size > 1 else 0x7F  # the top bit says "essential"
            return [
                int.from_bytes(box[place : place + index_size], "big") & mask
                for place in range(at + 1, min(end, len(box)), index_size)
            ]
        at = end
    return []


def _size(properties: list[tuple[bytes, bytes]]) -> tuple[int, int] | None:
    for name, data in properties:
        if name == b"ispe" and len(data) >= 12:  # noqa: PLR2004 (version, flags, two numbers)
            return int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    return None


def _clean_aperture(properties: list[tuple[bytes, bytes]]) -> tuple[int, int] | None:
    """Read the part that is shown, where an encoder had to fill up whole blocks."""
    for name, data in properties:
        if name == b"clap" and len(data) >= 16:  # noqa: PLR2004 (two fractions)
            numbers = [int.from_bytes(data[at : at + 4], "big") for at in range(0, 16, 4)]
            if all(numbers):
                return round(numbers[0] / numbers[1]), round(numbers[2] / numbers[3])
    return None


def _largest(properties: list[tuple[bytes, bytes]]) -> tuple[int, int] | None:
    sizes = [size for each in properties if (size := _size([each]))]
    return max(sizes, key=lambda size: size[0] * size[1], default=None)
