"""A path that a person begins to type, to what is on disk and may be meant."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Literal, TypeAlias

Wanted: TypeAlias = Literal["media", "image", "folder", "prompt", "any"]
"""Images and PDFs, images, folders, prompt files, or whatever there is."""

MOST_PATHS = 500
"""As many are offered; a front end's list is no file manager."""

_MOST_FOLDERS = 100


@dataclass(frozen=True, slots=True)
class Listed:
    """One file or folder, written as the person began to; a folder's path ends in a slash."""

    path: str
    is_folder: bool


def listed(
    typed: str, wanted: Wanted, *, separators: str = os.sep + (os.altsep or "")
) -> list[Listed]:
    """Return what `typed` may become: what is wanted first, then the folders on the way to it.

    Other files are offered only where there is nothing else: a file's content decides what it
    is, not its name. Hidden files need their dot. ``~`` stays as typed.

    Parameters
    ----------
    typed
        A path's beginning.
    separators
        What stands between folders here.
    """
    at = 1 + max(typed.rfind(mark) for mark in separators)
    head, base = typed[:at], typed[at:]
    if typed == "~":
        return [Listed("~/", is_folder=True)]
    try:
        with os.scandir(os.path.expanduser(head) or ".") as found:  # noqa: PTH111 (as typed)
            entries = [entry for entry in found if base.startswith(".") or entry.name[0] != "."]
    except (OSError, RuntimeError, ValueError):
        return []
    begun = [entry for entry in entries if entry.name.startswith(base)]
    if not begun:
        folded = base.casefold()
        begun = [entry for entry in entries if entry.name.casefold().startswith(folded)]
    folders: list[str] = []
    files: list[str] = []
    for entry in begun:
        (folders if _is_folder(entry) else files).append(entry.name)
    slash = head[-1:] or next((mark for mark in separators if mark in typed), "/")
    ways = [
        Listed(f"{head}{name}{slash}", is_folder=True) for name in _first(folders, _MOST_FOLDERS)
    ]
    kept = _first(_kept(files, wanted, has_ways=bool(ways)), MOST_PATHS - len(ways))
    return [*(Listed(head + name, is_folder=False) for name in kept), *ways]


def _kept(files: list[str], wanted: Wanted, *, has_ways: bool) -> list[str]:
    if wanted == "folder":
        return []
    endings = _endings(wanted)
    fitting = [name for name in files if name.lower().endswith(endings)]
    return fitting or ([] if has_ways else files)


@cache
def _endings(wanted: Wanted) -> tuple[str, ...]:
    from agentcell.assets.sniff import SUFFIX_TYPES

    if wanted == "any":
        return ("",)
    if wanted == "prompt":
        return (".prompt",)
    return tuple(
        f".{ending}"
        for ending, kind in SUFFIX_TYPES.items()
        if wanted == "media" or kind.startswith("image/")
    )


def _first(names: list[str], count: int) -> list[str]:
    """Return the first `count` names in order, without those that no line can hold."""
    from agentcell.safe_text import unsendable

    ordered = iter(sorted(names, key=str.casefold))
    return list(
        islice((name for name in ordered if name.isprintable() and not unsendable(name)), count)
    )


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
