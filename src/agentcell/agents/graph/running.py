"""A built graph and one input → the nodes, each as soon as those it waits for are done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from agentcell.adapters.events import Finished, Usage, total_usage
from agentcell.adapters.pricing import call_cost
from agentcell.agents.agent import Agent
from agentcell.agents.answering import StepFinished
from agentcell.agents.graph.checks import MEDIA, pulled, pushed
from agentcell.agents.graph.edges import ENTRY, EXIT, Edge
from agentcell.agents.graph.run import GraphRun, NodeRun, NodeRuns
from agentcell.agents.threads import in_thread, without_exit
from agentcell.assets.asset import MediaAsset
from agentcell.assets.coerce import coerce
from agentcell.assets.foreign import is_foreign
from agentcell.assets.wording import a_type
from agentcell.errors import AgentcellError, AnswerError, AttachmentError, FieldError, FieldMissing
from agentcell.interrupting import Interrupted
from agentcell.prompts.fields import FieldSpec, validate_field_value

_RAW = (PurePath, bytes, bytearray, memoryview)


@dataclass
class Running:
    """One run. What it changes is its own: a graph may be run from several threads at once.

    Parameters
    ----------
    nodes, order, edges
        The built graph's.
    given
        The graph's input.
    attributes
        Those of this run.
    """

    nodes: Mapping[str, Any]
    order: Sequence[str]
    edges: Sequence[Edge]
    given: Mapping[str, Any]
    attributes: Mapping[str, Any]
    outputs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: dict[str, NodeRun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._leaving: dict[str, list[Edge]] = {}
        self._reaching: dict[str, list[Edge]] = {}
        for edge in self.edges:
            self._leaving.setdefault(edge.sender, []).append(edge)
            self._reaching.setdefault(edge.receiver, []).append(edge)
        self._travelling: dict[tuple[str, str, str], Any] = {}
        self.outputs = {ENTRY: self.given}
        self.runs = {name: NodeRun(name=name) for name in self.order}

    async def run(self) -> GraphRun:
        """Run all nodes.

        Raises
        ------
        AgentcellError
            What a node raised first, with its name; those still running are stopped.
        """
        for edge in self._from(ENTRY):
            self._check(edge)  # before anything is sent
        done = {name: asyncio.Event() for name in self.order}
        tasks = [
            asyncio.create_task(self._node(name, done), name=f"graph node {name}")
            for name in self.order
        ]
        try:
            await self._all(tasks)
        except Exception as error:
            with contextlib.suppress(AttributeError):  # a class that takes no attribute
                error.graph_run = self._result({})  # type: ignore[attr-defined]
            raise
        return self._result(self._input_of(EXIT))

    def interrupted(self) -> Interrupted:
        """Return what an interrupt raises; it holds what the nodes did until then."""
        for name, run in self.runs.items():
            if run.status == "failed":  # it has not yet noticed
                self.runs[name] = replace(run, status="stopped")
        done = sum(run.status == "done" for run in self.runs.values())
        fix = "sys.last_value.graph_run holds what they did." if done else ""
        return Interrupted(
            f"after {done} of {len(self.runs)} nodes, as you asked.",
            fix=fix,
            graph_run=self._result({}),
        )

    async def _all(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for all; the first that fails ends the others."""
        ended: set[asyncio.Task[None]] = set()
        try:
            if tasks:  # else the entry leads straight to the exit
                ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if task in ended:  # what others raise while they are stopped is no reason
                task.result()

    async def _node(self, name: str, done: Mapping[str, asyncio.Event]) -> None:
        for edge in self._to(name):
            if edge.sender != ENTRY:
                await done[edge.sender].wait()
        try:
            given = self._input_of(name)
            self.runs[name] = NodeRun(name=name, status="failed", input=given)
            output = await self._step(name, given)
            self.outputs[name] = self._with_carried(name, given, output)
            for edge in self._from(name):
                self._check(edge)
        except asyncio.CancelledError:
            self.runs[name] = replace(self.runs[name], status="stopped")
            raise
        except AgentcellError as error:
            error.problem = f"Node '{name}': {error.problem}"
            raise
        except Exception as error:
            error.add_note(f"This is what node '{name}' of a graph raised.")
            raise
        self.runs[name] = replace(self.runs[name], status="done", output=self.outputs[name])
        done[name].set()

    async def _step(self, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        node = self.nodes[name]
        if isinstance(node, Agent):
            return await self._agent_step(name, node, given)
        if callable(getattr(node, "astep", None)):
            output = await without_exit(node.astep(given))
        else:
            # Not asyncio's few threads: nodes that run graphs of their own would wait for them.
            output = await in_thread(node.step, given)
        if not isinstance(output, Mapping):
            raise AnswerError(
                f"It returned {a_type(output)}; a mapping of keys to values was expected.",
                fix="let its step return a dict.",
            )
        return output

    async def _agent_step(
        self, name: str, agent: Agent, given: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        fields = {key: spec for edge in self._to(name) for key, spec in edge.keys.items()}
        events = agent.astream(given, fields=fields, outputs=self._asked_of(name))
        counted = _Counted(agent.model)
        try:
            async with aclosing(events) as coming:  # type: ignore[type-var]
                async for event in coming:
                    counted.take(event)
                    if isinstance(event, StepFinished):
                        output = event.output
        finally:
            self.runs[name] = replace(self.runs[name], usage=counted.usage, cost=counted.cost())
        return output

    def _asked_of(self, name: str) -> dict[str, FieldSpec]:
        """Return what a model is asked for: what its edges carry and it is not given itself."""
        asked: dict[str, FieldSpec] = {}
        for edge in self._from(name):
            for key, spec in edge.keys.items():
                if spec.modality in MEDIA or key in pushed(self.nodes[name]):
                    continue
                known = asked.get(key)
                texts = [one.description for one in (known, spec) if one and one.description]
                said = "; ".join(dict.fromkeys(texts))
                asked[key] = replace(known or spec, description=said)
        return asked

    def _with_carried(
        self, name: str, given: Mapping[str, Any], output: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return a node's output with the attachments that it only passes on."""
        carried = {
            key: given[key]
            for edge in self._from(name)
            for key, spec in edge.keys.items()
            if spec.modality in MEDIA and key in given and key not in output
        }
        return {**output, **carried}

    def _input_of(self, name: str) -> dict[str, Any]:
        """Return what a node is given: attributes that it declares, under what its edges bring."""
        brought: dict[str, list[Any]] = {}
        for edge in self._to(name):
            for key in edge.keys:
                value = self._travelling[edge.sender, edge.receiver, key]
                brought.setdefault(key, []).append(value)
        wanted = pulled(self.nodes.get(name))
        known = self._attributes_for(name) if wanted else {}
        own = {key: known[key] for key in wanted if key in known}
        merged = {key: many[0] if len(many) == 1 else many for key, many in brought.items()}
        return {**own, **merged}

    def _attributes_for(self, name: str) -> dict[str, Any]:
        """Return the run's attributes as a node sees them: with what those before it pushed.

        Only nodes that it waits for count, so that the speed of others changes nothing.
        """
        before = self._before(name)
        return self._pushed_by([one for one in self.order if one in before])

    def _before(self, name: str) -> set[str]:
        """Return the nodes that `name` waits for, those of others too; each is looked at once."""
        before: set[str] = set()
        left = [name]
        while left:
            senders = {edge.sender for edge in self._to(left.pop())} - before - {ENTRY}
            before |= senders
            left += senders
        return before

    def _pushed_by(self, names: Sequence[str]) -> dict[str, Any]:
        attributes = dict(self.attributes)
        for name in names:
            output = self.outputs.get(name, {})
            wanted = pushed(self.nodes[name])
            attributes |= {key: output[key] for key in wanted if key in output}
        return attributes

    def _check(self, edge: Edge) -> None:
        """Refuse what an edge cannot carry."""
        output = self.outputs[edge.sender]
        missing = [key for key in edge.keys if key not in output]
        if missing:
            what = "the input" if edge.sender == ENTRY else f"what '{edge.sender}' returned"
            has = ", ".join(map(str, output)) or "nothing"
            raise FieldMissing(
                f"The edge {edge} carries {', '.join(map(repr, missing))}, which {what} lacks;"
                f" it has {has}."[:600],
                fix="give it, or take the key from the edge.",
            )
        for key, spec in edge.keys.items():
            try:
                value = _attached(output[key], key, spec)
                validate_field_value(replace(spec, name=key), value)
            except (AttachmentError, FieldError) as error:
                error.problem = f"The edge {edge}: {error.problem}"
                raise
            self._travelling[edge.sender, edge.receiver, key] = value

    def _from(self, name: str) -> Sequence[Edge]:
        return self._leaving.get(name, ())

    def _to(self, name: str) -> Sequence[Edge]:
        return self._reaching.get(name, ())

    def _result(self, output: dict[str, Any]) -> GraphRun:
        attributes = self._pushed_by(self.order)
        runs = NodeRuns(self.runs[name] for name in self.order)
        return GraphRun(output, attributes, runs, tuple(self.edges))


def _attached(value: Any, key: str, spec: FieldSpec) -> Any:
    """Return the attachment that a value is to an agent: a path, a figure, the bytes of a file."""
    if spec.modality not in MEDIA:
        return value
    many = value if isinstance(value, (list, tuple)) else [value]
    left = [one for one in many if not isinstance(one, MediaAsset)]
    if left and all(isinstance(one, _RAW) or is_foreign(one) for one in left):
        return coerce(value, name=key, modality=spec.modality)
    return value


class _Counted:
    """What the calls of one node came to."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._call: Usage | None = None
        self._costs: list[Decimal | None] = []
        self.usage: Usage | None = None

    def take(self, event: Any) -> None:
        if isinstance(event, Usage):
            self._call = event
        elif isinstance(event, Finished):
            self.usage = total_usage(self.usage, self._call)
            self._costs.append(call_cost(self._model, self._call, event.cost))
            self._call = None

    def cost(self) -> Decimal | None:
        known = [one for one in self._costs if one is not None]
        return sum(known, Decimal(0)) if known and len(known) == len(self._costs) else None
