"""A text from anywhere, to the same text without keys and passwords."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

REMOVED = "[key removed]"

_SHORTEST_KEY = 4
"""A shorter key would take common letters out."""

_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf)[-_][A-Za-z0-9_\-*.…]{6,}"  # sk-…, also half masked
    r"|\bAIza[A-Za-z0-9_\-*]{6,}"
    r"|(?<=Bearer )(?!\[key removed\])\S+"
    r"|\b[A-Za-z0-9_-]{2,}\*{3,}[A-Za-z0-9_-]*",
)

_USER_IN_ADDRESS = re.compile(r"(?<=://)[^/?#\s\"'<>@]*(?:@[^/?#\s\"'<>@]*)*(?=@)")

_SECRET_IN_QUERY = re.compile(
    r"([?&;](?:[\w.%-]*[_.%-])?"
    r"(?:api[_-]?key|key|token|secret|signature|sig|password|passwd|pwd|auth|credential|code)=)"
    r"(?!\[key removed\])[^&#\s\"'<>\\]+",  # what was taken out stays so
    re.IGNORECASE,
)


def redacted(text: str, *keys: str) -> str:
    """Return `text` without `keys`, without what looks like one, and without those in addresses.

    Parameters
    ----------
    keys
        Also as they stand in an address or in JSON. Those of fewer than 4 characters are left.
    """
    if "://" in text:
        text = _USER_IN_ADDRESS.sub(REMOVED, text)
    if "=" in text:
        text = _SECRET_IN_QUERY.sub(rf"\1{REMOVED}", text)
    for key in keys:
        if len(key) >= _SHORTEST_KEY:
            for form in {key, quote(key, safe=""), json.dumps(key)[1:-1]}:
                text = text.replace(form, REMOVED)
    return _SHAPES.sub(REMOVED, text)


_DATA_URL = re.compile(r"(?i)\b(data:[a-z0-9.+/-]{0,60};base64,)[A-Za-z0-9+/=_-]+")
_LONG_WORD = re.compile(r"[A-Za-z0-9+/_-]{120,}={0,2}")
_KINDS = (re.compile("[A-Z]"), re.compile("[a-z]"), re.compile("[0-9]"))
"""All in one long word: a picture in base64, which services repeat in errors about it."""


def without_data(text: str) -> str:
    """Return `text` without contents in base64: a picture is in no text that anybody reads.

    Parameters
    ----------
    text
        A service's words.
    """
    return _LONG_WORD.sub(_without, _DATA_URL.sub(r"\1…", text))


def _without(word: re.Match[str]) -> str:
    is_data = all(kind.search(word[0]) for kind in _KINDS)
    return "…" if is_data else word[0]


def known_keys() -> tuple[str, ...]:
    """Return every key that this process knows of, the longest first."""
    from agentcell import keys

    return by_length(keys.known().values())


def by_length(keys: Iterable[str]) -> tuple[str, ...]:
    """Return `keys` once each, the longest first: one may be the beginning of another."""
    return tuple(sorted({key for key in keys if key}, key=len, reverse=True))
