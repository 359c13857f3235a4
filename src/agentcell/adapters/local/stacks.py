"""Lines -> the facts of labels over their values, and of goods over their numbers."""

# ruff: noqa: PLR2004 (distances in heights of a letter, counts of letters)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agentcell.adapters.local.fact import Fact, labelled
from agentcell.adapters.local.lines import Line, LineCell, values_of
from agentcell.adapters.local.words import CHINESE, folded, word_set

_NEAR = 3.2  # heights of a letter, from top to top
_LONGEST_LEAD = 7  # words


def over_values(lines: Sequence[Line]) -> Iterator[Fact]:
    """Yield each label with what stands under it, in the next row or the one after."""
    for at, line in enumerate(lines):
        for number, cell in enumerate(line.cells):
            leads_on = len(line.cells) == 1 and _leads_on(cell)
            has_value = any(other.is_value for other in line.cells[number + 1 : number + 2])
            if number in line.used or has_value or not (cell.is_label or leads_on):
                continue
            under = next(
                (text for below in lines[at + 1 : at + 3] if (text := _under(cell, line, below))),
                "",
            )
            if under:
                line.used.add(number)
                layout = "after" if leads_on else "next"
                quote = f"{cell.text}  {under}"
                yield labelled(line, cell.text, under, quote=quote, layout=layout)


def _leads_on(cell: LineCell) -> bool:
    """Tell whether a line ends in a label: "has completed the course"."""
    is_other = cell.is_label or cell.is_value or cell.is_whole or not cell.named
    text = cell.text.rstrip()
    return not is_other and len(text.split()) <= _LONGEST_LEAD and cell.named[-1].end == len(text)


def _under(label: LineCell, line: Line, below: Line) -> str:
    """Return the text in the row `below` that stands under `label`; empty if there is none."""
    if not line.is_near(below, _NEAR):
        return ""
    height = 1.5 * max(line.row.height, below.row.height)
    for cell in below.cells:
        overlap = min(label.right, cell.right) - max(label.left, cell.left)
        is_flush = min(abs(label.left - cell.left), abs(label.right - cell.right)) < height
        if (is_flush or overlap > 0) and not cell.is_label:
            return cell.text
    return ""


def over_numbers(lines: Sequence[Line]) -> Iterator[Fact]:
    """Yield the goods whose name stands over their code, number and price."""
    for line, below in pairwise(lines):
        if line.is_prose or below.is_prose or not line.is_near(below, _NEAR):
            continue
        if not _has_money(below) or _has_money(line) or any(cell.named for cell in line.cells):
            continue
        names = set().union(*(cell.names for cell in below.cells))
        if names <= {"quantity", "unit_price"} and _letters(below.row.text) <= 4 < _letters(
            line.row.text
        ):
            name = max((cell.text for cell in line.cells), key=_letters)
            quote = f"{line.row.text}  {below.row.text}"
            yield labelled(line, name, below.row.text, quote=quote, layout="next")


def _has_money(line: Line) -> bool:
    return any(found.kind == "money" for found in values_of(line.row.text))


_DETAILS = word_set(
    """qty quantity refills refill pcs pc ea each unit units price kg lb oz ml at x sku no item
    code rm usd eur gbp disc off pack size colour color 数量 单价 件 个"""
)


def _letters(text: str) -> int:
    """Return how many letters of words are in `text`, those of codes and units left out.

    A Chinese character counts for three.
    """
    words = re.findall(r"[^\W\d_]{2,}", " ".join(re.findall(r"[^\d\s]{2,}", text)))
    return sum(
        len(word) * (3 if CHINESE.match(word) else 1)
        for word in words
        if folded(word) not in _DETAILS
    )
