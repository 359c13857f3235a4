"""A file's content -> what it is (type, pixels, pages), or why it cannot be used."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentcell.assets.content import Content
from agentcell.assets.sniff import HEAD_BYTES, NAMES, sniff
from agentcell.errors import AttachmentError
from agentcell.modality import FieldModality

if TYPE_CHECKING:
    from agentcell.assets.header import Header

MAX_IMAGE_BYTES = 100_000_000
"""Above what any provider takes in one request (Gemini's 100 MB is the largest)."""

MAX_PDF_BYTES = 200_000_000

MAX_PIXELS = 178_956_970
"""Pillow's own limit for a "decompression bomb": 4 bytes a pixel are then 0.7 GB."""

MAX_SIDE = 65_535
"""The longest side that a JPEG can have."""

_REMEMBERED = 512


@dataclass(frozen=True, slots=True)
class Facts:
    """What a content is.

    Parameters
    ----------
    mime_type
        By content.
    width, height
        Pixels as shown; None for PDFs, and for an SVG that names no size.
    pages
        Of a PDF.
    orientation
        The EXIF value, 1 (upright) to 8, still to be applied to the decoded pixels.
    animated
        Whether there are several frames.
    is_cmyk
        Whether a JPEG's colours are those of four printing inks.
    """

    mime_type: str
    width: int | None = None
    height: int | None = None
    pages: int | None = None
    orientation: int = 1
    animated: bool = False
    is_cmyk: bool = False

    @property
    def modality(self) -> FieldModality:
        """IMAGE or PDF."""
        return FieldModality.PDF if self.mime_type == "application/pdf" else FieldModality.IMAGE


_known: OrderedDict[str, Facts] = OrderedDict()
_known_lock = threading.Lock()


def facts_of(content: Content, name: str, expected: str = "an image or a PDF") -> Facts:
    """Check a content and say what it is. The same content is checked once.

    Parameters
    ----------
    name
        What to call it in an error.
    expected
        What it should be, in words, for an error.

    Raises
    ------
    AttachmentError
        If it is empty, too large, damaged, encrypted, or neither an image nor a PDF.
    """
    with _known_lock:
        if known := _known.get(content.digest):
            _known.move_to_end(content.digest)
            return known
    facts = _examine(content, name, expected)
    with _known_lock:
        _known[content.digest] = facts
        if len(_known) > _REMEMBERED:
            _known.popitem(last=False)
    return facts


def _examine(content: Content, name: str, expected: str) -> Facts:
    if not content.size_bytes:
        raise AttachmentError(
            f"{name} is empty (0 bytes); {expected} was expected.",
            fix="check that it was written completely.",
        )
    seen = sniff(content.head(HEAD_BYTES))
    if not seen.mime_type:
        raise AttachmentError(
            f"{name} holds {seen.noun}, not {expected}.",
            fix="attach a PNG, JPEG, GIF, WebP, BMP, TIFF, HEIC, AVIF or SVG image, or a PDF.",
        )
    if seen.mime_type == "application/pdf":
        return _pdf(content, name)
    return _image(seen.mime_type, content, name)


def _image(kind: str, content: Content, name: str) -> Facts:
    from agentcell.assets.damage import check_whole
    from agentcell.assets.header import Damaged, read_header

    check_size(content.size_bytes, kind, name)
    try:
        with content.open() as stream:
            header = read_header(kind, stream)
            check_pixels(header, name)
            animated = check_whole(kind, stream, header)
    except Damaged as problem:
        raise damaged(name, kind, str(problem)) from None
    return Facts(
        kind,
        header.width,
        header.height,
        orientation=header.orientation,
        animated=animated,
        is_cmyk=header.is_cmyk,
    )


def check_pixels(header: Header, name: str) -> None:
    """Refuse a picture that would fill the memory once decoded."""
    width, height = header.width, header.height
    if width and height and (width * height > MAX_PIXELS or max(width, height) > MAX_SIDE):
        raise AttachmentError(
            f"{name} has {width:,} × {height:,} = {width * height:,} pixels; an image may have"
            f" at most {MAX_PIXELS:,}, and {MAX_SIDE:,} on a side.",
            fix="attach a smaller copy, or the part that matters.",
        )


def _pdf(content: Content, name: str) -> Facts:
    from agentcell.assets.header import Damaged
    from agentcell.assets.pdf import count_pages
    from agentcell.assets.pdf_streams import check_streams

    check_size(content.size_bytes, "application/pdf", name)
    try:
        check_streams(content)
        return Facts("application/pdf", pages=count_pages(content, name))
    except Damaged as problem:
        raise damaged(name, "application/pdf", str(problem)) from None


def check_size(size_bytes: int, kind: str, name: str) -> None:
    """Refuse what is larger than any provider takes."""
    limit = MAX_PDF_BYTES if kind == "application/pdf" else MAX_IMAGE_BYTES
    if size_bytes > limit:
        noun = NAMES.get(kind, "file")
        raise AttachmentError(
            f"{name} is {size_bytes:,} bytes; a {noun} may have at most {limit:,}.",
            fix="attach a smaller copy, or one part of it.",
        )


def damaged(name: str, kind: str, how: str) -> AttachmentError:
    """Return the error for a file that is not what its first bytes promise."""
    return AttachmentError(
        f"{name} is a damaged {NAMES[kind]}: {how}.",
        fix="open it in a viewer and save it again, or get a whole copy.",
    )
