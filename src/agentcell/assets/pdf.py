"""A PDF -> its page count, a picture or the text of a page; by pypdfium2, under one lock.

PDFium must not be entered by two threads at once, so everything that uses it in this process
holds `PDFIUM_LOCK`.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from agentcell.assets.content import Content
from agentcell.assets.header import Damaged
from agentcell.errors import AttachmentError

if TYPE_CHECKING:
    from PIL.Image import Image

PDFIUM_LOCK = threading.RLock()
"""Held by whoever calls into PDFium."""

MAX_SCALE = 300 / 72
"""A page is drawn at 300 dots per inch at most: what scanners give, and OCR wants."""

RENDER_SECONDS = 4.0
"""A page that takes longer to draw is given up."""

_PASSWORD_ERRORS = {4, 5}  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY in fpdfview.h
_MAX_PIXELS = 40_000_000
_TOLD_BY = 10


def count_pages(content: Content, name: str) -> int:
    """Return the number of pages of a PDF that can be opened.

    Raises
    ------
    Damaged
        If it is cut off or damaged.
    AttachmentError
        If it is encrypted or has no page. `name` is what the error calls it.
    """
    import pypdfium2

    with open_pdf(content, name) as document:
        count = len(document)
        if count < 1:
            raise AttachmentError(
                f"{name} is a PDF without pages; at least one page was expected.",
                fix="export it again.",
            )
        for index in {0, count - 1}:
            try:
                document.get_page_size(index)  # reads no more than the page's own entry
            except pypdfium2.PdfiumError:
                raise Damaged(f"page {index + 1} of {count} is missing") from None
    return count


@contextmanager
def open_pdf(content: Content, name: str) -> Iterator[Any]:
    """Open a PDF as pypdfium2's ``PdfDocument``, holding `PDFIUM_LOCK`.

    Raises
    ------
    Damaged, AttachmentError
        As for `count_pages`.
    """
    import pypdfium2

    with PDFIUM_LOCK:
        try:
            document = pypdfium2.PdfDocument(content.file or content.read())
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", 0) in _PASSWORD_ERRORS or "assword" in str(error):
                raise AttachmentError(
                    f"{name} is encrypted: it opens only with a password.",
                    fix="save a copy without a password (print it to PDF), and attach that.",
                ) from None
            raise Damaged("it cannot be opened; it may be cut off") from None
        try:
            yield document
        finally:
            document.close()


def render_page(content: Content, page: int, *, max_side: int, name: str) -> Image:
    """Draw one page on white, RGB, upright.

    Parameters
    ----------
    page
        Counted from 1.
    max_side
        Pixels of the longer side; fewer where `MAX_SCALE` is reached.
    name
        What to call the PDF in an error.

    Raises
    ------
    AttachmentError
        If there is no such page, or it cannot be drawn within `RENDER_SECONDS`.
    """
    try:
        with open_pdf(content, name) as document:
            _check_page(page, len(document), name)
            deadline = time.monotonic() + RENDER_SECONDS
            loaded = document[page - 1]
            try:
                return _draw(loaded, max_side, deadline)
            finally:
                loaded.close()
    except AttachmentError:
        raise
    except Exception as error:  # PDFium's binding raises several types on damaged files
        raise AttachmentError(
            f"Page {page} of {name} cannot be drawn: {str(error)[:120] or type(error).__name__}.",
            fix="open it in a viewer and save it again, or attach the page as an image.",
        ) from error


def _check_page(page: int, count: int, name: str) -> None:
    if not 1 <= page <= count:
        raise AttachmentError(
            f"{name} has {count} page{'s' if count > 1 else ''}; page {page} was asked for.",
            fix=f"give a page from 1 to {count}.",
        )


def page_texts(content: Content, name: str, *, pages: int | None = None) -> list[str]:
    """Return the text layer of each page, or of the first `pages`; "" for a scanned page.

    Raises
    ------
    AttachmentError
        If the PDF cannot be opened.
    """
    try:
        with open_pdf(content, name) as document:
            count = len(document) if pages is None else min(pages, len(document))
            return [_text(document, index) for index in range(count)]
    except Damaged as problem:
        raise AttachmentError(
            f"{name} is a damaged PDF: {problem}.", fix="get a whole copy."
        ) from None


def text_or_scan(content: Content, name: str) -> Literal["text", "scan", "mixed"]:
    """Tell whether a PDF's pages hold text, are pictures of it, or both; by the first ten.

    Raises
    ------
    AttachmentError
        If the PDF cannot be opened.
    """
    has_text = [bool(text) for text in page_texts(content, name, pages=_TOLD_BY)]
    return "text" if all(has_text) else "mixed" if any(has_text) else "scan"


def _text(document: Any, index: int) -> str:
    try:
        page = document[index]
        layer = page.get_textpage()
        text: str = layer.get_text_bounded()
        layer.close()
        page.close()
    except Exception:  # noqa: BLE001 (a damaged page has no text to give)
        return ""
    return text.replace("\r\n", "\n").strip()


def _draw(page: Any, max_side: int, deadline: float) -> Image:
    import pypdfium2.raw as pdfium
    from PIL import Image

    width, height = page.get_size()
    longest = max(width, height)
    if not 0 < longest < 1e7 or not min(width, height) > 0:  # noqa: PLR2004 (also refuses NaN)
        raise Damaged(f"it is {width:g} × {height:g} points in size")
    scale = min(max_side / longest, MAX_SCALE)
    across, down = max(1, round(width * scale)), max(1, round(height * scale))
    if across * down > _MAX_PIXELS:
        raise Damaged(f"{across} × {down} pixels are too many")
    stride = across * 4
    pixels = (ctypes.c_ubyte * (stride * down))()
    bitmap = pdfium.FPDFBitmap_CreateEx(across, down, pdfium.FPDFBitmap_BGRx, pixels, stride)
    try:
        pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, across, down, 0xFFFFFFFF)
        _draw_until(deadline, pdfium, bitmap, page, (across, down))
    finally:
        pdfium.FPDFBitmap_Destroy(bitmap)
    return Image.frombuffer("RGB", (across, down), bytes(pixels), "raw", "BGRX", stride, 1)


def _draw_until(
    deadline: float, pdfium: Any, bitmap: Any, page: Any, size: tuple[int, int]
) -> None:
    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(pdfium.IFSDK_PAUSE))
    def is_late(_: object) -> int:
        return time.monotonic() > deadline

    pause = pdfium.IFSDK_PAUSE(version=1, NeedToPauseNow=is_late, user=None)
    status = pdfium.FPDF_RenderPageBitmap_Start(
        bitmap, page, 0, 0, *size, 0, pdfium.FPDF_ANNOT | pdfium.FPDF_LCD_TEXT, pause
    )
    pdfium.FPDF_RenderPage_Close(page)
    if status == pdfium.FPDF_RENDER_TOBECONTINUED:
        raise Damaged(f"it takes longer than {RENDER_SECONDS:g} seconds")
    if status != pdfium.FPDF_RENDER_DONE:
        raise Damaged("PDFium gave up")
