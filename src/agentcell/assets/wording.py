"""Sizes, names and types -> words, as people read them."""

from __future__ import annotations

import re

from agentcell.errors import AttachmentError

_CONTROLS = "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_MAX_NAME = 200


def short(text: str, count: int = 120) -> str:
    """Return `text`, its middle left out if it is longer than `count` characters."""
    return text if len(text) <= count else f"{text[: count // 2]}…{text[-count // 2 + 1 :]}"


def a_type(value: object, *, start: bool = False) -> str:
    """Return the name of a value's type with its article: ``an int``; at a sentence's start, An."""
    name = type(value).__name__[:60]
    if name == "bytes":
        return "Bytes" if start else "bytes"
    article = "an" if name[:1].lower() in {*"aeiou"} else "a"
    return f"{article.capitalize() if start else article} {name}"


def clean_name(name: str | None) -> str | None:
    """Return the last part of a file's name without control characters, or None if none is left.

    Slashes of both kinds separate. A name of over 200 characters keeps its beginning and ending.
    """
    if name is None:
        return None
    if not isinstance(name, str):
        raise AttachmentError(
            f"{a_type(name, start=True)} was given as filename; a str was expected.",
            fix='give it like "receipt.png".',
        )
    last = re.sub(_CONTROLS, "", re.split(r"[/\\]", name)[-1]).strip()
    last = last.encode("utf-8", "replace").decode("utf-8")  # surrogates of undecodable names
    if len(last) > _MAX_NAME:
        last = f"{last[: _MAX_NAME - 21]}…{last[-20:]}"
    return last or None


def binary_size(count: int) -> str:
    """Return a number of bytes in units of 1024: ``69B``, ``29.9KB``."""
    if count < 1024:  # noqa: PLR2004 (bytes in a KB)
        return f"{count}B"
    size = count / 1024
    for unit in ("KB", "MB"):
        if size < 1024:  # noqa: PLR2004 (the next unit)
            return f"{size:.1f}{unit}"
        size /= 1024
    return f"{size:.1f}GB"


def decimal_size(count: int) -> str:
    """Return a number of bytes in units of 1000: ``69 bytes``, ``31 kB``, ``1.2 MB``."""
    if count < 1000:  # noqa: PLR2004 (bytes in a kB)
        return f"{count} byte{'' if count == 1 else 's'}"
    if count < 999_500:  # noqa: PLR2004 (where it would round to 1000 kB)
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"
