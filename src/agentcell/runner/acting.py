"""A model's tool calls → events, and what the model reads of each; what only reads runs at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from agentcell.agents.acting import Approve, arun_tool
from agentcell.agents.calls import failed
from agentcell.agents.exchange import Run, ToolFinished, ToolStarted, unknown_tool
from agentcell.agents.tools import Tool
from agentcell.errors import ToolError
from agentcell.messages import ToolCall
from agentcell.prompts.tags import TagRegistry

_MOST_TOLD = 5
"""Problems of one call's arguments that the model is told."""

_MOST_AT_ONCE = 32
"""Calls of one answer that run at the same time: each may be a thread."""


async def act(
    calls: Sequence[ToolCall],
    tools: Mapping[str, Tool],
    approve: Approve | None,
    tags: TagRegistry,
) -> AsyncGenerator[ToolStarted | ToolFinished]:
    """Run `calls` and yield what happens, each end as it comes.

    Parameters
    ----------
    calls
        Of one answer.
    tools
        By name; a call of another is an error that the model reads.
    approve
        See `Approve`.
    tags
        Names for attachments in results.
    """
    known = [tools.get(call.name) for call in calls]
    if len(calls) > 1 and all(tool is not None and tool.read_only for tool in known):
        async for event in _together(calls, tools, approve, tags):
            yield event
        return
    for call in calls:
        yield ToolStarted(call)
        yield await _one(call, tools, approve, tags)


async def _together(
    calls: Sequence[ToolCall],
    tools: Mapping[str, Tool],
    approve: Approve | None,
    tags: TagRegistry,
) -> AsyncGenerator[ToolStarted | ToolFinished]:
    for call in calls:
        yield ToolStarted(call)
    room = asyncio.Semaphore(_MOST_AT_ONCE)

    async def one(call: ToolCall) -> ToolFinished:
        async with room:
            return await _one(call, tools, approve, tags)

    tasks = [asyncio.ensure_future(one(call)) for call in calls]
    try:
        for ended in asyncio.as_completed(tasks):
            yield await ended
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _one(
    call: ToolCall, tools: Mapping[str, Tool], approve: Approve | None, tags: TagRegistry
) -> ToolFinished:
    tool = tools.get(call.name)
    if tool is None:
        return unknown_tool(call, tools)
    if tool.arguments is None and not call.raw_arguments:  # else its function's own check does
        problems = _problems(tool.parameters, call.arguments)
        if problems:
            error = ToolError(
                f"The arguments of '{tool.name}' are wrong: {'; '.join(problems)}.",
                fix="call it again with arguments that follow its schema.",
            )
            return ToolFinished(call, failed(error).content, is_error=True)
    return await arun_tool(Run(call, tool, tags), approve)


def _problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """Return what a JSON schema says against `arguments`; nothing where it is itself broken."""
    import jsonschema  # type: ignore[import-untyped]  # it carries no types

    validator = jsonschema.Draft202012Validator(dict(schema))
    found: list[str] = []
    try:
        for error in validator.iter_errors(dict(arguments)):
            place = "".join(f"[{part!r}]" for part in error.absolute_path)
            found.append(f"{place + ': ' if place else ''}{error.message[:200]}")
            if len(found) >= _MOST_TOLD:
                break
    except Exception:  # noqa: BLE001 (a schema that cannot be followed refuses nothing)
        return []
    return found
