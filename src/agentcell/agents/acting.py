"""A tool call → the tool's run, if the person allows it; several calls → `tool` messages."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from agentcell.agents.calls import Outcome, arun, run
from agentcell.agents.exchange import Run, ToolFinished, unknown_tool
from agentcell.agents.tools import Tool
from agentcell.errors import ToolError
from agentcell.loop import LOOP
from agentcell.messages import Message, ToolCall
from agentcell.prompts.tags import TagRegistry

ApprovalMode: TypeAlias = Literal["ask", "run", "refuse"]
"""What becomes of every call, whatever its tool says: a person is asked, it runs, it does not."""

Approve: TypeAlias = Callable[[ToolCall, Tool], Any]
"""Asked before each call: True runs it; False, None or a text (the reason) does not."""


def run_tool(run_: Run, approve: Approve | None) -> ToolFinished:
    """Run one tool, if it may; an async `approve` is waited for."""
    began = time.perf_counter()
    if approve is not None or run_.tool.needs_approval:
        answer = approve(run_.call, run_.tool) if approve else "nobody can be asked here"
        if inspect.isawaitable(answer):
            answer = LOOP.run(_awaited(answer))
        if answer is not True:
            return _refused(run_.call, answer)
    outcome = run(run_.tool, run_.call, run_.tags)
    return _finished(run_.call, outcome, began)


async def arun_tool(run_: Run, approve: Approve | None) -> ToolFinished:
    """Like `run_tool`; a sync `approve` runs in a thread."""
    began = time.perf_counter()
    if approve is not None or run_.tool.needs_approval:
        answer: Any = "nobody can be asked here"
        if approve is not None:
            if inspect.iscoroutinefunction(approve):
                answer = await approve(run_.call, run_.tool)
            else:
                answer = await asyncio.to_thread(approve, run_.call, run_.tool)
        if answer is not True:
            return _refused(run_.call, answer)
    outcome = await arun(run_.tool, run_.call, run_.tags)
    return _finished(run_.call, outcome, began)


def answered_calls(
    given: Iterable[ToolCall | Mapping[str, Any]],
    tools: Mapping[str, Tool],
    approve: Approve | None,
) -> list[Message]:
    """Run tool calls in order and return a ``tool`` message for each; see `Agent.act`."""
    tags = TagRegistry()
    messages: list[Message] = []
    for one in given:
        call = one if isinstance(one, ToolCall) else _as_call(one)
        found = tools.get(call.name)
        finished = run_tool(Run(call, found, tags), approve) if found else unknown_tool(call, tools)
        messages.append(
            {
                "role": "tool",
                "name": call.name,
                "content": finished.content,
                "tool_call_id": call.id,
            }
        )
    return messages


def _finished(call: ToolCall, outcome: Outcome, began: float) -> ToolFinished:
    seconds = time.perf_counter() - began
    return ToolFinished(call, outcome.content, is_error=outcome.is_error, seconds=seconds)


def _refused(call: ToolCall, answer: object) -> ToolFinished:
    why = f": {answer}" if isinstance(answer, str) and answer else ""
    return ToolFinished(
        call, f"Error: the call was not allowed{why}.", is_error=True, was_refused=True
    )


async def _awaited(answer: Any) -> Any:
    return await answer


def _as_call(given: Any) -> ToolCall:
    if not isinstance(given, Mapping):
        raise ToolError(
            f"{str(given)[:60]!r} was given as a tool call; a ToolCall or a mapping was expected.",
            fix='give {"id": "1", "name": "look_up", "arguments": {}}.',
        )
    arguments = given.get("arguments") or {}
    if isinstance(arguments, str):  # as services write them
        with contextlib.suppress(ValueError):
            arguments = json.loads(arguments)
    call_id, name = str(given.get("id") or ""), str(given.get("name") or "")
    if isinstance(arguments, Mapping):
        return ToolCall(call_id, name, dict(arguments))
    return ToolCall(call_id, name, {}, str(given["arguments"]))
