"""What a graph is given as nodes and edges → checked values, still without any order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentcell.agents.graph.template import NodeTemplate
from agentcell.agents.parts import checked_name
from agentcell.agents.single import SingleAgent
from agentcell.assets.wording import a_type
from agentcell.errors import AgentError, FieldError
from agentcell.prompts.fields import FieldSpec, normalize_field_specs

ENTRY = "entry"
EXIT = "exit"

_PARTS = (2, 3)


@dataclass(frozen=True, slots=True)
class Edge:
    """What one node gives to another.

    Parameters
    ----------
    sender, receiver
        Names; `ENTRY` and `EXIT` are the graph's own ends.
    keys
        What travels, in order. Empty: the receiver only waits for the sender.
    """

    sender: str
    receiver: str
    keys: Mapping[str, FieldSpec]

    def __str__(self) -> str:
        return f"{self.sender} → {self.receiver}"


def read_node(given: Any) -> tuple[str, Any]:
    """Return a node's name and what it is made of.

    Parameters
    ----------
    given
        ``(name, template)``; an `Agent` that was made already does too.

    Raises
    ------
    AgentError
        If it is something else, or the name cannot be a node's.
    """
    if not isinstance(given, (tuple, list)) or len(given) != 2:  # noqa: PLR2004 (name, template)
        raise AgentError(
            f"{str(given)[:60]!r} was given as a node; (name, template) was expected.",
            fix='write ("analyze", NodeTemplate(Agent, model=model)).',
        )
    name, made_of = given
    if isinstance(name, str):
        name = name.strip()
        if name.lower() in (ENTRY, EXIT):
            raise AgentError(
                f"A node is named {name!r}, which is the name of the graph's own end.",
                fix="name it otherwise.",
            )
    name = checked_name(name, "A node")
    kind = made_of.kind if isinstance(made_of, NodeTemplate) else type(made_of)
    if issubclass(kind, SingleAgent):
        raise AgentError(
            f"Node '{name}' is a SingleAgent, which declares no fields that edges could fill.",
            fix="make it an Agent.",
        )
    if isinstance(made_of, type) or not callable(getattr(kind, "step", None)):
        raise AgentError(
            f"Node '{name}' is {a_type(made_of)}; a NodeTemplate or an Agent was expected.",
            fix=f'write ("{name}", NodeTemplate(Agent, model=model)).',
        )
    return name, made_of


def read_edge(given: Any) -> Edge:
    """Return an edge.

    Parameters
    ----------
    given
        ``(sender, receiver)`` or ``(sender, receiver, {key: description})``.

    Raises
    ------
    AgentError
        If it is something else.
    FieldError
        If a key's declaration cannot be read.
    """
    if not isinstance(given, (tuple, list)) or len(given) not in _PARTS:
        raise AgentError(
            f"{str(given)[:60]!r} was given as an edge; (sender, receiver, keys) was expected.",
            fix='write ("entry", "analyze", {"query": "The question"}).',
        )
    sender, receiver = (_end(one) for one in given[:2])
    keys = given[2] if len(given) == 3 else None  # noqa: PLR2004 (keys are third)
    if keys is None:
        keys = {"message": ""}
    if not isinstance(keys, Mapping) or not all(isinstance(key, str) and key for key in keys):
        raise AgentError(
            f"The keys of the edge {sender} → {receiver} are {str(keys)[:60]!r}; a mapping of"
            " names to descriptions was expected.",
            fix='write {"query": "The question"}.',
        )
    try:
        return Edge(sender, receiver, normalize_field_specs(keys))
    except FieldError as error:
        error.problem = f"The edge {sender} → {receiver}: {error.problem}"
        raise


def _end(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise AgentError(
            f"An edge ends at {str(given)[:60]!r}; a node's name was expected.",
            fix='write ("entry", "analyze", {"query": "The question"}).',
        )
    name = given.strip()
    return name.lower() if name.lower() in (ENTRY, EXIT) else name


def unique(nodes: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return nodes by name.

    Raises
    ------
    AgentError
        If two have the same name.
    """
    named: dict[str, Any] = {}
    for name, made_of in nodes:
        if name in named:
            raise AgentError(f"Two nodes are named '{name}'.", fix="name each node once.")
        named[name] = made_of
    return named
