"""How long something is waited for → the same, checked: every field a number of seconds."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from agentcell.safe_text import shown_value


def check_seconds(patience: Any) -> None:
    """Refuse what is no time to wait.

    Parameters
    ----------
    patience
        An instance of a dataclass, all of whose fields are seconds: finite, 0 or more.

    Raises
    ------
    ValueError
        If one is something else.
    """
    for one in fields(patience):
        value = getattr(patience, one.name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not (value >= 0 and math.isfinite(value)):
            raise ValueError(
                f"{one.name} is {shown_value(value)}; a number of seconds was expected"
            )
