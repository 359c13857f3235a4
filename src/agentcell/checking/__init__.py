"""Saved notebooks, to whether they still say what they said: no key, no network.

`looks` reads a notebook as it lies there, `replay` runs it once more from its recording,
`comparing` finds what came out differently, `recording` makes the recording and saves what a
replay shows, `wishes` reads what authors say about their cells, and `command` is
``agentcell check``.
"""

from agentcell.checking.recording import record
from agentcell.checking.report import Report, check

__all__ = ["Report", "check", "record"]
