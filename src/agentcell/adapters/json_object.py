"""A text → the JSON object that it is, and nothing else; None for any other text."""

from __future__ import annotations

from typing import Any

from agentcell.strict_json import strict_json


def json_object(text: str) -> dict[str, Any] | None:
    """Return the object in `text`; None if it is none, or says more than JSON can.

    A text with a key twice, or with a number that is none, would be another one written again.
    """
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return None
    try:
        value = strict_json(stripped, objects=_once)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found
