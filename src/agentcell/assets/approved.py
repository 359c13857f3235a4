"""Approved folders, and a file in them → whether a model may see it there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

FORBIDDEN = (
    *("/etc", "/root", "/home", "/usr", "/bin", "/sbin", "/lib", "/opt", "/boot"),
    *("/dev", "/proc", "/sys", "/var", "/tmp"),  # noqa: S108 (what is refused there)
    *("~/.ssh", "~/.gnupg", "~/.aws", "~/.config", "~/.kube", "~/.netrc"),
)
"""What an approved folder that is as wide as a home or a disk does not open to a model."""


def is_approved(found: Path, roots: Iterable[Path]) -> bool:
    """Whether a file lies in one of `roots`, and in nothing that a folder so wide does not open.

    Parameters
    ----------
    found
        Without links.
    roots
        The same.
    """
    for root in roots:
        if found.is_relative_to(root) and not any(
            found.is_relative_to(place)
            for place in _shut_in(root, os.path.expanduser("~"))  # noqa: PTH111 (a text)
        ):
            return True
    return False


@lru_cache(maxsize=64)
def _shut_in(root: Path, home: str) -> tuple[Path, ...]:
    """Return the places in `root` that stay shut; `home` is what ``~`` stands for."""
    places = [Path(home + place[1:] if place.startswith("~") else place) for place in FORBIDDEN]
    found = dict.fromkeys([*places, *(place.resolve() for place in places)])
    return tuple(place for place in found if place != root and place.is_relative_to(root))
