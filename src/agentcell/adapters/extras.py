"""What a caller adds to every request, laid over what an adapter makes of a question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return `body` with `extra` over it, also inside objects that both have."""
    whole = dict(body)
    for name, value in extra.items():
        known = whole.get(name)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        whole[name] = merged(known, value) if both else value  # type: ignore[arg-type]
    return whole


_FRAMING = frozenset({"connection", "content-encoding", "content-length", "transfer-encoding"})
"""What says how a request stands on the wire, which whoever writes it must say itself."""


def checked(name: str, value: object) -> dict[str, Any]:
    """Return what a caller gave as `name`, a mapping or nothing.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is a {type(value).__name__}; a dict was expected")
    return dict(value)


def secrets_of(headers: Mapping[str, str], url: str) -> tuple[str, ...]:
    """Return what a caller gave besides the key that nobody else should read.

    These are the values of headers that are called so (``api-key``, ``Cookie``, …), and what
    stands in `url` as a password or under such a name.
    """
    found = [value for name, value in headers.items() if _SECRET.search(name)]
    for value in tuple(found):  # "Bearer …", "session=…; …"
        found += [value.partition(" ")[2].strip(), *re.findall(r"=([^;\s]+)", value)]
    return tuple(value for value in (*found, *_secrets_in(url)) if len(value) >= _SHORTEST)


@lru_cache(maxsize=128)
def _secrets_in(url: str) -> tuple[str, ...]:
    parts = urlsplit(url)
    if not (parts.query or "@" in parts.netloc):
        return ()
    named = [value for name, value in parse_qsl(parts.query) if _SECRET.search(name)]
    return tuple(filter(None, (unquote(parts.password or ""), *named)))


_SECRET = re.compile(
    r"key|token|auth|secret|cookie|session|passw|pwd|credential|sig", re.IGNORECASE
)

_SHORTEST = 6
"""Characters: shorter values are no secrets, and would take common words out."""


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that cannot be sent.

    Raises
    ------
    ValueError
        If one holds anything but printable ASCII, or is the connection's own.
    """
    for name, value in headers.items():
        for text in (name, value):
            if not (isinstance(text, str) and text.isascii() and text.isprintable()):
                raise ValueError(f"the header {name!r} holds what no header may hold")
        if name.lower() in _FRAMING:
            raise ValueError(f"the header {name!r} is the connection's own and cannot be given")
