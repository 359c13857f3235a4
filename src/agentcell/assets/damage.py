"""An image file -> whether it is whole: its structure always, its pixels where that is cheap.

A file is walked part by part without decoding it, which finds what is cut off. Up to
`DECODED_PIXELS` it is decoded too, which finds what is spoilt; a larger one is decoded by whoever
needs its pixels (`agentcell.assets.pixels`), and fails there in the same words.
"""

from __future__ import annotations

import codecs
import re
import time
import zlib
from collections.abc import Callable
from typing import BinaryIO

from agentcell.assets.header import Damaged, Header, jpeg_segments, png_chunks, webp_chunks

DECODED_PIXELS = 2_000_000
"""Decoding so many takes about 20 ms."""

_CHECKED_BYTES = 8 * 1024 * 1024  # longer files are walked, not read
_CUT_OFF = "it is cut off"


def check_whole(kind: str, stream: BinaryIO, header: Header) -> bool:
    """Refuse a damaged image of the MIME type `kind`; tell whether it has several frames.

    Raises
    ------
    Damaged
        If it is cut off or spoilt.
    """
    stream.seek(0, 2)
    size = stream.tell()
    animated = _CHECKS[kind](stream, size) if kind in _CHECKS else bool(header.animated)
    if (
        kind in _DECODED
        and header.width
        and header.height
        and header.width * header.height <= DECODED_PIXELS
        and size <= _CHECKED_BYTES
    ):
        _decode(kind, stream)
    return animated


_DECODED = {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff"}


def _decode(kind: str, stream: BinaryIO) -> None:
    from agentcell.assets.pixels import NotDrawable, open_picture, unknown_kind

    try:
        picture = open_picture(kind, stream)
    except NotDrawable:  # of a kind that is not known here: nothing says that it is damaged
        return
    if kind == "image/jpeg":
        eighth = (max(1, picture.width // 8), max(1, picture.height // 8))
        picture.draft(None, eighth)  # all data, fewer pixels
    try:
        picture.load()
    except Exception as error:  # Pillow's decoders raise almost anything on spoilt data
        if unknown_kind(error):
            return
        raise Damaged(str(error)[:100] or type(error).__name__) from error


def _png(stream: BinaryIO, size: int) -> bool:
    frames, last, has_pixels = 1, b"", False
    for name, start, length in png_chunks(stream):
        if start + length + 4 > size:
            raise Damaged(_CUT_OFF)
        if name[:1].isupper() and length <= _CHECKED_BYTES and size <= _CHECKED_BYTES:
            stream.seek(start - 4)
            data = stream.read(length + 8)
            if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "big"):
                raise Damaged(f"the checksum of its {name.decode('latin-1')} chunk is wrong")
        if name == b"acTL":
            stream.seek(start)
            frames = int.from_bytes(stream.read(4), "big")
        has_pixels = has_pixels or name == b"IDAT"
        last = name
    if last != b"IEND":
        raise Damaged(_CUT_OFF)
    if not has_pixels:
        raise Damaged("it holds no pixels")
    return frames > 1


MAX_SCANS = 300
"""Of a progressive JPEG; encoders make about ten. Each costs a pass over all pixels."""


def _jpeg(stream: BinaryIO, size: int) -> bool:
    scan = 0
    is_progressive = False
    for marker, _ in jpeg_segments(stream):
        is_progressive = is_progressive or marker in _PROGRESSIVE
        if marker == 0xDA:  # noqa: PLR2004 (start of scan)
            scan = stream.tell()
    if not scan:
        raise Damaged("it holds no pixels")
    if not _has_end(stream, scan, size):
        raise Damaged(_CUT_OFF)
    if is_progressive and _scans(stream, scan) > MAX_SCANS:
        raise Damaged(f"it is drawn in more than {MAX_SCANS} passes")
    return False


_PROGRESSIVE = {0xC2, 0xC6, 0xCA, 0xCE}  # start of frame, in its four progressive kinds


def _scans(stream: BinaryIO, start: int) -> int:
    """Count the scans from `start` on: their mark occurs nowhere in packed pixels."""
    stream.seek(start)
    count, last = 1, b""
    while piece := stream.read(1 << 20):
        count += (last + piece).count(b"\xff\xda")
        last = piece[-1:]
    return count


def _has_end(stream: BinaryIO, start: int, size: int) -> bool:
    """Tell whether an end mark follows `start`: nearly always it is in the last bytes."""
    at = max(start, size - 65_536)
    while True:
        stream.seek(at)
        if b"\xff\xd9" in stream.read(min(1 << 20, size) + 1):
            return True
        if at <= start:
            return False
        at = max(start, at - (1 << 20))


def _gif(stream: BinaryIO, size: int) -> bool:
    stream.seek(0)
    data = stream.read()
    at = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    frames = 0
    while at < size:
        block = data[at]
        if block == 0x3B:  # noqa: PLR2004 (trailer)
            break
        if block == 0x21:  # noqa: PLR2004 (extension)
            at = _after_gif_blocks(data, at + 2)
        elif block == 0x2C:  # noqa: PLR2004 (image)
            if at + 10 > size:
                raise Damaged(_CUT_OFF)
            flags = data[at + 9]
            at = _after_gif_blocks(data, at + 11 + (3 << (flags & 7) + 1 if flags & 0x80 else 0))
            frames += 1
        elif frames:
            break  # junk after the pictures; viewers stop here too
        else:
            raise Damaged(f"an unknown block at byte {at:,}")
    if not frames:
        raise Damaged("it holds no pixels" if at < size else _CUT_OFF)
    return frames > 1


def _after_gif_blocks(data: bytes, at: int) -> int:
    while at < len(data):
        length = data[at]
        at += length + 1
        if not length:
            return at
    raise Damaged(_CUT_OFF)


def _webp(stream: BinaryIO, size: int) -> bool:
    stream.seek(4)
    if int.from_bytes(stream.read(4), "little") + 8 > size + 1:  # an odd end may lack its padding
        raise Damaged(_CUT_OFF)
    names = []
    for name, start, length in webp_chunks(stream):
        if start + length > size:
            if name in _WEBP_PIXELS:
                raise Damaged(_CUT_OFF)
            break  # junk after the picture
        names.append(name)
    if not _WEBP_PIXELS.intersection(names):
        raise Damaged("it holds no pixels")
    return names.count(b"ANMF") > 1


_WEBP_PIXELS = {b"VP8 ", b"VP8L", b"ANMF"}


def _bmp(stream: BinaryIO, size: int) -> bool:
    stream.seek(0)
    head = stream.read(54)
    if len(head) == 54 and int.from_bytes(head[14:18], "little") >= 40:  # noqa: PLR2004 (BITMAPINFOHEADER)
        width = abs(int.from_bytes(head[18:22], "little", signed=True))
        height = abs(int.from_bytes(head[22:26], "little", signed=True))
        bits, packing = int.from_bytes(head[28:30], "little"), int.from_bytes(head[30:34], "little")
        row = (width * bits + 31) // 32 * 4
        if packing in {0, 3} and int.from_bytes(head[10:14], "little") + row * height > size:
            raise Damaged(_CUT_OFF)
    return False


def _iso(stream: BinaryIO, size: int) -> bool:
    """Walk the outermost boxes of a HEIC or AVIF file."""
    at, is_sequence, has_pixels = 0, False, False
    while at < size:
        stream.seek(at)
        head = stream.read(16)
        if len(head) < 8:  # noqa: PLR2004 (size and name)
            break
        length = int.from_bytes(head[:4], "big")
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        if length == 0:
            length = size - at
        if length < 8 or at + length > size:  # noqa: PLR2004 (size and name)
            raise Damaged(_CUT_OFF)
        is_sequence = is_sequence or head[4:8] == b"moov"
        has_pixels = has_pixels or head[4:8] in {b"mdat", b"idat", b"meta"}
        at += length
    if not has_pixels:
        raise Damaged("it holds no pixels")
    return is_sequence


_SVG_SECONDS = 2.0
_MAX_ENTITY = 256


def _svg(stream: BinaryIO, size: int) -> bool:
    from xml.parsers.expat import ExpatError

    try:
        try:
            _parse_xml(stream, size, None)
        except ValueError:  # expat itself reads no Chinese, Japanese or Korean encoding
            _parse_xml(stream, size, _declared_encoding(stream))
    except ExpatError as error:
        raise Damaged(f"its XML is wrong ({error})") from None
    except (ValueError, LookupError) as error:  # an encoding that nobody knows
        raise Damaged(str(error)[:100]) from None
    return False


def _declared_encoding(stream: BinaryIO) -> str:
    stream.seek(0)
    found = re.search(rb"""encoding\s*=\s*["']([\w.-]{1,40})""", stream.read(200))
    return found[1].decode() if found else "utf-8"


def _parse_xml(stream: BinaryIO, size: int, encoding: str | None) -> None:
    from xml.parsers.expat import ParserCreate

    def refuse_nested(_name: str, _is_parameter: bool, value: str | None, *_: object) -> None:
        if value is not None and (len(value) > _MAX_ENTITY or "&" in value):
            raise Damaged("it declares an entity that would swell")

    parser = ParserCreate("utf-8" if encoding else None)
    parser.EntityDeclHandler = refuse_nested
    decoder = codecs.getincrementaldecoder(encoding)() if encoding else None
    deadline = time.monotonic() + _SVG_SECONDS
    stream.seek(0)
    for _ in range(0, size, 65_536):
        piece = stream.read(65_536)
        parser.Parse(decoder.decode(piece).encode() if decoder else piece, False)
        if time.monotonic() > deadline:
            raise Damaged(f"reading it takes longer than {_SVG_SECONDS:g} seconds")
    parser.Parse(decoder.decode(b"", True).encode() if decoder else b"", True)


_CHECKS: dict[str, Callable[[BinaryIO, int], bool]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/bmp": _bmp,
    "image/heic": _iso,
    "image/heif": _iso,
    "image/avif": _iso,
    "image/svg+xml": _svg,
}
