"""An image or PDF -> its text in rows, read once for each content."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentcell.adapters.local import ocr, picture
from agentcell.adapters.local.pdf_pages import read_pdf
from agentcell.adapters.local.reading import reading_of
from agentcell.adapters.local.rows import Row, group_rows
from agentcell.modality import FieldModality

if TYPE_CHECKING:
    from PIL.Image import Image

    from agentcell.adapters.local.rows import Box
    from agentcell.assets.asset import MediaAsset

REMEMBERED = 32
"""Documents kept in memory; the least lately used goes first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Document:
    """The text of one attachment.

    Parameters
    ----------
    rows
        From the first page's top to the last page's end; empty if there is no text.
    pages
        How many there are; 1 for an image.
    source
        ``ocr`` if a picture was read, ``text`` if a text layer was (also where some of the
        pages were pictures), ``none`` if no text was found.
    seconds
        How long the reading took.
    pages_read
        How many of the pages were looked at: of a long scan only the first 20 are read.

    Notes
    -----
    Two are equal only if they are the same object: what is known of one is kept by identity.
    """

    rows: tuple[Row, ...]
    pages: int = 1
    source: Literal["ocr", "text", "none"] = "ocr"
    seconds: float = 0.0
    pages_read: int = 1

    @property
    def text(self) -> str:
        """All rows, a line each; an empty line between pages."""
        lines = []
        page = 1
        for row in self.rows:
            if row.page != page:
                lines.append("")
                page = row.page
            lines.append(row.text)
        return "\n".join(lines)

    @property
    def is_cut(self) -> bool:
        """Whether pages were left unread."""
        return self.pages_read < self.pages


_known: OrderedDict[str, Future[Document]] = OrderedDict()
_lock = threading.Lock()


def read_document(asset: MediaAsset) -> Document:
    """Return the text of `asset`; what was read before is not read again.

    Several threads may ask for one asset at a time: one reads, the others wait for it.

    Raises
    ------
    LocalModelMissing
        If it is a picture, or a PDF of pictures, and no recogniser is installed.
    AttachmentError
        If its content is not here (an address, a file id) or cannot be opened.
    """
    key = asset.fingerprint()
    with _lock:
        future = _known.get(key)
        mine = future is None
        if future is None:
            future = _known[key] = Future()
        _known.move_to_end(key)
        while len(_known) > REMEMBERED:
            _known.popitem(last=False)
    if mine:
        try:
            future.set_result(_read(asset))
        except BaseException as problem:
            with _lock:
                if _known.get(key) is future:
                    del _known[key]  # the next one may have more luck: a runtime was installed
            future.set_exception(problem)
            raise
    return future.result()


def _read(asset: MediaAsset) -> Document:
    started = time.monotonic()
    if asset.modality is FieldModality.PDF:
        found = read_pdf(asset, _read_image)
        rows, pages, pages_read = found.rows, found.pages, found.pages_read
        source: Literal["ocr", "text"] = "ocr" if found.pictures_read == pages_read else "text"
    else:
        image = picture.opened(asset)
        rows, pages, pages_read, source = tuple(group_rows(_read_image(image))), 1, 1, "ocr"
    document = Document(
        rows=rows,
        pages=pages,
        source=source if rows else "none",
        seconds=time.monotonic() - started,
        pages_read=pages_read,
    )
    reading_of(document).prepare()  # so that the first question waits no longer than the others
    return document


def _read_image(image: Image) -> list[Box]:
    return ocr.read_image(image, ocr.recogniser())
