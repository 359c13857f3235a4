"""A graph of agents as it runs: at the same time, interrupted, of any shape, large."""

from __future__ import annotations

import asyncio
import copy
import itertools
import pickle
import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell import Agent, NodeTemplate, OpenAIModel, RootGraph
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.agents.graph import GraphRun
from agentcell.errors import AgentError, AnswerError, BadRequest, ServiceError, ToolError
from agentcell.messages import content_text
from agentcell.prompts.fields import FieldWarning
from agentcell.testing import Reply, ResponsesServer, failure
from agentcell.testing.fake_model import FakeModel
from graph_kit import LINE, Filling, graph_of

# -- how it runs


class Meeting(Filling):
    """Answers only when both branches ask at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.both = threading.Barrier(2, timeout=20)

    def invoke(self, messages: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if content_text(messages[0]["content"]) in ("left", "right"):
            self.both.wait()
        return super().invoke(messages, *args, **kwargs)


BRANCHES = [
    ("entry", "left", {"query": ""}),
    ("entry", "right", {"query": ""}),
    ("left", "join", {"l": ""}),
    ("right", "join", {"r": ""}),
    ("join", "exit", {"answer": ""}),
]


def test_independent_branches_run_at_the_same_time() -> None:
    run = graph_of(BRANCHES, model=Meeting()).build().invoke({"query": "?"})

    assert run.output == {"answer": "join:answer"}


def test_one_graph_runs_in_many_threads_at_once() -> None:
    graph = graph_of(LINE).build()

    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda n: graph.invoke({"query": n}), map(str, range(40))))

    assert [run.nodes[0].input["query"] for run in runs] == list(map(str, range(40)))


def test_it_can_be_awaited_in_a_loop() -> None:
    graph = graph_of(LINE).build()

    assert asyncio.run(graph.ainvoke({"query": "?"})) == ({"answer": "b:answer"}, {})


def test_a_node_that_fails_is_named_the_others_stop_and_the_graph_can_run_again() -> None:
    replies = (
        failure(400, message="no such thing"),
        Reply('{"facts": "x"}'),
        Reply('{"answer": "y"}'),
    )
    with ResponsesServer(*replies) as server:
        model = OpenAIModel("gpt-4.1", api_key="k", base_url=server.url)
        graph = graph_of(LINE, model=model).build()

        with pytest.raises(BadRequest, match=r"^Node 'a': .*no such thing") as caught:
            graph.invoke({"query": "?"})
        again = graph.invoke({"query": "?"})

    assert again.output == {"answer": "y"}
    run = caught.value.graph_run  # type: ignore[attr-defined]
    assert [node.status for node in run.nodes] == ["failed", "not run"]


class Hanging(Filling):
    """Its node ``left`` never answers; ``right`` fails."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped = threading.Event()

    async def astream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        if content_text(messages[0]["content"]) == "left":
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.set()
        raise ServiceError("It broke.", fix="ask again.")
        yield


def test_the_first_failure_stops_the_branches_that_still_run() -> None:
    model = Hanging()

    with pytest.raises(ServiceError, match="Node 'right': It broke"):
        graph_of(BRANCHES, model=model).build().invoke({"query": "?"})

    assert model.stopped.wait(10)


class Doubling:
    """A node of one's own: no agent, no model."""

    def __init__(self, name: str, times: int = 2) -> None:
        self.name = name
        self.times = times

    def step(self, given: Mapping[str, Any]) -> Any:
        return {"text": given["text"] * self.times} if self.times else "none"


def test_a_class_with_a_step_is_a_node_too() -> None:
    edges = [("entry", "d", {"text": ""}), ("d", "exit", {"text": ""})]
    graph = RootGraph("g", nodes=[("d", NodeTemplate(Doubling, times=3))], edges=edges).build()

    assert graph.invoke({"text": "ab"})[0] == {"text": "ababab"}

    wrong = RootGraph("g", nodes=[("d", Doubling("d", 0))], edges=edges).build()
    with pytest.raises(AnswerError, match="Node 'd': It returned a str"):
        wrong.invoke({"text": "ab"})


def test_each_node_tells_its_tokens_and_its_price() -> None:
    set_price("fake/priced", input=10, output=30)
    model = FakeModel(
        Reply('{"facts": "x"}', usage=(1000, 10)),
        Reply('{"answer": "y"}', usage=(2000, 20)),
        model_name="priced",
    )
    try:
        run = graph_of(LINE, model=model).build().invoke({"query": "?"})
    finally:
        forget_price("fake/priced")

    assert [node.usage.input_tokens for node in run.nodes if node.usage] == [1000, 2000]
    assert run.usage is not None
    assert (run.usage.input_tokens, run.usage.output_tokens) == (3000, 30)
    costs = [node.cost for node in run.nodes]
    assert costs == [Decimal("0.0103"), Decimal("0.0206")]
    assert run.cost == Decimal("0.0309")


# -- any graph


NAMES = ("a", "b", "c", "d")
ENDS = st.sampled_from(["entry", "exit", *NAMES])
EDGES = st.lists(st.tuples(ENDS, ENDS, st.sampled_from([{}, {"k": ""}, {"k": "", "m": "M"}])))


@settings(max_examples=300, deadline=None)
@given(edges=EDGES, count=st.integers(0, 4))
def test_any_graph_is_refused_with_the_reason_or_runs_to_its_end(
    edges: list[Any], count: int
) -> None:
    base = NodeTemplate(Agent, model=Filling())
    graph = RootGraph("g", nodes=[(name, base()) for name in NAMES[:count]], edges=edges)

    try:
        graph.build()
    except AgentError as error:
        assert error.problem  # noqa: PT017 (either end is right)
        assert error.fix  # noqa: PT017
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldWarning)
        run = graph.invoke({"k": "1", "m": "2"})

    assert isinstance(run, GraphRun)
    assert all(node.status == "done" for node in run.nodes)
    assert run.output.keys() == {k for e in edges if e[1] == "exit" for k in e[2]}


# -- large, deep and nested ----------------------------------------------------------------------


class Passing:
    """A node that gives on what it was given, or does `work` with it."""

    def __init__(self, name: str = "", work: Any = None) -> None:
        self.name = name
        self.work = work or dict

    def step(self, given: Mapping[str, Any]) -> Any:
        return self.work(given)


class PassingSoon(Passing):
    """The same, awaited on the loop."""

    async def astep(self, given: Mapping[str, Any]) -> Any:
        return self.work(given)


def one_node(node: Any) -> RootGraph:
    edges = [("entry", "n", {"k": ""}), ("n", "exit", {"k": ""})]
    return RootGraph("one", nodes=[("n", node)], edges=edges).build()


def side_by_side(count: int, work: Any = None) -> RootGraph:
    names = [f"n{number}" for number in range(count)]
    edges = [edge for n in names for edge in (("entry", n, {"k": ""}), (n, "exit", {"k": ""}))]
    return RootGraph("wide", nodes=[(n, Passing(n, work)) for n in names], edges=edges).build()


def test_many_ways_through_a_graph_cost_no_more_than_its_edges() -> None:
    layers = [[f"n{row}_{at}" for at in range(2)] for row in range(60)]  # 2 to the 60th paths
    edges: list[Any] = [("entry", name, {"k": ""}) for name in layers[0]]
    for above, below in itertools.pairwise(layers):
        edges += [(one, other, {"k": ""}) for one in above for other in below]
    edges += [(name, "exit", {"k": ""}) for name in layers[-1]]
    kind = NodeTemplate(Agent, model=Filling(), pull_keys={"seen": "TEXT:Seen"})
    nodes = [
        (n, kind if n == "n59_0" else Passing(n, lambda _: {"k": 1})) for r in layers for n in r
    ]

    run = RootGraph("deep", {"seen": "x"}, edges, nodes).build().invoke({"k": 1})

    assert "seen:\nx\n" in run.output["k"][0]


def test_a_chain_may_be_longer_than_python_recurses_and_given_backwards() -> None:
    names = [f"n{number}" for number in range(1200)]
    edges = [
        (one, other, {"k": ""})
        for one, other in zip(["entry", *names], [*names, "exit"], strict=True)
    ]
    nodes = [(name, Passing(name)) for name in reversed(names)]

    assert RootGraph("long", edges=edges, nodes=nodes).build().invoke({"k": 7}).output == {"k": 7}


def test_two_hundred_branches_of_own_steps_all_run_at_the_same_time() -> None:
    meeting = threading.Barrier(200, timeout=60)  # it breaks unless all of them come

    def meet(given: Mapping[str, Any]) -> dict[str, Any]:
        meeting.wait()
        return dict(given)

    assert len(side_by_side(200, meet).invoke({"k": 1}).output["k"]) == 200


def test_graphs_inside_the_steps_of_many_branches_do_not_wait_for_each_other() -> None:
    inner = side_by_side(3)

    outer = side_by_side(40, lambda given: inner.invoke(given).output)

    assert outer.invoke({"k": 1}).output == {"k": [[1, 1, 1]] * 40}


def test_a_graph_waited_for_on_the_loop_it_runs_on_is_refused_and_does_not_hang() -> None:
    inner = side_by_side(1)

    with pytest.raises(RuntimeError, match="use await instead"):
        one_node(PassingSoon(work=lambda given: inner.invoke(given).output)).invoke({"k": 1})

    assert inner.invoke({"k": 2}).output == {"k": 2}


@pytest.mark.parametrize("kind", [Passing, PassingSoon])
@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_in_a_step_is_its_nodes_failure_and_the_next_run_works(
    kind: type[Passing], raised: BaseException
) -> None:
    def leave(_: Any) -> None:
        raise raised

    said = f"Node 'n': The function ended with {type(raised).__name__}"
    with pytest.raises(ToolError, match=said):
        one_node(kind(work=leave)).invoke({"k": 1})

    assert one_node(kind()).invoke({"k": 1}).output == {"k": 1}


def test_what_is_no_error_of_ours_stays_as_it_is_with_its_node_and_run() -> None:
    def divide(_: Any) -> Any:
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        one_node(Passing(work=divide)).invoke({"k": 1})

    assert caught.value.__notes__ == ["This is what node 'n' of a graph raised."]
    assert caught.value.graph_run.nodes[0].status == "failed"  # type: ignore[attr-defined]


def test_a_branch_that_another_stopped_is_not_called_failed() -> None:
    with pytest.raises(ServiceError) as caught:
        graph_of(BRANCHES, model=Hanging()).build().invoke({"query": "?"})

    run = caught.value.graph_run  # type: ignore[attr-defined]
    assert {node.name: node.status for node in run.nodes} | {"join": ""} == {
        "left": "stopped",
        "right": "failed",
        "join": "",
    }
    assert "■ left" in run._repr_mimebundle_()["text/plain"]


def test_a_built_graph_can_be_copied_and_pickled_without_its_key() -> None:
    model = OpenAIModel("gpt-4.1", api_key="sk-never-to-be-seen-1")
    graph = graph_of(LINE, model=model).build()

    data = pickle.dumps(graph)

    assert b"never-to-be-seen" not in data
    for other in (pickle.loads(data), copy.deepcopy(graph)):  # noqa: S301 (made above)
        assert list(other.nodes) == list(graph.nodes)
        assert other.nodes["a"] is not graph.nodes["a"]
