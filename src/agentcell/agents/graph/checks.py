"""A graph's nodes and edges → an order in which they can run, or the reason why they cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from agentcell.agents.agent import Agent
from agentcell.agents.graph.edges import ENTRY, EXIT, Edge
from agentcell.errors import AgentError
from agentcell.modality import FieldModality
from agentcell.prompts.fields import FieldSpec

MEDIA = (FieldModality.IMAGE, FieldModality.PDF)


def check_ends(names: Iterable[str], edges: Sequence[Edge]) -> None:
    """Refuse edges that lead from or to nowhere, and those that are there twice.

    Raises
    ------
    AgentError
        Naming the edge.
    """
    senders, receivers = {ENTRY, *names}, {EXIT, *names}
    seen: set[tuple[str, str]] = set()
    for edge in edges:
        for name, known, role in (
            (edge.sender, senders, "sender"),
            (edge.receiver, receivers, "receiver"),
        ):
            if name not in known:
                raise _unknown_end(edge, name, known, role)
        if (edge.sender, edge.receiver) in seen:
            raise AgentError(
                f"The edge {edge} is there twice.", fix="put all its keys into one mapping."
            )
        seen.add((edge.sender, edge.receiver))


def _unknown_end(edge: Edge, name: str, known: Iterable[str], role: str) -> AgentError:
    if name in (ENTRY, EXIT):
        only = "nothing leads to" if name == ENTRY else "nothing comes from"
        return AgentError(
            f"The edge {edge} has '{name}' as its {role}, but {only} that end of the graph.",
            fix="turn the edge round, or name a node.",
        )
    close = get_close_matches(name, list(known), 1)
    return AgentError(
        f"The edge {edge} has '{name}' as its {role}, and there is no node of that name.",
        fix=f"did you mean '{close[0]}'?" if close else f"there are {', '.join(sorted(known))}.",
    )


def ordered(names: Sequence[str], edges: Sequence[Edge]) -> tuple[str, ...]:
    """Return the nodes so that each stands after those it waits for; otherwise as they were given.

    Raises
    ------
    AgentError
        If some wait for each other (with their path), or the exit cannot be reached, or a node is
        never reached.
    """
    waits_for: dict[str, set[str]] = {name: set() for name in names}
    for edge in edges:
        if edge.sender != ENTRY and edge.receiver != EXIT:
            waits_for[edge.receiver].add(edge.sender)
    order: list[str] = []
    placed: set[str] = set()
    left = list(names)
    while left:
        free = next((name for name in left if waits_for[name] <= placed), None)
        if free is None:
            path = " → ".join(_cycle(left, waits_for))
            raise AgentError(
                f"These nodes wait for each other: {path}.", fix="take one of the edges out."
            )
        order.append(free)
        placed.add(free)
        left.remove(free)
    _check_reached(order, edges)
    return tuple(order)


def _cycle(left: Sequence[str], waits_for: Mapping[str, set[str]]) -> list[str]:
    """Return one cycle among nodes of which each waits for another of them."""
    path = [left[0]]
    while True:
        before = next(name for name in left if name in waits_for[path[-1]])
        if before in path:
            return [before, *reversed(path[path.index(before) :])]
        path.append(before)


def _check_reached(order: Sequence[str], edges: Sequence[Edge]) -> None:
    senders: dict[str, set[str]] = {}
    for edge in edges:
        senders.setdefault(edge.receiver, set()).add(edge.sender)
    reached = {ENTRY}
    for name in [*order, EXIT]:
        if not reached.isdisjoint(senders.get(name, ())):
            reached.add(name)
    for name in order:
        if name not in reached:
            raise AgentError(
                f"Node '{name}' is never reached: no edge leads to it from the entry.",
                fix=f'add an edge such as ("entry", "{name}", {{"query": "The question"}}).',
            )
    if EXIT not in reached:
        last = order[-1] if order else ENTRY
        raise AgentError(
            "The exit is never reached: no edge leads to it.",
            fix=f'add an edge such as ("{last}", "exit", {{"answer": "The answer"}}).',
        )


def check_dead_ends(nodes: Mapping[str, Any], edges: Sequence[Edge]) -> None:
    """Refuse nodes whose work would be paid for and thrown away.

    Raises
    ------
    AgentError
        Naming the node.
    """
    senders = {edge.sender for edge in edges}
    for name, node in nodes.items():
        if name not in senders and not pushed(node):
            raise AgentError(
                f"Node '{name}' leads nowhere: what it answers would be thrown away.",
                fix=f'add an edge from it, such as ("{name}", "exit", {{"answer": "The answer"}}).',
            )


def check_media(nodes: Mapping[str, Any], edges: Sequence[Edge]) -> None:
    """Refuse attachments that an edge declares and its ends cannot send or take.

    Raises
    ------
    AgentError
        Naming the edge and the key.
    """
    for edge in edges:
        for key, spec in edge.keys.items():
            _check_sender(nodes.get(edge.sender), edge, spec, key, edges)
            _check_receiver(nodes.get(edge.receiver), edge, spec, key)


def _check_sender(
    sender: Any, edge: Edge, spec: FieldSpec, key: str, edges: Sequence[Edge]
) -> None:
    if spec.modality not in MEDIA or not isinstance(sender, Agent):
        return
    given = [e.keys[key] for e in edges if e.receiver == edge.sender and key in e.keys]
    own = pulled(sender).get(key)
    kinds = {one.modality for one in [*given, *([own] if own else [])]}
    if not kinds:
        raise AgentError(
            f"The edge {edge} carries '{key}' as {spec.modality}, but '{edge.sender}' is given none"
            " that it could pass on; a model's answer is text.",
            fix=f"let an edge bring '{key}' to '{edge.sender}', or to '{edge.receiver}' directly.",
        )
    if not kinds & {spec.modality, FieldModality.ANY}:
        raise AgentError(
            f"The edge {edge} carries '{key}' as {spec.modality}, but '{edge.sender}' is given it"
            f" as {'|'.join(sorted(map(str, kinds)))}.",
            fix="declare the same on both edges.",
        )


def _check_receiver(receiver: Any, edge: Edge, spec: FieldSpec, key: str) -> None:
    own = pulled(receiver).get(key)
    kinds = {spec.modality, own.modality} if own else {spec.modality}
    if len(kinds - {FieldModality.ANY}) > 1:
        raise AgentError(
            f"The edge {edge} carries '{key}' as {spec.modality}, but '{edge.receiver}' takes it as"
            f" {own.modality if own else spec.modality}.",
            fix="declare the same on the edge and in the node's pull_keys.",
        )


def pulled(node: Any) -> Mapping[str, FieldSpec]:
    """Return the fields that a node declares as its inputs."""
    return node.input_fields if isinstance(node, Agent) else {}


def pushed(node: Any) -> Mapping[str, FieldSpec]:
    """Return the fields that a node declares as its outputs, beside those of its edges."""
    return node.output_fields if isinstance(node, Agent) else {}
