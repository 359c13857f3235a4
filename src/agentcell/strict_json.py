"""A JSON text → its value; a number that JSON cannot hold is none of its numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any


def strict_json(
    text: str, *, objects: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None
) -> Any:
    """Return what `text` says.

    Parameters
    ----------
    text
        Python's NaN and Infinity, and numbers as large, are no JSON: no request could hold them.
    objects
        Makes objects of their keys and values; None: `dict`.

    Raises
    ------
    ValueError, RecursionError
        If it is no JSON, or nested too deep.
    """
    return json.loads(text, object_pairs_hook=objects, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number
