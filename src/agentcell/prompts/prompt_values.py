"""A value for a slot of a prompt file → its text; what has none of its own is refused."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from agentcell.assets.asset import MediaAsset
from agentcell.assets.foreign import is_foreign
from agentcell.assets.tables import is_frame, is_nothing
from agentcell.assets.wording import a_type
from agentcell.errors import PromptError
from agentcell.modality import FieldModality
from agentcell.safe_text import unsendable

_NO_TEXT = re.compile(r"<.* at 0x[0-9a-fA-F]+>\Z", re.DOTALL)
"""How Python writes what nobody taught to write itself."""

_TOLD_BY_STR = (
    bool,
    int,
    float,
    complex,
    Decimal,
    Fraction,
    dt.date,
    dt.time,
    dt.timedelta,
    PurePath,
)


def slot_text(name: str, value: Any) -> str:
    """Return what stands for ``%name%``.

    Parameters
    ----------
    name
        The slot's, for errors.
    value
        A text is itself, a number or a bool as Python writes it, a mapping or list compact JSON.

    Raises
    ------
    PromptError
        If it is None, an image, bytes, or has no text of its own; or the text cannot be sent.
    """
    text = _text(name, value)
    if fault := unsendable(text):
        raise PromptError(f"The value of '{name}' holds {fault}.", fix=f"take it out of {name}.")
    return text


def _text(name: str, value: Any) -> str:
    if is_nothing(value):
        raise _no_text(name, str(value))
    if isinstance(value, str) and not isinstance(value, Enum):
        return str.__str__(value)
    if isinstance(value, _TOLD_BY_STR) and not isinstance(value, Enum):
        return _said(name, value)
    if is_frame(value):
        from agentcell.assets.coerce import coerce

        return str(coerce(value, name=name, modality=FieldModality.TEXT))
    if isinstance(value, (Mapping, list, tuple)):
        return _json(name, value)
    if isinstance(value, (set, frozenset)):  # as Python writes it, its order changes with each run
        return _json(name, sorted(value, key=lambda one: (type(one).__name__, str(one))))
    return _other(name, value)


def _other(name: str, value: Any) -> str:
    if isinstance(value, Enum):
        return _text(name, value.value)
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():  # a numpy scalar
        return _text(name, item())
    if isinstance(value, (MediaAsset, bytes, bytearray, memoryview)) or is_foreign(value):
        raise PromptError(
            f"The value of '{name}' is {a_type(value)}; a text was expected.",
            fix="give pictures as images=…, and bytes decoded.",
        )
    if _NO_TEXT.match(_said(name, value)):
        raise _no_text(name, a_type(value))
    return _said(name, value)


def _no_text(name: str, what: str) -> PromptError:
    return PromptError(
        f"The value of '{name}' is {what}; a text, number, list or mapping was expected.",
        fix='give a text; "" for nothing.',
    )


def _said(name: str, value: Any) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 (a class of anyone's may raise anything)
        raise PromptError(
            f"The value of '{name}', {a_type(value)}, cannot be written as text:"
            f" {type(error).__name__}: {str(error)[:120]}.",
            fix=f"give {name} as a text.",
        ) from None


def _json(name: str, value: Any) -> str:
    try:
        plain = dict(value) if isinstance(value, Mapping) else value
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise PromptError(
            f"The value of '{name}' cannot be written as JSON: {str(error)[:120]}.",
            fix="give texts, numbers, lists and mappings of them.",
        ) from None


def _plain(value: Any) -> Any:
    """Return what stands in JSON for a value inside a list or mapping.

    Raises
    ------
    TypeError
        If nothing does.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=lambda one: (type(one).__name__, str(one)))
    if isinstance(value, (dt.date, dt.time, dt.timedelta, Decimal, Fraction, PurePath)):
        return str(value)
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():  # a numpy scalar
        return item()
    raise TypeError(f"it holds {a_type(value)}")
