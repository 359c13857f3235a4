"""API keys: where they come from, how to know one when one sees it, and where traces of one are.

`places` finds a provider's key, `shapes` and `literals` see keys in a text, `traces` finds any
run of a key's characters. Nothing in here prints, logs or returns a key in a message.
"""

from __future__ import annotations

from agentcell.keys.places import (
    SERVICE,
    Key,
    Question,
    Search,
    can_be_key,
    forget,
    is_at_hand,
    keep,
    known,
    look,
    on_missing,
    refused,
)

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
