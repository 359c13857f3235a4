"""Messages, a model and tools → answers and tool calls in turn, until an answer stands alone.

`exchange` decides what comes next and does nothing itself: it yields what is to be done and is
sent what came of it. Who carries that out, sync or async, whole or streamed, is in `rounds`.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

from agentcell.adapters.events import ModelResponseType, Retrying, Usage, total_usage
from agentcell.agents.calls import Content, failed
from agentcell.agents.tools import Tool
from agentcell.errors import AnswerError, ToolError
from agentcell.messages import Message, ToolCall, media_blocks
from agentcell.prompts.tags import TagRegistry


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is about to run."""

    type: ClassVar[str] = "tool_start"
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has run, or was not allowed to.

    `content` is what the model reads; `seconds` is how long it took.
    """

    type: ClassVar[str] = "tool_end"
    call: ToolCall
    content: Content = field(repr=False)
    is_error: bool = False
    seconds: float = 0.0
    was_refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsFinished:
    """The answer stands; comes last.

    Parameters
    ----------
    result
        The last `Model.invoke` result; its ``usage`` is the sum over all calls.
    messages
        What came after the messages that were sent first: calls, tool results, the answer.
    """

    result: dict[str, Any] = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ask:
    """To be done: ask the model. Sent back: its result."""

    messages: list[Message] = field(repr=False)
    tools: list[dict[str, Any]] | None = field(repr=False)
    settings: dict[str, Any] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Run:
    """To be done: run a tool, if the person allows it. Sent back: a `ToolFinished`."""

    call: ToolCall
    tool: Tool
    tags: TagRegistry


Step: TypeAlias = Ask | Run | ToolFinished | Retrying
"""`ToolFinished` and `Retrying` are only told; after the latter its `wait` is kept."""


class ToolLog:
    """The tool calls of one step: how many rounds they took, and what came of each.

    A model that is asked again for a better answer, and calls the same tool with the same
    arguments again, is given what came of the first call: no tool runs twice for one answer.
    """

    def __init__(self, max_rounds: int) -> None:
        self.max_rounds = max_rounds
        self.rounds = 0
        self.ids: set[str] = set()
        self.repairing = False
        self._done: dict[str, ToolFinished] = {}

    def begin_round(self) -> None:
        """Count a round; an `AnswerError` if there were too many."""
        self.rounds += 1
        if self.rounds > self.max_rounds:
            raise AnswerError(
                f"The model exceeded {self.max_rounds} rounds of tool calls without an answer.",
                fix="ask for less at once, or raise max_rounds.",
            )

    def unique(self, call: ToolCall) -> ToolCall:
        """Return the call with an id that no earlier call of this step has."""
        name, number = call.id, 2
        while name in self.ids:
            name, number = f"{call.id}_{number}", number + 1
        self.ids.add(name)
        return call if name == call.id else replace(call, id=name)

    def known(self, call: ToolCall) -> ToolFinished | None:
        """Return what came of the same call before, while an answer is being repaired."""
        found = self._done.get(_key(call)) if self.repairing else None
        return replace(found, call=call, seconds=0.0) if found else None

    def record(self, finished: ToolFinished) -> None:
        """Keep what came of a call."""
        self._done[_key(finished.call)] = finished


def exchange(  # noqa: PLR0913 (each is a fact of its own about the exchange)
    messages: Sequence[Message],
    tools: Mapping[str, Tool],
    settings: Mapping[str, Any] | None,
    *,
    log: ToolLog,
    tags: TagRegistry,
    takes_media: bool,
    added: list[Message] | None = None,
) -> Generator[Step, Any, RoundsFinished]:
    """Yield what is to be done until the model answers without calling a tool.

    Parameters
    ----------
    messages
        What the model is sent first; not changed.
    tools
        By name.
    settings
        A ``tool_choice`` that forces a call becomes ``auto`` after the first one.
    log
        The step's calls so far.
    tags
        Names for attachments in tools' results.
    takes_media
        Whether a tool's result may hold attachments; if not, the model reads what they were.
    added
        Takes each message that follows `messages`, as it comes: who stops half way finds there
        what was said and done until then.
    """
    sent = list(messages)
    added = [] if added is None else added
    begun = len(added)

    def say(message: Message) -> None:
        added.append(message)  # first: what follows may be interrupted
        sent.append(message)

    schemas = [tool.schema() for tool in tools.values()] or None
    current = dict(settings) if settings else None
    usage: Usage | None = None
    while True:
        if log.rounds and current and _forces(current.get("tool_choice")):
            current["tool_choice"] = "auto"
        result = yield Ask(list(sent), schemas, dict(current) if current else None)
        usage = _total(usage, result.get("usage"))
        message = dict(result["assistant_message"])
        if result["type"] is not ModelResponseType.TOOL_CALL:
            say(message)
            return RoundsFinished(result={**result, "usage": usage}, messages=tuple(added[begun:]))
        log.begin_round()
        calls = [log.unique(call) for call in message["tool_calls"]]
        message["tool_calls"] = calls
        say(message)
        for call in calls:
            finished = log.known(call)
            if finished is not None:
                yield finished
            else:
                finished = yield from _one(call, tools, tags)
                log.record(finished)
            content = finished.content if takes_media else as_text(finished.content)
            say({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": content})


def _one(
    call: ToolCall, tools: Mapping[str, Tool], tags: TagRegistry
) -> Generator[Step, Any, ToolFinished]:
    tool = tools.get(call.name)
    if tool is not None:
        return (yield Run(call, tool, tags))  # type: ignore[no-any-return]
    finished = unknown_tool(call, tools)
    yield finished
    return finished


def unknown_tool(call: ToolCall, tools: Mapping[str, Tool]) -> ToolFinished:
    """Return what a model reads when it calls a tool that does not exist."""
    known = ", ".join(tools) or "none"
    error = ToolError(f"There is no tool named '{call.name}'.", fix=f"the tools are: {known}.")
    return ToolFinished(call, failed(error).content, is_error=True)


def as_text(content: Content) -> Content:
    """Return a tool's result without attachments, each told in words."""
    if isinstance(content, str):
        return content
    shown = ", ".join(
        f"{block.tag} {block.asset.prompt_summary()}"
        for block in media_blocks([{"content": content}])
    )
    text = content[-1].text if hasattr(content[-1], "text") else ""
    return f"{text}\n(This model cannot be shown what a tool returns: {shown}.)"


def _forces(choice: object) -> bool:
    return choice not in (None, "auto", "none")


def _key(call: ToolCall) -> str:
    arguments = json.dumps(call.arguments, sort_keys=True, default=str)
    return f"{call.name}\n{arguments}\n{call.raw_arguments}"


def _total(total: Usage | None, more: object) -> Usage | None:
    return total_usage(total, more) if isinstance(more, Usage) else total
