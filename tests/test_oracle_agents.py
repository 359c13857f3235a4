"""Steps, services and graphs: what a peer does is matched, or bettered."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agent_kit import Replies, blue, calls, media, png, red
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.agents.agent import Agent
from agentcell.agents.graph import NodeTemplate, RootGraph
from agentcell.assets.asset import ImageAsset
from agentcell.errors import AgentError, AnswerError, ServiceError, Unsupported
from agentcell.messages import Message, media_blocks
from agentcell.testing import Call, ChatServer, FakeModel, Reply, ResponsesServer, failure
from oracle_kit import CASES, covers
from promptly import PROMPTLY

# Steps -------------------------------------------------------------------------------------


@covers("MF057")
def test_a_wrong_kind_is_told_at_once() -> None:
    model = Replies("x")
    began = time.perf_counter()

    with pytest.raises(ValueError, match="Field 'q' expects modality 'IMAGE', but received 'TEXT'"):
        Agent("a", model=model, pull_keys={"q": "IMAGE:d"}).step({"q": "text"})

    assert time.perf_counter() - began < PROMPTLY
    assert model.requests == []


@covers("MF058")
def test_a_tool_runs_once_though_the_answer_takes_three_attempts() -> None:
    ran: list[int] = []

    def charge() -> str:
        ran.append(1)
        return "charged"

    model = Replies(calls(("charge", {})), "garbage", "garbage", '{"answer": "k"}')
    agent = Agent("a", model=model, tools=[charge], push_keys={"answer": ""})

    assert agent.step({"q": "x"}) == CASES["MF058"]["observed"]["result"]
    assert (len(ran), len(model.requests)) == (1, 4)


@covers("MF059")
def test_the_eleventh_round_of_tool_calls_is_an_error() -> None:
    ran: list[int] = []

    def look() -> str:
        ran.append(1)
        return "x"

    with pytest.raises(ValueError, match="exceeded 10 rounds"):
        Agent("a", model=Replies(calls(("look", {}))), tools=[look]).step({"q": "x"})
    assert len(ran) == 10


def add(a: int, b: int = 2) -> int:
    """Add numbers.

    Args:
        a: first
        b: second
    """
    return a + b


@covers("MF060", "MF061")
def test_tool_calls_are_sent_back_with_their_turn() -> None:
    model = Replies(calls(("add", {"a": 4}), ("add", {"a": 1, "b": 3})), '{"answer": "done"}')

    out = Agent("a", "S", model=model, tools=[add]).step(
        {"q": "t"}, settings={"tool_choice": "required"}
    )

    observed = CASES["MF061"]["observed"]
    assert out == observed["result"]
    assert model.settings == CASES["MF060"]["observed"]
    assert model.tools[0] is not None
    assert model.tools[0][0]["parameters"] == observed["tools_schema"][0]["parameters"]
    sent = model.requests[1]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool"]
    assert [call.id for call in sent[2]["tool_calls"]] == ["c0", "c1"]
    assert sent[3:] == observed["second_call_messages"][2:]


@covers("MF062")
def test_a_picture_that_a_tool_returns_reaches_the_model() -> None:
    def img_tool() -> Any:
        """Show a picture."""
        return ImageAsset.from_bytes(png(255, 0, 0), filename="a.png")

    model = Replies(calls(("img_tool", {})), "x")
    Agent("a", model=model, tools=[img_tool]).step({"q": "x"})

    assert [block.tag for block in media(model.requests[1][-1])] == ["[img_tool_1 a.png]"]


@covers("MF063")
def test_an_output_that_is_an_empty_object_is_kept() -> None:
    agent = Agent("a", model=Replies('{"answer":{}}'), push_keys={"answer": ""})

    assert agent.step({"q": "x"}) == {"answer": {}}


# Services ----------------------------------------------------------------------------------


ADAPTERS: dict[str, Any] = {
    "openai": (ResponsesServer, OpenAIModel),
    "legacy": (ChatServer, LegacyOpenAIModel),
}
NORMAL = {
    "MF064": Reply("T"),
    "MF065": Reply(calls=[Call("f", '{"a": 1}', id="c1")]),
    "MF067": Reply(calls=[Call("f", "{}", id="c1"), Call("g", '{"b": [1]}', id="c2")]),
}


@covers(*NORMAL)
@pytest.mark.parametrize("name", NORMAL)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_answers_are_normalised_alike(name: str, adapter: str) -> None:
    server_kind, kind = ADAPTERS[adapter]
    observed = CASES[name]["observed"][adapter]
    with server_kind(NORMAL[name]) as server:
        model = kind("m", api_key="sk-test", base_url=server.url)
        result = model.invoke([{"role": "user", "content": "x"}], None)

        assert len(server.requests) == observed["posts"]
    assert result["type"].name == observed["type"]
    assert result["content"] == observed["content"]
    assert observed["keys"] == [key for key in observed["keys"] if key in result]
    if observed["assistant_message"]:
        message = result["assistant_message"]
        calls_sent = [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message["tool_calls"]
        ]
        assert calls_sent == observed["assistant_message"]["tool_calls"]
        assert message["content"] == observed["assistant_message"]["content"]


@covers("MF068")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_empty_answer_is_an_answer_and_is_asked_for_once(adapter: str) -> None:
    server_kind, kind = ADAPTERS[adapter]
    with server_kind(Reply("")) as server:
        model = kind("m", api_key="sk-test", base_url=server.url)

        assert Agent("a", model=model).step({"q": "x"}) == {"answer": ""}
        assert len(server.requests) == 1
        with pytest.raises(AnswerError, match="it is empty"):
            Agent("a", model=model, push_keys={"answer": ""}, max_retries=1).step({"q": "x"})


@covers("MF069")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_arguments_that_are_no_json_go_back_to_the_model(adapter: str) -> None:
    server_kind, kind = ADAPTERS[adapter]
    ran: list[Any] = []

    def f(**given: Any) -> str:
        ran.append(given)
        return "ran"

    with server_kind(Reply(calls=[Call("f", '{"a":', id="c1")]), Reply("T")) as server:
        model = kind("m", api_key="sk-test", base_url=server.url)
        out = Agent("a", model=model, tools=[f]).step({"q": "x"})
        assert len(server.requests) == 2

    assert out == {"answer": "T"}
    assert ran == []
    assert "are no JSON object" in json.dumps(server.bodies[1])


@covers("MF070")
def test_400_threads_with_one_agent_mix_up_nothing() -> None:
    def reply(messages: list[Message]) -> str:
        [block] = media(messages[-1])
        name = messages[-1]["content"][-1].text.splitlines()[1].split()[0]
        return json.dumps({"answer": [name, hashlib.sha256(block.asset.load_bytes()).hexdigest()]})

    agent = Agent("a", model=Replies(reply), prompt_template="{q} {x}", push_keys={"answer": ""})

    def work(number: int) -> bool:
        data = png(number % 256, number // 256, 7)
        out = agent.step({"q": str(number), "x": ImageAsset.from_bytes(data)})
        return bool(out["answer"] == [str(number), hashlib.sha256(data).hexdigest()])

    with ThreadPoolExecutor(400) as pool:
        assert list(pool.map(work, range(400))) == [True] * 400


@covers("MF071", "MF073")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_failing_service_is_asked_by_one_owner_of_retries(adapter: str) -> None:
    server_kind, kind = ADAPTERS[adapter]
    with server_kind(failure(500, retry_after="0")) as server:
        agent = Agent("a", model=kind("m", api_key="sk-test", base_url=server.url))

        with pytest.raises(ServiceError):
            agent.step({"q": "x"})

        assert len(server.requests) <= 3


@covers("MF099")
def test_a_setting_that_is_not_taken_costs_no_time_and_no_request() -> None:
    with ResponsesServer(Reply("x")) as server:
        model = OpenAIModel("m", api_key="sk-test", base_url=server.url)
        model.invoke([{"role": "user", "content": "x"}])  # the SDK is imported
        began = time.perf_counter()

        with pytest.raises(Unsupported, match="stop"):
            Agent("a", model=model, model_settings={"stop": ["x"]}).step({"q": "x"})

        assert time.perf_counter() - began < PROMPTLY
        assert len(server.requests) == 1


# Graphs ------------------------------------------------------------------------------------


def graph_of(model: Any, *edges: Any, **options: Any) -> RootGraph:
    return RootGraph("g", nodes=[("a", NodeTemplate(Agent, model=model, **options))], edges=edges)


@covers("MF089")
def test_a_graph_must_be_built_before_it_runs() -> None:
    with pytest.raises(RuntimeError, match="not built"):
        graph_of(FakeModel(), ("entry", "a"), ("a", "exit")).invoke({"message": "x"})


@covers("MF091")
def test_an_edge_of_two_parts_carries_a_message() -> None:
    model = FakeModel('{"message": "yo"}')

    out, _ = graph_of(model, ("entry", "a"), ("a", "exit")).build().invoke({"message": "hi"})

    assert out == CASES["MF091"]["observed"][0]
    assert CASES["MF091"]["observed"][1] in model.requests[0].messages[-1]["content"]


@covers("MF094")
def test_a_graph_whose_exit_is_never_reached_is_refused() -> None:
    with pytest.raises(AgentError, match="exit is never reached"):
        graph_of(FakeModel(), ("entry", "a")).build()


@covers("MF098")
def test_the_attributes_of_one_run_are_not_those_of_the_next() -> None:
    graph = graph_of(FakeModel('{"message": "x"}'), ("entry", "a"), ("a", "exit")).build()

    first = graph.invoke({"message": "x"}, attributes={"img": "one"})
    second = graph.invoke({"message": "x"})

    assert (first.attributes, second.attributes) == ({"img": "one"}, {})


class Camera:
    """A node that answers with a picture of its own."""

    def __init__(self, name: str, picture: ImageAsset) -> None:
        self.name = name
        self.picture = picture

    def step(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"img": self.picture, "seen": sorted(given)}


@covers("MF100")
def test_two_senders_of_a_picture_under_one_key_give_two_tags() -> None:
    model = FakeModel('{"message": "two"}')
    cameras = {"left": red(), "right": blue()}
    graph = RootGraph(
        "g",
        nodes=[
            ("a", NodeTemplate(Agent, model=model)),
            *((name, NodeTemplate(Camera, picture=one)) for name, one in cameras.items()),
        ],
        edges=[
            *(("entry", name, {}) for name in cameras),
            *((name, "a", {"img": "IMAGE:图"}) for name in cameras),
            ("a", "exit"),
        ],
    ).build()

    graph.invoke({})

    tags = [block.tag for block in media_blocks(model.requests[0].messages)]
    assert tags == CASES["MF100"]["observed"]
