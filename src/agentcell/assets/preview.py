"""An asset -> a small picture of it, for people: never the original, never its metadata."""

from __future__ import annotations

import base64
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentcell.assets.asset import MediaAsset
from agentcell.assets.header import Damaged
from agentcell.assets.pixels import (
    NotDrawable,
    as_jpeg,
    as_png,
    is_opaque,
    light_jpeg,
    on_white,
    upright,
)
from agentcell.assets.words import alternative
from agentcell.errors import AttachmentError
from agentcell.modality import FieldModality

if TYPE_CHECKING:
    from PIL.Image import Image

PREVIEW_BYTES = 28_000
"""What a preview should weigh: 38 kB as base64, so that two and their text stay under 120 kB."""

MAX_PREVIEW_BYTES = 42_000
"""What it weighs at most, if it is all noise: 56 kB as base64."""

MAX_PREVIEW_SIDE = 2048

LOOK_SIDE = 2048
"""Pixels of the longer side of a picture for a closer look."""

_LOOK_QUALITY = 85

_KEPT_BYTES = 8_000_000
_KEPT_COUNT = 512
_QUALITIES = (80, 70, 60, 50, 40)
_DRAWING_COLOURS = 4096
_PALETTE = 64
_TRANSPARENT_PALETTE = 256


@dataclass(frozen=True, slots=True)
class Preview:
    """A thumbnail. `width` and `height` in pixels; `alt` names what it shows, in words."""

    data: bytes
    mime_type: Literal["image/png", "image/jpeg"]
    width: int
    height: int
    alt: str

    def __repr__(self) -> str:
        return f"Preview({self.mime_type}, {self.width}×{self.height}, {self.alt[:80]!r})"


@dataclass(frozen=True, slots=True)
class _Thumbnail:
    data: bytes
    mime_type: Literal["image/png", "image/jpeg"]
    width: int
    height: int


def preview(asset: MediaAsset, *, max_side: int = 512, page: int = 1) -> Preview | None:
    """Return a thumbnail of an image, or of one page of a PDF.

    The orientation is applied; of an animation the first frame is shown. The same content is
    drawn once.

    Parameters
    ----------
    asset
        An image or a PDF.
    max_side
        Pixels of the longer side, 1 to `MAX_PREVIEW_SIDE`. Images are not enlarged.
    page
        Of a PDF, counted from 1.

    Returns
    -------
    Preview or None
        None where there is nothing to draw; `preview_problem` tells why.

    Raises
    ------
    AttachmentError
        If the PDF has no such page.
    """
    thumbnail = _thumbnail(asset, max_side, page)
    if isinstance(thumbnail, str):
        return None
    alt = alternative(asset, page)
    return Preview(thumbnail.data, thumbnail.mime_type, thumbnail.width, thumbnail.height, alt)


def enlarged(asset: MediaAsset, *, page: int = 1) -> Preview | None:
    """Return a picture for a closer look: up to `LOOK_SIDE` pixels, and not kept.

    Parameters
    ----------
    asset, page
        As for `preview`; so is what is returned, and raised.
    """
    _check_page(asset, page)
    if asset.snapshot is None:
        return None
    try:
        picture = _draw(asset, LOOK_SIDE, page, quick=False)
    except (NotDrawable, Damaged, AttachmentError):
        return None
    alt = alternative(asset, page)
    if not is_opaque(picture) or picture.getcolors(_DRAWING_COLOURS):
        return Preview(as_png(picture), "image/png", *picture.size, alt)
    return Preview(as_jpeg(on_white(picture), _LOOK_QUALITY), "image/jpeg", *picture.size, alt)


def preview_problem(asset: MediaAsset, *, page: int = 1) -> str:
    """Return why `preview` gives None, as a sentence, or "" if it does not."""
    thumbnail = _thumbnail(asset, 512, page)
    return thumbnail if isinstance(thumbnail, str) else ""


def display_bundle(asset: MediaAsset) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return what Jupyter shows for an asset: a thumbnail if there is one, and words."""
    data = {"text/plain": repr(asset)}
    shown = preview(asset)
    if shown is None:
        return data, {}
    data[shown.mime_type] = base64.b64encode(shown.data).decode("ascii")
    return data, {shown.mime_type: {"alt": shown.alt}}


def _thumbnail(asset: MediaAsset, max_side: int, page: int) -> _Thumbnail | str:
    if not 1 <= max_side <= MAX_PREVIEW_SIDE:
        raise ValueError(f"max_side is {max_side}; 1 to {MAX_PREVIEW_SIDE} was expected.")
    if asset.source_kind in {"url", "file_id"}:
        return "Its content is elsewhere, and nothing is fetched to show it."
    is_pdf = _check_page(asset, page)
    key = (asset.fingerprint(), max_side, page if is_pdf else 1)
    if known := _cache.get(key):
        return known
    try:
        made: _Thumbnail | str = _encode(_draw(asset, max_side, page))
    except NotDrawable as problem:
        made = str(problem)
    except Damaged as problem:
        made = f"It cannot be drawn: {problem}."
    except AttachmentError as error:
        made = error.problem
    _cache.put(key, made)
    return made


def _check_page(asset: MediaAsset, page: int) -> bool:
    """Return whether it is a PDF, which has that page."""
    is_pdf = asset.modality is FieldModality.PDF
    if is_pdf and not 1 <= page <= (asset.pages or 1):
        raise AttachmentError(
            f"{asset.default_filename} has {asset.pages} page(s); page {page} was asked for.",
            fix=f"give a page from 1 to {asset.pages}.",
        )
    return is_pdf


def _draw(asset: MediaAsset, max_side: int, page: int, *, quick: bool = True) -> Image:
    if asset.modality is FieldModality.PDF:
        from agentcell.assets.pdf import render_page

        return render_page(asset.content, page, max_side=max_side, name=asset.default_filename)
    with asset.open() as stream:
        return upright(asset.facts, stream, max_side=max_side, quick=quick)


def _encode(picture: Image) -> _Thumbnail:
    """Choose the file that shows the picture best within `PREVIEW_BYTES`."""
    if not is_opaque(picture):
        data = as_png(picture)
        if len(data) > PREVIEW_BYTES:
            data = as_png(picture.convert("RGBA").quantize(_TRANSPARENT_PALETTE))
        if len(data) <= PREVIEW_BYTES:
            return _Thumbnail(data, "image/png", *picture.size)
    from PIL.Image import Quantize

    picture = on_white(picture)
    data = light_jpeg(picture, PREVIEW_BYTES, _QUALITIES)
    while len(data) > MAX_PREVIEW_BYTES:  # noise everywhere
        picture = picture.reduce(2)
        data = light_jpeg(picture, PREVIEW_BYTES, _QUALITIES)
    if picture.getcolors(_DRAWING_COLOURS):  # printed text and charts are sharper so, and smaller
        drawn = as_png(picture.quantize(_PALETTE, Quantize.FASTOCTREE))
        if len(drawn) <= len(data):
            return _Thumbnail(drawn, "image/png", *picture.size)
    return _Thumbnail(data, "image/jpeg", *picture.size)


class _Cache:
    """The thumbnails drawn last, up to `_KEPT_BYTES` of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[object, _Thumbnail | str] = OrderedDict()
        self._bytes = 0

    def get(self, key: object) -> _Thumbnail | str | None:
        with self._lock:
            made = self._made.get(key)
            if made is not None:
                self._made.move_to_end(key)
            return made

    def put(self, key: object, made: _Thumbnail | str) -> None:
        with self._lock:
            self._bytes += _weight(made) - _weight(self._made.pop(key, ""))
            self._made[key] = made
            while self._bytes > _KEPT_BYTES or len(self._made) > _KEPT_COUNT:
                self._bytes -= _weight(self._made.popitem(last=False)[1])


def _weight(made: _Thumbnail | str) -> int:
    return len(made) if isinstance(made, str) else len(made.data)


_cache = _Cache()
