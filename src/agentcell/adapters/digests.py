"""A request's body, to the same with media as digests, long texts cut, and no key: for people."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from agentcell.adapters.body import Body
from agentcell.adapters.redaction import REMOVED, redacted
from agentcell.assets.sniff import sniff
from agentcell.assets.wording import decimal_size

LONGEST_TEXT = 4_000
"""Characters of one text that are shown."""

_DATA = re.compile(
    r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,([A-Za-z0-9+/_-]+=*)"
    r"|([A-Za-z0-9+/_-]{200,}=*)"  # no word is as long
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+=*")
_STAND_IN = re.compile(r"(?:data:([\w.+-]+/[\w.+-]+)?;base64,)?«content ([0-9a-f]{64}) (\d+)»")
_SECRET_NAME = re.compile(
    r"(^|[_-])(api[_-]?key|authorization|password|passwd|secret|(access|auth|bearer)[_-]?token)$",
    re.IGNORECASE,
)
_KIND_NAMES = ("media_type", "mime_type", "mimeType")
_DEEPEST = 60


def body_for_people(body: Body, *keys: str) -> Any:
    """Return the JSON value of `body`; attachments that go out from a file are not read.

    Parameters
    ----------
    keys
        What must not appear.
    """
    text = b"".join(
        piece
        if isinstance(piece, bytes)
        else f"«content {piece.digest} {piece.size_bytes}»".encode()
        for piece in body.pieces
    )
    return for_people(json.loads(text), *keys)


def for_people(value: Any, *keys: str, kind: str = "", depth: int = 0) -> Any:
    """Return a value of JSON with media as digests, long texts cut, and no key.

    Parameters
    ----------
    keys
        What must not appear.
    kind
        The type of the data in it, where that stands beside it.
    """
    if isinstance(value, str):
        return text_for_people(value, *keys, kind=kind)
    if depth >= _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        kind = next((str(value[name]) for name in _KIND_NAMES if value.get(name)), kind)
        shown = {}
        for name, item in value.items():
            is_secret = isinstance(item, str) and item and _SECRET_NAME.search(str(name))
            if str(name).lower() == "headers" and isinstance(item, Mapping):
                item = dict.fromkeys(item, REMOVED)  # noqa: PLW2901 (an MCP server's)
            if name == "data" and kind and isinstance(item, str) and _BASE64.fullmatch(item):
                item = _decoded(kind, item)  # noqa: PLW2901 (also a small picture)
            kept = REMOVED if is_secret else for_people(item, *keys, kind=kind, depth=depth + 1)
            shown[text_for_people(str(name), *keys)] = kept
        return shown
    if isinstance(value, (list, tuple)):
        return [for_people(item, *keys, kind=kind, depth=depth + 1) for item in value]
    return value


def text_for_people(text: str, *keys: str, kind: str = "") -> str:
    """Return a text with media as digests, without keys, and cut where it is long."""
    text = _STAND_IN.sub(lambda found: _digest(found[1] or kind, found[2], int(found[3])), text)
    text = _DATA.sub(lambda found: _decoded(found[1] or kind, found[2] or found[3]), text)
    text = redacted(text, *keys)  # before it is cut: half a key is one
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]}… ({more:,} characters more)"


def _decoded(given: str, data: str) -> str:
    plain = data.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        content = base64.b64decode(plain + "=" * (-len(plain) % 4))
    except ValueError:  # one character too many: no base64, but no text to read either
        content = data.encode("ascii")
    kind = sniff(content[:4096]).mime_type or given
    return _digest(kind, hashlib.sha256(content).hexdigest(), len(content))


def _digest(kind: str, digest: str, size: int) -> str:
    return f"<{kind or 'data'} {decimal_size(size)} sha256:{digest[:12]}…>"
