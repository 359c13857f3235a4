"""Nodes and edges → a graph that is checked once and run any number of times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from agentcell.agents.graph.checks import check_dead_ends, check_ends, check_media, ordered
from agentcell.agents.graph.edges import ENTRY, Edge, read_edge, read_node, unique
from agentcell.agents.graph.run import GraphRun
from agentcell.agents.graph.running import Running
from agentcell.agents.graph.template import NodeTemplate
from agentcell.agents.parts import checked_name
from agentcell.assets.wording import a_type
from agentcell.errors import FieldError, GraphNotBuilt
from agentcell.loop import LOOP
from agentcell.prompts.fields import FieldWarning
from agentcell.warned import warn

_FIRST = "build it first: graph.build()."


class RootGraph:
    """Agents that work on each other's answers, without cycles, from an entry to an exit.

    Independent branches run at the same time. Nothing of a run stays in the graph (a node's
    memory does, in the node): it may be run from several threads at once.

    Parameters
    ----------
    name
        ASCII letters, digits, ``_`` and ``-``.
    attributes
        Values that nodes find beside their edges, if their `pull_keys` name them. A node's
        `push_keys` add to them, for the nodes that wait for it and for the caller.
    edges
        ``(sender, receiver, {key: declaration})``; ``entry`` and ``exit`` are the graph's ends.
        Declarations are those of fields (``"IMAGE:Receipt"``); they tell the sending model what is
        wanted. Without keys, one named ``message`` travels. An attachment is passed on by a node
        that was given it under the same key. What two senders give under one key is a list.
    nodes
        ``(name, NodeTemplate)``; an `Agent`, or another object with a `step`, does too.

    Examples
    --------
    >>> from agentcell import Agent, LocalModel, NodeTemplate
    >>> base = NodeTemplate(Agent, model=LocalModel())
    >>> graph = RootGraph(
    ...     "two_stage",
    ...     nodes=[("find", base()), ("answer", base())],
    ...     edges=[("entry", "find", {"query": "The question"}),
    ...            ("find", "answer", {"facts": "What is known"}),
    ...            ("answer", "exit", {"answer": "The answer"})],
    ... )
    >>> graph.build()
    RootGraph('two_stage', 2 nodes, 3 edges)
    """

    def __init__(
        self,
        name: str,
        attributes: Mapping[str, Any] | None = None,
        edges: Iterable[Any] | None = None,
        nodes: Iterable[Any] | None = None,
    ) -> None:
        self.name = checked_name(name, "A graph")
        self.attributes = dict(_checked(attributes, self.name))
        self._given_nodes = list(nodes or ())
        self._given_edges = list(edges or ())
        self._built: tuple[dict[str, Any], tuple[str, ...], tuple[Edge, ...]] | None = None

    def __repr__(self) -> str:
        counts = f"{len(self._given_nodes)} nodes, {len(self._given_edges)} edges"
        return f"RootGraph({self.name!r}, {counts}{'' if self.is_built else ', not built'})"

    @property
    def is_built(self) -> bool:
        """Whether it can be run."""
        return self._built is not None

    @property
    def nodes(self) -> Mapping[str, Any]:
        """The nodes that were made, by name.

        Raises
        ------
        GraphNotBuilt
            If none were made yet.
        """
        return dict(self._parts("its nodes are not there yet")[0])

    def create_node(self, template: Any, *, name: str) -> Self:
        """Add a node; the graph must be built again.

        Parameters
        ----------
        template, name
            As in the constructor's `nodes`.
        """
        self._given_nodes.append((name, template))
        self._built = None
        return self

    def create_edge(
        self, sender: str, receiver: str, keys: Mapping[str, Any] | None = None
    ) -> Self:
        """Add an edge; the graph must be built again.

        Parameters
        ----------
        sender, receiver, keys
            As in the constructor's `edges`.
        """
        self._given_edges.append((sender, receiver) if keys is None else (sender, receiver, keys))
        self._built = None
        return self

    def build(self) -> Self:
        """Make the nodes and check that they can run; a second time does nothing.

        Raises
        ------
        AgentError
            If a name is wrong, reserved or there twice; an edge leads from or to nowhere or is
            there twice; nodes wait for each other (their path is told); the exit or a node is
            never reached; a node leads nowhere; or an edge declares an attachment that its ends
            cannot send or take. It is a `ValueError`.
        FieldError
            If a key's declaration cannot be read.
        TypeError
            If a template's option cannot be copied, or its class does not take it.
        """
        if self._built is not None:
            return self
        named = unique(read_node(one) for one in self._given_nodes)
        edges = tuple(read_edge(one) for one in self._given_edges)
        check_ends(named, edges)
        order = ordered(list(named), edges)
        nodes = {
            name: made_of.make(name) if isinstance(made_of, NodeTemplate) else made_of
            for name, made_of in named.items()
        }
        check_dead_ends(nodes, edges)
        check_media(nodes, edges)
        self._built = (nodes, order, edges)
        return self

    def invoke(
        self,
        input: Mapping[str, Any],  # noqa: A002 (what it is called everywhere)
        attributes: Mapping[str, Any] | None = None,
    ) -> GraphRun:
        """Run the graph and wait for its end; ``out, attributes = graph.invoke({...})``.

        Parameters
        ----------
        input
            Values by key, those that the entry's edges carry.
        attributes
            For this run, over the graph's own.

        Raises
        ------
        GraphNotBuilt
            Before `build`. It is a `RuntimeError`.
        FieldError
            If the input lacks a key (it is then a `KeyError` too), or a value is not of its kind;
            then nothing was sent.
        AgentcellError
            What a node raised, with its name before it. The nodes still running are stopped; what
            the others did stands in the error's `graph_run`.
        Interrupted
            Of a `KeyboardInterrupt`; its `graph_run` holds what the nodes did until then.
        """
        running = self._begun(input, attributes)
        try:
            return LOOP.run(running.run())
        except KeyboardInterrupt:
            raise running.interrupted() from None

    async def ainvoke(
        self,
        input: Mapping[str, Any],  # noqa: A002
        attributes: Mapping[str, Any] | None = None,
    ) -> GraphRun:
        """Like `invoke`, without blocking the loop.

        Parameters
        ----------
        input, attributes
            As for `invoke`.
        """
        return await self._begun(input, attributes).run()

    def _begun(self, given: Mapping[str, Any], attributes: Mapping[str, Any] | None) -> Running:
        nodes, order, edges = self._parts("it cannot run yet")
        if not isinstance(given, Mapping):
            raise FieldError(
                f"The input of graph '{self.name}' is {a_type(given)}; a mapping was expected.",
                fix='give {"query": "..."}.',
            )
        carried = {key for edge in edges if edge.sender == ENTRY for key in edge.keys}
        more = [str(key)[:40] for key in given if key not in carried]
        if more:
            warn(
                f"No edge of graph '{self.name}' carries {', '.join(more)}: it is not used.",
                FieldWarning,
            )
        own = {**self.attributes, **_checked(attributes, self.name)}
        return Running(nodes, order, edges, dict(given), own)

    def _parts(self, why: str) -> tuple[dict[str, Any], tuple[str, ...], tuple[Edge, ...]]:
        if self._built is None:
            raise GraphNotBuilt(f"Graph '{self.name}' is not built: {why}.", fix=_FIRST)
        return self._built

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from agentcell.agents.graph.drawing import graph_bundle

        if self._built is not None:
            nodes, edges = self._built[0], self._built[2]
            return graph_bundle(edges, {name: _model_of(node) for name, node in nodes.items()})
        return {"text/plain": repr(self)}


def _checked(attributes: Any, graph: str) -> Mapping[str, Any]:
    if attributes is None or isinstance(attributes, Mapping):
        return attributes or {}
    raise FieldError(
        f"The attributes of graph '{graph}' are {a_type(attributes)}; a mapping was expected.",
        fix='give {"tone": "kind"}.',
    )


def _model_of(node: Any) -> str:
    return str(getattr(getattr(node, "model", None), "name", ""))
