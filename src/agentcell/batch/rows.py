"""A list, a DataFrame or an iterator → rows, one after the other, none read ahead of its turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any

from agentcell.assets.tables import is_empty
from agentcell.assets.wording import a_type
from agentcell.errors import BatchError

_AT_ONCE = 256
"""Rows of a DataFrame that are taken out of it at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a batch is about.

    Parameters
    ----------
    each
        The rows, in order; may be gone through once.
    count
        How many there are; None where nobody knows yet.
    source
        What they were given as, where that can be gone through again: a list or a DataFrame.
    """

    each: Iterator[Any] = field(repr=False)
    count: int | None = None
    source: Any = field(default=None, repr=False)


def rows_of(given: Any) -> Rows:
    """Return the rows of what was given.

    Parameters
    ----------
    given
        A list or other collection of mappings, a DataFrame of pandas or polars, or any iterable.
        In a DataFrame an empty cell (NaN, None, NaT) is an input that is not given.

    Raises
    ------
    BatchError
        If it is none of these.
    """
    if is_frame(given):
        return Rows(each=_frame_rows(given), count=len(given), source=given)
    if callable(getattr(given, "iter_rows", None)) and hasattr(given, "columns"):  # polars
        return Rows(each=given.iter_rows(named=True), count=len(given), source=given)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise BatchError(
            f"{a_type(given, start=True)} was given as the rows; a list of mappings, a DataFrame"
            " or an iterator was expected.",
            fix='give for example [{"question": "…"}, {"question": "…"}].',
        )
    is_kept = isinstance(given, Sized) and not isinstance(given, Iterator)
    return Rows(
        each=iter(given),
        count=len(given) if isinstance(given, Sized) else None,
        source=given if is_kept else None,
    )


def columns_of(given: Any) -> list[str] | None:
    """Return the names that rows may have, where all rows are at hand; None where they are not.

    Parameters
    ----------
    given
        As for `rows_of`. Of a list, every row's names count: one without a value for a name that
        others have is like an empty cell.

    Raises
    ------
    BatchError
        If a DataFrame's columns have several levels.
    """
    columns = getattr(given, "columns", None)
    if columns is not None:
        _check_levels(columns)
        return [str(name) for name in columns]
    if isinstance(given, (list, tuple)):
        rows = (row for row in given if isinstance(row, Mapping))
        return list(dict.fromkeys(str(name) for row in rows for name in row))
    return None


def is_frame(given: Any) -> bool:
    """Whether `given` is a DataFrame of pandas."""
    return hasattr(given, "iloc") and hasattr(given, "columns") and hasattr(given, "to_dict")


def _frame_rows(frame: Any) -> Iterator[dict[str, Any]]:
    _check_levels(frame.columns)
    names = [str(name) for name in frame.columns]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise BatchError(
            f"The DataFrame has several columns named {doubled[0]!r}.", fix="rename all but one."
        )
    for start in range(0, len(frame), _AT_ONCE):
        some = frame.iloc[start : start + _AT_ONCE]
        columns = [some.iloc[:, number].tolist() for number in range(len(names))]
        for values in zip(*columns, strict=True) if columns else [()] * len(some):
            yield {
                name: value
                for name, value in zip(names, values, strict=True)
                if not is_empty(value)
            }


def _check_levels(columns: Any) -> None:
    if getattr(columns, "nlevels", 1) > 1:
        raise BatchError(
            "The DataFrame's columns have several levels; one name for each was expected.",
            fix='join them: df.columns = ["_".join(map(str, names)) for names in df.columns].',
        )
