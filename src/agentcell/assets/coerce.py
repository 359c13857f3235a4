"""A notebook's value -> an attachment, a list of them, or text.

No library is imported here: a value's own library is in `sys.modules`, or the value is not of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, TypeAlias

from agentcell.assets.asset import MediaAsset, asset_from_bytes, asset_from_path
from agentcell.assets.foreign import from_foreign, is_foreign
from agentcell.assets.plain_text import plain_text
from agentcell.assets.tables import is_frame
from agentcell.assets.wording import a_type
from agentcell.errors import AttachmentError, FieldError
from agentcell.modality import FieldModality

Coerced: TypeAlias = MediaAsset | list[MediaAsset] | str
Converter: TypeAlias = Callable[[Any], Any]

MAX_DEPTH = 20
"""How deep lists may be nested."""

_PLAIN_TYPES = {int, float, str, bool, type(None)}

_converters: dict[type, Converter] = {}
_lock = threading.Lock()


def register(kind: type, converter: Converter) -> None:
    """Teach `coerce` a type, and those derived from it, before all it knows itself.

    Parameters
    ----------
    kind
        A class of yours.
    converter
        Called with the value; what it returns is coerced in turn: an asset, bytes, a path, a
        PIL image, text, a list of these. None removes an earlier converter.

    Examples
    --------
    >>> register(Scan, lambda scan: scan.to_pil())  # doctest: +SKIP
    """
    if not isinstance(kind, type) or not callable(converter):
        raise TypeError("register takes a class and a function of one argument.")
    with _lock:
        _converters[kind] = converter


def unregister(kind: type) -> None:
    """Forget what `register` taught about a class; nothing happens if it was nothing.

    Parameters
    ----------
    kind
        The class that was given to `register`.
    """
    with _lock:
        _converters.pop(kind, None)


def coerce(value: object, *, name: str, modality: FieldModality = FieldModality.ANY) -> Coerced:
    """Return what a value is to a model.

    ========================================  ==================================================
    an asset                                  itself
    a `Generation`                            the pictures that were made
    `pathlib.Path`                            the file there
    bytes                                     an image or PDF, by content
    PIL image, array of pixels, figure, chart an image
    what IPython would show as PNG or JPEG    that image
    DataFrame                                 a Markdown table; an image if the field is IMAGE
    str                                       itself, as text
    number, bool, None, dict, date, …         text, like JSON
    a list or tuple of attachments            a list of assets
    ========================================  ==================================================

    Parameters
    ----------
    value
        What a variable or a field holds.
    name
        What to call the value in an error: the field or the variable.
    modality
        What the field is declared as; decides for values that can be either text or image.

    Raises
    ------
    FieldError
        If the value is of a type that nothing is known about, or mixes attachments and text.
    AttachmentError
        If it is an attachment that cannot be used.
    """
    try:
        return _coerce(value, name, modality, (), 0)
    except AttachmentError as error:
        unnamed = "The attachment "
        problem = error.problem.removeprefix(unnamed)
        between = " " if problem != error.problem else ": "
        raise AttachmentError(f"'{name}'{between}{problem}", fix=error.fix) from error


def _coerce(  # noqa: PLR0911 (one branch for each kind of value)
    value: object,
    name: str,
    modality: FieldModality,
    above: tuple[int, ...],
    converted: int,
) -> Coerced:
    if isinstance(value, MediaAsset):
        return value
    if converter := _converter(value):
        if converted >= MAX_DEPTH:
            raise FieldError(
                f"'{name}' holds {a_type(value)}, whose converter never comes to an end.",
                fix="let the function given to register return an asset, bytes or text.",
            )
        return _coerce(converter(value), name, modality, above, converted + 1)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, PurePath):
        return str(value) if modality is FieldModality.TEXT else asset_from_path(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return asset_from_bytes(bytes(value))
    if isinstance(value, (list, tuple)):
        return _coerce_list(value, name, modality, above)
    if (items := _attachments_in(value)) is not None:
        return _coerce_list(items, name, modality, above)
    foreign = from_foreign(value, name, modality)
    if foreign is not None:
        return foreign
    return plain_text(value, name, is_attachment=_is_attachment)


def _coerce_list(
    values: list[Any] | tuple[Any, ...],
    name: str,
    modality: FieldModality,
    above: tuple[int, ...],
) -> Coerced:
    if id(values) in above or len(above) >= MAX_DEPTH:
        raise FieldError(
            f"'{name}' holds lists nested deeper than {MAX_DEPTH}, or one that holds itself.",
            fix="give a flat list.",
        )
    if all(type(item) in _PLAIN_TYPES for item in values):
        return plain_text(values, name)
    found = [_coerce(item, name, modality, (*above, id(values)), 0) for item in values]
    texts = [item for item in found if isinstance(item, str)]
    if len(texts) == len(found):
        if all(is_frame(item) for item in values):
            return "\n\n".join(texts)
        return plain_text(values, name, is_attachment=_is_attachment)
    if texts:
        raise FieldError(
            f"'{name}' is a {type(values).__name__} that mixes attachments and text"
            f" ({texts[0][:40]!r}); a list of attachments was expected.",
            fix="put the text into a variable of its own.",
        )
    return [asset for item in found for asset in (item if isinstance(item, list) else [item])]  # type: ignore[misc]


def _attachments_in(value: Any) -> list[Any] | None:
    """Return the items of a Series or an array that holds assets; None for all else."""
    listed = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    if (
        not callable(listed)
        or isinstance(value, type)
        or str(getattr(value, "dtype", ""))
        not in {
            "object",
            "Object",
        }
    ):
        return None
    items = listed()
    first = items
    while isinstance(first, list):
        first = first[0] if first else None
    return items if isinstance(items, list) and isinstance(first, MediaAsset) else None


def _converter(value: object) -> Converter | None:
    with _lock:
        known = dict(_converters)
    taught = next((known[kind] for kind in type(value).__mro__ if kind in known), None)
    # What was generated here brings its own converter, so that nothing of it is imported here.
    return taught or getattr(type(value), "_agentcell_assets_", None)


def _is_attachment(value: object) -> bool:
    """Tell whether a value becomes an attachment (or may), without making it."""
    return (
        isinstance(value, (MediaAsset, PurePath, bytes, bytearray, memoryview))
        or _converter(value) is not None
        or is_foreign(value)
    )
