"""The first bytes of a generated file → its type and ending, by content and never by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentcell.assets.sniff import EXTENSIONS, sniff

if TYPE_CHECKING:
    from agentcell.imaging.wish import Kind

HEAD_BYTES = 4096
"""How much of a file `media_type` wants to see."""

_IMAGES = (
    *("image/png", "image/webp", "image/jpeg", "image/gif"),
    *("image/avif", "image/heic", "image/heif"),
)

# https://mp4ra.org/registered-types/brands, read 2026-11-30: those of clips in an MP4 file.
_MP4_BRANDS = re.compile(rb"isom|iso[2-9a-c]|mp4[12]|avc1|hvc1|dash|MSNV|M4V |M4VH|f4v |cmf[2cfsl]")
_SOUND = (b"M4A ", b"M4B ", b"M4P ", b"F4A ", b"F4B ")
_OLD_QUICKTIME = (b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
"""Files from before there was a `ftyp` box begin with one of these."""

_DOCTYPE = b"\x42\x82"
"""The EBML element that says which kind of Matroska file it is (RFC 8794, 11.2.6)."""


@dataclass(frozen=True, slots=True)
class MediaType:
    """What a file holds.

    Parameters
    ----------
    mime_type
        For example ``image/png``; empty for all that is no picture and no clip that can be kept.
    extension
        Without a dot; empty like `mime_type`.
    noun
        As it reads after "sent": ``"a web page (HTML)"``.
    """

    mime_type: str
    extension: str
    noun: str

    @property
    def kind(self) -> Kind:
        """Whether it moves."""
        return "video" if self.mime_type.startswith("video/") else "image"


def media_type(head: bytes) -> MediaType:
    """Tell what a file holds.

    Parameters
    ----------
    head
        Its first `HEAD_BYTES` bytes, or all of a shorter one.
    """
    seen = sniff(head)
    if seen.mime_type in _IMAGES:
        return MediaType(seen.mime_type, EXTENSIONS[seen.mime_type], seen.noun)
    if head[4:8] == b"ftyp":
        if head[8:12] == b"qt  ":
            return MediaType("video/quicktime", "mov", "a QuickTime clip")
        size = max(16, min(int.from_bytes(head[:4], "big"), len(head)))
        if head[8:12] not in _SOUND and _MP4_BRANDS.search(head[8:size]):
            return MediaType("video/mp4", "mp4", "an MP4 clip")
    if head[4:8] in _OLD_QUICKTIME:
        return MediaType("video/quicktime", "mov", "a QuickTime clip")
    if head.startswith(b"\x1aE\xdf\xa3") and _doctype(head) == b"webm":
        return MediaType("video/webm", "webm", "a WebM clip")
    noun = "an audio file (M4A)" if head[8:12] in _SOUND else seen.noun
    return MediaType("", "", noun if head else "nothing")


def _doctype(head: bytes) -> bytes:
    """Return the kind of Matroska file that stands in the head of one."""
    place = head.find(_DOCTYPE, 4, 80)
    if place < 0 or not head[place + 2 : place + 3].strip(b"\0"):
        return b""
    start = place + 2
    width = 9 - head[start].bit_length()  # of the size, whose first bit that is set tells it
    size = int.from_bytes(head[start : start + width], "big") & ((1 << 7 * width) - 1)
    return head[start + width : start + width + size].rstrip(b"\0")
