"""The path of a prompt file → its text; and a text → a file, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from agentcell.assets.intake import local_path
from agentcell.assets.wording import short
from agentcell.errors import PromptError, PromptFormatError

MAX_FILE = 4_000_000
"""Bytes of a prompt file."""


def prompt_text(path: Path) -> str:
    """Return what is in a prompt file; opens nothing but a regular file.

    Raises
    ------
    PromptError
        If there is none, or it cannot be read or is longer than `MAX_FILE`.
    PromptFormatError
        If it is no UTF-8.
    """
    shown = short(str(path))
    if not path.is_file():
        what = "is no file" if path.exists() else "is not there"
        raise PromptError(f"The prompt file {shown!r} {what}.", fix="check the name and folder.")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise PromptError(
            f"The prompt file {shown!r} cannot be read: {error.strerror}.",
            fix="check its permissions.",
        ) from None
    if len(data) > MAX_FILE:
        raise PromptError(
            f"The prompt file {shown!r} has more than {MAX_FILE:,} bytes.",
            fix="give long texts as values of slots.",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PromptFormatError(
            path.name, line, "this is no UTF-8 text", fix="save the file as UTF-8."
        ) from None


def save_text(text: str, path: str | os.PathLike[str]) -> Path:
    """Write a prompt's text to `path` and return where that is; see `SimplePrompt.save`."""
    target = local_path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(name).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise PromptError(
            f"The prompt cannot be saved as {short(str(target))!r}: {error.strerror}.",
            fix="give a path in a folder that is there and that you may write to.",
        ) from None
    return target
