"""The directories of a TIFF file, or of EXIF data -> the numbers of a few tags."""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import BinaryIO, Literal

_MAX_ENTRIES = 4096
_NUMBER_SIZES = {1: 1, 3: 2, 4: 4, 16: 8}  # BYTE, SHORT, LONG, LONG8
_BIG_TIFF = 43
_FARTHEST = 1 << 62


def read_ifd(source: bytes | BinaryIO, wanted: Collection[int]) -> dict[int, int]:
    """Return the first value of each wanted tag of the first directory, if it is a whole number.

    Damaged data gives fewer tags, never an error.
    """
    return next(iter(read_ifds(source, wanted, most=1)), {})


def read_ifds(
    source: bytes | BinaryIO, wanted: Collection[int], *, most: int
) -> list[dict[int, int]]:
    """Return the wanted tags of each directory, of the first `most` ones."""
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    stream.seek(0)
    head = stream.read(16)
    order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
    if head[:2] not in {b"II", b"MM"} or len(head) < 8:  # noqa: PLR2004 (the shortest header)
        return []
    big = int.from_bytes(head[2:4], order) == _BIG_TIFF
    word, entry_size, count_size = (8, 20, 8) if big else (4, 12, 2)
    place = int.from_bytes(head[8:16] if big else head[4:8], order)
    directories: list[dict[int, int]] = []
    while 0 < place < _FARTHEST and len(directories) < most:
        stream.seek(place)
        count = int.from_bytes(stream.read(count_size), order)
        entries = stream.read(entry_size * min(count, _MAX_ENTRIES))
        directories.append(_numbers(entries, wanted, word, order))
        place = int.from_bytes(stream.read(word), order) if count <= _MAX_ENTRIES else 0
    return directories


def _numbers(
    entries: bytes, wanted: Collection[int], word: int, order: Literal["little", "big"]
) -> dict[int, int]:
    found = {}
    size_of_entry = 4 + 2 * word
    for at in range(0, len(entries) - size_of_entry + 1, size_of_entry):
        tag = int.from_bytes(entries[at : at + 2], order)
        size = _NUMBER_SIZES.get(int.from_bytes(entries[at + 2 : at + 4], order))
        if tag in wanted and size and size <= word:
            value = at + 4 + word
            found[tag] = int.from_bytes(entries[value : value + size], order)
    return found
