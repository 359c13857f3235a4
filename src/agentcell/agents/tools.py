"""A Python function → a tool that a model can call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, overload

from agentcell.agents.docstring import documented
from agentcell.agents.signature import Arguments, Hidden, name_of
from agentcell.assets.wording import a_type
from agentcell.errors import ToolError

__all__ = ["Hidden", "Tool", "as_tool", "named_tools", "tool"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_GIVEN = object()


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
    read_only
        Whether a call changes nothing: such calls may run at the same time.
    arguments
        The function's parameters; without it the function is given what the model sends.
    shows_images
        Whether its purpose is to show a model an image. One that takes no media in tools' results
        is then shown them in the next user turn.

    Raises
    ------
    ToolError
        If `name` has other characters.
    """

    __node_template_scope__: ClassVar[str] = "shared"

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any] = field(repr=False)
    needs_approval: bool = False
    hidden: Mapping[str, Any] = field(default_factory=dict, repr=False)
    read_only: bool = False
    arguments: Arguments | None = field(default=None, repr=False)
    shows_images: bool = False

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
            read_only=self.read_only,
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

        Parameters
        ----------
        values
            By the parameters' names.

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
    hidden_params: Iterable[str] = (),
    needs_approval: bool = False,
    read_only: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(  # noqa: PLR0913 (each is a fact of its own about the tool)
    function: Any = _NOT_GIVEN,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    hidden: Iterable[str] | Mapping[str, Any] = (),
    hidden_params: Iterable[str] = (),
    needs_approval: bool = False,
    read_only: bool = False,
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
    hidden_params
        More of them; what other runners call `hidden`.
    needs_approval
        Whether a person must allow each call.
    read_only
        Whether a call changes nothing: `AgentRunner` runs such calls at the same time.

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
        more = [hidden_params] if isinstance(hidden_params, str) else list(hidden_params)

        def decorate(inner: Callable[..., Any]) -> Tool:
            return tool_of(
                inner,
                name=name,
                description=description,
                hidden=hidden,
                more_hidden=more,
                needs_approval=needs_approval,
                read_only=read_only,
            )

        return decorate
    return tool_of(function)


def tool_of(  # noqa: PLR0913 (see `tool`)
    function: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    hidden: Iterable[str] | Mapping[str, Any] = (),
    more_hidden: Iterable[str] = (),
    needs_approval: bool = False,
    read_only: bool = False,
) -> Tool:
    """Make a tool of `function`; parameters and errors as for `tool`."""
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    if not callable(function):
        raise ToolError(
            f"{a_type(function, start=True)} was given as a tool; a function was expected.",
            fix="give the function itself, without calling it.",
        )
    if _yields(function):
        raise ToolError(
            f"'{name_of(function)}' yields what it has; a tool returns it.",
            fix="return a list, or write a function around it that does.",
        )
    values = dict(hidden) if isinstance(hidden, Mapping) else {}
    bound = getattr(function, "keywords", None)  # of functools.partial
    names = [hidden] if isinstance(hidden, str) else list(hidden)
    names += [*more_hidden, *(bound if isinstance(bound, dict) else ())]
    arguments = Arguments(function, names)
    return Tool(
        name=name or name_of(function),
        description=documented(function)[0] if description is None else description,
        parameters=arguments.schema,
        function=function,
        needs_approval=needs_approval,
        hidden=values,
        read_only=read_only,
        arguments=arguments,
    )


def _yields(function: Any) -> bool:
    inner = function if inspect.isroutine(function) else getattr(function, "func", function)
    called = inner if inspect.isroutine(inner) else type(inner).__call__
    return inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called)


def as_tool(value: Any) -> Tool:
    """Return a `Tool` as it is, and a function as a tool.

    Parameters
    ----------
    value
        A `Tool`, or any callable with annotations.

    Raises
    ------
    ToolError
        If it is neither, is a method without its object, or lacks the value of a hidden
        parameter.
    """
    made = value if isinstance(value, Tool) else tool_of(value)
    if made.arguments and made.arguments.lacks_object(made.function):
        raise ToolError(
            f"'{made.name}' is a method, and no object was given that it belongs to.",
            fix=f"give the method of an object, for example shop.{made.name}.",
        )
    for name, parameter in (made.arguments.hidden if made.arguments else {}).items():
        if name not in made.hidden and parameter.default is parameter.empty:
            raise ToolError(
                f"Tool '{made.name}' needs a value for its hidden parameter '{name}'.",
                fix=f"give it: {made.name}.bind({name}=…), or to a runner: hidden={{'{name}': …}}.",
            )
    return made


def named_tools(values: Any, hidden: Mapping[str, Any] | None = None) -> dict[str, Tool]:
    """Return tools by name, in order.

    Parameters
    ----------
    values
        Tools and functions, MCP servers (all their tools), lists of these, or one of them; None
        gives ``{}``.
    hidden
        Values for hidden parameters, by their names, in all tools that have one of that name.

    Raises
    ------
    ToolError
        If one is none, two have the same name, or no tool has such a hidden parameter.
    """
    tools: dict[str, Tool] = {}
    unused = set(hidden or ())
    for value in _each(values):
        made = as_tool(_with_hidden(value, hidden, unused) if hidden else value)
        if made.name in tools:
            raise ToolError(
                f"Two tools are named '{made.name}'.", fix='name one: @tool(name="...").'
            )
        tools[made.name] = made
    if unused:
        raise ToolError(
            f"No tool has a hidden parameter '{min(unused)}'.",
            fix="name one of a tool's own, and hide it: @tool(hidden=[…]).",
        )
    return tools


def _with_hidden(value: Any, hidden: Mapping[str, Any], unused: set[str]) -> Tool:
    """Return a tool with the values that are meant for it, and take them from `unused`."""
    made = value if isinstance(value, Tool) else tool_of(value)
    own = {
        name: hidden[name]
        for name in (made.arguments.hidden if made.arguments else ())
        if name in hidden
    }
    unused.difference_update(own)
    return made.bind(**own) if own else made


def _each(values: Any) -> Iterator[Any]:
    """Yield tools and functions one by one; a server gives all that it has."""
    if values is None:
        return
    if hasattr(values, "as_tools"):
        yield from values.as_tools()
    elif isinstance(values, (list, tuple, set, frozenset)) or (
        isinstance(values, Iterable)
        and not callable(values)
        and not isinstance(values, (str, Tool))
    ):
        for value in values:
            yield from _each(value)
    else:
        yield values
