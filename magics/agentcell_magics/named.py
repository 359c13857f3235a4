"""Names on a `%%agent` line, looked up when the cell runs: tools, a schema, skills."""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentcell.agents.mcp import McpServer
from agentcell.agents.signature import name_of
from agentcell.agents.tools import Tool, as_tool, tool_of
from agentcell.errors import CellError
from agentcell.prompts.skill import Skill
from agentcell_magics.line import shown


def tools_named(
    names: Iterable[str],
    variables: Mapping[str, Any],
    own: Callable[[str], Tool | None] = lambda _: None,
) -> list[Any]:
    """Return what `-T` names: a function, a tool, a method, a server, one tool of a server.

    Parameters
    ----------
    names
        As typed: ``look_up``, ``shop.look_up``, ``files``, ``files.search``.
    variables
        The notebook's own, as they are now.
    own
        Returns a tool of the session's own, such as `view_image`, for a name that no variable has;
        None where there is none.

    Raises
    ------
    CellError
        If there is no such name, or it is nothing that a model can call.
    ToolError
        If it cannot be told to a model, or a server cannot be started.
    """
    return [_tool(name, variables, own) for name in names]


def schema_named(name: str, variables: Mapping[str, Any]) -> Any:
    """Return what `--schema` names; whether it is a schema is checked by the session.

    Raises
    ------
    CellError
        If there is no such variable.
    """
    head, _, rest = name.partition(".")
    value = _inside("--schema", name, _value("--schema", head, variables), rest)
    if value is None:
        raise CellError(
            f"--schema {shown(name)}: {shown(name)} is None; a class or a JSON schema was"
            " expected.",
            fix="name a pydantic model, a dataclass, a TypedDict or a JSON schema.",
        )
    return value


def rows_named(name: str, variables: Mapping[str, Any]) -> Any:
    """Return what `--each` names; whether it is a table is checked by who asks.

    Raises
    ------
    CellError
        If there is no such variable.
    """
    head, _, rest = name.partition(".")
    return _inside("--each", name, _value("--each", head, variables), rest)


def skills_named(given: Iterable[str], variables: Mapping[str, Any]) -> list[Any] | None:
    """Return what `--skill` names: a folder, or a variable that holds a skill.

    Returns
    -------
    list or None
        None where none is given; without any where ``--skill ""`` ends earlier ones.
    """
    given = list(given)
    if not given:
        return None
    held = [(text, variables.get(text)) for text in given if text]
    return [value if isinstance(value, Skill) else text for text, value in held]


def _tool(name: str, variables: Mapping[str, Any], own: Callable[[str], Tool | None]) -> Any:
    head, dot, rest = name.partition(".")
    if name not in variables and (found := own(name)) is not None:
        return found
    value = _value("-T", head, variables)
    if dot and isinstance(value, McpServer):
        return value[rest]
    value = _inside("-T", name, value, rest)
    if isinstance(value, (Tool, McpServer)):
        return value
    if isinstance(value, (list, tuple)):
        return [as_tool(one) for one in value]
    if not callable(value):
        raise CellError(
            f"-T {shown(name)}: {shown(name)} is {_a(value)}; a function was expected.",
            fix="name a function, a tool or an McpServer.",
        )
    plain = name_of(value)
    # What has no name of its own, such as a lambda, is called as the person calls it here.
    return as_tool(tool_of(value, name=None if plain.isidentifier() else name.replace(".", "_")))


def _value(flag: str, name: str, variables: Mapping[str, Any]) -> Any:
    if name in variables:
        return variables[name]
    if hasattr(builtins, name):
        return getattr(builtins, name)
    if not name.isidentifier():
        raise CellError(
            f"{flag} {shown(name)} is not the name of a variable.",
            fix=f"put it into a variable, for example wanted = {shown(name)}, and write"
            f" {flag} wanted.",
        )
    raise CellError(
        f"{flag} {shown(name)}: there is no variable {shown(name)!r}.",
        fix=_meant(name, variables),
    )


def _inside(flag: str, name: str, value: Any, path: str) -> Any:
    """Return what stands behind the dots: ``shop.look_up``, ``models.Receipt``."""
    for part in path.split(".") if path else ():
        held, value = value, getattr(value, part, None)
        if value is None:
            fix = _meant(part, [one for one in dir(held) if not one.startswith("_")])
            where = shown(name[: -len(part) - 1])
            raise CellError(f"{flag} {shown(name)}: {where} has no {shown(part)!r}.", fix=fix)
    return value


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else "define it in a cell above, and run that."


def _a(value: object) -> str:
    from agentcell.assets.wording import a_type

    return a_type(value)
