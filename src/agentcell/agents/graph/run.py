"""What came of one run of a graph: its output, and what each node was given, said and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, SupportsIndex, overload

from agentcell.adapters.events import Usage, total_usage
from agentcell.agents.graph.edges import Edge
from agentcell.assets.wording import short


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """One node's part in a run.

    Parameters
    ----------
    name
        The node's.
    status
        ``done``, ``failed``, ``stopped`` where another's failure or an interrupt ended it, or
        ``not run`` where the graph ended before.
    input, output
        What its edges and the attributes gave, and what it returned.
    usage
        Tokens over all its calls; None where nobody counted.
    cost
        US dollars over all its calls; None where a price is not known.
    """

    name: str
    status: Literal["done", "failed", "stopped", "not run"] = "not run"
    input: Mapping[str, Any] = field(default_factory=dict, repr=False)
    output: Mapping[str, Any] = field(default_factory=dict, repr=False)
    usage: Usage | None = None
    cost: Decimal | None = None


class NodeRuns(tuple[NodeRun, ...]):
    """The nodes' parts in a run, in order; ``run.nodes["analyze"]`` is one by its name."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex | str) -> NodeRun: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[NodeRun, ...]: ...

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, str):
            return super().__getitem__(index)
        for node in self:
            if node.name == index:
                return node
        raise KeyError(f"no node is named {index!r}; there are {', '.join(n.name for n in self)}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GraphRun(Sequence[dict[str, Any]]):
    """The result of `RootGraph.invoke`: unpacks into the output and the attributes.

    Shown in a notebook it is the graph, coloured by what became of each node.

    Parameters
    ----------
    output
        What reached the exit, by key.
    attributes
        Those of this run at its end.
    nodes
        Each node's part, in the order in which they could run; also by name.
    edges
        The graph's, to draw it by.
    """

    output: dict[str, Any]
    attributes: dict[str, Any]
    nodes: NodeRuns = field(default_factory=NodeRuns)
    edges: tuple[Edge, ...] = ()

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[dict[str, Any], ...]: ...

    def __getitem__(self, index: int | slice) -> Any:
        return (self.output, self.attributes)[index]

    def __len__(self) -> int:
        return 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, GraphRun)) and (*self,) == (*other,)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        said = short(", ".join(f"{k}={v!r:.40}" for k, v in self.output.items()), 120)
        return f"GraphRun({said})"

    @property
    def usage(self) -> Usage | None:
        """Tokens over all nodes; None where nobody counted."""
        return total_usage(*(node.usage for node in self.nodes))

    @property
    def cost(self) -> Decimal | None:
        """US dollars over all nodes that ran; None where one's price is not known."""
        costs = [node.cost for node in self.nodes if node.status != "not run"]
        known = [cost for cost in costs if cost is not None]
        return sum(known, Decimal(0)) if len(known) == len(costs) else None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from agentcell.agents.graph.drawing import run_bundle

        return run_bundle(self)
