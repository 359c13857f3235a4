"""Lines -> postal addresses, which need no label and go over several rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from agentcell.adapters.local.fact import Fact, unlabelled
from agentcell.adapters.local.lines import COLON, Line, LineCell, values_of
from agentcell.adapters.local.words import folded

_LAST_ROW = 16
"""Unlabelled addresses stand in the head; further down, digits and names are goods."""

_MOST_ROWS = 5
_LONGEST = 120  # letters of a row
_LONGEST_MIDDLE = 48  # letters of a row that is part of an address by its place alone
_SHORTEST_MIDDLE = 4

_STREET = re.compile(
    r"\b\d+[a-z]?(?:[-/]\d+[a-z]?)?,?\s+(?:[\w.'’-]+\s+){1,4}(?:street|st|road|rd|avenue|ave|lane|ln"
    r"|drive|dr|boulevard|blvd|way|square|sq|place|pl|plaza|court|ct|parkway|pkwy|highway|hwy|terrace"
    r"|close|quay|row|walk|crescent|alley|hill|gardens|pier|wharf|embankment)\b"
    r"|\b(?:jalan|jln|lorong|lrg|lot|taman|tmn|rue|via|calle|avenida|persiaran)\b"
    r"|^no\.?\s?\d+\w?[,-]|\w+(?:straße|strasse|str\.|weg|platz|gasse)\s?\d+|\bp\.?o\.?\sbox\b"
    r"|\b(?:suite|floor|unit|level|apt)\s?\.?#?\s?\d"
)
_POSTCODE = re.compile(
    r"\b[a-z]{1,2}\d[\da-z]?\s?\d[a-z]{2}\b|\b[a-z]{2},?\s\d{5}(?:-\d{4})?\b|^\d{5},?\s[a-z]{4,}"
)
_PLACE_CHINESE = re.compile(r"省|市|区|县|镇|街道|路|大街|街|巷|弄|大道|大厦|广场|村")
_HOUSE_CHINESE = re.compile(r"\d+\s?(?:号|弄|楼|室|层|幢|栋)")
_LABELS = frozenset({"address", "ship_address", "service_address"})


def is_address(text: str) -> bool:
    """Tell whether `text` looks like a line of an address."""
    plain = folded(text)
    if len(plain) > _LONGEST:
        return False
    places = len(_PLACE_CHINESE.findall(plain))
    if places > 1 or (places and _HOUSE_CHINESE.search(plain)):
        return True
    return bool(_STREET.search(plain) or _POSTCODE.search(plain))


def find_addresses(lines: Sequence[Line]) -> Iterator[Fact]:
    """Yield each run of address lines as one fact, with the lines that go on with one."""
    run: list[tuple[Line, str]] = []
    for line, after in zip_longest(lines, lines[1:]):
        text = _part(line, after, run) if len(run) < _MOST_ROWS else ""
        if text:
            run.append((line, text))
        elif run:
            yield _joined(run)
            run = []
    if run:
        yield _joined(run)


def _joined(run: Sequence[tuple[Line, str]]) -> Fact:
    text = ", ".join(text.strip(" ,.，") for _, text in run)
    return unlabelled(run[0][0], text, "address", quote=text)


def _part(line: Line, after: Line | None, run: Sequence[tuple[Line, str]]) -> str:
    """Return the part of a row that is an address, or goes on with the one of the row before."""
    for cell in line.cells:
        if cell.is_whole and cell.names & _LABELS:
            return COLON.split(cell.text, maxsplit=1)[1]
        if line.index <= _LAST_ROW and not _is_other(cell):
            if is_address(cell.text):
                return cell.text
            if _is_middle(cell, after, run):
                return cell.text
    return ""


def _is_other(cell: LineCell) -> bool:
    if cell.is_label or (cell.is_whole and not is_address(cell.text)):
        return True
    kinds = {found.kind for found in values_of(cell.text)}
    return bool(kinds & {"money", "date", "phone", "email"})


def _is_middle(cell: LineCell, after: Line | None, run: Sequence[tuple[Line, str]]) -> bool:
    """Tell whether a cell belongs to an address by its neighbours: a comma, a line on each side."""
    if cell.named or cell.is_whole or not _SHORTEST_MIDDLE <= len(cell.text) <= _LONGEST_MIDDLE:
        return False
    if cell.text.rstrip().endswith(",") or (run and run[-1][1].rstrip().endswith(",")):
        return True
    is_between = after is not None and any(is_address(other.text) for other in after.cells)
    return bool(run) and is_between
