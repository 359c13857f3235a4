"""The rows' answers and errors, in the order of the rows → lists, a DataFrame, and their cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, overload

from agentcell.adapters.events import Usage, total_usage
from agentcell.adapters.price_table import shown
from agentcell.adapters.recording.no_keys import without_keys
from agentcell.batch.rows import is_frame, rows_of
from agentcell.errors import AgentcellError, BatchError

ERROR_COLUMN = "error"
ANSWER_COLUMN = "answer"
_CLASH = "_answer"
"""Follows the name of an answer's column, where the rows have one of that name already."""

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class RowError:
    """What stands for the answer of a row that has none.

    Parameters
    ----------
    index
        Which row, counted from 0.
    row
        The row as it was given.
    error
        Why there is no answer; `BudgetExceeded` or `Stopped` where it was never sent.
    """

    index: int
    row: Any = field(repr=False)
    error: Exception

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {_problem(self.error)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What the calls of a batch came to.

    Parameters
    ----------
    usage
        Tokens, as the providers counted them; None where none did.
    usd
        US dollars, as far as that is known.
    unknown
        Calls whose cost nobody knows.
    calls
        All calls of models.
    """

    usage: Usage | None = None
    usd: Decimal = Decimal(0)
    unknown: int = 0
    calls: int = 0

    @property
    def cost(self) -> Decimal | None:
        """US dollars; None where not all of it is known."""
        return None if self.unknown else self.usd


class BatchResult(Sequence[Any]):
    """What came of each row, in the rows' order: a value, or a `RowError`.

    Parameters
    ----------
    values
        One for each row.
    source
        The rows as they were given, if they can be gone through again; for `frame`.
    spending
        Of all rows, those that a journal knew included.
    resumed
        How many answers came from a journal: nobody was asked for them.
    cut
        Rows whose answers stop at the limit of their tokens.
    names
        The columns that answers have, for a `frame` without any.
    again
        Makes a result of rows; for `retry`.
    """

    def __init__(  # noqa: PLR0913 (each is a fact of its own)
        self,
        values: Sequence[Any],
        *,
        source: Any = None,
        spending: Spending | None = None,
        resumed: int = 0,
        cut: Sequence[int] = (),
        names: Sequence[str] = (),
        again: Callable[..., BatchResult] | None = None,
    ) -> None:
        self._values = list(values)
        self._source = source
        self.spending = spending or Spending()
        self.resumed = resumed
        self.cut = tuple(cut)
        self._names = tuple(names)
        self._again = again

    def __len__(self) -> int:
        return len(self._values)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_again": None}  # what asks again stays with the model's key

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._values[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __repr__(self) -> str:
        return f"BatchResult({self.summary()})"

    @property
    def failed(self) -> list[RowError]:
        """The rows without an answer."""
        return [value for value in self._values if isinstance(value, RowError)]

    @property
    def usage(self) -> Usage | None:
        """Tokens of all calls, those of rows that failed too; None where no provider said."""
        return self.spending.usage

    @property
    def cost(self) -> Decimal | None:
        """US dollars for all calls; None where not all of it is known."""
        return self.spending.cost

    def summary(self) -> str:
        """Return how it went, in a line."""
        failed = len(self.failed)
        parts = [f"{len(self):,} row{'' if len(self) == 1 else 's'}", f"{failed:,} failed"]
        if self.resumed:
            parts.append(f"{self.resumed:,} from the journal")
        if (usage := self.usage) is not None:
            parts.append(f"{usage.input_tokens or 0:,} + {usage.output_tokens or 0:,} tokens")
        if self.cost is not None:
            parts.append(shown(self.cost))
        return ", ".join(parts)

    def retry(self, **options: Any) -> BatchResult:
        """Ask about the failed rows once more; return the whole result with what came of them.

        Parameters
        ----------
        options
            As for the call that made this result, over those given there.

        Raises
        ------
        BatchError
            If the result was not made by a batch.
        """
        if self._again is None:
            raise BatchError("This result knows no way to ask again.", fix="run the batch again.")
        failed = self.failed
        if not failed:
            return self
        new = self._again([one.row for one in failed], **options)
        values = list(self._values)
        for one, value in zip(failed, new, strict=True):
            values[one.index] = (
                dataclasses.replace(value, index=one.index)
                if isinstance(value, RowError)
                else value
            )
        return BatchResult(
            values,
            source=self._source,
            spending=summed(self.spending, new.spending),
            resumed=self.resumed,
            cut=sorted({*self.cut, *(failed[number].index for number in new.cut)}),
            names=self._names,
            again=self._again,
        )

    def frame(self) -> Any:
        """Return a DataFrame of pandas: the rows' own columns, the answers', and ``error``.

        Answers that are mappings, pydantic models or dataclasses give a column for each of their
        keys; any other stands under ``answer``. The name of a column that the rows have already
        is followed by ``_answer``. ``error`` is empty where there is an answer.

        Raises
        ------
        BatchError
            If pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise BatchError(
                "A DataFrame needs pandas, which is not installed.", fix="run `pip install pandas`."
            ) from error
        if is_frame(self._source):
            frame = self._source.copy()
        elif (named := _named_rows(self._source)) is not None:
            frame = pd.DataFrame(named, index=range(len(self)))
        else:
            frame = pd.DataFrame(index=range(len(self)))
        taken = {str(name) for name in frame.columns}
        for name, column in self.columns().items():
            free = name
            while free in taken:
                free += _CLASH
            taken.add(free)
            frame[free] = pd.Series(column, index=frame.index, dtype=_dtype(column))
        return frame

    def columns(self) -> dict[str, list[Any]]:
        """Return the answers by column, then the errors' texts; None where there is nothing."""
        found = [None if isinstance(one, RowError) else _fields(one) for one in self._values]
        names = list(dict.fromkeys(name for row in found if row is not None for name in row))
        names = names or list(self._names)
        columns: dict[str, list[Any]] = {
            name: [None if row is None else row.get(name) for row in found] for name in names
        }
        error = ERROR_COLUMN
        while error in columns:
            error += "_of_row"
        columns[error] = [str(one) if isinstance(one, RowError) else None for one in self._values]
        return columns


def _named_rows(source: Any) -> list[dict[str, Any]] | None:
    """Return rows that have columns: of a list of mappings, or of a DataFrame of polars."""
    rows = [] if source is None else list(rows_of(source).each)
    named = [dict(row) for row in rows if isinstance(row, Mapping)]
    return named if source is not None and len(named) == len(rows) else None


def _dtype(column: list[Any]) -> Any:
    """Return the type of a column: whole numbers stay whole beside rows without an answer."""
    known = [value for value in column if value is not None]
    is_whole = all(type(value) is int and abs(value) < _INT64 for value in known)
    if known and is_whole and len(known) < len(column):
        return "Int64"
    return None if known else object


def summed(first: Spending, second: Spending) -> Spending:
    """Return what both came to."""
    return Spending(
        usage=total_usage(first.usage, second.usage),
        usd=first.usd + second.usd,
        unknown=first.unknown + second.unknown,
        calls=first.calls + second.calls,
    )


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return {str(name): item for name, item in value.items()}
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dict(dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    return {ANSWER_COLUMN: value}


def _problem(error: Exception) -> str:
    return without_keys(error.problem if isinstance(error, AgentcellError) else str(error))
