"""An attachment → its tag, which the model and the reader use: ``[receipt_image_1 Receipt]``.

A tag is a prefix (from the field's name), a number and a label (from its description). Numbers
count up per prefix, past every number that the request's texts already use.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable

from agentcell.assets.asset import MediaAsset
from agentcell.messages import MediaMessageBlock
from agentcell.modality import FieldModality

MAX_LABEL = 80
"""Code points of a label; the rest is cut."""

MAX_COUNTED = 9_999
"""Larger numbers in a text do not move a counter; they are only never given out again."""

_USED = re.compile(r"\[([A-Za-z0-9_]+)_([0-9]{1,9}) ")
_TAG = re.compile(r"\[[A-Za-z0-9](?:[A-Za-z0-9_]*[A-Za-z0-9])?_[0-9]{1,9} [^\[\]\r\n]{1,80}\]")
_UNSAFE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls, those that turn the direction of the text after them, and halves of characters."""

_ANNOUNCED = re.compile(
    r"Attached (?:image|PDF file) (\[[^\[\]\r\n]+\])"
    r"(?:, called \[[^\[\]\r\n]+\] before|, the same as)?:"
)


class TagRegistry:
    """The tags of one request or session. Its order of calls alone decides what it gives.

    It may be shared between threads.

    Parameters
    ----------
    texts
        Everything that the model will read: a number in use there is not given out again.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._last: dict[str, int] = {}
        self._taken: set[tuple[str, int]] = set()
        self._tags: dict[str, str] = {}
        for text in texts:
            self.see(text)

    def __repr__(self) -> str:
        return f"TagRegistry({len(self._tags)} attachments)"

    def see(self, text: str) -> None:
        """Count past every tag in `text`.

        Parameters
        ----------
        text
            Something that the model will read.
        """
        with self._lock:
            for prefix, digits in _USED.findall(text):
                number = int(digits)
                if number <= MAX_COUNTED:
                    self._last[prefix] = max(self._last.get(prefix, 0), number)
                else:
                    self._taken.add((prefix, number))

    def reserve(
        self, asset: MediaAsset, field_name: str, description: str = "", *, fresh: bool = False
    ) -> tuple[str, bool]:
        """Return the asset's tag, and whether it is new.

        Parameters
        ----------
        asset
            Told apart by its content: the same picture from two places is one.
        field_name, description
            What a new tag is made of.
        fresh
            Make a new tag even if the asset has one.
        """
        identity = asset.fingerprint()
        with self._lock:
            known = self._tags.get(identity)
            if known is not None and not fresh:
                return known, False
            prefix = tag_prefix(field_name)
            number = self._last.get(prefix, 0) + 1
            while (prefix, number) in self._taken:
                number += 1
            self._last[prefix] = number
            tag = f"[{prefix}_{number} {_label(asset, field_name, description)}]"
            self._tags.setdefault(identity, tag)
            return tag, True

    def tag_of(self, asset: MediaAsset) -> str | None:
        """Return the asset's tag, None if it has none yet.

        Parameters
        ----------
        asset
            Known by its content.
        """
        with self._lock:
            return self._tags.get(asset.fingerprint())

    def adopt(self, tag: str, asset: MediaAsset) -> None:
        """Take over a tag from an earlier turn, as it stands; the last one adopted counts.

        Parameters
        ----------
        tag
            In whatever form.
        asset
            What it names.
        """
        self.see(tag)
        with self._lock:
            self._tags[asset.fingerprint()] = tag


def tag_prefix(field_name: str) -> str:
    """Return the prefix of a field's tags: ASCII letters, digits and ``_``; else ``attachment``.

    Parameters
    ----------
    field_name
        In any script.
    """
    return re.sub(r"[^A-Za-z0-9_]+", "_", field_name.strip()).strip("_") or "attachment"


def announcement(block: MediaMessageBlock, before: str = "") -> str:
    """Return the line that stands before an attachment and names it.

    Parameters
    ----------
    block
        The attachment.
    before
        Another tag that it had in earlier messages whose attachment is no longer there.
    """
    kind = "image" if block.modality is FieldModality.IMAGE else "PDF file"
    also = f", called {before} before" if before else ""
    return f"Attached {kind} {block.tag}{also}:"


def same_as(line: str) -> str:
    """Return an announcement whose attachment is not repeated: another tag follows in its place."""
    found = _ANNOUNCED.fullmatch(line)
    if found is None:
        return line
    return f"{line[: found.end(1)]}, the same as:"


def announced_tag(line: str) -> str | None:
    """Return the tag that an announcement names; None if `line` is none."""
    found = _ANNOUNCED.fullmatch(line)
    return found.group(1) if found else None


def is_announcement(line: str) -> bool:
    """Whether `line` was made by `announcement`."""
    return announced_tag(line) is not None


def find_tags(text: str) -> list[tuple[int, int, str]]:
    """Return ``(start, end, tag)`` for all in `text` that has the form of a tag, in order.

    Parameters
    ----------
    text
        For example a model's answer.
    """
    return [(found.start(), found.end(), found.group()) for found in _TAG.finditer(text)]


def _label(asset: MediaAsset, field_name: str, description: str) -> str:
    for text in (description, field_name, asset.default_filename):
        cleaned = " ".join(_UNSAFE.sub("", text).split())
        if cleaned:
            return cleaned.replace("[", "(").replace("]", ")")[:MAX_LABEL]
    return str(asset.modality).lower()
