"""An image asset -> one of another type, size or weight; made once for the same content."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.assets.header import Damaged
from agentcell.assets.pixels import NotDrawable, as_jpeg, as_png, is_opaque, on_white, upright
from agentcell.assets.sniff import EXTENSIONS, NAMES
from agentcell.errors import AttachmentError

if TYPE_CHECKING:
    from PIL.Image import Image

_QUALITIES = (90, 80, 65)
_SHRINK = 0.75
_SMALLEST_SIDE = 64
_PHOTO_TYPES = {"image/jpeg", "image/heic", "image/heif"}
_HEAVY_PNG = 1_000_000  # a PNG above this is tried as JPEG too: it holds a photo
_KEPT_BYTES = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an image shall become.

    Parameters
    ----------
    types
        MIME types to choose from; PNG or JPEG must be one of them.
    max_side
        Pixels of the longer side; None for any.
    max_bytes
        Of the file; None for any.
    """

    types: frozenset[str] = frozenset({"image/png", "image/jpeg"})
    max_side: int | None = None
    max_bytes: int | None = None


def converted(asset: ImageAsset, target: Target) -> ImageAsset:
    """Return the first frame of `asset`, upright, as a new PNG or JPEG within `target`.

    The new asset carries the old one's name (with the ending of its type) and its notes.

    Raises
    ------
    AttachmentError
        If it cannot be decoded here, or not be made small enough.
    """
    key = (asset.fingerprint(), target)
    made = _cache.get(key)
    if made is None:
        made = replace(_make(asset, target), made_from=_recipe(asset, target))
        _cache.put(key, made)
    return renamed(made, asset.filename, asset.notes)


def renamed(asset: ImageAsset, filename: str | None, notes: Collection[str]) -> ImageAsset:
    """Return `asset` under another name (with the ending of its own type), with these notes."""
    if filename:
        filename = f"{PurePath(filename).stem}.{EXTENSIONS[asset.mime_type]}"
    return asset.replaced(filename=filename, notes=tuple(notes))


def page_image(asset: PdfAsset, page: int, target: Target) -> ImageAsset:
    """Return one page of a PDF as an image.

    Parameters
    ----------
    page
        Counted from 1.
    target
        `max_side` must be given.

    Raises
    ------
    AttachmentError
        If there is no such page, or it cannot be drawn.
    """
    from agentcell.assets.pdf import render_page

    key = (asset.fingerprint(), page, target)
    made = _cache.get(key)
    if made is None:
        picture = render_page(
            asset.content, page, max_side=target.max_side or 1568, name=asset.default_filename
        )
        made = replace(
            ImageAsset.from_bytes(_encode(picture, "application/pdf", target, asset)),
            made_from=f"{_recipe(asset, target)}, page {page}",
        )
        _cache.put(key, made)
    stem = PurePath(asset.default_filename).stem
    return made.replaced(filename=f"{stem}-{page}.{EXTENSIONS[made.mime_type]}", notes=asset.notes)


def _recipe(asset: ImageAsset | PdfAsset, target: Target) -> str:
    parts = [asset.made_from or asset.fingerprint(), ", ".join(sorted(target.types))]
    parts += [f"at most {target.max_side} px"] if target.max_side else []
    parts += [f"at most {target.max_bytes} bytes"] if target.max_bytes else []
    return ", ".join(parts)


def _make(asset: ImageAsset, target: Target) -> ImageAsset:
    try:
        with asset.open() as stream:
            picture = upright(asset.facts, stream, max_side=target.max_side)
    except Damaged as problem:
        raise AttachmentError(
            f"{asset.default_filename} is a damaged {NAMES[asset.mime_type]}: {problem}.",
            fix="open it in a viewer and save it again, or get a whole copy.",
        ) from None
    except NotDrawable as problem:
        raise AttachmentError(
            f"{asset.default_filename} cannot be converted: {problem}",
            fix=_way_out(asset.mime_type),
        ) from None
    return ImageAsset.from_bytes(_encode(picture, asset.mime_type, target, asset))


def _way_out(mime_type: str) -> str:
    if mime_type in {"image/heic", "image/heif"}:
        return "pip install pillow-heif, or export it as JPEG."
    if mime_type == "image/svg+xml":
        return "export it as PNG, or attach its text."
    return "attach a smaller copy, as PNG or JPEG."


def _encode(
    picture: Image, source_type: str, target: Target, asset: ImageAsset | PdfAsset
) -> bytes:
    """Write the picture as the type that shows it best, smaller and smaller until it fits."""
    while True:
        for data in _attempts(picture, source_type, target.types):
            if target.max_bytes is None or len(data) <= target.max_bytes:
                return data
        size = (int(picture.width * _SHRINK), int(picture.height * _SHRINK))
        if max(size) < _SMALLEST_SIDE or not min(size):
            raise AttachmentError(
                f"{asset.default_filename} cannot be made to fit into {target.max_bytes:,} bytes.",
                fix="attach one part of it.",
            )
        picture = picture.resize(size, reducing_gap=2.0)


def _attempts(picture: Image, source_type: str, types: frozenset[str]) -> Iterator[bytes]:
    """Yield files of the picture, the best first.

    A photo becomes a JPEG. All else becomes a PNG, which keeps small print sharp, unless that is
    heavy: then it holds a photo after all.
    """
    takes_jpeg = "image/jpeg" in types
    opaque = is_opaque(picture)
    if "image/png" in types and not (takes_jpeg and opaque and source_type in _PHOTO_TYPES):
        png = as_png(on_white(picture) if opaque else picture)
        if not (takes_jpeg and opaque and len(png) > _HEAVY_PNG):
            yield png
    if takes_jpeg:
        flat = on_white(picture)
        for quality in _QUALITIES:
            yield as_jpeg(flat, quality)


class _Cache:
    """The images made last, up to `_KEPT_BYTES` of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[object, ImageAsset] = OrderedDict()
        self._bytes = 0

    def get(self, key: object) -> ImageAsset | None:
        with self._lock:
            made = self._made.get(key)
            if made is not None:
                self._made.move_to_end(key)
            return made

    def put(self, key: object, made: ImageAsset) -> None:
        with self._lock:
            replaced = self._made.pop(key, None)
            self._bytes += made.content.size_bytes
            self._bytes -= replaced.content.size_bytes if replaced else 0
            self._made[key] = made
            while self._bytes > _KEPT_BYTES and len(self._made) > 1:
                self._bytes -= self._made.popitem(last=False)[1].content.size_bytes


_cache = _Cache()
