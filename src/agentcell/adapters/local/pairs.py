"""A line -> the labels and values that stand in it: in one cell, or side by side."""

# ruff: noqa: PLR2004 (counts of cells, and letters of a label)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agentcell.adapters.local.fact import Fact, labelled
from agentcell.adapters.local.lines import (
    COLON,
    Line,
    LineCell,
    has_digit,
    says_something,
    values_of,
)
from agentcell.adapters.local.terms import Named, is_aside, term
from agentcell.adapters.local.words import content_words


def inside_cells(line: Line) -> Iterator[Fact]:
    """Yield the facts that stand in one cell: ``Date: 14 March``, ``Invoice no. 17``."""
    for number, cell in enumerate(line.cells):
        pairs = list(_pairs(cell))
        for label, value, pair in pairs:
            if not says_something(value):
                continue
            line.used.add(number)
            others = line.cells[:number] + line.cells[number + 1 :]
            is_alone = len(pairs) == 1 and all(other.is_value for other in others)
            is_loose = ":" not in pair and "：" not in pair and not has_digit(value)
            yield labelled(
                line,
                label,
                value,
                quote=line.row.text if is_alone else pair,
                layout="loose" if is_loose else "inline",
            )


def _pairs(cell: LineCell) -> Iterator[tuple[str, str, str]]:
    """Yield each label and value in a cell's text, and the text of both."""
    text = cell.text
    starts = _label_starts(cell)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[start:end].strip()
        within = [name for name in cell.named if start <= name.start < end]
        colon = COLON.search(piece)
        if colon and 0 < colon.start() <= 44 and any(map(str.isalpha, piece[: colon.start()])):
            yield piece[: colon.start()], piece[colon.end() :], piece
        elif within:  # "Invoice no. NW-20418", "Please pay by 22 Sep 2026"
            last = _last_of_label(text[start:end], start, within)
            value = text[last.end : end].strip(" .:：#-–")
            if _follows(text, last, value, is_first=not content_words(text[start : last.start])):
                yield text[start : last.end], value, piece


def _label_starts(cell: LineCell) -> list[int]:
    """Return where a cell's labels begin: at its start, and at each term that follows a value."""
    starts = [0]
    before = cell.text[: cell.named[0].start] if cell.named else ""
    if has_digit(before) and values_of(before):
        starts.append(cell.named[0].start)
    for former, name in pairwise(cell.named):
        between = cell.text[former.end : name.start]
        has_value = has_digit(between) or bool(re.search(r"[:：]\s*\S.*\s$", between))
        is_one = former.name == name.name or (former.name, name.name) == ("payment_method", "card")
        if has_value and not is_one:
            starts.append(name.start)
    return starts


def _last_of_label(piece: str, start: int, within: Sequence[Named]) -> Named:
    """Return the term with which the label ends: the last one before the value."""
    if has_digit(piece) and (found := values_of(piece)):
        before = [name for name in within if name.end <= start + found[0].start]
        return before[-1] if before else within[0]
    last = within[0]
    for name in within[1:]:
        between = piece[last.end - start : name.start - start]
        if name.name == last.name or not between.strip(" /()-"):
            last = name
    return last


def _follows(text: str, name: Named, value: str, *, is_first: bool) -> bool:
    """Tell whether what comes after a term, without a colon, is its value."""
    if has_digit(value) or "*" in value:
        return "(" not in value[:12] and not is_aside(text[name.end :])
    is_apart = text[name.end : name.end + 2].lstrip(".")[:1].isspace()
    return is_first and is_apart and term(name.name).kind in ("name", "place", "text")


def across_cells(line: Line, *, in_table: bool) -> Iterator[Fact]:
    """Yield the facts that go across cells: a label, then its value or values."""
    if len(line.cells) == 1:
        yield from _trailing(line)
        return
    yield from _before_values(line, in_table=in_table)
    yield from _before_texts(line)
    yield from _two_and_two(line)


def _before_values(line: Line, *, in_table: bool) -> Iterator[Fact]:
    """Yield each label with the values after it: ``Coffee beans | 11.75``."""
    groups = _value_groups(line.cells)
    if in_table and len(groups) < 2:
        return  # the table's own fact says more
    for label_at, value_at in groups:
        label = line.cells[label_at].text
        value = "  ".join(line.cells[at].text for at in value_at)
        line.used.update((label_at, *value_at))
        quote = line.row.text if len(groups) == 1 else f"{label}  {value}"
        yield labelled(line, label, value, quote=quote, layout="row")


def _value_groups(cells: Sequence[LineCell]) -> list[tuple[int, list[int]]]:
    """Return each label with the run of values after it, by their places."""
    groups: list[tuple[int, list[int]]] = []
    early: list[int] = []
    label = -1
    for at, cell in enumerate(cells):
        if cell.is_whole:
            label = -1
        elif not cell.is_value:
            label = at
        elif label < 0:
            early.append(at)
        elif groups and groups[-1][0] == label:
            groups[-1][1].append(at)
        else:
            groups.append((label, [at]))
    if early and not groups:  # "2 | Margherita": the number came first
        texts = [at for at, cell in enumerate(cells) if not (cell.is_value or cell.is_whole)]
        return [(texts[0], early)] if texts else []
    if early and len(groups) == 1:
        groups[0][1][:0] = early
    return groups


def _before_texts(line: Line) -> Iterator[Fact]:
    """Yield each label with the words after it: ``Guest | Anna Kim``."""
    cells = line.cells
    for at, (cell, after) in enumerate(pairwise(cells)):
        is_pair = cell.is_label and not (after.is_label or after.is_value or after.is_whole)
        if at in line.used or cell.is_whole or not is_pair:
            continue
        has_more = any(other.is_label for other in cells[at + 2 :])
        if has_more or len(cells) == 2 or at % 2 == 0:
            yield _side_by_side(line, at)


def _two_and_two(line: Line) -> Iterator[Fact]:
    """Yield the pairs of a row of two cells, or of four or six, that are in no fact yet."""
    cells = line.cells
    is_pair = len(cells) == 2 and not line.used and not cells[1].is_label
    if not (is_pair and len(cells[0].text) <= 40) and not (len(cells) > 2 and len(cells) % 2 == 0):
        return
    for at in range(0, len(cells), 2):
        is_free = not line.used & {at, at + 1}
        if is_free and not (cells[at].is_whole or cells[at + 1].is_whole):
            yield _side_by_side(line, at)


def _side_by_side(line: Line, at: int) -> Fact:
    label, value = line.cells[at].text, line.cells[at + 1].text
    line.used.update((at, at + 1))
    quote = line.row.text if len(line.cells) == 2 else f"{label}  {value}"
    return labelled(line, label, value, quote=quote, layout="row")


def _trailing(line: Line) -> Iterator[Fact]:
    """Yield the fact of a line such as ``Coffee beans 11.75`` that is one cell."""
    text = line.cells[0].text
    found = [value for value in values_of(text) if value.kind not in ("email", "web")]
    if not found or found[-1].end < len(text.rstrip()) - 3 or 0 in line.used:
        return
    start = found[-1].start
    for value in reversed(found[:-1]):
        if text[value.end : start].strip(" xX@*×"):
            break
        start = value.start
    label = text[:start].strip(" .:-")
    if any(letter.isalpha() for letter in label):
        line.used.add(0)
        yield labelled(line, label, text[start:], quote=line.row.text, layout="row")
