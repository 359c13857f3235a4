"""Messages, a model and tools → answers and tool calls in turn, until an answer stands alone.

What comes next is decided in `exchange`; here it is carried out: sync or async, whole or streamed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import (
    AsyncIterator,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any

from agentcell.adapters.events import (
    Event,
    Gathering,
    ModelResponseType,
    Retrying,
    events_of,
    gather,
)
from agentcell.adapters.model import Model
from agentcell.agents.acting import Approve, arun_tool, run_tool
from agentcell.agents.exchange import (
    Ask,
    RoundsFinished,
    Run,
    Step,
    ToolFinished,
    ToolLog,
    ToolStarted,
    exchange,
)
from agentcell.agents.shown_results import showing_results
from agentcell.agents.tools import Tool, named_tools
from agentcell.errors import ModelError
from agentcell.messages import Message, ToolCall, content_text, media_blocks
from agentcell.prompts.tags import TagRegistry

__all__ = ["Approve", "RoundsFinished", "ToolFinished", "ToolStarted", "run_rounds"]


async def run_rounds(  # noqa: PLR0913 (each is a fact of its own about the exchange)
    model: Model,
    messages: Sequence[Message],
    tools: Sequence[Any] | Mapping[str, Tool] | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    max_rounds: int = 10,
    approve: Approve | None = None,
    tags: TagRegistry | None = None,
) -> AsyncIterator[Event | ToolStarted | ToolFinished | RoundsFinished]:
    """Ask `model`, run the tools that it calls, ask again, until it answers.

    Parameters
    ----------
    model
        Its events are passed on as they come.
    messages
        What it is sent first; not changed.
    tools
        Functions or tools, or tools by name.
    settings
        For each call.
    max_rounds
        How many rounds of tool calls there may be.
    approve
        See `Approve`.
    tags
        Names for attachments in tools' results; by default one that knows those in `messages`.

    Yields
    ------
    Event, ToolStarted, ToolFinished
        As it goes; each model call ends in its `Finished`.
    RoundsFinished
        Last.

    Raises
    ------
    AnswerError
        If the model calls tools once more after `max_rounds` rounds.
    ModelError
        If the model fails.
    """
    by_name = dict(tools) if isinstance(tools, Mapping) else named_tools(tools)
    model = showing_results(model, by_name.values())
    steps = exchange(
        messages,
        by_name,
        settings,
        log=ToolLog(max_rounds),
        tags=tags or tags_in(messages),
        takes_media=takes_tool_media(model),
    )
    events = astreamed(model, steps, approve)
    try:
        async for event in events:
            yield event
    finally:
        await events.aclose()  # type: ignore[attr-defined]


def tags_in(messages: Sequence[Message]) -> TagRegistry:
    """Return a registry that knows every tag and attachment in `messages`."""
    registry = TagRegistry(content_text(message.get("content")) for message in messages)
    for block in media_blocks(messages):
        registry.adopt(block.tag, block.asset)
    return registry


def takes_tool_media(model: Any) -> bool:
    """Whether a tool's result may hold attachments with this model.

    An adapter of one's own is handed them, whatever its capabilities: it makes of them what it
    can.
    """
    able = getattr(model, "capabilities", None)
    is_own = getattr(model, "provider", "custom") == "custom"
    return is_own or getattr(able, "tool_result_media", "sent") != "refused"


def normal_result(model: Any, result: Any) -> dict[str, Any]:
    """Return a `Model.invoke` result with all its keys, whoever made it.

    Raises
    ------
    ModelError
        If it is no such result.
    """
    if not isinstance(result, dict) or not isinstance(result.get("type"), ModelResponseType):
        raise ModelError(
            f"{type(model).__name__}.invoke returned {str(result)[:80]!r}; a dict with a"
            " ModelResponseType under 'type' was expected.",
            fix='return {"type": ModelResponseType.CONTENT, "content": "..."}.',
        )
    message = result.get("assistant_message")
    if isinstance(message, dict) and "finish_reason" in result:
        is_call = result["type"] is ModelResponseType.TOOL_CALL
        calls = message.get("tool_calls") or []
        if bool(calls) is is_call and all(isinstance(one, ToolCall) for one in calls):
            return {"usage": None, **result}  # made by `gather` already
    return gather(events_of(result))


def whole(model: Any, steps: Generator[Step, Any, Any], approve: Approve | None) -> Any:
    """Carry out `steps` with `model.invoke` and return what they return."""
    reply: Any = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as end:
            return end.value
        match step:
            case Ask():
                got = model.invoke(messages=step.messages, tools=step.tools, settings=step.settings)
                reply = normal_result(model, got)
            case Run():
                reply = run_tool(step, approve)
            case Retrying():
                time.sleep(step.wait)
                reply = None
            case _:
                reply = None


async def awhole(model: Any, steps: Generator[Step, Any, Any], approve: Approve | None) -> Any:
    """Like `whole`, without blocking the loop."""
    reply: Any = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as end:
            return end.value
        match step:
            case Ask():
                got = await model.ainvoke(
                    messages=step.messages, tools=step.tools, settings=step.settings
                )
                reply = normal_result(model, got)
            case Run():
                reply = await arun_tool(step, approve)
            case Retrying():
                await asyncio.sleep(step.wait)
                reply = None
            case _:
                reply = None


def streamed(model: Any, steps: Generator[Any, Any, Any], approve: Approve | None) -> Iterator[Any]:
    """Carry out `steps` with `model.stream`; yield its events and the tools', then the end."""
    reply: Any = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as end:
            yield end.value
            return
        match step:
            case Ask():
                gathering = Gathering()
                events = model.stream(step.messages, step.tools, step.settings)
                try:
                    for event in events:
                        gathering.take(event)
                        yield event
                finally:
                    getattr(events, "close", _nothing)()
                reply = gathering.result()
            case Run():
                yield ToolStarted(step.call)
                reply = run_tool(step, approve)
                yield reply
            case Retrying():
                yield step
                time.sleep(step.wait)
                reply = None
            case ToolFinished():
                yield ToolStarted(step.call)
                yield step
                reply = None


async def astreamed(
    model: Any, steps: Generator[Any, Any, Any], approve: Approve | None
) -> AsyncIterator[Any]:
    """Like `streamed`, asynchronous."""
    reply: Any = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as end:
            yield end.value
            return
        match step:
            case Ask():
                gathering = Gathering()
                events = model.astream(step.messages, step.tools, step.settings)
                try:
                    async for event in events:
                        gathering.take(event)
                        yield event
                finally:
                    if hasattr(events, "aclose"):
                        await events.aclose()
                reply = gathering.result()
            case Run():
                yield ToolStarted(step.call)
                reply = await arun_tool(step, approve)
                yield reply
            case Retrying():
                yield step
                await asyncio.sleep(step.wait)
                reply = None
            case ToolFinished():
                yield ToolStarted(step.call)
                yield step
                reply = None


def _nothing() -> None:
    pass
