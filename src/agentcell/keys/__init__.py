"""API keys: where they come from, how to know one when one sees it, and where traces of one are.

`places` finds a provider's key, `shapes` and `literals` see keys in a text, `traces` finds any
run of a key's characters. Nothing in here prints, logs or returns a key in a message.
Names are imported at their first use, so that `%load_ext` loads almost nothing of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers: the same names as in `_WHERE`
    from agentcell.keys.asking import on_missing
    from agentcell.keys.keyring_store import SERVICE
    from agentcell.keys.places import (
        Key,
        Question,
        Search,
        can_be_key,
        forget,
        is_at_hand,
        keep,
        known,
        look,
        refused,
    )

_WHERE = {
    "SERVICE": "keyring_store",
    "Key": "places",
    "Question": "places",
    "Search": "places",
    "can_be_key": "places",
    "forget": "places",
    "is_at_hand": "places",
    "keep": "places",
    "known": "places",
    "look": "places",
    "on_missing": "asking",
    "refused": "places",
}

__all__ = [
    "SERVICE",
    "Key",
    "Question",
    "Search",
    "can_be_key",
    "forget",
    "is_at_hand",
    "keep",
    "known",
    "look",
    "on_missing",
    "refused",
]


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{where}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
