"""A path as somebody wrote it → where it leads, without links; or why it is none."""

from __future__ import annotations

import os
import re
from pathlib import Path

from agentcell.assets.intake import local_path
from agentcell.assets.wording import short
from agentcell.errors import AttachmentError

MAX_PATH = 4_096
"""Characters of a path that a model may ask for."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_ENCODED = re.compile(r"%2f|%5c|%00|%2e%2e", re.IGNORECASE)


def checked_path(path: str | os.PathLike[str]) -> str:
    """Return a model's path as text.

    Raises
    ------
    AttachmentError
        If it is none: an address, bytes, control or encoded characters.
    """
    local_path(path)  # an address, bytes, another type: told there
    text = os.fspath(path).strip()
    if _CONTROLS.search(text) or len(text) > MAX_PATH:
        raise AttachmentError(
            f"{shown_path(path)} is no path: it holds control characters, or too many others.",
            fix="give the path as it is shown in a folder.",
        )
    if _ENCODED.search(text):
        raise AttachmentError(
            f"{shown_path(path)} holds encoded characters (%2f and the like).",
            fix="write the path without encoding.",
        )
    return text


def canonical_path(path: Path) -> Path:
    """Return where `path` leads, links followed; it need not be there.

    Raises
    ------
    AttachmentError
        If its links lead in a circle, or no file can have such a name.
    """
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a circle of links; a name that no file can have
        raise AttachmentError(
            f"{shown_path(path)} cannot be followed.", fix="check its links."
        ) from None


def expanded_path(text: str) -> Path:
    """Return `text` as a path, ``~`` expanded where that is somebody's home."""
    try:
        return Path(text).expanduser()
    except RuntimeError:  # nobody of that name
        return Path(text)


def is_absolute(path: str | os.PathLike[str]) -> bool:
    """Whether `path` begins at the root, or at a home."""
    return expanded_path(os.fspath(path)).is_absolute()


def shown_path(path: object) -> str:
    """Return a path for an error: on one line, without control characters, not long."""
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else repr(path)
    return short("".join(char if char.isprintable() else "\ufffd" for char in text))
