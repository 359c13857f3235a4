"""A graph of agents: what it refuses to be, and what travels in it."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agent_kit import blue, red
from agentcell import Agent, ImageAsset, NodeTemplate, PdfAsset, RootGraph, SingleAgent
from agentcell.errors import AgentError, AttachmentError, FieldError, GraphNotBuilt
from agentcell.messages import content_text, media_blocks
from agentcell.prompts.fields import FieldWarning
from agentcell.testing import Reply, ResponsesServer
from agentcell.testing.fake_model import FakeModel
from graph_kit import LINE, Filling, graph_of

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


@pytest.mark.parametrize("kind", ["a path", "bytes", "a picture", "paths"])
def test_what_an_agent_takes_as_an_attachment_travels_along_an_edge_as_one(
    kind: str, tmp_path: Path
) -> None:
    (tmp_path / "red.png").write_bytes(red().load_bytes())
    values = {
        "a path": tmp_path / "red.png",
        "bytes": red().load_bytes(),
        "a picture": Image.new("RGB", (2, 2)),
        "paths": [tmp_path / "red.png", blue()],
    }
    model = Filling()
    edges = [
        ("entry", "a", {"photo": "IMAGE:A photo"}),
        ("a", "exit", {"photo": "IMAGE:A photo", "fact": ""}),
    ]

    run = graph_of(edges, model=model).build().invoke({"photo": values[kind]})

    assert run.output["fact"] == "a:fact"
    found = run.output["photo"]
    assets = found if isinstance(found, list) else [found]
    assert [type(one) for one in assets] == [ImageAsset] * (2 if kind == "paths" else 1)
    assert len(list(media_blocks(model.asked["a"]))) == len(assets)


def test_a_file_that_is_not_there_is_told_with_its_edge_before_anything_is_sent() -> None:
    model = Filling()
    edges = [("entry", "a", {"photo": "IMAGE:A photo"}), ("a", "exit", {"fact": ""})]

    with pytest.raises(AttachmentError, match=r"entry → a: 'photo': There is no file nope.png"):
        graph_of(edges, model=model).build().invoke({"photo": Path("nope.png")})

    assert model.asked == {}


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
