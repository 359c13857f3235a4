"""A cell, to what its author wants of whoever runs it again: nbval's and nbclient's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_COMMENT = re.compile(
    r"^[ \t]*#+[ \t]*(?:PYTEST_VALIDATE|NBVAL)_(IGNORE_OUTPUT|SKIP|RAISES_EXCEPTION)[ \t]*$",
    re.MULTILINE,
)

SKIP_TAG = "skip-execution"
"""What nbclient and nbconvert know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a cell's tags and comments say.

    Parameters
    ----------
    skip
        It is not to be run.
    ignore
        What it shows is not to be compared: it holds times, addresses or chance.
    raises
        It is to fail.
    """

    skip: bool = False
    ignore: bool = False
    raises: bool = False

    @classmethod
    def of(cls, cell: Any) -> Wishes:
        """Return those of a code cell."""
        tags = cell.metadata.get("tags", [])
        said = {str(tag).lower() for tag in tags} if isinstance(tags, list) else set()
        said |= {
            f"nbval-{word.lower().replace('_', '-')}" for word in _COMMENT.findall(cell.source)
        }
        return cls(
            skip=bool(said & {SKIP_TAG, "nbval-skip"}),
            ignore="nbval-ignore-output" in said,
            raises=bool(said & {"raises-exception", "nbval-raises-exception"}),
        )
