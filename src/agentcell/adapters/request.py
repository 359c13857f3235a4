"""What a caller asks of a model, in all its spellings, to one checked `Request`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentcell.adapters.content import read_messages
from agentcell.adapters.parts import Turn
from agentcell.adapters.settings import Asked, Settings, read_settings
from agentcell.errors import Unsupported
from agentcell.messages import Message

if TYPE_CHECKING:
    from agentcell.adapters.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that the model may ask to have called, or a tool of the provider's own.

    Parameters
    ----------
    parameters
        A JSON schema of an object.
    strict
        Whether the provider is to enforce it.
    builtin
        The provider's own tool, as it is to be sent; then the other fields are empty.
    """

    name: str = ""
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    strict: bool = False
    builtin: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model, checked."""

    model: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    settings: Settings = field(default_factory=Settings)


def read_request(
    model: Model,
    messages: list[Message],
    tools: Sequence[Mapping[str, Any]] | None,
    settings: Mapping[str, Any] | None,
    instead: Mapping[str, str] | None = None,
) -> Request:
    """Return the request that `model` is to send, with its own settings under those given.

    Parameters
    ----------
    instead
        Settings that `model` cannot take, each with what to do instead.

    Raises
    ------
    BadRequest, Unsupported
        Before any request, for what `model` cannot take.
    """
    read = tuple(_tool(tool, model) for tool in tools or ())
    asked = Asked(model.provider, model.model_name)
    names = [tool.name for tool in read if tool.name]
    if twice := {name for name in names if names.count(name) > 1}:
        asked.refuse(f"Two tools are called {min(twice)!r}.", "give each tool a name of its own.")
    if read and not model.capabilities.tools:
        asked.refuse(f"{asked.name} calls no tools.", "leave the tools out, or use another model.")
    merged = {**model.invoke_settings, **(settings or {})}
    choices = names or [str(tool.builtin["type"]) for tool in read if tool.builtin]
    return Request(
        model=model.model_name,
        turns=tuple(read_messages(messages, model)),
        tools=read,
        settings=read_settings(merged, asked, instead=instead, tool_names=choices),
    )


def _tool(tool: object, model: Model) -> Tool:
    if isinstance(tool, Mapping):
        function = tool.get("function")
        named = function if isinstance(function, Mapping) else tool
        kind = tool.get("type", "function")
        if kind == "function" and isinstance(named.get("name"), str) and named["name"]:
            parameters = named.get("parameters") or {"type": "object", "properties": {}}
            if isinstance(parameters, Mapping):
                return Tool(
                    name=named["name"],
                    description=str(named.get("description") or ""),
                    parameters=parameters,
                    strict=named.get("strict") is True,
                )
        if isinstance(kind, str) and kind != "function":
            return Tool(builtin=dict(tool))
    raise Unsupported(
        f"{model.name} cannot take the tool {str(tool)[:80]!r}; 'name', 'description' and"
        " 'parameters' were expected.",
        fix="give a dict with these three, 'parameters' a JSON schema of an object.",
        provider=model.provider,
        model=model.model_name,
    )
