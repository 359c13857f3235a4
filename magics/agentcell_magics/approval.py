"""`--approve`, to whether a tool may run: the person is asked where there is somebody to ask."""

from __future__ import annotations

import builtins
import threading
from typing import Literal, TypeAlias

from agentcell.agents.tools import Tool
from agentcell.messages import ToolCall
from agentcell_magics.cards import call_text

Mode: TypeAlias = Literal["ask", "run", "refuse"]

MODES: dict[str, Mode] = {
    "ask": "ask",
    "run": "run",
    "refuse": "refuse",
    "always": "run",
    "never": "refuse",
}
"""What may be written, and what it means: *always* approved, *never* approved."""

_NOBODY = "nobody can be asked here; the person may allow it with --approve run"
_MOST_ASKED = 3
_LONGEST = 400
"""Characters of a call that the question shows; the tool's line in the cell shows all."""


class Approval:
    """Decides for one cell; see `Approve`.

    Parameters
    ----------
    mode
        What ``--approve`` says. None: only a tool that needs approval is asked about.
    can_ask
        Whether the person waits at this cell.
    """

    def __init__(self, mode: str | None, *, can_ask: bool = True) -> None:
        self._mode = MODES[mode] if mode else None
        self._can_ask = can_ask
        self._all = False

    def __call__(self, call: ToolCall, tool: Tool) -> bool | str:
        """Return True to run the call, else why it does not run."""
        if self._mode == "refuse":
            return "no calls are allowed in this cell (--approve refuse)"
        asks = self._mode == "ask" or (self._mode is None and tool.needs_approval)
        if self._all or not asks:
            return True
        return self._ask(call) if self._can_ask else _NOBODY

    def _ask(self, call: ToolCall) -> bool | str:
        if threading.current_thread() is not threading.main_thread():
            return _NOBODY
        question = f"Run {call_text(call, _LONGEST)}? y = yes, n = no, a = all in this cell: "
        for _ in range(_MOST_ASKED):
            try:
                answer = builtins.input(question).strip().casefold()
            except (EOFError, OSError, NotImplementedError, RuntimeError):
                return _NOBODY  # such as nbclient, a test run, a console without input
            if answer in {"y", "yes", "是", "好"}:
                return True
            if answer in {"a", "all"}:
                self._all = True
                return True
            if answer in {"", "n", "no", "否", "不"}:
                break
        return "the person said no"
