"""How a picture came to be ↔ metadata in its file: PNG, JPEG and WebP, their pixels untouched.

It is written as XMP, which viewers, image banks and search engines read: the words for who cannot
see it, the IPTC mark of what a machine made, and one record of our own. Nothing in it depends on
the time or the machine. What a service wrote itself stays, but for its own XMP.
"""

from __future__ import annotations

import html
import json
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from agentcell.imaging.job import without_secrets

MOST_PROMPT = 8_000
"""Characters of a prompt that are kept: a JPEG's metadata has room for 64 kB."""

_MOST_WRITTEN = 56_000
"""Characters of a prompt as it is written, each that is not ASCII in six or twelve."""

_MADE_BY_MODEL = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"
_MADE_BY_RULE = "http://cv.iptc.org/newscodes/digitalsourcetype/algorithmicMedia"
"""https://cv.iptc.org/newscodes/digitalsourcetype/, read 2026-11-30."""

_NAMESPACE = "https://agentcell.invalid/ns/generation/1/"
_RECORD = re.compile(rb'agentcell:record="([^"]*)"')

_PNG = b"\x89PNG\r\n\x1a\n"
_XMP_KEYWORD = b"XML:com.adobe.xmp"
_XMP_MARK = b"http://ns.adobe.com/xap/1.0/\x00"
_HAS_XMP, _HAS_ALPHA = 0x04, 0x10


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How one picture came to be.

    Parameters
    ----------
    prompt
        Up to `MOST_PROMPT` characters (fewer of emoji), without keys and the queries of addresses.
    backend, model, seed
        Who made it; `model` empty and `seed` None where that was not told.
    parents
        Digests of the pictures that it was made from.
    job_id, request_id
        Its names in the ledger and at the service.
    tool
        What wrote the file: the package and its version.
    """

    prompt: str
    backend: str = ""
    model: str = ""
    seed: int | None = None
    parents: tuple[str, ...] = ()
    job_id: str = ""
    request_id: str = ""
    tool: str = ""

    @classmethod
    def of(cls, prompt: str, **facts: Any) -> Provenance:
        """Return the provenance of a picture that is written now.

        Parameters
        ----------
        prompt
            As it was sent.
        facts
            The other fields.
        """
        kept = without_secrets(prompt)[:MOST_PROMPT]
        while len(_xml(json.dumps(kept))) > _MOST_WRITTEN:
            kept = kept[: len(kept) * 3 // 4]
        return cls(prompt=kept, tool=f"agentcell {_version()}", **facts)


def written(data: bytes, provenance: Provenance, alt: str = "") -> bytes:
    """Return a picture's file with its provenance in it; of another type as it is.

    Parameters
    ----------
    data
        A whole PNG, JPEG or WebP.
    alt
        What a reader is told who cannot see it.
    """
    packet = _packet(provenance, alt)
    if data.startswith(_PNG):
        return _in_png(data, packet)
    if data.startswith(b"\xff\xd8"):
        return _in_jpeg(data, packet)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _in_webp(data, packet)
    return data


def read(path: Path | str) -> Provenance | None:
    """Return what the file says of how it came to be; None where it says nothing of ours.

    Parameters
    ----------
    path
        A picture's.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    return of_bytes(Path(path).read_bytes())


def of_bytes(data: bytes) -> Provenance | None:
    """Return what a picture's file, given as bytes, says of how it came to be."""
    try:
        packets = list(_packets(data))
    except (struct.error, IndexError):  # damaged
        return None
    for packet in packets:
        if found := _RECORD.search(packet):
            return _of_record(html.unescape(found[1].decode("utf-8", "replace")))
    return None


def _of_record(text: str) -> Provenance | None:
    try:
        record = json.loads(text)
        seed = record.get("seed")
        return Provenance(
            **{name: str(record.get(name, "")) for name in _TEXTS},
            seed=seed if isinstance(seed, int) else None,
            parents=tuple(str(one) for one in record.get("parents", ())),
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


_TEXTS = ("prompt", "backend", "model", "job_id", "request_id", "tool")


def _version() -> str:
    try:
        return version("agentcell")
    except PackageNotFoundError:  # run from a copy of the source
        return "unknown"


def _packet(provenance: Provenance, alt: str) -> bytes:
    record = {name: value for name, value in asdict(provenance).items() if value not in ("", None)}
    source = _MADE_BY_RULE if provenance.backend == "procedural" else _MADE_BY_MODEL
    words = f'<rdf:Alt><rdf:li xml:lang="x-default">{_xml(alt)}</rdf:li></rdf:Alt>'
    lines = (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>',
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
        '<rdf:Description rdf:about=""',
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"',
        ' xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
        ' xmlns:Iptc4xmpCore="http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/"',
        ' xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"',
        f' xmlns:agentcell="{_NAMESPACE}"',
        f' xmp:CreatorTool="{_xml(provenance.tool)}"',
        f' Iptc4xmpExt:DigitalSourceType="{source}"',
        f' agentcell:record="{_xml(json.dumps(record, separators=(",", ":")))}">',
        f"<dc:description>{words}</dc:description>",
        f"<Iptc4xmpCore:AltTextAccessibility>{words}</Iptc4xmpCore:AltTextAccessibility>",
        "</rdf:Description></rdf:RDF></x:xmpmeta>",
        '<?xpacket end="w"?>',
    )
    return "\n".join(lines).encode("utf-8", "replace")


def _xml(text: str) -> str:
    """Return `text` as XML takes it: without the characters that XML has not."""
    kept = "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)
    return html.escape(kept, quote=True)


def _packets(data: bytes) -> Iterator[bytes]:
    if data.startswith(_PNG):
        for kind, content in _png_chunks(data):
            if kind == b"iTXt" and content.startswith(_XMP_KEYWORD):
                yield content
    elif data.startswith(b"\xff\xd8"):
        segments, _ = _jpeg_segments(data)
        yield from (content for mark, content in segments if _is_xmp(mark, content))
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        yield from (content for kind, content in _riff_chunks(data) if kind == b"XMP ")


# -- PNG: https://www.w3.org/TR/png-3/#11iTXt, and the keyword of XMP part 3


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_PNG)
    while at + 8 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size


def _png_chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)


def _in_png(data: bytes, packet: bytes) -> bytes:
    chunks = [
        _png_chunk(kind, content)
        for kind, content in _png_chunks(data)
        if not (kind == b"iTXt" and content.startswith(_XMP_KEYWORD))
    ]
    own = _png_chunk(b"iTXt", _XMP_KEYWORD + b"\x00\x00\x00\x00\x00" + packet)
    return b"".join((_PNG, chunks[0], own, *chunks[1:]))


# -- JPEG: an APP1 segment after the one that says JFIF


def _is_xmp(mark: int, content: bytes) -> bool:
    return mark == 0xE1 and content.startswith(_XMP_MARK)  # noqa: PLR2004 (APP1)


def _jpeg_segments(data: bytes) -> tuple[list[tuple[int, bytes]], int]:
    """Return the segments before the first of pixels, and where that begins."""
    found, at = [], 2
    while at + 4 <= len(data) and data[at] == 0xFF:  # noqa: PLR2004 (the mark of a segment)
        mark = data[at + 1]
        if mark == 0xDA or 0xD0 <= mark <= 0xD9:  # noqa: PLR2004 (pixels, or none with a length)
            break
        (size,) = struct.unpack_from(">H", data, at + 2)
        found.append((mark, data[at + 4 : at + 2 + size]))
        at += 2 + size
    return found, at


def _in_jpeg(data: bytes, packet: bytes) -> bytes:
    segments, rest = _jpeg_segments(data)
    kept = [(mark, content) for mark, content in segments if not _is_xmp(mark, content)]
    place = 1 if kept and kept[0][0] == 0xE0 else 0  # noqa: PLR2004 (APP0: JFIF)
    kept.insert(place, (0xE1, _XMP_MARK + packet))
    if len(_XMP_MARK + packet) > 0xFFFD:  # noqa: PLR2004 (what a segment holds)
        return data
    head = b"".join(
        b"\xff" + bytes([mark]) + struct.pack(">H", len(content) + 2) + content
        for mark, content in kept
    )
    return b"\xff\xd8" + head + data[rest:]


# -- WebP: https://developers.google.com/speed/webp/docs/riff_container, read 2026-11-30


def _riff_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at + 8 <= len(data):
        (size,) = struct.unpack_from("<I", data, at + 4)
        yield data[at : at + 4], data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _in_webp(data: bytes, packet: bytes) -> bytes:
    chunks = [(kind, content) for kind, content in _riff_chunks(data) if kind != b"XMP "]
    if not chunks:
        return data
    kind, first = chunks[0]
    if kind == b"VP8X":
        chunks[0] = (kind, bytes([first[0] | _HAS_XMP]) + first[1:])
    elif (header := _extended(kind, first)) is not None:
        chunks.insert(0, (b"VP8X", header))
    else:
        return data
    chunks.append((b"XMP ", packet))
    body = b"WEBP" + b"".join(
        kind + struct.pack("<I", len(content)) + content + b"\x00" * (len(content) % 2)
        for kind, content in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _extended(kind: bytes, content: bytes) -> bytes | None:
    """Return the header that a plain WebP needs to hold metadata; None if it is none."""
    flags = _HAS_XMP
    if kind == b"VP8L" and content[:1] == b"\x2f":
        bits = int.from_bytes(content[1:5], "little")
        width, height = bits & 0x3FFF, bits >> 14 & 0x3FFF
        flags |= _HAS_ALPHA if bits >> 28 & 1 else 0
    elif kind == b"VP8 " and content[3:6] == b"\x9d\x01\x2a":
        width = (int.from_bytes(content[6:8], "little") & 0x3FFF) - 1
        height = (int.from_bytes(content[8:10], "little") & 0x3FFF) - 1
    else:
        return None
    return bytes([flags, 0, 0, 0]) + width.to_bytes(3, "little") + height.to_bytes(3, "little")
