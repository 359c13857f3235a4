"""Approved folders, and a file in them → whether a model may see it there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from agentcell.assets.asked_path import expanded_path

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
        shut = (place for place in _forbidden() if place != root and place.is_relative_to(root))
        if found.is_relative_to(root) and not any(found.is_relative_to(one) for one in shut):
            return True
    return False


def _forbidden() -> Iterator[Path]:
    for place in FORBIDDEN:
        path = expanded_path(place)
        yield path
        yield path.resolve()
