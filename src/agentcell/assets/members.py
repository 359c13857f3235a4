"""A value that is made of named parts -> its parts by name; and whether a text shows an attachment.

No library is imported here: pydantic, attrs and msgspec are known by what they put on a class.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

_SHOWN = r"\b(?:Image|Pdf)Asset\(|\bMediaMessageBlock\("


def members(value: object) -> Mapping[Any, Any] | None:
    """Return what a value holds by name, or None if it is not made of named parts.

    A mapping, a dataclass, a namespace, or a model of pydantic, attrs or msgspec is.
    """
    if isinstance(value, Mapping):
        return value
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return _named(value, (field.name for field in dataclasses.fields(kind)))
    if isinstance(value, SimpleNamespace) or _is_argparse(kind):
        return dict(vars(value))
    names = getattr(kind, "model_fields", None)
    if isinstance(names, dict) and hasattr(value, "model_dump"):
        return _named(value, names)
    attributes = getattr(kind, "__attrs_attrs__", None)
    if isinstance(attributes, tuple):
        return _named(value, (one.name for one in attributes))
    names = getattr(kind, "__struct_fields__", None)
    return _named(value, names) if isinstance(names, tuple) else None


def shows_attachment(text: str) -> bool:
    """Whether a text that an object gave of itself shows an attachment inside it."""
    return re.search(_SHOWN, text) is not None


def _named(value: object, names: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _is_argparse(kind: type) -> bool:
    return any(one.__module__ == "argparse" and one.__name__ == "Namespace" for one in kind.__mro__)
