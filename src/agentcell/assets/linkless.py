"""A path without links → its file, opened with no link followed on the way."""

from __future__ import annotations

import os
from pathlib import Path


def open_linkless(path: Path, flags: int) -> int:
    """Open the file at `path`, and return its descriptor.

    Whoever puts a link in the place of the file, or of a folder on the way to it, after `path` was
    resolved, gains nothing by it. Where the system cannot open folder by folder (Windows), only
    the path itself is opened.

    Parameters
    ----------
    path
        Absolute, and resolved.
    flags
        As `os.open` takes them.

    Raises
    ------
    OSError
        If there is no such file, a part of the path is a link, or it may not be read.
    """
    no_link = getattr(os, "O_NOFOLLOW", 0)
    if os.open not in os.supports_dir_fd or not no_link:
        return os.open(path, flags | no_link)
    folder = os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_CLOEXEC", 0) | no_link
    if hasattr(os, "O_PATH"):
        folder = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | no_link  # it need not be listed
    first, *rest = path.parts
    at = os.open(first, folder)
    try:
        for part in rest[:-1]:
            deeper = os.open(part, folder, dir_fd=at)
            os.close(at)
            at = deeper
        return os.open(rest[-1] if rest else ".", flags | no_link, dir_fd=at)
    finally:
        os.close(at)
