"""What comes of a question, to the displays of its cell: answers, and lines for tool calls."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from agentcell.adapters.events import Finished, Retrying, TextDelta, ThinkingDelta, Waiting
from agentcell.agents.exchange import ToolFinished, ToolStarted
from agentcell.answer import Answer
from agentcell.asking import AskEvent
from agentcell.history.saved_facts import saved_facts
from agentcell.history.turns import Status
from agentcell.messages import MediaMessageBlock, ToolCall, media_blocks
from agentcell.session import Request
from agentcell_magics import cards
from agentcell_magics.budget_command import saved_cost, saved_usage
from agentcell_magics.cells import running_source
from agentcell_magics.live import LiveAnswer, show
from agentcell_magics.wording import say

MOST_TOOL_PICTURES = 12
"""As many pictures that tools return are shown in one cell."""


class TurnDisplay:
    """Shows one turn as it comes.

    Parameters
    ----------
    request
        What is asked.
    updates, prints
        See `LiveAnswer`.
    quiet
        Whether answers are shown alone, without the tools' lines.
    """

    def __init__(
        self, request: Request, *, updates: bool, prints: bool = False, quiet: bool = False
    ) -> None:
        self._request = request
        self._source = running_source()
        self._updates = updates and not prints
        self._prints = prints
        self._quiet = quiet
        self._tags = [block.tag for block in media_blocks(request.messages)]
        self._live = self._new_answer(prints=prints)
        self._tools: ToolLines | None = None
        self._held: list[str] = []
        self._has_ended = False
        self.thinking: list[str] = []
        self.calls: list[ToolFinished] = []

    @property
    def has_text(self) -> bool:
        """Whether something of an answer is there."""
        return bool((self._live.text + "".join(self._held)).strip())

    def status(self, said: str) -> None:
        """Say what is waited for."""
        if self._tools is not None:
            self._tools.status(said)
        else:
            self._live.status(said)

    def take(self, event: AskEvent) -> None:
        """Show one event."""
        match event:
            case TextDelta():
                self._text(event.text)
            case ThinkingDelta():
                self.thinking.append(event.text)
            case Retrying():
                if self._has_ended:  # an answer that was no use, and not a service
                    self._held.clear()
                    self.status(say("{reason}: asking again …", reason=event.reason))
                else:
                    self.status(
                        say(
                            "{reason}: asking again in {seconds} s …",
                            reason=event.reason,
                            seconds=f"{event.wait:.0f}",
                        )
                    )
            case Waiting():
                if event.wait is None:
                    self.status(say("Waiting: {reason} …", reason=event.reason))
                else:
                    seconds = f"{event.wait:.0f}"
                    about = "Waiting for about {seconds} s: {reason} …"
                    self.status(say(about, seconds=seconds, reason=event.reason))
            case ToolStarted():
                self._start(event.call)
            case ToolFinished():
                self._finish_call(event)
        self._has_ended = isinstance(event, Finished)

    def _text(self, text: str) -> None:
        if self._request.schema is not None:  # shown whole, at its end
            self._held.append(text)
            return
        self._end_tools()
        self._live.add(text)

    def _start(self, call: ToolCall) -> None:
        if self._quiet:
            if self._live.text.strip():
                self._live.add("\n\n")
            return
        if self._held:
            self._live.add("".join(self._held))
            self._held.clear()
        handle = None
        if self._live.text.strip():
            self._end_tools()
            self._live.finish()
        else:
            handle = self._live.given_up()
        self._live = self._new_answer()
        if self._tools is None:
            self._tools = ToolLines(handle, updates=self._updates, prints=self._prints)
        self._tools.start(call)

    def _finish_call(self, finished: ToolFinished) -> None:
        self.calls.append(finished)
        self._tags += [block.tag for block in _blocks(finished)]
        if self._tools is not None:
            self._tools.finish(finished, say("Asking {model} …", model=self._request.model.name))

    def _end_tools(self) -> None:
        """Show the last state of the tools' lines, and what they returned to be seen."""
        if self._tools is None:
            return
        self._tools.end()
        blocks = [block for one in self._tools.finished for block in _blocks(one)]
        self._tools = None
        self._live = self._new_answer()
        if not self._prints:
            for block in blocks[:MOST_TOOL_PICTURES]:
                if picture := cards.picture(block, small=True):
                    show(*picture)

    def finish(self, answer: Answer | None, note: str) -> None:
        """Show the last state; `note` stands for the answer where there is none."""
        self._end_tools()
        if self._held:
            self._live.add(answer_text(self._request, answer, "".join(self._held)))
            self._held.clear()
        self._live.finish(metadata(self._request, answer, self.calls, source=self._source), note)

    def _new_answer(self, *, prints: bool | None = None) -> LiveAnswer:
        return LiveAnswer(
            updates=self._updates,
            prints=self._prints if prints is None else prints,
            tags=self._tags,
        )


class ToolLines:
    """The lines of the tool calls between two texts, in one display.

    Parameters
    ----------
    handle
        The display to take; None: a new one.
    updates, prints
        See `LiveAnswer`.
    """

    def __init__(self, handle: Any, *, updates: bool, prints: bool) -> None:
        self._handle = handle
        self._updates = updates
        self._prints = prints
        self._calls: list[tuple[ToolCall, ToolFinished | None]] = []

    @property
    def finished(self) -> list[ToolFinished]:
        """What came of the calls until now."""
        return [done for _, done in self._calls if done is not None]

    def start(self, call: ToolCall) -> None:
        """Add a call that runs now."""
        self._calls.append((call, None))
        self.status("")

    def finish(self, finished: ToolFinished, waiting: str) -> None:
        """Say what came of the call that ran."""
        self._calls[-1] = (self._calls[-1][0], finished)
        if self._prints:
            print(cards.tool_calls([self._calls[-1]])["text/plain"])  # noqa: T201 (a terminal)
        self.status(waiting)

    def status(self, waiting: str) -> None:
        """Show the lines, and what is waited for."""
        if self._updates:
            self._show(cards.tool_calls(self._calls, waiting))

    def _show(self, bundle: cards.Bundle) -> None:
        if self._handle is None:
            self._handle = show(bundle, display_id=uuid.uuid4().hex)
        else:
            self._handle.update(bundle, metadata={}, raw=True)

    def end(self) -> None:
        """Show the lines as they stay."""
        bundle = cards.tool_calls(self._calls, unfinished="stopped")
        if self._updates:
            self._show(bundle)
        elif not self._prints:
            show(bundle)


def answer_text(request: Request, answer: Answer | None, said: str) -> str:
    """Return an answer as it is shown: by a schema, its value as JSON; else as it was said."""
    if request.schema is None or answer is None or answer.status != "complete":
        return said
    from pydantic_core import to_jsonable_python

    value = to_jsonable_python(answer.value, fallback=str)
    written = json.dumps(value, ensure_ascii=False, indent=2)
    fence = "```"
    while fence in written:
        fence += "`"
    return f"{fence}json\n{written}\n{fence}"


def metadata(
    request: Request,
    answer: Answer | None,
    calls: Iterable[ToolFinished] = (),
    *,
    source: str | None = None,
) -> dict[str, Any] | None:
    """Return the facts about a turn that stand in its output's metadata.

    Parameters
    ----------
    source
        The cell that asked, None where it is not known.
    """
    if answer is None:
        return None
    question = request.question
    facts = saved_facts(
        replace(request.turn, status=cast("Status", answer.status)),
        request.conversation,
        question.blocks,
        question=question.text,
        source=source,
    )
    facts["finish_reason"] = answer.finish_reason
    facts["seconds"] = round(answer.seconds, 3)
    facts["usage"] = saved_usage(answer)
    facts["cost"] = saved_cost(answer)
    if tools := [{"name": one.call.name, "is_error": one.is_error} for one in calls]:
        facts["tools"] = tools
    return facts


def _blocks(finished: ToolFinished) -> list[MediaMessageBlock]:
    return list(media_blocks([{"content": finished.content}]))
