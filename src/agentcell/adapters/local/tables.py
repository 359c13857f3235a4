"""Lines -> the facts of tables: rows of cells under headers, and labels in a row over values."""

# ruff: noqa: PLR2004 (distances in heights of a letter, counts of cells)

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentcell.adapters.local.fact import Fact, labelled
from agentcell.adapters.local.lines import Line, LineCell
from agentcell.adapters.local.terms import label_terms
from agentcell.adapters.local.words import word_set

_LONGEST_TABLE = 60  # rows
_LONGEST_HEADER = 40  # letters of one
_SUMS = word_set("total due paid subtotal tax tip service discount change tendered balance deposit")


def in_tables(lines: Sequence[Line]) -> Iterator[Fact]:
    """Yield, for each row of each table, its cells under their headers.

    Of the first row each cell is a fact of its own too: a table of one row is a row of labels
    over their values.
    """
    rows: set[int] = set()  # of tables that were found
    for at, header in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else None
        if at in rows or not _is_header(header, below):
            continue
        body = list(_body(lines, at))
        if len(header.cells) == 2 and _is_over(header, below):
            body = body[:1]
        rows.update(line.index for line in body)
        if body:
            header.used.update(range(len(header.cells)))
            header.is_header = True
            yield from _first_row(header, body[0], "over" if len(body) == 1 else "table")
        for line in body:
            yield from _whole_row(header, line)


def _first_row(header: Line, line: Line, layout: str) -> Iterator[Fact]:
    is_of_tax = any("tax" in cell.names for cell in header.cells)
    for heading, text in _columns(header, line):
        if is_of_tax and any(named.name == "amount" for named in label_terms(heading)[0]):
            continue  # what tax was paid on
        yield labelled(
            line, heading, text, quote=f"{heading}  {text}", layout=layout, head=header.index
        )


def _whole_row(header: Line, line: Line) -> Iterator[Fact]:
    columns = tuple(_columns(header, line))
    if columns:
        label = _name_in(line)
        rest = "  ".join(cell.text for cell in line.cells if cell.text != label)
        yield labelled(
            line,
            label,
            rest,
            quote=line.row.text,
            layout="table",
            columns=columns,
            head=header.index,
        )


def _name_in(line: Line) -> str:
    """Return the cell that says what a row is about: its first words, or its most."""
    texts = [cell.text for cell in line.cells if not cell.is_value]
    letters = [sum(map(str.isalpha, text)) for text in texts]
    first = next((text for text, count in zip(texts, letters, strict=True) if count > 2), "")
    return first or max(texts, key=len, default="")


def _is_header(line: Line, below: Line | None) -> bool:
    cells = line.cells
    if len(cells) < 2 or any(cell.is_value or cell.is_whole for cell in cells):
        return False  # (a row of words in a table may look like one: see `_begins_another`)
    if any(len(cell.text) > _LONGEST_HEADER for cell in cells):
        return False
    if len(cells) == 2:
        return all(cell.is_label for cell in cells) or _is_over(line, below)
    return True


def _is_over(line: Line, below: Line | None) -> bool:
    """Tell whether each of a row's cells is the label of the one under it.

    They begin where those begin, and are labels by their words, or by their smaller letters.
    """
    if below is None or len(below.cells) != len(line.cells) or not line.is_near(below, 3.0):
        return False
    height = below.row.height
    is_aligned = all(
        abs(a.left - b.left) < 0.7 * height and not b.is_whole
        for a, b in zip(line.cells, below.cells, strict=True)
    )
    labels = sum(cell.is_label for cell in line.cells)
    if labels == len(line.cells):
        return is_aligned
    is_small = line.row.height < 0.9 * height
    if below.cells[0].named and not below.cells[0].is_value:
        return False  # label and value beside each other, in both rows
    return is_aligned and (labels > 0 or is_small) and not any(c.is_label for c in below.cells)


def _body(lines: Sequence[Line], at: int) -> Iterator[Line]:
    """Yield the rows of the table whose header is line `at`."""
    header = before = lines[at]
    for number in range(at + 1, min(at + _LONGEST_TABLE, len(lines))):
        line = lines[number]
        below = lines[number + 1] if number + 1 < len(lines) else None
        if _ends(header, before, line):
            return
        has_values = any(cell.is_value for cell in before.cells)
        if _begins_another(header, line, below, has_values=has_values):
            return
        if len(line.cells) >= 2 or (len(header.cells) == 2 and line.cells[0].is_value):
            if not _is_aligned(header, line):
                return
            yield line
            before = line


def _begins_another(header: Line, line: Line, below: Line | None, *, has_values: bool) -> bool:
    """Tell whether `line` is the header of the next table, and no row of words in this one.

    `has_values` says whether the row before it holds any.
    """
    if not _is_header(line, below):
        return False
    if has_values:
        return True
    is_row = len(line.cells) == len(header.cells) > 2 and _is_aligned(header, line)
    return not is_row or sum(cell.is_label for cell in line.cells) >= len(line.cells) / 2


def _ends(header: Line, before: Line, line: Line) -> bool:
    """Tell whether `line` is no row of the table: a sum, a sentence, a label with its value."""
    first = line.cells[0]
    if line.is_prose or not before.is_near(line, 6.0):
        return True
    is_short = len(line.cells) < len(header.cells)
    if any(cell.is_open or (cell.is_whole and is_short) for cell in line.cells):
        return True
    if first.is_label and first.named and first.named[0].name in _SUMS:
        return len(line.cells) < max(3, len(header.cells))  # a sum under each column is a row
    starts_late = _distance(header.cells[0], first) > 4 * line.row.height
    return len(line.cells) <= len(header.cells) / 2 and (first.is_label or starts_late)


def _is_aligned(header: Line, line: Line) -> bool:
    height = max(line.row.height, header.row.height)
    return all(
        min(_distance(head, cell) for head in header.cells) <= 3 * height for cell in line.cells
    )


def _columns(header: Line, line: Line) -> Iterator[tuple[str, str]]:
    """Yield each header with the cell under it."""
    taken: dict[int, str] = {}
    height = max(line.row.height, header.row.height)
    for cell in line.cells:
        gaps = [_distance(head, cell) for head in header.cells]
        at = min(range(len(gaps)), key=gaps.__getitem__)
        if gaps[at] <= 6 * height:
            taken[at] = f"{taken[at]}  {cell.text}" if at in taken else cell.text
    for at, text in sorted(taken.items()):
        yield header.cells[at].text, text


def _distance(a: LineCell, b: LineCell) -> float:
    """Return how far apart two columns are: 0 if they share an edge or their middle."""
    overlap = min(a.right, b.right) - max(a.left, b.left)
    middle = abs(a.left + a.right - b.left - b.right) / 2
    nearest = min(abs(a.left - b.left), abs(a.right - b.right), middle)
    return nearest if overlap <= 0 else nearest * 0.25
