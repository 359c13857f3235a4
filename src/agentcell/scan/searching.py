"""A piece of a file, to whose key stands in it, and where. Escapes are undone before a look."""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from agentcell.errors import ScanError
from agentcell.keys.shapes import shapes
from agentcell.keys.traces import Traces
from agentcell.scan.pieces import Piece

_TOGETHER = 1 << 18
"""Characters of small pieces that are searched at once: most hold nothing."""

_GAP = "\n\0\n"

_ANSI = re.compile(r"\x1b\[[0-9;:]*[A-Za-z]")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(r"\\u00([0-9A-Fa-f]{2})|\\x([0-9A-Fa-f]{2})|\\(/)")
_BASE64 = re.compile(r"([A-Za-z0-9+/_-][A-Za-z0-9+/_\r\n-]{23,})={0,2}")
_ENCODED_FOLLOWS = "base64,"
"""What stands before data in an address that holds it."""


class Searcher:
    """Looks for known keys and for key-shaped strings.

    Parameters
    ----------
    keys
        Keys by the names to tell them by.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._keys = {name: value.strip() for name, value in keys.items() if value.strip()}
        self._traces = Traces.of(self._keys)

    def promising(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces worth a closer look. Small ones are looked at together.

        Raises
        ------
        ScanError
            What `pieces` raises, after all that it gave before.
        """
        waiting: list[Piece] = []
        size = 0
        failed: ScanError | None = None
        source = iter(pieces)
        while failed is None:
            try:
                piece = next(source)
            except StopIteration:
                break
            except ScanError as problem:
                failed = problem
                break
            if piece.data or len(piece.text) > _TOGETHER or piece.is_rest:
                yield from self._hit(waiting)
                yield piece
                waiting, size = [], 0
            else:
                waiting.append(piece)
                size += len(piece.text)
                if size > _TOGETHER:
                    yield from self._hit(waiting)
                    waiting, size = [], 0
        yield from self._hit(waiting)
        if failed is not None:
            raise failed

    def in_piece(self, piece: Piece) -> Iterator[tuple[str, str, str]]:
        """Yield the place, the key's name or kind, and what to say of it."""
        if piece.data:
            names = self._traces.in_data(piece.data)
            kinds = self._kinds(piece.data.decode("latin-1")) if not piece.is_rest else {}
            for name, what in {**self._told(names, piece.data), **kinds}.items():
                yield piece.where, name, what
            return
        found = self._in_text(piece.text)
        if not found or not piece.part:
            for name, what in found.items():
                yield piece.where, name, what
            return
        parts = piece.text.split(piece.separator)
        told: set[str] = set()
        for number, part in enumerate(parts, start=piece.first):
            for name, what in self._in_text(part).items() if part else ():
                told.add(name)
                place = f"{piece.part} {number}"
                yield f"{piece.where}, {place}" if piece.where else place, name, what
        for name in found.keys() - told:  # it begins in one part and ends in another
            yield piece.where or "text", name, found[name]

    def without_keys(self, path: str) -> str:
        """Return `path` with those of its names replaced in which a key stands."""
        if not self._in_text(path):
            return path
        names = [name if not self._in_text(name) else "…" for name in Path(path).parts]
        return str(Path(*names))

    def _hit(self, pieces: list[Piece]) -> Iterator[Piece]:
        if pieces and self._in_text(_GAP.join(piece.text for piece in pieces)):
            yield from pieces

    def _in_text(self, text: str) -> dict[str, str]:
        """Return what stands in `text`: names and kinds, with what to say of each."""
        found: dict[str, str] = {}
        for readable in _readings(text):
            data = readable.encode("utf-8", "replace")
            told = self._told(self._traces.in_text(data), data)
            for name, what in {**told, **self._kinds(readable)}.items():
                if name not in found or what == name:
                    found[name] = what
        return found

    def _told(self, names: Iterable[str], data: bytes) -> dict[str, str]:
        return {
            name: name if self._keys[name].encode() in data else f"a part of {name}"
            for name in names
        }

    def _kinds(self, text: str) -> dict[str, str]:
        decoded = "\n".join(_decoded(text))
        found = {shape.kind for part in (text, decoded) for shape in shapes(part)}
        return {kind: f"shape of: {kind}" for kind in sorted(found)}


def _readings(text: str) -> Iterator[str]:
    """Yield `text` as it is, and once more for each kind of escape in it."""
    yield text
    if "\x1b" in text:
        text = _ANSI.sub("", text)
        yield text
    if "%" in text and _PERCENT.search(text):
        yield unquote(text, errors="replace")
    if "\\" in text and _ESCAPE.search(text):
        yield _ESCAPE.sub(_unescaped, text)
    if "&#" in text or "&amp;" in text:
        yield html.unescape(text)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else "/"


def _decoded(text: str) -> Iterator[str]:
    """Yield what is in Base64: all of a piece, or what follows ``base64,`` in an address."""
    for whole in text.split(_GAP):
        if match := _BASE64.fullmatch(whole.strip()):
            yield _from_base64(match[1])
    place = text.find(_ENCODED_FOLLOWS)
    while place >= 0:
        place += len(_ENCODED_FOLLOWS)
        if match := _BASE64.match(text, place):
            yield _from_base64(match[1])
        place = text.find(_ENCODED_FOLLOWS, place)


def _from_base64(text: str) -> str:
    text = "".join(text.split())
    whole = text[: len(text) // 4 * 4]  # the last bytes of a key may be cut: its shape is seen
    try:
        return base64.b64decode(whole.translate(_STANDARD)).decode("latin-1")
    except (binascii.Error, ValueError):
        return ""


_STANDARD = str.maketrans("-_", "+/")
