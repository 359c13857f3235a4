"""Pieces of text with their places on a page -> rows, as a person reads them across.

A row is what stands on one line: a label and its price, the cells of a table. Its cells keep
their horizontal places, so that columns can be followed down the page.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_LETTERS = 4000
"""Letters of a piece that are kept: no person wrote a longer line."""

_CELL_GAP = 0.9
"""Heights of a letter. A wider gap ends a cell; a space is about a third of that."""

_FEWEST_SLOPES = 3

_SLOPE_LEFT = math.tan(math.radians(2.0))
"""What remains to be straightened after the picture was: pages bend and cameras lean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One piece of text and where it stands. Pixels or points, from the page's top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float = 1.0

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """The vertical centre."""
        return (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What stands together in a row, with its left and right ends."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a document, read across.

    Parameters
    ----------
    text
        The cells, two spaces between them.
    page
        Counted from 1.
    top, height
        The line's upper end and a letter's height, in the page's own units.
    cells
        From left to right; one at least.
    confidence
        How sure the recogniser was of its least sure piece; 1 where the text was not read from
        a picture.
    """

    text: str
    page: int
    top: float
    height: float
    cells: tuple[Cell, ...]
    confidence: float = 1.0


def group_rows(boxes: Iterable[Box], *, page: int = 1) -> list[Row]:
    """Return `boxes` as rows, from the top down."""
    pieces = [box for box in boxes if box.text.strip()]
    slope = _slope(pieces)
    lines: list[list[Box]] = []
    for box in sorted(pieces, key=lambda box: box.middle - slope * box.left):
        for line in reversed(lines[-6:]):
            if _on_line(box, line, slope):
                line.append(box)
                break
        else:
            lines.append([box])
    rows = [_row(sorted(line, key=lambda box: box.left), page) for line in lines]
    return sorted(rows, key=lambda row: row.top)


def _slope(boxes: Sequence[Box]) -> float:
    """Return how far the lines sink for each unit to the right; 0.0 where too little is known."""
    slopes = []
    by_height = sorted(boxes, key=lambda box: box.middle)
    for index, box in enumerate(by_height):
        for other in by_height[index + 1 : index + 6]:
            left, right = (box, other) if box.left < other.left else (other, box)
            across = right.left - left.right
            if across <= 2 * min(box.height, other.height):
                continue
            down = right.middle - left.middle
            distance = (right.left + right.right - left.left - left.right) / 2
            near = 0.8 * min(box.height, other.height)
            if abs(down) < near and abs(down / distance) < _SLOPE_LEFT:
                slopes.append(down / distance)
    return statistics.median(slopes) if len(slopes) >= _FEWEST_SLOPES else 0.0


def _on_line(box: Box, line: Sequence[Box], slope: float) -> bool:
    """Tell whether `box` stands on the line of its nearest neighbour there."""
    for other in line:
        shared = min(box.right, other.right) - max(box.left, other.left)
        if shared > 0.3 * min(box.right - box.left, other.right - other.left):
            return False  # one above the other
    nearest = min(line, key=lambda other: abs(other.left + other.right - box.left - box.right))
    distance = (box.left + box.right - nearest.left - nearest.right) / 2
    sunk = box.middle - nearest.middle - slope * distance
    return abs(sunk) < 0.5 * min(box.height, nearest.height)


def _row(line: Sequence[Box], page: int) -> Row:
    height = statistics.median(box.height for box in line)
    cells: list[Cell] = []
    for box in line:
        text = " ".join(box.text[:MAX_LETTERS].split())
        last = cells[-1] if cells else None
        gap = _CELL_GAP * (2 if _goes_on(last, text) else 1) * height
        if last and box.left - last.right < gap and not _both_numbers(last, text):
            cells[-1] = Cell(text=f"{last.text} {text}", left=last.left, right=box.right)
        else:
            cells.append(Cell(text=text, left=box.left, right=box.right))
    return Row(
        text="  ".join(cell.text for cell in cells),
        page=page,
        top=min(box.top for box in line),
        height=height,
        cells=tuple(cells),
        confidence=min(box.confidence for box in line),
    )


def _goes_on(cell: Cell | None, text: str) -> bool:
    """Tell whether `text` goes on with the words before it: a small letter begins no new cell."""
    return cell is not None and cell.text[-1:].isalpha() and text[:1].islower() and len(text) > 1


def _both_numbers(cell: Cell, text: str) -> bool:
    return not any(letter.isalpha() for letter in cell.text + text)


def typed_rows(text: str, *, page: int = 1) -> list[Row]:
    """Return plain text as rows, as if each letter were one unit wide.

    Tabs and runs of two or more spaces part cells. Empty lines leave a gap.
    """
    rows = []
    for number, line in enumerate(text.expandtabs(4).splitlines()):
        boxes = []
        for start, end in _runs(line):
            boxes.append(
                Box(
                    text=line[start:end],
                    left=float(start),
                    top=2.0 * number,
                    right=float(end),
                    bottom=2.0 * number + 1.5,
                )
            )
        if boxes:
            rows.append(_row(boxes, page))
    return rows


def _runs(line: str) -> list[tuple[int, int]]:
    """Return where the pieces of `line` begin and end that two or more spaces part."""
    runs = []
    start = 0
    for piece in line.split("  "):
        if piece.strip():
            left = start + len(piece) - len(piece.lstrip())
            runs.append((left, left + len(piece.strip())))
        start += len(piece) + 2
    return runs
