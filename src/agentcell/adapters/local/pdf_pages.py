"""A PDF's bytes -> the rows on each page: from its text layer, else by reading a picture of it.

PDFium gives a line's letters with their places, but one space for any gap. Where a line is wider
than its letters need, the places on both sides of each space tell which gaps part columns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.adapters.local.rows import Box, Row, group_rows
from agentcell.errors import AttachmentError, LocalModelMissing

if TYPE_CHECKING:
    from PIL.Image import Image

    from agentcell.assets.asset import MediaAsset

MAX_READ_PAGES = 20
"""Pages without a text layer are read as pictures at about 0.3 to 0.5 s each; this many at most."""

MAX_TEXT_PAGES = 500
"""Pages of text looked at; 1 to 2 ms each."""

FEW_LETTERS = 30
"""A page of fewer, that also holds a picture, is a scan with a stamp on it, not a text page."""

PICTURE_SIDE = 2200
"""Pixels of the longer side of a page that is read as a picture: A4 at 190 dpi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfPages:
    """What was read of a PDF: `pages_read` of its `pages`, of them `pictures_read` as pictures."""

    rows: tuple[Row, ...]
    pages: int
    pages_read: int
    pictures_read: int


def read_pdf(asset: MediaAsset, read_image: Callable[[Image], list[Box]]) -> PdfPages:
    """Return the rows of a PDF.

    Parameters
    ----------
    read_image
        Gives the pieces of text in a picture; called for pages without a text layer, at most
        `MAX_READ_PAGES` times. PDFium is free for others meanwhile.

    Raises
    ------
    AttachmentError
        If its content is not here or cannot be opened.
    LocalModelMissing
        If no page has text and `read_image` raises it.
    """
    from agentcell.assets.pdf import render_page

    content, name = asset.content, asset.default_filename
    layers, pages = _text_layers(asset)
    rows: list[Row] = []
    pictures = 0
    read = 0
    for number, (boxes, needs_picture) in enumerate(layers, 1):
        found = boxes
        if needs_picture:
            if pictures == MAX_READ_PAGES:
                continue
            pictures += 1
            try:
                image = render_page(content, number, max_side=PICTURE_SIDE, name=name)
                found = max(boxes, read_image(image), key=_letters)
            except AttachmentError:
                if pages == 1:
                    raise  # of many, one that cannot be drawn does not spoil the others
            except LocalModelMissing:
                if not any(text for text, _ in layers):
                    raise
                continue  # what has a text layer is read without a recogniser
        rows += group_rows(found, page=number)
        read += 1
    return PdfPages(rows=tuple(rows), pages=pages, pages_read=read, pictures_read=pictures)


def _text_layers(asset: MediaAsset) -> tuple[list[tuple[list[Box], bool]], int]:
    """Return each page's pieces of text, whether it must be read as a picture; and the count."""
    from agentcell.assets.header import Damaged
    from agentcell.assets.pdf import open_pdf

    name = asset.default_filename
    try:
        with open_pdf(asset.content, name) as pdf:
            count = len(pdf)
            return [_page_text(pdf, index) for index in range(min(count, MAX_TEXT_PAGES))], count
    except Damaged as problem:
        raise AttachmentError(
            f"{name} is a damaged PDF: {problem}.",
            fix="open it in a viewer and save it again, or get a whole copy.",
        ) from None


def _letters(boxes: list[Box]) -> int:
    return sum(len(box.text) for box in boxes)


def _page_text(pdf: Any, index: int) -> tuple[list[Box], bool]:
    """Return the pieces in a page's text layer, and whether the page must be read as a picture."""
    from pypdfium2 import PdfiumError
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE, FPDF_PAGEOBJ_PATH, FPDF_PAGEOBJ_SHADING

    try:
        page = pdf[index]
    except PdfiumError:
        return [], False  # one broken page does not spoil the others
    try:
        text_page = page.get_textpage()
        try:
            boxes = list(_lines(text_page, page.get_rotation()))
        finally:
            text_page.close()
        text = "".join(box.text for box in boxes)
        letters = sum(letter.isalnum() for letter in text)
        if letters >= FEW_LETTERS:
            return boxes, letters < 0.4 * len(text.replace(" ", ""))
        holds_picture = _holds(page, [FPDF_PAGEOBJ_IMAGE])
        # Letters may also be drawn as outlines: a page of paths only is looked at too.
        outlines = [FPDF_PAGEOBJ_PATH, FPDF_PAGEOBJ_SHADING]
        return boxes, holds_picture or (not letters and _holds(page, outlines))
    finally:
        page.close()


def _holds(page: Any, kinds: list[int]) -> bool:
    return any(True for _ in page.get_objects(kinds, max_depth=4))


def _lines(text_page: Any, rotation: int) -> Iterator[Box]:
    """Yield the pieces of each line, with their places on the page as it is shown."""
    from pypdfium2.raw import FS_RECTF, FPDFText_GetLooseCharBox

    text: str = text_page.get_text_range(errors="replace")
    rectangle = FS_RECTF()

    def place(index: int) -> tuple[float, float, float, float]:
        if not FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(rectangle)):
            return 0.0, 0.0, 0.0, 0.0
        left, right = rectangle.left, rectangle.right
        bottom, top = rectangle.bottom, rectangle.top  # counted from below, unturned
        return {
            90: (bottom, left, top, right),
            180: (-right, bottom, -left, top),
            270: (-top, -right, -bottom, -left),
        }.get(rotation, (left, -top, right, -bottom))

    position = 0
    for line in text.split("\r\n"):
        start, position = position, position + len(line) + 2
        if not line.strip():
            continue
        first = start + len(line) - len(line.lstrip())
        last = start + len(line.rstrip()) - 1
        left, top, right, bottom = place(first)
        _, last_top, end, last_bottom = place(last)
        size = (bottom - top) / 1.2 or 1.0  # the font's own size may be 1, scaled by a matrix
        is_level = abs(last_bottom - bottom) < 0.7 * abs(bottom - top) and end >= left
        if not is_level or end - left < 0.62 * size * len(line):
            yield _box(line, left, min(top, last_top), max(right, end), max(bottom, last_bottom))
            continue
        piece_start, piece_left = first, left
        for index in range(first, last):
            if not text[index].isspace() or index == piece_start:
                continue
            gap_left, gap_right = place(index - 1)[2], place(index + 1)[0]
            if gap_right - gap_left > 0.9 * size:
                yield _box(text[piece_start:index], piece_left, top, gap_left, bottom)
                piece_start, piece_left = index + 1, gap_right
        yield _box(text[piece_start : last + 1], piece_left, top, end, bottom)


def _box(text: str, left: float, top: float, right: float, bottom: float) -> Box:
    # U+FFFE and U+0002 are what PDFium gives for a hyphen at a line's end.
    cleaned = text.replace("\ufffe", "-").replace("\x02", "-")
    return Box(text=cleaned, left=left, top=top, right=right, bottom=bottom)
