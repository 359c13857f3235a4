"""A field's value → the attachments in it, and its text with each attachment named by a tag.

A value may be a text, a number, an attachment, or a list, tuple, set, mapping, dataclass,
namespace or model (pydantic, attrs, msgspec) of these, to any depth up to `MAX_DEPTH`. What has
no text of its own (bytes, a function, an object that would print as ``<Thing object at 0x…>``) is
refused, and so is what would print an attachment inside it.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any

from agentcell.assets.asset import MediaAsset
from agentcell.assets.members import members, shows_attachment
from agentcell.assets.wording import a_type
from agentcell.errors import FieldError
from agentcell.messages import MediaMessageBlock, TextMessageBlock

_BYTES = (bytes, bytearray, memoryview)

MAX_DEPTH = 50
"""How many levels of lists and mappings a value may hold."""


class Tree:
    """One value, walked once: what is in it, in an order that does not depend on hash seeds.

    Parameters
    ----------
    value
        The field's value.
    name
        The field's name, for error messages.
    leaf
        Called with what is none of the above (a path, bytes, a figure, …): returns an attachment,
        a list of them, or text. Without it, what has no text is refused.

    Raises
    ------
    FieldError
        If the value refers to itself, is nested deeper than `MAX_DEPTH`, or holds something that
        has no text of its own.
    """

    def __init__(
        self, value: object, name: str, leaf: Callable[[object], Any] | None = None
    ) -> None:
        self.name = name
        self._made = leaf
        self.root = self._plain(value, ())

    def __repr__(self) -> str:
        return f"Tree({self.name[:80]!r}, {sum(1 for _ in self.assets())} attachments)"

    def assets(self) -> Iterator[MediaAsset]:
        """Yield every attachment, in order, repeated ones repeatedly."""
        yield from _assets(self.root)

    def texts(self) -> Iterator[str]:
        """Yield every text, mapping keys included, in order."""
        yield from _texts(self.root)

    def has_other(self) -> bool:
        """Whether something that is neither an attachment nor empty stands in the value."""
        return _has_other(self.root)

    def has_any(self) -> bool:
        """Whether there is anything but None, ``""`` and empty lists and mappings."""
        return self.has_other() or next(self.assets(), None) is not None

    def render(self, tag_of: Callable[[MediaAsset], str]) -> str:
        """Return the value as prompt text; `tag_of` is called for each attachment, in order.

        A text stays as it is, None is empty, a list of attachments becomes their tags, one a
        line. Anything else is written like JSON (indented by 2, keys sorted), with the tags bare.
        """
        root = self.root
        if root is None:
            return ""
        if isinstance(root, str):
            return root
        if isinstance(root, MediaAsset):
            return tag_of(root)
        if isinstance(root, list) and root and all(isinstance(one, MediaAsset) for one in root):
            return "\n".join(tag_of(one) for one in root)
        return _written(root, tag_of, "")

    def _plain(self, value: object, above: tuple[int, ...]) -> Any:  # noqa: C901, PLR0911
        if value is None or isinstance(value, (bool, MediaAsset)):
            return value
        if isinstance(value, MediaMessageBlock):
            return value.asset
        if isinstance(value, TextMessageBlock):
            return value.text
        if isinstance(value, Enum):
            return self._plain(value.value, above)
        if isinstance(value, str):
            return self._text(str(value))
        if isinstance(value, (int, float)):
            return self._number(value)
        if id(value) in above:
            raise self._refused("refers to itself", "give a value without loops.")
        if len(above) >= MAX_DEPTH:
            raise self._refused(f"is nested deeper than {MAX_DEPTH} levels", "give a flatter one.")
        above = (*above, id(value))
        fields = members(value)
        if fields is not None:
            plain = {self._key(key): self._plain(one, above) for key, one in fields.items()}
            if len(plain) < len(fields):
                raise self._refused("has keys that read alike", "name each by another text.")
            return {key: plain[key] for key in sorted(plain)}
        if isinstance(value, (Sequence, ValuesView)) and not isinstance(value, _BYTES):
            return [self._plain(one, above) for one in value]
        if isinstance(value, AbstractSet):
            # A set has no order of its own; the same one must give the same request.
            return sorted((self._plain(one, above) for one in value), key=_order)
        return self._leaf(value, above)

    def _leaf(self, value: object, above: tuple[int, ...]) -> Any:
        if isinstance(value, (dt.date, dt.time)):
            return value.isoformat()
        if isinstance(value, complex):
            return str(value)
        item = getattr(value, "item", None)
        if callable(item) and getattr(value, "shape", None) == ():  # a numpy scalar
            return self._plain(item(), above)
        if self._made is not None:
            return self._plain(self._made(value), above)
        if isinstance(value, _BYTES):
            raise self._refused(
                f"holds {len(value):,} bytes, which are no text",
                "use ImageAsset.from_bytes or PdfAsset.from_bytes, or decode them.",
            )
        if isinstance(value, os.PathLike):
            return os.fsdecode(value)
        kind = type(value)
        if kind.__str__ is object.__str__ and kind.__format__ is object.__format__:
            raise self._refused(
                f"holds {a_type(value)}, which has no text of its own",
                "give text, a number, an ImageAsset, a PdfAsset, or a list or mapping of them.",
            )
        text = str(value)
        if shows_attachment(text):
            raise self._refused(
                f"holds {a_type(value)} with an attachment inside it",
                "name the attachment itself, or give it in a list or a mapping.",
            )
        return text

    def _text(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError as error:  # from a file's name, or a text cut in the middle
            raise self._refused(
                f"holds half a character (U+{ord(text[error.start]):04X})",
                'use text.encode(errors="replace").decode().',
            ) from error
        return text

    def _number(self, value: float) -> float:
        try:
            str(value)
        except ValueError as error:  # Python writes no whole number of more than 4,300 digits
            raise self._refused("holds a number that is too long to write", "round it.") from error
        return value

    def _key(self, key: object) -> str:
        if isinstance(key, MediaAsset):
            raise self._refused("has an attachment as a key", "give it as a value.")
        if isinstance(key, Enum):
            key = key.value
        return self._text(key if isinstance(key, str) else str(key))

    def _refused(self, what: str, fix: str) -> FieldError:
        return FieldError(f"Field '{self.name}' {what}.", fix=fix)


def _order(value: object) -> tuple[str, str]:
    """Return the place of a set's member: by kind, then by content."""
    if isinstance(value, MediaAsset):
        return ("asset", value.fingerprint())
    return (type(value).__name__, value if isinstance(value, str) else _written(value, _digest, ""))


def _digest(asset: MediaAsset) -> str:
    return asset.fingerprint()


def _assets(value: object) -> Iterator[MediaAsset]:
    if isinstance(value, MediaAsset):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _assets(one)
    elif isinstance(value, list):
        for one in value:
            yield from _assets(one)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _has_other(value: object) -> bool:
    if value is None or isinstance(value, MediaAsset):
        return False
    if isinstance(value, dict):
        return any(_has_other(one) for one in value.values())
    if isinstance(value, list):
        return any(_has_other(one) for one in value)
    return value != ""


def _written(value: object, tag_of: Callable[[MediaAsset], str], indent: str) -> str:
    """Write `value` like JSON. Tags stay bare, so that a quote in one is not escaped."""
    if isinstance(value, MediaAsset):
        return tag_of(value)
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = (
            f"{json.dumps(key, ensure_ascii=False)}: {_written(one, tag_of, inner)}"
            for key, one in value.items()
        )
        return "{\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        lines = (_written(one, tag_of, inner) for one in value)
        return "[\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
