"""An attachment and the field it came by, to the tag that it keeps in a session."""

from __future__ import annotations

import re
import threading

from agentcell.assets.asset import MediaAsset
from agentcell.prompts.fields import FieldSpec
from agentcell.prompts.tags import TagRegistry


class SessionTags:
    """Gives the same tag for the same content in the same field. Safe to share between threads.

    Another name or label makes another tag: a person who changes one means to see it.
    """

    def __init__(self) -> None:
        self._registry = TagRegistry()
        self._given: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def see(self, text: str) -> None:
        """Count past every tag in `text`."""
        self._registry.see(text)

    def adopt(self, tag: str, fingerprint: str) -> None:
        """Take over a tag from an earlier turn for what has this fingerprint."""
        self._registry.see(tag)
        with self._lock:
            given = self._given.setdefault(fingerprint, [])
            if tag not in given:
                given.append(tag)

    def tag(self, asset: MediaAsset, spec: FieldSpec) -> str:
        """Return the tag of `asset` where it comes by the field `spec`."""
        first, _ = TagRegistry().reserve(asset, spec.name, spec.description)  # "[name_1 Label]"
        with self._lock:
            given = self._given.setdefault(asset.fingerprint(), [])
            for tag in given:
                if _without_number(tag) == _without_number(first):
                    return tag
            tag, _ = self._registry.reserve(asset, spec.name, spec.description, fresh=True)
            given.append(tag)
            return tag


def _without_number(tag: str) -> str:
    return re.sub(r"_\d+ ", "_ ", tag, count=1)
