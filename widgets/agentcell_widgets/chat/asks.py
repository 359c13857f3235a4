"""A call of a tool, or a cost → what the person at the panel says to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from agentcell.agents.acting import ApprovalMode
from agentcell.agents.tools import Tool
from agentcell.budget import CostQuestion
from agentcell.history.reader_words import call_text
from agentcell.messages import ToolCall
from agentcell.safe_text import plain
from agentcell.wording import say
from agentcell_widgets.chat.views import LONGEST_BODY, View


class Tell(Protocol):
    """Takes a message for the browser; from any thread."""

    def __call__(self, kind: str, /, **facts: Any) -> None:
        """Send it."""


class Asks:
    """What the person is asked while one question is on its way; on agentcell's loop.

    Parameters
    ----------
    tell
        Takes ``ask`` and ``asked``.
    state
        Takes a call and how it goes: ``asked`` while the person is, ``running`` after their yes.
    mode
        Which calls the person is asked about; None: those of tools that want it.
    """

    def __init__(
        self, tell: Tell, state: Callable[[ToolCall, str], None], mode: ApprovalMode | None
    ) -> None:
        self._tell = tell
        self._state = state
        self._mode = mode
        self._allows_all = False
        self._count = 0
        self._answers: dict[str, asyncio.Future[str]] = {}
        self.open: dict[str, View] = {}
        """What waits for the person, by its name."""

    async def approve(self, call: ToolCall, tool: Tool) -> bool | str:
        """Return True to run a call, else why it does not run; see `Approve`.

        Parameters
        ----------
        call, tool
            What the model wants.
        """
        if self._mode == "refuse":
            return "no calls are allowed in this panel"
        asks = self._mode == "ask" or (self._mode is None and tool.needs_approval)
        if self._allows_all or not asks:
            return True
        self._state(call, "asked")
        text = call_text(call, LONGEST_BODY)
        said = await self._ask(about="call", question=say("May it run this?"), text=text)
        self._allows_all = said == "all"
        if said == "no":
            return "the person said no"
        self._state(call, "running")
        return True

    async def confirm(self, cost: CostQuestion) -> bool:
        """Return whether a question may cost that; see `Confirm`.

        Parameters
        ----------
        cost
            What it would cost.
        """
        text = plain(str(cost))
        return await self._ask(about="cost", question=say("Ask it?"), text=text) != "no"

    async def _ask(self, **facts: str) -> str:
        self._count += 1
        name = str(self._count)
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._answers[name] = answer
        self.open[name] = {"ask": name, **facts}
        self._tell("ask", **self.open[name])
        try:
            return await answer
        finally:
            del self._answers[name], self.open[name]
            self._tell("asked", ask=name)

    def answered(self, name: str, said: str) -> None:
        """Take what the person said; on the loop. To what is not asked it says nothing.

        Parameters
        ----------
        name
            The question's.
        said
            ``yes``, ``all`` or ``no``.
        """
        answer = self._answers.get(name)
        if answer is not None and not answer.done():
            answer.set_result(said if said in {"yes", "all"} else "no")
