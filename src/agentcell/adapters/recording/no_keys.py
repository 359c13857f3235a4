"""A line of a recording, to the same without any key."""

from __future__ import annotations

import json

from agentcell import keys

_SHORTEST = 8
"""Characters of a key that is looked for: shorter ones are placeholders such as ``none``."""


def without_keys(text: str) -> str:
    """Return `text`, which may be JSON, without any key that this process knows."""
    for value in sorted(keys.known().values(), key=len, reverse=True):
        if len(value) >= _SHORTEST:
            for spelled in (value, json.dumps(value, ensure_ascii=False)[1:-1]):
                text = text.replace(spelled, "[key]")
    return text
