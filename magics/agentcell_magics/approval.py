"""`--approve`, to whether a tool may run: the person is asked where there is somebody to ask."""

from __future__ import annotations

from agentcell.agents.acting import ApprovalMode
from agentcell.agents.tools import Tool
from agentcell.history.reader_words import call_text
from agentcell.messages import ToolCall
from agentcell_magics.person import ask_person

MODES: dict[str, ApprovalMode] = {
    "ask": "ask",
    "run": "run",
    "refuse": "refuse",
    "always": "run",
    "never": "refuse",
}
"""What may be written, and what it means: *always* approved, *never* approved."""

_NOBODY = "nobody can be asked here; the person may allow it with --approve run"
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
        question = f"Run {call_text(call, _LONGEST)}? y = yes, n = no, a = all in this cell: "
        said = ask_person(question, all_too=True)
        if said == "nobody":
            return _NOBODY
        self._all = said == "all"
        return True if said in {"yes", "all"} else "the person said no"
