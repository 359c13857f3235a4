"""A PDF's forms (drawings used within drawings) -> none of them unfolds without end.

PDFium puts the commands of a form in the place of each use of it before it draws. Ten uses of a
form that uses another ten times, and so on, six deep, took 8.8 seconds and 1.6 GB from a file of
2 kB (pypdfium2 5.15). Objects are found as they stand in the file; what is encrypted, or named in
a packed object, is not seen.
"""

from __future__ import annotations

import mmap
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from agentcell.assets.header import Damaged

MAX_UNFOLDED = 32_000_000
"""The most bytes that drawing commands may unfold to, `USE_BYTES` counted for each use."""

USE_BYTES = 100
"""What one use of a form costs in itself."""

MAX_READ = 64_000_000
"""Bytes of commands that are looked through; in a file with more, the rest is taken as it is."""

_USE = re.compile(rb"/([^\s/<>\[\](){}%]+)\s+Do\b")
_REFERENCE = re.compile(rb"/([^\s/<>\[\](){}%]+)\s+(\d{1,9})\s+\d{1,5}\s+R\b")
_INDIRECT = re.compile(rb"/(?:Resources|XObject)\s+(\d{1,9})\s+\d{1,5}\s+R\b")
_CONTENTS = re.compile(rb"/Contents\s*(?:\d{1,9}\s+\d{1,5}\s+R\b|\[[\d\sR]{0,4096}\])")
_NUMBER = re.compile(rb"(\d{1,9})\s+\d{1,5}\s+obj\b")
_DICTIONARY = 4096
_MOST_STEPS = 8  # from a form to its resources, and to their drawings

Bytes: TypeAlias = bytes | mmap.mmap


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of a PDF: its object's number, the dictionary before it, its packed bytes."""

    number: int
    head: bytes
    start: int
    packed: int

    @property
    def is_form(self) -> bool:
        """Whether it is a drawing that others use."""
        return re.search(rb"/Subtype\s*/Form\b", self.head) is not None


@dataclass(frozen=True, slots=True)
class _Drawing:
    size: int
    uses: Counter[bytes]
    names: dict[bytes, int]


def check_forms(data: Bytes, streams: Iterable[Stream]) -> None:
    """Refuse a PDF whose forms unfold into more than `MAX_UNFOLDED` bytes.

    Raises
    ------
    Damaged
        If one does.
    """
    forms: dict[int, _Drawing] = {}
    places: dict[int, int] = {}
    pages: list[tuple[int, _Drawing]] = []
    left = MAX_READ
    for stream in streams:
        commands = _commands(data, stream, left)
        left -= len(commands)
        uses = Counter(_USE.findall(commands))
        if stream.is_form:
            if uses and not places and _INDIRECT.search(stream.head):
                places = _places(data)
            names = _names(data, stream.head, places) if uses else {}
            forms[stream.number] = _Drawing(len(commands), uses, names)
        elif uses:
            pages.append((stream.number, _Drawing(len(commands), uses, {})))
    if not any(form.uses for form in forms.values()):
        return  # no form uses another: nothing multiplies
    sizes: dict[int, int] = {}
    for number in forms:
        _check(_unfolded(number, forms, sizes))
    by_contents = _page_names(data, places or _places(data))
    for number, page in pages:
        names = by_contents.get(number, {})
        used = ((count, names.get(name, -1)) for name, count in page.uses.items())
        _check(page.size + sum(count * sizes.get(form, 0) for count, form in used))


def _page_names(data: Bytes, places: dict[int, int]) -> dict[int, dict[bytes, int]]:
    """Return, by each page's stream of commands, what the page's resources name."""
    found: dict[int, dict[bytes, int]] = {}
    for contents in _CONTENTS.finditer(data):
        start, end = max(0, contents.start() - _DICTIONARY), contents.end() + _DICTIONARY
        before, after = data[start : contents.start()], data[contents.end() : end]
        held = before[before.rfind(b"obj") + 1 :] + after.partition(b"endobj")[0]
        names = _names(data, held, places)
        found |= {int(number): names for number in re.findall(rb"(\d+)\s+\d+\s+R", contents[0])}
    return found


def _check(size: int) -> None:
    if size > MAX_UNFOLDED:
        raise Damaged(f"its drawings unfold into more than {MAX_UNFOLDED:,} bytes")


def _unfolded(number: int, forms: dict[int, _Drawing], sizes: dict[int, int]) -> int:
    """Return a form's size with every use of another unfolded; a loop counts once."""
    order, on_way = [number], {number}
    while order:
        form = forms[order[-1]]
        inner = [form.names.get(name, -1) for name in form.uses]
        waiting = [one for one in inner if one in forms and one not in sizes and one not in on_way]
        if waiting:
            order.append(waiting[0])
            on_way.add(waiting[0])
            continue
        total = form.size + USE_BYTES
        for name, count in form.uses.items():
            total += count * sizes.get(form.names.get(name, -1), 0)
        sizes[order.pop()] = min(total, MAX_UNFOLDED + 1)
    return sizes[number]


def _names(data: Bytes, head: bytes, places: dict[int, int]) -> dict[bytes, int]:
    """Return the objects that a form's resources name, where those stand in the file."""
    names = {found[1]: int(found[2]) for found in _REFERENCE.finditer(head)}
    waiting = [int(found[1]) for found in _INDIRECT.finditer(head)]
    for _ in range(_MOST_STEPS):
        place = places.get(waiting.pop()) if waiting else None
        if place is not None:
            end = data.find(b"endobj", place, place + _DICTIONARY)
            held = data[place : end if end >= 0 else place + _DICTIONARY]
            names |= {found[1]: int(found[2]) for found in _REFERENCE.finditer(held)}
            waiting += [int(found[1]) for found in _INDIRECT.finditer(held)]
    return names


def _places(data: Bytes) -> dict[int, int]:
    """Return where each object begins; the last of a number counts."""
    places = {}
    for found in re.finditer(rb"obj\b", data):
        number = _NUMBER.search(data[max(0, found.start() - 20) : found.end()])
        if number:
            places[int(number[1])] = found.end()
    return places


def _commands(data: Bytes, stream: Stream, most: int) -> bytes:
    """Return a stream's drawing commands, as far as they can be read here."""
    if most <= 0:
        return b""
    packed = bytes(data[stream.start : stream.start + min(stream.packed, most)])
    rounds = len(re.findall(rb"/(?:FlateDecode|Fl)\b", stream.head))
    if not rounds:
        return b"" if re.search(rb"/Filter\b", stream.head) else packed
    for _ in range(min(rounds, 3)):
        try:
            packed = zlib.decompressobj().decompress(packed, most)
        except zlib.error:
            return b""
    return packed


def object_number(before: bytes) -> int:
    """Return the number of the object whose dictionary ends `before`; -1 if there is none."""
    numbers = _NUMBER.findall(before)
    return int(numbers[-1]) if numbers else -1
