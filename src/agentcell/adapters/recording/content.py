"""Texts that hold a picture, a film or a PDF as base64, to the same texts without it, and back.

A recording is for reading and for diffs: what a model made or a service wants back unchanged (a
generated picture, a tool's screenshot) lies in a file of its own, named by its SHA-256.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from agentcell.assets.sniff import sniff

SHORTEST = 200
"""Characters of base64 that are looked into."""

_RUN = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST},}}={{0,2}}")
_HEAD = 4_096
"""Characters of base64, a multiple of 4, that tell what it is."""

_MARK = re.compile(r"<agentcell:(base64|base64url|text):([0-9a-f]{64})>")

_OTHER_MEDIA = (b"\x1aE\xdf\xa3", b"OggS", b"ID3", b"fLaC")
_RIFF = (b"WAVE", b"AVI ")


def is_content(text: str) -> bool:
    """Return whether a piece of base64 is a picture, a film, a sound or a PDF."""
    head = _decoded(text[:_HEAD].rstrip("="))
    if head is None:
        return False
    if head[4:8] == b"ftyp" or head.startswith(_OTHER_MEDIA):
        return True
    if head.startswith(b"RIFF") and head[8:12] in _RIFF:
        return True
    return sniff(head).mime_type != ""


def has_content(text: str) -> bool:
    """Return whether base64 of a medium stands somewhere in `text`."""
    return any(is_content(found.group()) for found in _RUN.finditer(text))


def named(text: str) -> str:
    """Return `text` with the SHA-256 in the place of each medium: one way, for comparing."""

    def digest(found: re.Match[str]) -> str:
        run = found.group()
        return f"sha256:{_digest(run.encode())}" if is_content(run) else run

    return _RUN.sub(digest, text) if len(text) >= SHORTEST else text


def taken_out(value: Any, keep: Callable[[str, bytes], None]) -> Any:
    """Return a JSON value with a mark in the place of each medium.

    Parameters
    ----------
    value
        Of any depth.
    keep
        Is given the SHA-256 of a medium, and its bytes.
    """

    def mark(found: re.Match[str]) -> str:
        run = found.group()
        if not is_content(run):
            return run
        kind, data = _bytes(run)
        keep(_digest(data), data)
        return f"<agentcell:{kind}:{_digest(data)}>"

    return _each_text(value, lambda text: _RUN.sub(mark, text))


def put_back(value: Any, media: Mapping[str, bytes]) -> Any:
    """Return what `taken_out` was given.

    Parameters
    ----------
    value
        What it returned.
    media
        By SHA-256. What looks like a mark of another one was said so, and stays.
    """

    def unmark(found: re.Match[str]) -> str:
        data = media.get(found.group(2))
        return found.group() if data is None else _written(found.group(1), data)

    return _each_text(value, lambda text: _MARK.sub(unmark, text))


def digests(line: str) -> set[str]:
    """Return the SHA-256 of each medium that a line of a recording marks."""
    return {found.group(2) for found in _MARK.finditer(line)}


def _bytes(run: str) -> tuple[str, bytes]:
    """Return how `run` is written, and bytes of which that makes just this text again."""
    data = _decoded(run)
    if data is not None:
        for kind in ("base64", "base64url"):
            if _written(kind, data) == run:
                return kind, data
    return "text", run.encode()  # no padding, both alphabets: rare, and kept as it is


def _written(kind: str, data: bytes) -> str:
    if kind == "text":
        return data.decode("ascii", "replace")
    encode = base64.b64encode if kind == "base64" else base64.urlsafe_b64encode
    return encode(data).decode("ascii")


def _decoded(run: str) -> bytes | None:
    padded = run.translate(_STANDARD) + "=" * (-len(run) % 4)
    try:
        return binascii.a2b_base64(padded)
    except binascii.Error:
        return None


_STANDARD = str.maketrans("-_", "+/")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value) if len(value) > _SHORTEST_MARK else value
    if isinstance(value, Mapping):
        return {name: _each_text(item, change) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_each_text(item, change) for item in value]
    return value


_SHORTEST_MARK = 64
