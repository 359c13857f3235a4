"""Saved notebooks, to whether they still say what they said: no key, no network.

`looks` reads a notebook as it lies there, `replay` runs it once more from its recording,
`comparing` finds what came out differently, and `command` is ``agentcell check``.
"""

from agentcell.checking.report import Report, check

__all__ = ["Report", "check"]
