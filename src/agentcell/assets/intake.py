"""A path -> a snapshot of the file there, or why it cannot be read. Nothing here can hang."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from agentcell.assets.content import Content
from agentcell.assets.linkless import open_linkless
from agentcell.assets.wording import a_type, short
from agentcell.errors import AttachmentError

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def local_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` with ``~`` expanded, absolute.

    Raises
    ------
    AttachmentError
        If it is no path at all: empty, a web address, of another type.
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        raise AttachmentError(
            "Bytes were given as a path; a str or a pathlib.Path was expected.",
            fix="use from_bytes for a file's content.",
        )
    try:
        text = os.fspath(path)
    except TypeError:
        raise AttachmentError(
            f"{a_type(path, start=True)} was given as a path; a str or pathlib.Path was expected.",
            fix="give the file's path.",
        ) from None
    if not isinstance(text, str) or not text.strip():
        raise AttachmentError("An empty path was given.", fix="give the file's path.")
    if re.match(r"(?i)(https?|ftp|gs|data|file):", text) and not Path(text).exists():
        raise AttachmentError(
            f"An address ({text.split(':', 1)[0][:8]}:…) was given as a path.",
            fix="use from_url for an address, or give the file's path alone.",
        )
    try:
        return Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 (keeps links)
    except (RuntimeError, ValueError, OSError) as error:
        raise AttachmentError(
            f"The path {short(text)!r} cannot be used: {error}.", fix="give another path."
        ) from None


def check_file(path: Path, shown: str) -> None:
    """Refuse what is no regular file: nothing, a folder, a device, a pipe.

    Parameters
    ----------
    shown
        What to call it in an error.

    Raises
    ------
    AttachmentError
        If there is no such file.
    """
    try:
        _check_kind(path.stat().st_mode, shown)
    except (OSError, ValueError) as error:
        if isinstance(error, AttachmentError):
            raise
        raise _unreadable(path, shown, error) from None


def read_path(path: Path, shown: str, limit: int, *, follow_links: bool = True) -> Content:
    """Read the file at `path` once, to its end.

    Parameters
    ----------
    shown
        What to call it in an error.
    limit
        The most bytes it may have.
    follow_links
        Whether links on the way may be followed.

    Raises
    ------
    AttachmentError
        If there is no regular, readable file of at most `limit` bytes.
    """
    try:
        _check_kind(path.stat().st_mode, shown)  # before it is opened: opening a pipe would hang
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(path, flags) if follow_links else open_linkless(path, flags)
        try:
            status = os.fstat(descriptor)
            _check_kind(status.st_mode, shown)
            content = Content.of_file(descriptor, limit)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        if isinstance(error, AttachmentError):
            raise
        raise _unreadable(path, shown, error) from None
    if content is None:
        raise AttachmentError(
            f"{shown} is {max(status.st_size, limit + 1):,} bytes; at most {limit:,} are taken.",
            fix="attach a smaller copy, or one part of it.",
        )
    return content


def _check_kind(mode: int, shown: str) -> None:
    for is_kind, noun in _KINDS:
        if is_kind(mode):
            raise AttachmentError(
                f"{shown} is {noun}; an image or PDF file was expected.",
                fix="give the path of a file.",
            )


def _unreadable(path: Path, shown: str, error: Exception) -> AttachmentError:
    if isinstance(error, FileNotFoundError):
        folder = path.parent
        if path.is_symlink():
            problem = f"{shown} is a link to a file that does not exist."
        elif folder.is_dir():
            problem = f"There is no file {shown} in {short(str(folder))}."
        else:
            problem = f"There is no folder {short(str(folder))}."
        near = _similar(path)
        fix = f"did you mean {near!r}?" if near else "check the name and the folder."
        return AttachmentError(problem, fix=fix)
    if isinstance(error, PermissionError):
        return AttachmentError(
            f"{shown} cannot be read: you have no permission.",
            fix="change its permissions, or attach a copy.",
        )
    reason = getattr(error, "strerror", None) or str(error)
    return AttachmentError(f"{shown} cannot be read: {reason}.", fix="check the path.")


def _similar(path: Path) -> str:
    from difflib import get_close_matches

    try:
        names = [entry.name for entry, _ in zip(path.parent.iterdir(), range(2000), strict=False)]
    except OSError:
        return ""
    return short(next(iter(get_close_matches(path.name, names, 1, 0.75)), ""), 60)
