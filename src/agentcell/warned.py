"""A warning → the line of the person's own code that led to it.

Fixed stack levels point into this package as soon as one more function stands between, and a
warning in a notebook is read by its cell.
"""

from __future__ import annotations

import sys
import warnings

_NOT_THEIRS = frozenset(
    {
        *("agentcell", "agentcell_magics", "agentcell_widgets"),
        *("IPython", "ipykernel", "asyncio", "concurrent", "threading", "contextlib"),
    }
)
"""Packages whose lines say nothing to the person."""


def warn(text: str, category: type[Warning]) -> None:
    """Warn, at the nearest line that is the person's own; at the caller's where there is none.

    Parameters
    ----------
    text
        What is wrong, and perhaps what to do.
    category
        The kind of warning.
    """
    level, frame = 2, sys._getframe(1)  # noqa: SLF001 (no other way tells where one is)
    while frame is not None and _package(frame.f_globals) in _NOT_THEIRS:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(text, category, stacklevel=2 if frame is None else level)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
