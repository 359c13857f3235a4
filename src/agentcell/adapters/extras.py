"""What a caller adds to every request, laid over what an adapter makes of a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
