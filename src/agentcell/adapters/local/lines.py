"""A document's rows -> lines, each cell of which is known as a label, a value, or both in one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from agentcell.adapters.local.currencies import is_currency
from agentcell.adapters.local.rows import Cell, Row
from agentcell.adapters.local.terms import Named, label_terms
from agentcell.adapters.local.values import Found, find_values
from agentcell.adapters.local.words import CHINESE, content_words

MOST_WORDS = 11
"""A cell of more words is a sentence, in which a colon or a number labels nothing."""

MOST_CHARACTERS = 28
"""The same for Chinese."""

LONGEST_CELL = 400
"""Letters of a cell that are looked at for labels and values: some patterns take their square."""

LONGEST_LABEL = 48
"""Letters of a label before a colon."""

COLON = re.compile(r"(?<!\d)\s*[:：]\s*(?!//)|(?<=\d)\s*[:：](?!\d)\s*|(?<=\d)\s*：\s*(?=\D)")


@lru_cache(maxsize=8192)
def values_of(text: str) -> tuple[Found, ...]:
    """Return the values in `text`; what was looked at before is known."""
    return tuple(find_values(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCell:
    """A cell, and what it is.

    Parameters
    ----------
    named
        The terms in it; see `terms`.
    is_value
        It is an amount, a date, a number, …, or the mark of a currency.
    is_label
        It names something, and says nothing of it: ``Invoice date``, ``Bill to:``.
    is_whole
        It is a label with its value after a colon: no part of a row's other facts.
    """

    text: str
    left: float
    right: float
    named: tuple[Named, ...] = ()
    is_value: bool = False
    is_label: bool = False
    is_whole: bool = False

    @property
    def is_open(self) -> bool:
        """Whether its value must come after it: ``Bill to:``."""
        return self.is_label and self.text.endswith((":", "："))

    @property
    def names(self) -> set[str]:
        """The names of its terms."""
        return {named.name for named in self.named}


@dataclass(slots=True)
class Line:
    """A row with its place in the document; `used` holds the cells that are in a fact already."""

    row: Row
    index: int
    cells: list[LineCell]
    used: set[int] = field(default_factory=set)
    is_header: bool = False

    @property
    def is_prose(self) -> bool:
        """Whether it is one sentence, or part of one."""
        return len(self.cells) == 1 and _is_sentence(self.cells[0].text)

    def is_near(self, below: Line, heights: float) -> bool:
        """Tell whether `below` stands under it, at most so many heights of a letter away."""
        if below.row.page != self.row.page:
            return False
        return 0 < below.row.top - self.row.top <= heights * max(self.row.height, below.row.height)


def read_lines(rows: Sequence[Row]) -> list[Line]:
    """Return `rows` as lines."""
    return [Line(row, index, _cells(row)) for index, row in enumerate(rows)]


def _cells(row: Row) -> list[LineCell]:
    if len(row.cells) == 1 and _is_sentence(row.cells[0].text):
        cell = row.cells[0]
        return [LineCell(text=cell.text[:LONGEST_CELL], left=cell.left, right=cell.right)]
    return [_cell(cell) for cell in row.cells]


def _is_sentence(text: str) -> bool:
    if CHINESE.search(text):
        return sum(map(len, CHINESE.findall(text))) > MOST_CHARACTERS
    return text.count(" ") >= MOST_WORDS


def _cell(cell: Cell) -> LineCell:
    text = cell.text[:LONGEST_CELL]
    colon = COLON.search(text)
    is_whole = bool(colon and text[: colon.start()].strip() and says_something(text[colon.end() :]))
    looks_valued = _is_value(text)
    is_value = looks_valued and not is_whole
    named, rest = label_terms(text)
    is_all_named = bool(named) and not content_words(rest) and not CHINESE.search(rest)
    ends_open = text.rstrip().endswith((":", "：")) and len(text) <= LONGEST_LABEL
    is_label = not looks_valued and (is_all_named or (ends_open and says_something(text)))
    return LineCell(
        text=text,
        left=cell.left,
        right=cell.right,
        named=tuple(named),
        is_value=is_value,
        is_label=is_label,
        is_whole=is_whole,
    )


_MOSTLY = 0.6


def _is_value(text: str) -> bool:
    """Tell whether most of `text` is a value."""
    if is_currency(text):
        return True
    if not has_digit(text):
        return False
    found = values_of(text)
    return bool(found) and _letters("".join(each.text for each in found)) >= _MOSTLY * _letters(
        text
    )


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def has_digit(text: str) -> bool:
    """Tell whether there is a digit in `text`."""
    return any(letter.isdigit() for letter in text)


def says_something(text: str) -> bool:
    """Tell whether `text` can be a value: it holds a letter, a digit, or the stars of a card."""
    return any(letter.isalnum() for letter in text) or "*" in text
