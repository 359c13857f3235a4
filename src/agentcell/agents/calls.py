"""A model's call of a tool → the tool's run, and what the model reads of its result."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agentcell.agents.threads import in_thread, without_exit
from agentcell.agents.tools import Tool
from agentcell.agents.untellable import told
from agentcell.assets.asset import MediaAsset, asset_from_bytes
from agentcell.errors import AgentcellError, AttachmentError, Stopped, ToolError
from agentcell.loop import LOOP
from agentcell.messages import Block, MediaMessageBlock, TextMessageBlock, ToolCall
from agentcell.prompts.tags import TagRegistry, announcement
from agentcell.prompts.values import Tree

MAX_NUMBERS = 10_000
"""Numbers of an array that a result may hold."""

MAX_TEXT = 400_000
"""Characters of a result that a model is shown: about 100,000 tokens."""

MAX_ERROR = 2_000
"""Characters of an error that a model is shown."""

Content: TypeAlias = str | list[Block]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a model reads of a call, and whether it is an error."""

    content: Content = field(repr=False)
    is_error: bool = False


def call(tool: Tool, request: ToolCall, tags: TagRegistry | None = None) -> Content:
    """Run a tool as a model asked, and return what the model reads.

    Parameters
    ----------
    tool
        What is called.
    request
        With the arguments that the model chose.
    tags
        Names for attachments in the result; a registry of its own by default.

    Returns
    -------
    str or list of blocks
        Text; blocks where the result holds attachments. An exception in the tool, or arguments
        that do not fit, become a text that begins with ``Error``: the model can do better.
    """
    return run(tool, request, tags).content


async def acall(tool: Tool, request: ToolCall, tags: TagRegistry | None = None) -> Content:
    """Like `call`; a tool that is no coroutine runs in a thread.

    Parameters
    ----------
    tool, request, tags
        As for `call`.
    """
    return (await arun(tool, request, tags)).content


def run(tool: Tool, request: ToolCall, tags: TagRegistry | None = None) -> Outcome:
    """Like `call`, and say whether it went wrong."""
    try:
        by_place, by_name = _prepared(tool, request)
        result = tool.function(*by_place, **by_name)
        if inspect.isawaitable(result):
            result = LOOP.run(without_exit(result))
        return Outcome(result_content(tool.name, result, tags))
    except KeyboardInterrupt:
        raise
    except (
        Stopped
    ):  # of a question that the tool asked: the person stopped the cell, with all in it
        raise KeyboardInterrupt from None
    except BaseException as error:  # noqa: BLE001 (whatever it is, the model is told)
        return failed(error)


async def arun(tool: Tool, request: ToolCall, tags: TagRegistry | None = None) -> Outcome:
    """Like `acall`, and say whether it went wrong."""
    try:
        by_place, by_name = _prepared(tool, request)
        if inspect.iscoroutinefunction(tool.function):
            result = await without_exit(tool.function(*by_place, **by_name))
        else:
            result = await in_thread(tool.function, *by_place, **by_name)
            if inspect.isawaitable(result):
                result = await without_exit(result)
        return Outcome(result_content(tool.name, result, tags))
    except Exception as error:  # noqa: BLE001 (whatever it is, the model is told)
        return failed(error)


def failed(error: BaseException) -> Outcome:
    """Return what a model reads of an error: its kind and its text, no stack."""
    text = f"Error: {error if isinstance(error, AgentcellError) else told(error)}"
    return Outcome(text if len(text) <= MAX_ERROR else text[: MAX_ERROR - 1] + "…", is_error=True)


def result_content(name: str, result: Any, tags: TagRegistry | None = None) -> Content:
    """Return a tool's result as text, or as blocks where it holds attachments.

    Raises
    ------
    AgentcellError
        If it has no text of its own.
    """
    tree = Tree(result, name, _result_leaf(name))
    registry = tags or TagRegistry()
    blocks: list[Block] = []

    def tag_of(asset: MediaAsset) -> str:
        label = asset.default_filename
        tag, is_new = registry.reserve(asset, name, label)
        if is_new:
            block = MediaMessageBlock(asset, name, tag, label)
            blocks.extend([TextMessageBlock(announcement(block)), block])
        return tag

    text = "null" if result is None else tree.render(tag_of)
    more = len(text) - MAX_TEXT
    if more > 0:
        text = f"{text[:MAX_TEXT]}\n(Cut here: {more:,} characters more. Ask for less at once.)"
    return [*blocks, TextMessageBlock(text)] if blocks else text


def _result_leaf(name: str) -> Callable[[object], Any]:
    """Return what makes attachments or text of pictures, figures, tables, … in a result."""

    def made(value: object) -> Any:
        from agentcell.assets.coerce import coerce  # most tools return text and numbers

        if isinstance(value, os.PathLike):  # a name: what a tool wants to show, it returns
            return os.fsdecode(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return _asset_of(name, bytes(value))
        numbers = getattr(value, "tolist", None)
        shape = getattr(value, "shape", None)
        if callable(numbers) and isinstance(shape, tuple) and not _is_picture(value):
            if math.prod(shape) > MAX_NUMBERS:
                raise ToolError(
                    f"The tool '{name}' returned {math.prod(shape):,} numbers; at most"
                    f" {MAX_NUMBERS:,} are shown to a model.",
                    fix="return a summary of them, or a picture.",
                )
            return numbers()
        return coerce(value, name=name)

    return made


def _is_picture(array: Any) -> bool:
    """Whether an array's shape and type are those of a colour picture, and not of numbers."""
    shape = array.shape
    return str(array.dtype) == "uint8" and len(shape) == 3 and shape[2] in {3, 4}  # noqa: PLR2004


def _asset_of(name: str, data: bytes) -> MediaAsset:
    try:
        return asset_from_bytes(data)
    except AttachmentError as error:
        raise ToolError(
            f"The tool '{name}' returned {len(data):,} bytes that are no image or PDF.",
            fix="return text, or an ImageAsset or PdfAsset.",
        ) from error


def _prepared(tool: Tool, request: ToolCall) -> tuple[list[Any], dict[str, Any]]:
    if request.raw_arguments:
        raise ToolError(
            f"The arguments of '{tool.name}' are no JSON object: {request.raw_arguments[:200]!r}.",
            fix="call it again with one JSON object.",
        )
    if tool.arguments is None:
        return [], {**request.arguments, **tool.hidden}
    values = {**tool.arguments.check(request.arguments), **tool.hidden}
    return tool.arguments.bind(values)
