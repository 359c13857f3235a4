"""A plain Python value -> text that is the same in every process; never an object's address."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

from agentcell.assets.members import members, shows_attachment
from agentcell.assets.tables import as_markdown, is_frame, table_of
from agentcell.assets.wording import a_type, short
from agentcell.errors import FieldError

MAX_DEPTH = 50

_ONE_LINE = 88
_SHOWN_AS_TEXT = ("_repr_markdown_", "_repr_latex_", "_repr_html_")
_BYTES = (bytes, bytearray, memoryview)
_BARE = r"""\A<.*>\Z|\bb['"]|\bbytearray\("""
_ADDRESS = r"\bat 0x[0-9A-Fa-f]+|<[\w.]+ object|\bobject at\b"


def plain_text(
    value: object, name: str, *, is_attachment: Callable[[object], bool] = lambda _: False
) -> str:
    """Return a value as text: numbers as Python writes them, the rest like JSON.

    Parameters
    ----------
    name
        What to call the value in an error.
    is_attachment
        Says of a value within a mapping or set that it is no text.

    Raises
    ------
    FieldError
        If the value, or one within it, has no text of its own, or is an attachment.
    """
    plain = _Reader(name, is_attachment).read(value, ())
    if isinstance(plain, str):
        return plain
    if isinstance(plain, (bool, int, float)) or plain is None:
        return str(plain)
    line = json.dumps(plain, ensure_ascii=False)
    return line if len(line) <= _ONE_LINE else json.dumps(plain, ensure_ascii=False, indent=2)


class _Reader:
    def __init__(self, name: str, is_attachment: Callable[[object], bool]) -> None:
        self._name = name
        self._is_attachment = is_attachment

    def read(self, value: object, above: tuple[int, ...]) -> Any:  # noqa: PLR0911 (one branch for each kind)
        if value is None or isinstance(value, (bool, str)):
            return value if value is None or isinstance(value, bool) else str(value)
        if isinstance(value, Enum):
            return self.read(value.value, above)
        if isinstance(value, int):
            self._in_digits(value)
            return int(value)
        if isinstance(value, float):
            return float(value)
        if above and self._is_attachment(value):
            raise self._refused(
                f"holds {a_type(value)} inside another value",
                "name the attachment itself, or give a flat list of attachments.",
            )
        if id(value) in above or len(above) >= MAX_DEPTH:
            raise self._refused(
                f"is nested deeper than {MAX_DEPTH} levels, or holds itself", "give a flat value."
            )
        inside = (*above, id(value))
        members = _members(value)
        if members is not None:
            return {self._key(key): self.read(item, inside) for key, item in members.items()}
        if isinstance(value, AbstractSet):
            items = [self.read(item, inside) for item in value]
            return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
        if isinstance(value, (Sequence, ValuesView)) and not isinstance(value, _BYTES):
            return [self.read(item, inside) for item in value]
        return self._leaf(value, inside)

    def _in_digits(self, value: object) -> str:
        try:
            return str(value)
        except ValueError:  # Python writes no number of more than 4,300 digits
            raise self._refused(
                "holds a number of thousands of digits", "write it shorter, for example as 1e5000."
            ) from None

    def _leaf(self, value: object, above: tuple[int, ...]) -> Any:
        if is_frame(value):
            return as_markdown(table_of(value))
        if isinstance(value, (dt.date, dt.time)):
            return value.isoformat()
        if isinstance(
            value, (decimal.Decimal, fractions.Fraction, uuid.UUID, dt.timedelta, complex)
        ):
            return self._in_digits(value)
        if isinstance(value, BaseException):
            return self._checked(value, f"{type(value).__name__}: {value}")
        scalar = getattr(type(value), "item", None)
        if callable(scalar) and getattr(value, "shape", None) == ():  # a numpy number
            plain = scalar(value)
            if type(plain) is not type(value):
                return self.read(plain, above)
        text = self._own_text(value)
        if text is not None:
            return text
        raise self._refused(
            f"holds {a_type(value)}, which is neither an attachment nor text",
            "give text, numbers, an image, a PDF, a figure or a table;"
            " or teach its type with agentcell.assets.register.",
        )

    def _own_text(self, value: object) -> str | None:
        """Return what the value's class says of it, unless that is an address or nothing."""
        kind = type(value)
        if callable(value) or isinstance(value, _BYTES):
            return None
        if kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__:
            text = self._written(value, value.__str__)
            is_bare = kind.__str__ is object.__str__ and re.search(_BARE, text)
            if not is_bare and not re.search(_ADDRESS, text):
                return self._checked(value, text)
        for method in _SHOWN_AS_TEXT:
            if callable(getattr(kind, method, None)):
                shown = self._written(value, getattr(value, method))
                if shown:
                    return shown
        return None

    def _checked(self, value: object, text: str) -> str:
        if shows_attachment(text):
            raise self._refused(
                f"holds {a_type(value)} with an attachment inside it",
                "name the attachment itself, or give it in a list or a mapping.",
            )
        return text

    def _written(self, value: object, write: Callable[[], object]) -> str:
        try:
            written = write()
            return written if isinstance(written, str) else ""
        except Exception as error:
            raise self._refused(
                f"holds {a_type(value)} whose text cannot be made"
                f" ({type(error).__name__}: {short(str(error))})",
                "give its text yourself.",
            ) from error

    def _key(self, key: object) -> str:
        if self._is_attachment(key):
            raise self._refused("has an attachment as a key", "give it as a value.")
        if isinstance(key, str):
            return str(key)
        plain = self.read(key, ())
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

    def _refused(self, what: str, fix: str) -> FieldError:
        return FieldError(f"'{self._name}' {what}.", fix=fix)


def _members(value: object) -> Mapping[Any, Any] | None:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return members(value)
