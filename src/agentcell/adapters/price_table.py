"""Prices as people write them, in Python or in a JSON file, to a table by the names of models."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from agentcell.errors import PriceError

MILLION = 1_000_000

_LARGEST_FILE = 16 * 1024 * 1024
_SHOWN = 60
_MOST = 1_000_000_000
"""Dollars for a million tokens, far above any price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one model costs, in US dollars for a million tokens.

    Parameters
    ----------
    input, output
        Of the request and of the answer, reasoning included.
    cached_input
        Of what the provider had in its cache; None: as `input`.
    cache_write
        Of what it puts there; None: as `input`.
    per_image, per_second
        Of one picture, and of one second of a clip, that it makes: dollars for the piece. Where
        one is given, the others may be left out.
    """

    input: Decimal | None = None
    output: Decimal | None = None
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None
    per_image: Decimal | None = None
    per_second: Decimal | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any], whose: str) -> Price:
        """Return `values` as a price.

        Parameters
        ----------
        values
            By the names of the fields: numbers, or numbers as text.
        whose
            Where they stand, for the message of an error.

        Raises
        ------
        PriceError
            If one is missing, unknown, or no number of at least 0.
        """
        names = [each.name for each in fields(cls)]
        for name in values:
            if name not in names:
                near = difflib.get_close_matches(str(name), names, 1)
                raise PriceError(
                    f"{whose} holds {_short(name)}; a price has {', '.join(names)}.",
                    fix=f"did you mean {near[0]}?" if near else "leave it out.",
                )
        given = {name: value for name, value in values.items() if value is not None}
        is_by_piece = bool(given) and given.keys() <= {"per_image", "per_second"}
        for name in () if is_by_piece else ("input", "output"):
            if name not in given:
                raise PriceError(
                    f"{whose} has no price for its {name}.",
                    fix=f"give {name}=… in dollars for a million tokens; 0 where it is free.",
                )
        return cls(**{name: _amount(value, f"{whose}: {name}") for name, value in given.items()})


PriceTable = dict[str, Price]
"""By ``provider/model``, or by a model's own id for all providers; in lower case."""


def read_prices(path: Path) -> PriceTable:
    """Return the prices of a JSON file: ``{"openai/my-model": {"input": 1, "output": 4}}``.

    Raises
    ------
    PriceError
        If the file is not there, or holds anything else.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise PriceError(
                f"The file of prices {path} is larger than {_LARGEST_FILE:,} bytes.",
                fix="name a JSON file of prices.",
            )
        document = json.loads(path.read_text("utf-8-sig"), parse_float=Decimal)
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise PriceError(
            f"The file of prices {path} cannot be read: {why}.",
            fix="check the path; AGENTCELL_PRICES names such a file, or is not set.",
        ) from problem
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, PriceError):
            raise
        raise PriceError(
            f"The file of prices {path} is no JSON: {_short(problem)}",
            fix='write for example {"openai/my-model": {"input": 1.25, "output": 10}}.',
        ) from problem
    if not isinstance(document, dict):
        raise PriceError(
            f"The file of prices {path} holds {_short(document)}; an object was expected.",
            fix='write for example {"openai/my-model": {"input": 1.25, "output": 10}}.',
        )
    table: PriceTable = {}
    for name, values in document.items():
        if not isinstance(values, dict):
            raise PriceError(
                f"{path}, {_short(name)}: {_short(values)}; an object with input and output was"
                " expected.",
                fix='write for example "openai/my-model": {"input": 1.25, "output": 10}.',
            )
        table[key_of(name)] = Price.of(values, f"{path}, {_short(name)}")
    return table


def key_of(name: object) -> str:
    """Return a model's name as a table has it.

    Raises
    ------
    PriceError
        If it is none.
    """
    if not isinstance(name, str) or not name.strip():
        raise PriceError(
            f"{_short(name)} is no model's name.", fix="write provider/model, or a model's id."
        )
    return name.strip().lower()


def shown(dollars: Decimal) -> str:
    """Return an amount as people read it: ``$0.0123``, ``$0.20``, ``$12.34``, ``< $0.0001``."""
    if 0 < dollars < Decimal("0.0001"):
        return "< $0.0001"
    if dollars >= 1 or dollars * 100 % 1 == 0:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}"


def _amount(value: object, what: str) -> Decimal:
    if isinstance(value, (int, float, str, Decimal)) and not isinstance(value, bool):
        try:
            amount = Decimal(str(value).strip())
        except InvalidOperation:
            amount = Decimal("nan")
        if amount.is_finite() and 0 <= amount <= _MOST:
            return amount
    raise PriceError(
        f"{what} is {_short(value)}; dollars for a million tokens were expected, 0 or more.",
        fix="give a number, for example 1.25.",
    )


def _short(value: object) -> str:
    text = value if isinstance(value, BaseException) else repr(value)
    line = " ".join(str(text).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
