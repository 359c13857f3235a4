"""An image file's header -> its pixel size and orientation, without decoding anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from agentcell.assets.sniff import HEAD_BYTES, from_first_element
from agentcell.assets.tiff import read_ifd, read_ifds


class Damaged(Exception):
    """The file is not what its first bytes promise. The text says how, after "is damaged:"."""


@dataclass(frozen=True, slots=True)
class Header:
    """What an image's header says.

    Parameters
    ----------
    width, height
        Pixels as shown, with the orientation applied; None where an SVG names no size.
    orientation
        The EXIF value, 1 (upright) to 8, still to be applied to the decoded pixels; 1 where the
        decoder applies it itself.
    animated
        Whether there is more than one frame, where the header says so; None where only the body
        does (GIF).
    is_cmyk
        Whether a JPEG's colours are those of four printing inks.
    """

    width: int | None
    height: int | None
    orientation: int = 1
    animated: bool | None = False
    is_cmyk: bool = False


def read_header(kind: str, stream: BinaryIO) -> Header:
    """Read the header of an image of the MIME type `kind`.

    Raises
    ------
    Damaged
        If the header is cut off or makes no sense.
    """
    stream.seek(0)
    header = _READERS[kind](stream)
    if header.width is not None and header.height is not None:
        if header.width < 1 or header.height < 1:
            raise Damaged(f"its header gives {header.width} × {header.height} pixels")
        if header.orientation >= _TURNED:
            return replace(header, width=header.height, height=header.width)
    return header


_TURNED, _LAST_ORIENTATION = 5, 8  # EXIF orientations 5 to 8 swap width and height


def _need(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise Damaged("it is cut off within its header")
    return data


def _orientation(exif: bytes) -> int:
    exif = exif.removeprefix(b"Exif\x00\x00")
    value = read_ifd(exif, {_ORIENTATION}).get(_ORIENTATION, 1)
    return value if 1 <= value <= _LAST_ORIENTATION else 1


def _png(stream: BinaryIO) -> Header:
    head = _need(stream, 33)
    if head[12:16] != b"IHDR":
        raise Damaged("its first chunk is not IHDR")
    width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    orientation, animated = 1, False
    for name, start, length in png_chunks(stream):
        if name == b"acTL" and length == 8:  # noqa: PLR2004 (the size of the chunk)
            stream.seek(start)
            animated = int.from_bytes(stream.read(4), "big") > 1
        elif name == b"eXIf" and length <= _MAX_EXIF:
            stream.seek(start)
            orientation = _orientation(stream.read(length))
    return Header(width, height, orientation, animated)


_MAX_EXIF = 1 << 20
_MAX_PARTS = 100_000


def png_chunks(stream: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, first byte and length of every chunk up to IEND, or to the end of the file."""
    at = 8
    for _ in range(_MAX_PARTS):
        stream.seek(at)
        head = stream.read(8)
        if len(head) < 8:  # noqa: PLR2004 (length and name)
            return
        length = int.from_bytes(head[:4], "big")
        yield head[4:], at + 8, length
        if head[4:] == b"IEND":
            return
        at += length + 12


def _jpeg(stream: BinaryIO) -> Header:
    orientation = 1
    for marker, length in jpeg_segments(stream):
        if marker in _JPEG_FRAMES:
            frame = _need(stream, 6)
            height, width = int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:5], "big")
            return Header(width, height, orientation, is_cmyk=frame[5] == _CMYK)
        if marker == 0xE1:  # noqa: PLR2004 (APP1)
            data = _need(stream, length)
            if data.startswith(b"Exif\x00\x00"):
                orientation = _orientation(data)
    raise Damaged("it has no frame header")


_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SCAN = 0xDA
_CMYK = 4  # channels


def jpeg_segments(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yield marker and length of every segment up to the first scan, which is yielded too.

    The stream stands at the segment's first byte.
    """
    at = 2
    for _ in range(_MAX_PARTS):
        stream.seek(at)
        head = _need(stream, 2)
        if head[0] != 0xFF:  # noqa: PLR2004 (every marker begins so)
            raise Damaged(f"no marker where one must be, at byte {at:,}")
        if head[1] in {0xFF, 0x01} or 0xD0 <= head[1] <= 0xD8:  # noqa: PLR2004 (fill, no length)
            at += 1 if head[1] == 0xFF else 2  # noqa: PLR2004 (fill byte)
            continue
        if head[1] == 0xD9:  # noqa: PLR2004 (end of image)
            return
        length = int.from_bytes(_need(stream, 2), "big")
        if length < 2:  # noqa: PLR2004 (it counts itself)
            raise Damaged(f"a segment of impossible length, at byte {at:,}")
        yield head[1], length - 2
        if head[1] == _JPEG_SCAN:
            return
        at += 2 + length


def _gif(stream: BinaryIO) -> Header:
    head = _need(stream, 13)
    return Header(
        int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little"), animated=None
    )


def _webp(stream: BinaryIO) -> Header:
    head = _need(stream, 30)
    name = head[12:16]
    if name == b"VP8X":
        width = int.from_bytes(head[24:27], "little") + 1
        height = int.from_bytes(head[27:30], "little") + 1
        orientation = _webp_orientation(stream) if head[20] & 8 else 1
        return Header(width, height, orientation, bool(head[20] & 2))
    if name == b"VP8L" and head[20] == 0x2F:  # noqa: PLR2004 (its signature)
        bits = int.from_bytes(head[21:25], "little")
        return Header((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if name == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        size = head[26:30]
        return Header(
            int.from_bytes(size[:2], "little") & 0x3FFF, int.from_bytes(size[2:], "little") & 0x3FFF
        )
    raise Damaged("its first chunk is none of a WebP image")


def _webp_orientation(stream: BinaryIO) -> int:
    for name, start, length in webp_chunks(stream):
        if name == b"EXIF" and length <= _MAX_EXIF:
            stream.seek(start)
            return _orientation(stream.read(length))
    return 1


def webp_chunks(stream: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, first byte and length of every chunk."""
    at = 12
    for _ in range(_MAX_PARTS):
        stream.seek(at)
        head = stream.read(8)
        if len(head) < 8:  # noqa: PLR2004 (name and length)
            return
        length = int.from_bytes(head[4:], "little")
        yield head[:4], at + 8, length
        at += 8 + length + length % 2


def _bmp(stream: BinaryIO) -> Header:
    head = _need(stream, 26)
    if int.from_bytes(head[14:18], "little") == 12:  # noqa: PLR2004 (OS/2's short header)
        width, height = int.from_bytes(head[18:20], "little"), int.from_bytes(head[20:22], "little")
    else:
        width = int.from_bytes(head[18:22], "little", signed=True)
        height = abs(int.from_bytes(head[22:26], "little", signed=True))
    return Header(width, height)


_KIND, _WIDTH, _HEIGHT, _ORIENTATION = 254, 256, 257, 274  # TIFF tags
_REDUCED = 1  # of `_KIND`: a thumbnail of another picture in the file


def _tiff(stream: BinaryIO) -> Header:
    tags, *others = read_ifds(stream, {_KIND, _WIDTH, _HEIGHT, _ORIENTATION}, most=2) or [{}]
    if _WIDTH not in tags or _HEIGHT not in tags:
        raise Damaged("its directory gives no width or height")
    width, height = tags[_WIDTH], tags[_HEIGHT]
    # The size is given as shown, for Pillow turns a TIFF itself while decoding it.
    if _TURNED <= tags.get(_ORIENTATION, 1) <= _LAST_ORIENTATION:
        width, height = height, width
    is_page = [_WIDTH in other and not other.get(_KIND, 0) & _REDUCED for other in others]
    return Header(width, height, animated=any(is_page))


def _iso(stream: BinaryIO) -> Header:
    from agentcell.assets.isobmff import primary_picture

    picture = primary_picture(stream)
    if picture is None:
        raise Damaged("it names no picture, or no size for it")
    width, height, quarter_turns = picture
    if quarter_turns % 2:
        width, height = height, width
    return Header(width, height, animated=None)


_SVG_TAG = r"""<[\w.:-]+((?:[^>"']|"[^"]*"|'[^']*')*)>"""
_LENGTH = r"\s*\+?(\d{1,6}(?:\.\d{0,6})?|\.\d{1,6})\s*(px)?\s*"
_NUMBER = r"[\s,]*([+-]?[\d.]{1,12}(?:e[+-]?\d)?)"


def _svg(stream: BinaryIO) -> Header:
    tag = re.match(_SVG_TAG, from_first_element(stream.read(HEAD_BYTES)))
    if not tag:
        raise Damaged("its first element does not end")
    sizes = [_svg_length(tag[1], name) for name in ("width", "height")]
    if None in sizes:
        box = re.search(r"\sviewBox\s*=\s*[\"']([^\"']*)", tag[1])
        numbers = re.match(_NUMBER * 4, box[1], re.IGNORECASE) if box else None
        try:
            sizes = [round(float(numbers[3])), round(float(numbers[4]))] if numbers else [None] * 2
        except (ValueError, OverflowError):
            sizes = [None, None]
    if None in sizes or not all(sizes):
        return Header(None, None)
    return Header(sizes[0], sizes[1])


def _svg_length(attributes: str, name: str) -> int | None:
    found = re.search(rf"\s{name}\s*=\s*[\"']([^\"']*)[\"']", attributes)
    length = re.fullmatch(_LENGTH, found[1]) if found else None
    return round(float(length[1])) if length else None


_READERS: dict[str, Callable[[BinaryIO], Header]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/bmp": _bmp,
    "image/tiff": _tiff,
    "image/heic": _iso,
    "image/heif": _iso,
    "image/avif": _iso,
    "image/svg+xml": _svg,
}
