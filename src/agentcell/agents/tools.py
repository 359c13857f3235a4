"""A Python function → a tool that a model can call, and its result → what the model reads."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, overload

from agentcell.agents.docstring import documented
from agentcell.agents.signature import Arguments, Hidden, name_of
from agentcell.assets.asset import MediaAsset, asset_from_bytes
from agentcell.errors import AgentcellError, AttachmentError, ToolError
from agentcell.loop import LOOP
from agentcell.messages import Block, MediaMessageBlock, TextMessageBlock, ToolCall
from agentcell.prompts.tags import TagRegistry, announcement
from agentcell.prompts.values import Tree

__all__ = ["Hidden", "Tool", "acall", "as_tool", "call", "named_tools", "tool"]

MAX_NUMBERS = 10_000
"""Numbers of an array that a result may hold."""

MAX_ERROR = 2_000
"""Characters of an error that a model is shown."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_GIVEN = object()

Content: TypeAlias = str | list[Block]


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """Something that a model may call. Made by `tool` or `as_tool`.

    Parameters
    ----------
    name
        What the model calls it: 1 to 64 of ``A-Z a-z 0-9 _ -``.
    description
        When to use it, for the model.
    parameters
        A JSON schema of its arguments, an object.
    function
        What runs; sync or async.
    needs_approval
        Whether a person must allow each call.
    hidden
        Values of parameters that the model does not see.

    Raises
    ------
    ToolError
        If `name` has other characters.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any] = field(repr=False)
    needs_approval: bool = False
    hidden: Mapping[str, Any] = field(default_factory=dict, repr=False)
    arguments: Arguments | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ToolError(
                f"A tool is named {str(self.name)[:70]!r}; 1 to 64 of A-Z a-z 0-9 _ - are needed.",
                fix='name it: @tool(name="look_up").',
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it were no tool."""
        return self.function(*args, **{**self.hidden, **kwargs})

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """Make a tool of a decorated method, for the object whose method it is."""
        first = next(iter(self.arguments.parameters), None) if self.arguments else None
        holder = {"self": instance, "cls": owner}.get(first or "")
        if holder is None:
            return self
        bound = tool_of(
            self.function.__get__(holder, type(holder)),
            name=self.name,
            description=self.description,
            hidden=list(self.arguments.hidden) if self.arguments else (),
            needs_approval=self.needs_approval,
        )
        return replace(bound, hidden=self.hidden)

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, {len(self.parameters.get('properties', {}))} parameters)"

    def schema(self) -> dict[str, Any]:
        """Return what a model is told: ``{"name", "description", "parameters"}``."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }

    def bind(self, **values: Any) -> Tool:
        """Return a copy with values for hidden parameters.

        Raises
        ------
        ToolError
            If one of them is no hidden parameter.
        """
        known = self.arguments.hidden if self.arguments else {}
        for name in values:
            if name not in known:
                raise ToolError(
                    f"Tool '{self.name}' has no hidden parameter '{name}'.",
                    fix=f"it has {', '.join(known) or 'none'}.",
                )
        return replace(self, hidden={**self.hidden, **values})


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    hidden: Iterable[str] | Mapping[str, Any] = (),
    needs_approval: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Any = _NOT_GIVEN,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    hidden: Iterable[str] | Mapping[str, Any] = (),
    needs_approval: bool = False,
) -> Any:
    """Make a tool of a function; as ``@tool`` or as ``@tool(name="look_up")``.

    Parameters
    ----------
    function
        Its annotations give the arguments' types (text, numbers, ``Literal``, ``Enum``, lists,
        dataclasses, pydantic models, …), its docstring the descriptions.
    name, description
        In the place of the function's own.
    hidden
        Parameters that the model does not see, or a mapping of them to their values. Those marked
        ``Annotated[Type, Hidden]`` or beginning with ``_`` are hidden too.
    needs_approval
        Whether a person must allow each call.

    Returns
    -------
    Tool
        It can still be called like the function.

    Raises
    ------
    ToolError
        If its name or a parameter's type cannot be told to a model.

    Examples
    --------
    >>> @tool
    ... def add(a: int, b: int = 2) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add.schema()["parameters"]["required"]
    ['a']
    """
    if function is _NOT_GIVEN:

        def decorate(inner: Callable[..., Any]) -> Tool:
            return tool_of(
                inner,
                name=name,
                description=description,
                hidden=hidden,
                needs_approval=needs_approval,
            )

        return decorate
    return tool_of(function)


def tool_of(
    function: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    hidden: Iterable[str] | Mapping[str, Any] = (),
    needs_approval: bool = False,
) -> Tool:
    """Make a tool of `function`; parameters and errors as for `tool`."""
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    if not callable(function):
        raise ToolError(
            f"A {type(function).__name__} was given as a tool; a function was expected.",
            fix="give the function itself, without calling it.",
        )
    values = dict(hidden) if isinstance(hidden, Mapping) else {}
    bound = getattr(function, "keywords", None)  # of functools.partial
    if isinstance(bound, dict):
        hidden = [*hidden, *bound]
    arguments = Arguments(function, [hidden] if isinstance(hidden, str) else list(hidden))
    return Tool(
        name=name or name_of(function),
        description=documented(function)[0] if description is None else description,
        parameters=arguments.schema,
        function=function,
        needs_approval=needs_approval,
        hidden=values,
        arguments=arguments,
    )


def as_tool(value: Any) -> Tool:
    """Return a `Tool` as it is, and a function as a tool.

    Raises
    ------
    ToolError
        If it is neither, or lacks the value of a hidden parameter.
    """
    made = value if isinstance(value, Tool) else tool_of(value)
    for name, parameter in (made.arguments.hidden if made.arguments else {}).items():
        if name not in made.hidden and parameter.default is parameter.empty:
            raise ToolError(
                f"Tool '{made.name}' needs a value for its hidden parameter '{name}'.",
                fix=f"give it: {made.name}.bind({name}=...).",
            )
    return made


def named_tools(values: Any) -> dict[str, Tool]:
    """Return one or several tools by name, in order; None gives ``{}``.

    Raises
    ------
    ToolError
        If two have the same name.
    """
    tools: dict[str, Tool] = {}
    one = isinstance(values, Tool) or callable(values)
    for value in [values] if one else values or ():
        made = as_tool(value)
        if made.name in tools:
            raise ToolError(
                f"Two tools are named '{made.name}'.", fix='name one: @tool(name="...").'
            )
        tools[made.name] = made
    return tools


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a model reads of a call, and whether it is an error."""

    content: Content
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
    """Like `call`; a tool that is no coroutine runs in a thread."""
    return (await arun(tool, request, tags)).content


def run(tool: Tool, request: ToolCall, tags: TagRegistry | None = None) -> Outcome:
    """Like `call`, and say whether it went wrong."""
    try:
        by_place, by_name = _prepared(tool, request)
        result = tool.function(*by_place, **by_name)
        if inspect.isawaitable(result):
            result = LOOP.run(_awaited(result))
        return Outcome(result_content(tool.name, result, tags))
    except Exception as error:  # noqa: BLE001 (whatever a tool raises, the model is told)
        return failed(error)


async def arun(tool: Tool, request: ToolCall, tags: TagRegistry | None = None) -> Outcome:
    """Like `acall`, and say whether it went wrong."""
    try:
        by_place, by_name = _prepared(tool, request)
        if inspect.iscoroutinefunction(tool.function):
            result = await tool.function(*by_place, **by_name)
        else:
            result = await asyncio.to_thread(tool.function, *by_place, **by_name)
            if inspect.isawaitable(result):
                result = await result
        return Outcome(result_content(tool.name, result, tags))
    except Exception as error:  # noqa: BLE001 (whatever a tool raises, the model is told)
        return failed(error)


def failed(error: Exception) -> Outcome:
    """Return what a model reads of an error: its kind and its text, no stack."""
    if isinstance(error, AgentcellError):
        text = f"Error: {error}"
    else:
        text = f"Error: {type(error).__name__}: {error}"
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


async def _awaited(result: Any) -> Any:
    return await result
