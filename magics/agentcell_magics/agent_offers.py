"""An option of `%%agent`, the variables and the files there are, to what its value may become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcell_magics.begun_line import Line
from agentcell_magics.offers import (
    Known,
    Offer,
    Offers,
    Values,
    answers_first,
    conversations,
    matching,
    models,
    names_first,
    paths,
)

_KINDS = ("IMAGE:", "PDF:", "TEXT:", "ANY:")


def _attachments(begun: str) -> Offers:
    name, equals, path = begun.partition("=")
    if equals and name.isidentifier():
        return (one.behind(f"{name}=") for one in paths(path, "media"))
    return paths(begun, "media")


def _fields(known: Known, line: Line, begun: str) -> Offers:
    name, equals, kind = begun.partition("=")
    if equals:
        found = (one for one in _KINDS if one.startswith(kind.upper()))
        return [Offer(one, "kind", goes_on=True).behind(f"{name}=") for one in found]
    offers = names_first(line.names, known.variables(), begun)
    return [Offer(f"{one.word}=", one.kind, goes_on=True) for one in offers]


def _tools(variables: Mapping[str, Any], begun: str) -> list[Offer]:
    """Offer functions, tools and servers, and behind a dot an object's methods; no classes."""
    head, dot, _ = begun.rpartition(".")
    if not dot:
        from agentcell.imaging.contract import OWN_TOOLS

        tools = _named(variables, "Tool", "McpServer")
        plain = [name for name, value in variables.items() if _is_function(value)]
        return matching(dict.fromkeys([*plain, *tools, *OWN_TOOLS]), begun, "function")
    value = variables.get(head)
    if value is None or type(value).__name__ == "McpServer":  # which would have to be started
        return []
    methods = (name for name in dir(value) if not name.startswith("_"))
    names = (name for name in methods if callable(getattr(type(value), name, None)))
    return matching((f"{head}.{name}" for name in names), begun, "function")


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


def _named(variables: Mapping[str, Any], *classes: str) -> list[str]:
    """Return the names of variables that hold one of our own classes, which stay unloaded."""
    return [
        name
        for name, value in variables.items()
        if type(value).__name__ in classes
        and type(value).__module__.partition(".")[0] == "agentcell"
    ]


def _schemas(variables: Mapping[str, Any]) -> list[str]:
    """Return classes and JSON schemas."""
    types = [name for name, value in variables.items() if isinstance(value, type)]
    return types + [name for name, value in variables.items() if isinstance(value, dict)]


def _tables(variables: Mapping[str, Any]) -> list[str]:
    """Return DataFrames, then lists of rows."""
    frames = [name for name, value in variables.items() if hasattr(value, "columns")]
    lists = [
        name
        for name, value in variables.items()
        if isinstance(value, list) and value and isinstance(value[0], Mapping)
    ]
    return frames + lists


AGENT_VALUES: dict[str, Values] = {
    "--attach": lambda _known, _line, begun: _attachments(begun),
    "--conversation": lambda known, _, begun: conversations(known, begun),
    "--each": lambda known, _, begun: matching(_tables(known.variables()), begun, "variable"),
    "--input": _fields,
    "--journal": lambda _known, _line, begun: paths(begun, "any"),
    "--model": lambda _known, _line, begun: models(begun),
    "--prompt": lambda known, _, begun: [
        *matching(_named(known.variables(), "SimplePrompt"), begun, "variable"),
        *paths(begun, "prompt"),
    ],
    "--output": lambda known, _, begun: matching(
        answers_first(known.variables()), begun, "variable"
    ),
    "--schema": lambda known, _, begun: matching(_schemas(known.variables()), begun, "type"),
    "--skill": lambda known, _, begun: [
        *matching(_named(known.variables(), "Skill"), begun, "variable"),
        *paths(begun, "folder"),
    ],
    "--tool": lambda known, _, begun: _tools(known.variables(), begun),
}
"""By an option's long form."""
