"""Messages and whatever else a run meets → JSON values without keys and with media by digest."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

from agentcell.adapters.addresses import without_query
from agentcell.adapters.redaction import REMOVED, by_length, known_keys, redacted
from agentcell.assets.asset import MediaAsset
from agentcell.messages import MediaMessageBlock, TextMessageBlock, ToolCall
from agentcell.openai_shape import call_dict

PutMedia = Callable[[bytes, str], str]
"""Takes a file's bytes and its type, keeps them once, and returns their SHA-256."""

_LETTERS = "[A-Za-z0-9+/_-]"
_DATA_URL = re.compile(
    r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,"
    rf"({_LETTERS}*(?:\s{{1,2}}{_LETTERS}{{40,}})*={{0,2}})"
)
_BARE = re.compile(
    rf"(?:{_LETTERS}{{60,}}\r?\n){{4,}}{_LETTERS}*={{0,2}}|{_LETTERS}{{512,}}={{0,2}}"
)
"""Base64 of a file without a word about it: no text of a language runs so long without a blank."""

_MOST_TEXT = 100_000
"""Characters of one text that a trace keeps."""

_LONGEST_KEY = 8_000
"""Characters."""

_SECRET_NAME = re.compile(
    r"(?:.*[-_])?(?:api[-_]?key|authorization|cookie|credentials?|passw(?:or)?d|secret|token)",
    re.IGNORECASE | re.DOTALL,
)

_LONGEST_NAME = 100

_MAX_DEPTH = 40


class Recorder:
    """Makes records of one run's values.

    Parameters
    ----------
    put
        Keeps media.
    secrets
        Keys that this process does not know otherwise, such as one given in code.
    """

    def __init__(self, put: PutMedia, secrets: Iterable[str] = ()) -> None:
        self._put = put
        self._secrets = by_length((*known_keys(), *secrets))

    def message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message; what only its provider reads (signatures) is counted, not kept."""
        plain = {str(key): self.value(one) for key, one in message.items() if key != "opaque"}
        if opaque := message.get("opaque"):
            plain["opaque"] = f"{len(opaque)} items"
        return plain

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return `value` as JSON; what JSON lacks becomes text."""
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return self.text(value)
        if depth > _MAX_DEPTH:
            return "…"
        if isinstance(value, Mapping):
            return self._mapping(value, depth + 1)
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.value(one, depth + 1) for one in value]
        return self._object(value, depth + 1)

    def _object(self, value: Any, depth: int) -> Any:  # noqa: PLR0911 (one for each kind)
        match value:
            case bytes() | bytearray() | memoryview():
                return self._file(bytes(value), "application/octet-stream")
            case ToolCall():
                return self._call(value, depth)
            case TextMessageBlock():
                return {"type": "text", "text": self.text(value.text)}
            case MediaMessageBlock():
                return {**self._asset(value.asset), "tag": self.text(value.tag)}
            case MediaAsset():
                return self._asset(value)
            case Enum():
                return self.value(value.value, depth)
            case Decimal():
                return str(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = ((one.name, getattr(value, one.name)) for one in dataclasses.fields(value))
            return {name: self.value(one, depth) for name, one in fields if one is not None}
        return self.text(repr(value)[:200])

    def _call(self, call: ToolCall, depth: int) -> Any:
        plain = call_dict(call)
        if not call.raw_arguments:  # in a text of JSON, what goes by a secret's name is not seen
            arguments = self.value(call.arguments, depth)
            plain["function"]["arguments"] = json.dumps(arguments, ensure_ascii=False)
        return self.value(plain, depth)

    def text(self, text: str) -> str:
        """Return a text without keys, and with a digest for each file that is written in it."""
        if "base64," in text:
            text = _DATA_URL.sub(lambda found: self._written(found[2], found[1] or ""), text)
        if len(text) >= 512:  # noqa: PLR2004 (see `_BARE`)
            text = _BARE.sub(lambda found: self._written(found[0], ""), text)
        more = len(text) - _MOST_TEXT
        # A key that the cut goes through would be known no more, so keys are taken out first.
        text = redacted(text[: _MOST_TEXT + _LONGEST_KEY], *self._secrets)
        return f"{text[:_MOST_TEXT]}… ({more:,} characters more)" if more > 0 else text

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        plain = {
            self.text(str(key)): REMOVED
            if isinstance(one, str) and names_a_secret(str(key))
            else self.value(one, depth)
            for key, one in value.items()
        }
        if isinstance(url := value.get("url"), str) and url.startswith(("https://", "http://")):
            plain["url"] = self.text(without_query(url))  # a signature stands in the query
        return plain

    def _written(self, text: str, kind: str) -> str:
        """Return what stands for a file that a text holds as base64."""
        compact = re.sub(r"\s", "", text).translate(str.maketrans("-_", "+/")).rstrip("=")
        try:
            data = base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
        except (binascii.Error, ValueError):
            data = text.encode()
        return self._file(data, kind or "application/octet-stream")

    def _file(self, data: bytes, kind: str) -> str:
        return f"[{kind}, {len(data):,} bytes, sha256:{self._put(data, kind)}]"

    def _asset(self, asset: MediaAsset) -> dict[str, Any]:
        about: dict[str, Any] = {"type": str(asset.modality).lower()}
        if asset.url is not None and not asset.url.startswith("data:"):
            return {**about, "url": self.text(without_query(asset.url))}
        if asset.file_id is not None:
            return {**about, "file_id": self.text(asset.file_id)}
        return {**about, "media": self._file(asset.load_bytes(), asset.mime_type)}


def names_a_secret(name: str) -> bool:
    """Whether what goes by this name, a header or an argument, is not to be shown."""
    return len(name) <= _LONGEST_NAME and _SECRET_NAME.fullmatch(name) is not None


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
