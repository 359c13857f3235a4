"""A DataFrame or Series, of pandas or polars -> a table of text cells, and that as Markdown."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agentcell.assets.members import shows_attachment
from agentcell.errors import FieldError

MAX_ROWS = 100
MAX_COLUMNS = 30
MAX_CELL = 200
"""What a table shows of a longer or wider frame, and of a cell's text."""

_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells as text, with what was left out.

    Parameters
    ----------
    header, rows
        Each row as long as the header.
    total_rows, total_columns
        Of the frame that the table was made of.
    numeric
        Whether each column holds numbers only.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total_rows: int
    total_columns: int
    numeric: tuple[bool, ...]

    @property
    def left_out(self) -> str:
        """What is not shown, in words, or ""."""
        parts = []
        if self.total_rows > len(self.rows):
            parts.append(f"{self.total_rows - len(self.rows):,} more of {self.total_rows:,} rows")
        if self.total_columns > MAX_COLUMNS:
            more = self.total_columns - MAX_COLUMNS
            parts.append(f"{more:,} more of {self.total_columns:,} columns")
        return " and ".join(parts)


def is_frame(value: object) -> bool:
    """Tell whether a value is a DataFrame or Series of pandas or polars."""
    return _frame_kind(value) != ""


def table_of(frame: Any) -> Table:
    """Return the first rows and columns of a DataFrame or Series of pandas or polars."""
    if _frame_kind(frame).startswith("pandas"):
        return _of_pandas(frame)
    return _of_polars(frame)


def as_markdown(table: Table) -> str:
    """Return a Markdown table; a last row says what was left out."""
    marks = ["---:" if numeric else "---" for numeric in table.numeric]
    lines = [_line(map(_escaped, table.header)), _line(marks)]
    lines += [_line(map(_escaped, row)) for row in table.rows]
    if table.left_out:
        lines.append(_line(["…", *[""] * (len(table.header) - 1)]))
        lines.append(f"\n({table.left_out} not shown)")
    elif not table.rows:
        lines.append("\n(no rows)")
    return "\n".join(lines)


def _frame_kind(value: object) -> str:
    for kind in type(value).__mro__:
        module = kind.__module__ or ""
        library = module.split(".", 1)[0]
        if library in {"pandas", "polars"} and kind.__name__ in {"DataFrame", "Series"}:
            return f"{library}.{kind.__name__}"
    return ""


def _of_pandas(frame: Any) -> Table:
    if _frame_kind(frame) == "pandas.Series":
        frame = frame.to_frame(name="value" if frame.name is None else frame.name)
    part = frame.iloc[:MAX_ROWS, :MAX_COLUMNS]
    columns = [part.iloc[:, at].tolist() for at in range(part.shape[1])]
    header = [_label(label) for label in part.columns.tolist()]
    if type(part.index).__name__ != "RangeIndex":  # a plain count of rows says nothing
        columns.insert(0, part.index.tolist())
        header.insert(0, _label([name for name in part.index.names if name is not None]))
    return _table(header, columns, frame.shape)


def _of_polars(frame: Any) -> Table:
    if _frame_kind(frame) == "polars.Series":
        frame = frame.to_frame()
    part = frame[:MAX_ROWS, :MAX_COLUMNS]
    columns = [part[name].to_list() for name in part.columns]
    return _table([str(name) for name in part.columns], columns, frame.shape)


def _table(header: Sequence[str], columns: Sequence[list[Any]], shape: tuple[int, int]) -> Table:
    return Table(
        header=tuple(header) or ("",),
        rows=tuple(zip(*([_cell(item) for item in column] for column in columns), strict=True)),
        total_rows=shape[0],
        total_columns=shape[1],
        numeric=tuple(map(_is_numeric, columns)) or (False,),
    )


def _is_numeric(column: list[Any]) -> bool:
    held = [item for item in column if item is not None]
    return bool(held) and all(
        isinstance(item, (int, float)) and not isinstance(item, bool) for item in held
    )


def is_nothing(value: object) -> bool:
    """Whether a value is None, or what pandas has for it; NaN is a number."""
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def is_empty(value: object) -> bool:
    """Whether a cell holds nothing: what `is_nothing`, or NaN."""
    return is_nothing(value) or (isinstance(value, float) and math.isnan(value))


def _label(label: object) -> str:
    if isinstance(label, (tuple, list)):
        return " / ".join(text for part in label if (text := _cell(part)))
    return _cell(label)


def _cell(value: object) -> str:
    if is_empty(value):
        return ""
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"({len(value)} bytes)"
    text = str(value)
    if shows_attachment(text):
        raise FieldError(
            "A table holds an attachment in a cell, where it would not be sent.",
            fix="give the attachments in a list of their own, and the table without them.",
        )
    if re.search(r" at 0x[0-9A-Fa-f]+", text):
        return f"({type(value).__name__})"
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


def _escaped(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("\\", "\\\\").replace("|", "\\|").strip()


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
