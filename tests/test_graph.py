"""Small graphs: what they refuse, what travels on an edge, what a run leaves behind."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import pickle
import re
import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_kit import blue, red
from agentcell import (
    Agent,
    Model,
    ModelResponseType,
    NodeTemplate,
    OpenAIModel,
    PdfAsset,
    RootGraph,
    SingleAgent,
)
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.agents.graph import GraphRun
from agentcell.errors import (
    AgentError,
    AnswerError,
    BadRequest,
    FieldError,
    GraphNotBuilt,
    ServiceError,
    ToolError,
)
from agentcell.messages import Message, content_text, media_blocks
from agentcell.prompts.fields import FieldWarning
from agentcell.testing import Reply, ResponsesServer, failure
from agentcell.testing.fake_model import FakeModel

_WANTED = re.compile(r"DESCRIPTIONS:\n(\{.*?\n\})", re.DOTALL)


class Filling(Model):
    """Answers with each wanted key, as ``node:key``; keeps what it was asked, by node."""

    def __init__(self, name: str = "filling") -> None:
        super().__init__(name)
        self.asked: dict[str, list[Message]] = {}

    def invoke(
        self,
        messages: list[Message],
        tools: Any = None,
        settings: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        del tools, settings, kwargs
        node = content_text(messages[0]["content"])
        self.asked[node] = messages
        found = _WANTED.search(content_text(messages[-1]["content"]))
        wanted = json.loads(found[1]) if found else {"answer": ""}
        said = json.dumps({key: f"{node}:{key}" for key in wanted})
        return {"type": ModelResponseType.CONTENT, "content": said}


def graph_of(
    edges: list[Any], *, model: Model | None = None, options: Mapping[str, Any] | None = None
) -> RootGraph:
    """Return a graph of agents whose instructions are their names."""
    base = NodeTemplate(Agent, model=model or Filling())
    ends = dict.fromkeys(str(end) for edge in edges for end in edge[:2])
    names = [name for name in ends if name not in ("entry", "exit")]
    own = options or {}
    return RootGraph(
        "g",
        nodes=[(name, base(instructions=name, **own.get(name, {}))) for name in names],
        edges=edges,
    )


LINE = [
    ("entry", "a", {"query": "The question"}),
    ("a", "b", {"facts": "What is known"}),
    ("b", "exit", {"answer": "The answer"}),
]


# -- the example


def test_the_two_stage_example_runs_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with ResponsesServer(
        Reply('{"query": "我想学习 Python", "analysis": "初学者"}'),
        Reply('{"answer": "从基础开始"}'),
    ) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "k-example")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        import os

        from agentcell import Agent, NodeTemplate, OpenAIModel, RootGraph

        model = OpenAIModel(
            api_key=os.getenv("OPENAI_API_KEY", ""),
            base_url=os.getenv("OPENAI_BASE_URL") or None,
            model_name="gpt-4o-mini",
        )
        BaseAgent = NodeTemplate(Agent, model=model)  # noqa: N806 (as written)
        g = RootGraph(
            name="qa_two_stage",
            nodes=[
                (
                    "analyze",
                    BaseAgent(
                        instructions="你是问题分析专家。", prompt_template="用户问题：{query}"
                    ),
                ),
                (
                    "answer",
                    BaseAgent(
                        instructions="你是解决方案专家。",
                        prompt_template="问题：{query}\n分析：{analysis}",
                    ),
                ),
            ],
            edges=[
                ("entry", "analyze", {"query": "用户问题"}),
                ("analyze", "answer", {"query": "原始问题", "analysis": "分析结果"}),
                ("answer", "exit", {"answer": "最终回答"}),
            ],
        )
        g.build()
        out, attributes = g.invoke({"query": "我想学习 Python，但不知道从哪里开始"})

    assert (out, attributes) == ({"answer": "从基础开始"}, {})
    first, second = (json.dumps(one.body, ensure_ascii=False) for one in server.requests)
    assert "原始问题" in first
    assert "分析结果" in first
    assert "初学者" in second
    assert "最终回答" in second


# -- what build refuses


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([("entry", "x", {}), ("x", "exit", {})], "no node of that name"),
        ([*LINE, ("a", "exti", {"k": ""})], "did you mean 'exit'"),
        ([*LINE, ("exit", "a", {"k": ""})], "nothing comes from that end"),
        ([*LINE, ("a", "entry", {"k": ""})], "nothing leads to that end"),
        ([*LINE, LINE[1]], "a → b is there twice"),
        ([*LINE, ("b", "a", {"k": ""})], "a → b → a"),
        ([*LINE, ("a", "a", {"k": ""})], "a → a"),
        ([LINE[0], LINE[1]], "The exit is never reached"),
        ([LINE[0], ("a", "exit", {"k": ""})], "'b' is never reached"),
        ([*LINE[:1], ("a", "b", {"k": ""}), ("a", "exit", {"k": ""})], "'b' leads nowhere"),
        ([("entry",)], "(sender, receiver, keys) was expected"),
        ([("entry", "a", {"k": ""}, 4)], "(sender, receiver, keys) was expected"),
        (["entry"], "(sender, receiver, keys) was expected"),
        ([("entry", 3)], "a node's name was expected"),
        ([("entry", "a", ["k"])], "a mapping of names to descriptions was expected"),
        ([("entry", "a", {3: "k"})], "a mapping of names to descriptions was expected"),
    ],
)
def test_what_cannot_run_is_refused_when_it_is_built(edges: list[Any], said: str) -> None:
    base = NodeTemplate(Agent, model=Filling())
    graph = RootGraph("g", nodes=[("a", base()), ("b", base())], edges=edges)

    with pytest.raises(AgentError, match=re.escape(said)) as caught:
        graph.build()

    assert isinstance(caught.value, ValueError)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([("entry", NodeTemplate(Agent))], "the graph's own end"),
        ([(" EXIT ", NodeTemplate(Agent))], "the graph's own end"),
        ([("a b", NodeTemplate(Agent))], "letters A to Z"),
        ([("", NodeTemplate(Agent))], "letters A to Z"),
        ([("a", NodeTemplate(Agent)), ("a", NodeTemplate(Agent))], "Two nodes are named 'a'"),
        ([("a", Agent)], "a NodeTemplate or an Agent was expected"),
        ([("a", 3)], "a NodeTemplate or an Agent was expected"),
        ([("a", NodeTemplate(dict))], "a NodeTemplate or an Agent was expected"),
        ([("a", NodeTemplate(SingleAgent))], "SingleAgent"),
        (["a"], "(name, template) was expected"),
    ],
)
def test_wrong_nodes_are_refused_when_it_is_built(nodes: list[Any], said: str) -> None:
    graph = RootGraph("g", nodes=nodes, edges=LINE)

    with pytest.raises(AgentError, match=re.escape(said)):
        graph.build()


def test_a_cycle_is_told_with_its_path_only() -> None:
    edges = [
        ("entry", "a", {"k": ""}),
        ("a", "b", {"k": ""}),
        ("b", "c", {"k": ""}),
        ("c", "d", {"k": ""}),
        ("d", "b", {"k": ""}),
        ("d", "exit", {"k": ""}),
    ]

    with pytest.raises(AgentError, match="b → c → d → b") as caught:
        graph_of(edges).build()

    assert "a →" not in caught.value.problem


def test_building_twice_makes_the_nodes_once_and_a_new_edge_asks_for_it_again() -> None:
    graph = graph_of(LINE).build()
    first = graph.nodes

    assert graph.build().nodes == first

    graph.create_edge("a", "exit", {"facts": ""})
    with pytest.raises(GraphNotBuilt):
        graph.invoke({"query": "?"})
    assert graph.build().invoke({"query": "?"})[0] == {"answer": "b:answer", "facts": "a:facts"}


def test_a_graph_that_is_not_built_says_so() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)not built.*graph\.build") as caught:
        str(graph_of(LINE).invoke({}))

    assert isinstance(caught.value, AgentError)


# -- what travels


def test_only_declared_keys_travel_and_others_are_told() -> None:
    model = Filling()
    graph = graph_of(LINE, model=model).build()

    with pytest.warns(FieldWarning, match="carries colour"):
        out, attributes = graph.invoke({"query": "why", "colour": "red"})

    assert (out, attributes) == ({"answer": "b:answer"}, {})
    assert "red" not in content_text(model.asked["a"][-1]["content"])
    second = content_text(model.asked["b"][-1]["content"])
    assert "a:facts" in second
    assert "why" not in second


def test_a_missing_key_is_a_key_error_that_names_the_key_and_the_edge() -> None:
    with pytest.raises(KeyError) as caught:
        graph_of(LINE).build().invoke({})

    assert isinstance(caught.value, FieldError)
    assert str(caught.value).startswith("The edge entry → ")
    assert "carries 'query', which the input lacks" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: RootGraph("问答"), "A graph is named '问答'; letters A to Z"),
        (lambda: RootGraph("g", nodes=[("x y", Filling())]).build(), "A node is named 'x y'"),
        (lambda: RootGraph("g", attributes=3), "attributes of graph 'g' are an int; a mapping"),  # type: ignore[arg-type]
        (lambda: graph_of(LINE).build().invoke({"query": "?"}, "kind"), "are a str; a mapping"),  # type: ignore[arg-type]
    ],
)
def test_what_a_graph_is_given_wrongly_is_told_of_the_graph(make: Any, says: str) -> None:
    with pytest.raises((AgentError, FieldError)) as caught:
        make()

    assert says in caught.value.problem


def test_an_edge_with_none_for_its_keys_is_one_without_keys() -> None:
    edges: list[Any] = [("entry", "a", None), ("a", "exit", None)]

    run = graph_of(edges).build().invoke({"message": "?"})

    assert run.output == {"message": "a:message"}


def test_a_run_tells_of_a_node_by_its_name() -> None:
    run = graph_of(LINE).build().invoke({"query": "?"})

    name = run.nodes[1].name
    assert run.nodes[name] is run.nodes[1]
    assert list(run.nodes) == [run.nodes[0], *run.nodes[1:]]
    with pytest.raises(KeyError, match="no node is named 'nobody'; there are "):
        run.nodes["nobody"]


def test_a_key_that_the_input_lacks_is_told_before_anything_is_sent() -> None:
    model = Filling()
    graph = graph_of([*LINE, ("entry", "b", {"tone": ""})], model=model).build()

    with pytest.raises(FieldError, match=r"entry → b carries 'tone'.*it has query"):
        graph.invoke({"query": "?"})

    assert model.asked == {}


def test_two_senders_of_one_key_give_a_list_in_the_order_of_the_edges() -> None:
    edges = [
        ("entry", "a", {"query": ""}),
        ("entry", "b", {"query": ""}),
        ("b", "c", {"fact": ""}),
        ("a", "c", {"fact": ""}),
        ("c", "exit", {"answer": ""}),
    ]
    run = graph_of(edges).build().invoke({"query": "?"})

    assert run.nodes[2].input == {"fact": ["b:fact", "a:fact"]}


def test_an_edge_without_keys_carries_a_message_and_an_empty_one_only_waits() -> None:
    edges = [("entry", "a"), ("a", "b", {}), ("entry", "b", {"q": ""}), ("b", "exit")]
    run = graph_of(edges).build().invoke({"message": "hi", "q": "?"})

    assert run.output == {"message": "b:message"}
    assert run.nodes[1].input == {"q": "?"}


def test_descriptions_of_one_key_on_two_edges_are_both_told() -> None:
    model = Filling()
    edges = [
        ("entry", "a", {"q": ""}),
        ("a", "b", {"fact": "in short"}),
        ("a", "exit", {"fact": "with its source"}),
        ("b", "exit", {"answer": ""}),
    ]
    graph_of(edges, model=model).build().invoke({"q": "?"})

    assert '"fact": "in short; with its source"' in content_text(model.asked["a"][-1]["content"])


# -- attachments


PICTURES = [
    ("entry", "a", {"photo": "IMAGE:The photo", "query": ""}),
    ("a", "b", {"photo": "IMAGE:The photo", "facts": ""}),
    ("b", "exit", {"answer": "", "photo": "IMAGE:The photo"}),
]


def test_an_attachment_is_passed_on_by_a_node_that_was_given_it() -> None:
    model = FakeModel('{"facts": "red"}', '{"answer": "a red square"}')
    graph = graph_of(PICTURES, model=model).build()
    photo = red()

    run = graph.invoke({"photo": photo, "query": "?"})

    assert run.output == {"answer": "a red square", "photo": photo}
    second = model.requests[1].messages[-1]
    assert [block.asset for block in media_blocks([second])] == [photo]
    assert "photo" not in json.dumps(run.nodes[0].output.get("facts"))


class Camera:
    """A node that answers with a picture."""

    def __init__(self, name: str, picture: Any) -> None:
        self.name = name
        self.picture = picture

    def step(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"img": self.picture, "of": given["place"]}


def test_two_senders_of_a_picture_under_one_key_give_two_tags() -> None:
    model = FakeModel('{"answer": "two"}')
    graph = RootGraph(
        "g",
        nodes=[
            ("left", NodeTemplate(Camera, picture=red())),
            ("right", NodeTemplate(Camera, picture=blue())),
            ("look", NodeTemplate(Agent, model=model, prompt_template="{img}")),
        ],
        edges=[
            ("entry", "left", {"place": ""}),
            ("entry", "right", {"place": ""}),
            ("left", "look", {"img": "IMAGE:图"}),
            ("right", "look", {"img": "IMAGE:图"}),
            ("look", "exit", {"answer": ""}),
        ],
    ).build()

    graph.invoke({"place": "shop"})

    assert [b.tag for b in media_blocks(model.requests[0].messages)] == ["[img_1 图]", "[img_2 图]"]


def test_a_picture_that_no_edge_brings_cannot_be_passed_on() -> None:
    model = Filling()
    edges = [
        ("entry", "a", {"left": "IMAGE:图"}),
        ("a", "c", {"img": "IMAGE:图"}),
        ("c", "exit", {"answer": ""}),
    ]
    with pytest.raises(AgentError, match=r"a → c carries 'img' as IMAGE.*pass on"):
        graph_of(edges, model=model).build()


@pytest.mark.parametrize(
    ("value", "received"), [("red.png", "TEXT"), (PdfAsset.from_url("https://e/x.pdf"), "PDF")]
)
def test_what_is_no_picture_is_refused_before_anything_is_sent(value: Any, received: str) -> None:
    model = Filling()
    graph = graph_of(PICTURES, model=model).build()

    with pytest.raises(FieldError, match=rf"entry → a: Field 'photo' .* received '{received}'"):
        graph.invoke({"photo": value, "query": "?"})

    assert model.asked == {}


def test_ends_that_declare_different_kinds_are_refused_when_it_is_built() -> None:
    with pytest.raises(AgentError, match="carries 'photo' as IMAGE, but 'a' takes it as PDF"):
        graph_of(PICTURES, options={"a": {"pull_keys": {"photo": "PDF:x"}}}).build()
    changed = [("entry", "a", {"photo": "PDF:x", "query": ""}), *PICTURES[1:]]
    with pytest.raises(AgentError, match="a → b carries 'photo' as IMAGE, but 'a' is given it as"):
        graph_of(changed).build()


# -- attributes


def test_attributes_belong_to_one_run() -> None:
    graph = graph_of(LINE, options={"a": {"pull_keys": {"tone": "How"}}})
    graph.attributes["tone"] = "plain"
    graph.build()

    first = graph.invoke({"query": "?"}, attributes={"tone": "kind", "photo": red()})
    second = graph.invoke({"query": "?"})

    assert first.nodes[0].input["tone"] == "kind"
    assert second.nodes[0].input["tone"] == "plain"
    assert second.attributes == {"tone": "plain"}


def test_what_a_node_pushes_is_seen_by_those_that_wait_for_it_alone() -> None:
    edges = [*LINE, ("entry", "c", {"query": ""}), ("c", "exit", {"more": ""})]
    pulls = {"pull_keys": {"mood": "The mood"}}
    options = {"a": {"push_keys": {"mood": "The mood"}}, "b": pulls, "c": pulls}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldWarning)  # c declares a field that nothing brings
        run = graph_of(edges, options=options).build().invoke({"query": "?"})

    by_name = {node.name: node for node in run.nodes}
    assert by_name["b"].input["mood"] == "a:mood"
    assert "mood" not in by_name["c"].input
    assert run.attributes == {"mood": "a:mood"}


def test_a_node_that_only_pushes_is_no_dead_end() -> None:
    edges = [*LINE, ("entry", "c", {"query": ""})]
    run = graph_of(edges, options={"c": {"push_keys": {"note": ""}}}).build().invoke({"query": "?"})

    assert run.attributes == {"note": "c:note"}


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
