"""An object of another library -> an attachment, or its table as text.

The library is known by the names in the class's ancestry, and is never imported: whoever made the
object has done so.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from agentcell.assets.arrays import asset_of_array, asset_of_picture
from agentcell.assets.asset import ImageAsset, MediaAsset, asset_from_bytes
from agentcell.assets.sniff import EXTENSIONS
from agentcell.assets.tables import as_markdown, is_frame, table_of
from agentcell.assets.wording import a_type, short
from agentcell.errors import AttachmentError, FieldError
from agentcell.modality import FieldModality

Reader: TypeAlias = Callable[[Any, str, FieldModality], MediaAsset | str | None]

MAX_FIGURE_SIDE = 2048
"""Pixels of the longer side of a drawn figure."""

_UPLOAD_KEYS = {"name", "type", "size", "content"}


def from_foreign(value: object, name: str, modality: FieldModality) -> MediaAsset | str | None:
    """Return what `value` is to a model, or None if it is of no known kind.

    Raises
    ------
    FieldError, AttachmentError
        If it is of a known kind, but cannot be drawn or used.
    """
    reader = _reader(value)
    return None if reader is None else reader(value, name, modality)


def is_foreign(value: object) -> bool:
    """Tell whether `value` is of a kind that becomes an attachment."""
    return _reader(value) is not None and not is_frame(value)


def _reader(value: object) -> Reader | None:  # noqa: PLR0911 (one for each way to know it)
    if isinstance(value, type):
        return None
    for kind in type(value).__mro__:
        module = kind.__module__ or ""
        if found := _KINDS.get((module.split(".", 1)[0], kind.__name__)):
            return found
    if isinstance(value, io.BytesIO):
        return lambda stream, *_: asset_from_bytes(stream.getvalue())
    if is_frame(value):
        return _frame
    if isinstance(value, Mapping) and value.keys() >= _UPLOAD_KEYS:
        return _upload
    if any(callable(getattr(type(value), method, None)) for method in _REPRS):
        return _displayed
    return None


def _picture(value: Any, name: str, _modality: FieldModality) -> MediaAsset:
    return asset_of_picture(value, name)


def _array(value: Any, name: str, modality: FieldModality) -> MediaAsset | str | None:
    if value.dtype == object and value.size and _reader(value.flat[0]) is _figure:
        return _figure(value.flat[0], name, modality)  # the axes that plt.subplots returns
    if value.ndim == 0:
        return None
    return asset_of_array(value, name)


def _figure(value: Any, name: str, _modality: FieldModality) -> MediaAsset:
    figure = value
    while getattr(figure, "figure", figure) not in {figure, None}:
        figure = figure.figure  # from an artist to its axes' figure, from a subfigure to its own
    if not hasattr(figure, "savefig"):
        raise FieldError(
            f"'{name}' holds {a_type(value)} that is in no figure.", fix="give the figure."
        )
    longest = max(figure.get_size_inches())
    dots = min(figure.dpi, (MAX_FIGURE_SIDE - 8) / longest) if longest > 0 else figure.dpi
    sink = io.BytesIO()
    _drawn(
        name,
        value,
        lambda: figure.savefig(sink, format="png", dpi=dots, bbox_inches="tight"),
    )
    return asset_from_bytes(sink.getvalue(), f"{name}.png")


def _plotly(value: Any, name: str, _modality: FieldModality) -> MediaAsset:
    data = _drawn(
        name,
        value,
        lambda: value.to_image(format="png"),
        fix="pip install -U kaleido (it draws plotly's figures), or save it as PNG yourself.",
    )
    return asset_from_bytes(data, f"{name}.png")


def _altair(value: Any, name: str, _modality: FieldModality) -> MediaAsset:
    sink = io.BytesIO()
    _drawn(
        name,
        value,
        lambda: value.save(sink, format="png"),
        fix="pip install vl-convert-python (it draws altair's charts), or save it as PNG yourself.",
    )
    return asset_from_bytes(sink.getvalue(), f"{name}.png")


def _frame(value: Any, name: str, modality: FieldModality) -> MediaAsset | str:
    table = table_of(value)
    if modality is FieldModality.IMAGE:
        from agentcell.assets.table_image import draw_table

        drawn = asset_from_bytes(draw_table(table, name), f"{name}.png")
        digest = hashlib.sha256(repr(table).encode("utf-8", "surrogatepass")).hexdigest()
        return replace(drawn, made_from=f"table:{digest}")  # fonts differ from machine to machine
    return as_markdown(table)


def _lazy_frame(value: Any, name: str, _modality: FieldModality) -> MediaAsset:
    raise FieldError(
        f"'{name}' holds {a_type(value)}, which is not computed yet.",
        fix=f"use {name}.collect().",
    )


def _ipython_image(value: Any, name: str, modality: FieldModality) -> MediaAsset | str | None:
    if isinstance(getattr(value, "data", None), bytes):
        return asset_from_bytes(value.data, getattr(value, "filename", None))
    if url := getattr(value, "url", None):
        return ImageAsset.from_url(url)
    return _displayed(value, name, modality)


def _upload(value: Any, name: str, _modality: FieldModality) -> MediaAsset:
    """Take one file of an ipywidgets FileUpload."""
    if not isinstance(value["content"], (bytes, bytearray, memoryview)):
        raise FieldError(
            f"'{name}' looks like an upload, but its content is {a_type(value['content'])}.",
            fix="give the uploaded file's content as bytes.",
        )
    return asset_from_bytes(
        bytes(value["content"]), str(value["name"]), mime_type=str(value["type"])
    )


_REPRS = {
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_mimebundle_": "",
    "_repr_pdf_": "application/pdf",
    "_repr_svg_": "image/svg+xml",
}
_BUNDLE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf")


def _displayed(value: Any, name: str, modality: FieldModality) -> MediaAsset | str | None:
    """Take what IPython would show, the picture before the text."""
    if modality is FieldModality.TEXT:
        return None
    for method in _REPRS:
        if callable(getattr(type(value), method, None)):
            shown = _drawn(name, value, getattr(value, method))
            if isinstance(shown, tuple) and shown:  # with metadata
                shown = shown[0]
            if method == "_repr_mimebundle_":
                shown = _best(shown)
            if shown:
                return _shown_asset(shown, value, name)
    return None


def _best(bundle: object) -> object:
    if not isinstance(bundle, Mapping):
        return None
    return next((bundle[kind] for kind in _BUNDLE_TYPES if bundle.get(kind)), None)


def _shown_asset(shown: object, value: object, name: str) -> MediaAsset:
    if isinstance(shown, str):
        if shown.lstrip().startswith("<"):
            shown = shown.encode()
        else:
            try:
                shown = base64.b64decode(shown)
            except ValueError:
                shown = None
    if not isinstance(shown, (bytes, bytearray, memoryview)):
        raise FieldError(
            f"'{name}' holds {a_type(value)} whose picture is no bytes.",
            fix="save it as PNG, and give the path.",
        )
    asset = asset_from_bytes(bytes(shown))
    return asset.replaced(filename=f"{name}.{EXTENSIONS[asset.mime_type]}", notes=asset.notes)


def _drawn(name: str, value: object, draw: Callable[[], Any], *, fix: str = "") -> Any:
    try:
        return draw()
    except (FieldError, AttachmentError):
        raise
    except Exception as error:  # another library's code: anything may come
        reason = next(iter(str(error).strip().splitlines()), "")
        raise FieldError(
            f"'{name}' holds {a_type(value)} that cannot be drawn:"
            f" {type(error).__name__}: {short(reason, 160)}",
            fix=fix or "save it as PNG, and give the path.",
        ) from error


# By library and class; a class derived from one of these counts as it.
_KINDS: dict[tuple[str, str], Reader] = {
    ("PIL", "Image"): _picture,
    ("numpy", "ndarray"): _array,
    ("matplotlib", "FigureBase"): _figure,
    ("matplotlib", "Artist"): _figure,
    ("seaborn", "Grid"): _figure,
    ("plotly", "BaseFigure"): _plotly,
    ("altair", "TopLevelMixin"): _altair,
    ("polars", "LazyFrame"): _lazy_frame,
    ("IPython", "Image"): _ipython_image,
}
