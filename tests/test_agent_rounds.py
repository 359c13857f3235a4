"""Rounds of tool calls: by an agent, and by `run_rounds`."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from agent_kit import Replies, calls, media, red
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import Finished, TextDelta, ToolCallDelta, Usage, gather
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.agents.agent import Agent
from agentcell.agents.rounds import (
    RoundsFinished,
    ToolFinished,
    ToolStarted,
    run_rounds,
)
from agentcell.agents.tools import tool
from agentcell.errors import AnswerError, ToolError
from agentcell.history.memory import HistoryMemory
from agentcell.messages import ToolCall
from agentcell.testing import Call, ChatServer, Reply

OK = '{"answer": "42"}'


class Counter:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def add(self, a: int, b: int = 2) -> int:
        """Add numbers."""
        self.calls.append((a, b))
        return a + b


def adding(*replies: Any, **options: Any) -> tuple[Agent, Replies, Counter]:
    counter, model = Counter(), Replies(*replies)
    parts: dict[str, Any] = {"push_keys": {"answer": ""}, "prompt_template": "{q}"}
    return Agent("a", "S", model=model, tools=[counter.add], **{**parts, **options}), model, counter


def test_a_round_sends_the_calls_and_their_results_in_order() -> None:
    agent, model, counter = adding(calls(("add", {"a": 4}), ("add", {"a": 1, "b": 3})), OK)

    out = agent.step({"q": "sum"})

    assert out == {"answer": "42"}
    assert counter.calls == [(4, 2), (1, 3)]
    assert model.tools[0] is not None
    assert model.tools[0][0]["name"] == "add"
    assert model.requests[1][2:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                ToolCall("c0", "add", {"a": 4}),
                ToolCall("c1", "add", {"a": 1, "b": 3}),
            ],
        },
        {"role": "tool", "tool_call_id": "c0", "name": "add", "content": "6"},
        {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "4"},
    ]


def test_a_forced_tool_choice_holds_for_the_first_round_only() -> None:
    for choice in ("required", "add", {"type": "function", "function": {"name": "add"}}):
        agent, model, _ = adding(calls(("add", {"a": 1})), "no", OK)

        agent.step({"q": "x"}, settings={"tool_choice": choice, "temperature": 0})

        assert model.settings == [
            {"tool_choice": choice, "temperature": 0},
            {"tool_choice": "auto", "temperature": 0},
            {"tool_choice": "auto", "temperature": 0},
        ]


@pytest.mark.parametrize("limit", [0, 1, 10])
def test_one_round_too_many_is_an_error(limit: int) -> None:
    agent, model, counter = adding(calls(("add", {"a": 1})), max_rounds=limit)

    with pytest.raises(AnswerError, match=f"exceeded {limit} rounds"):
        agent.step({"q": "x"})

    assert len(model.requests) == limit + 1
    assert len(counter.calls) == limit


def test_no_tool_runs_twice_for_one_answer() -> None:
    agent, model, counter = adding(calls(("add", {"a": 1})), "garbage", "garbage", OK)

    assert agent.step({"q": "x"}) == {"answer": "42"}
    assert counter.calls == [(1, 2)]
    assert len(model.requests) == 4


def test_a_model_that_calls_again_while_it_is_corrected_is_given_the_first_result() -> None:
    call = calls(("add", {"a": 1}))
    other = calls(("add", {"a": 5}))
    agent, model, counter = adding(call, "garbage", call, "garbage", other, OK)

    assert agent.step({"q": "x"}) == {"answer": "42"}
    assert counter.calls == [(1, 2), (5, 2)]
    results = [one["content"] for one in model.requests[-1] if one["role"] == "tool"]
    ids = [one["tool_call_id"] for one in model.requests[-1] if one["role"] == "tool"]
    assert results == ["3", "3", "7"]
    assert len(set(ids)) == 3


def test_a_tool_may_be_called_alike_in_two_rounds_of_one_attempt() -> None:
    call = calls(("add", {"a": 1}))
    agent, _, counter = adding(call, call, OK)

    agent.step({"q": "x"})

    assert counter.calls == [(1, 2), (1, 2)]


def test_what_goes_wrong_in_a_tool_goes_back_to_the_model() -> None:
    def broken() -> str:
        raise ValueError("the shop is closed")

    model = Replies(
        [
            {"id": "1", "name": "nope", "arguments": {}},
            {"id": "2", "name": "broken", "arguments": {}},
            {"id": "3", "name": "broken", "arguments": {"x": 1}},
            {"id": "4", "name": "broken", "arguments": '{"x": '},
        ],
        OK,
    )

    out = Agent("a", model=model, tools=[broken]).step({"q": "x"})

    assert out == {"answer": "42"}
    results = [one["content"] for one in model.requests[1] if one["role"] == "tool"]
    heads = [text.splitlines()[0].split("Extra")[0] for text in results]
    assert heads == [
        "Error: There is no tool named 'nope'.",
        "Error: ValueError: the shop is closed",
        "Error: The arguments of 'broken' cannot be used: x: ",
        "Error: The arguments of 'broken' are no JSON object: '{\"x\": '.",
    ]
    assert "the tools are: broken" in results[0]


def picture() -> Any:
    """Draw."""
    return red()


def test_a_picture_from_a_tool_is_shown_to_a_model_that_takes_it() -> None:
    model = Replies(calls(("picture", {})), OK)

    Agent("a", model=model, tools=[picture]).step({"q": "x"})

    result = model.requests[1][-1]
    assert [block.tag for block in media(result)] == ["[picture_1 image.png]"]


def test_a_picture_that_the_model_has_seen_is_named() -> None:
    model = Replies(calls(("picture", {})), OK)

    Agent("a", model=model, tools=[picture]).step({"q": "x", "photo": red()})

    assert model.requests[1][-1]["content"] == "[photo_1 photo]"


def test_a_model_whose_service_takes_no_picture_from_a_tool_is_told_what_it_was() -> None:
    class Blind(Replies):
        provider = "blind"

    model = Blind(calls(("picture", {})), OK, capabilities=ModelCapabilities())

    Agent("a", model=model, tools=[picture]).step({"q": "x"})

    content = model.requests[1][-1]["content"]
    assert content.startswith("[picture_1 image.png]\n(This model cannot be shown")
    assert "[IMAGE: image.png, 69B]" in content


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (True, "3"),
        (False, "Error: the call was not allowed."),
        (None, "Error: the call was not allowed."),
        ("not today", "Error: the call was not allowed: not today."),
    ],
)
def test_a_person_may_allow_a_call_or_not(answer: Any, content: str) -> None:
    asked: list[Any] = []

    def approve(call: ToolCall, made: Any) -> Any:
        asked.append((call.name, made.name, call.arguments))
        return answer

    agent, model, counter = adding(calls(("add", {"a": 1})), OK, approve=approve)
    agent.step({"q": "x"})

    assert asked == [("add", "add", {"a": 1})]
    assert model.requests[1][-1]["content"] == content
    assert len(counter.calls) == (answer is True)


def test_a_tool_that_needs_leave_does_not_run_where_nobody_is_asked() -> None:
    ran: list[int] = []

    @tool(needs_approval=True)
    def pay() -> str:
        ran.append(1)
        return "paid"

    model = Replies(calls(("pay", {})), OK)
    Agent("a", model=model, tools=[pay]).step({"q": "x"})

    assert ran == []
    assert "not allowed" in model.requests[1][-1]["content"]


def test_act_runs_calls_and_names_them() -> None:
    agent, _, _ = adding(OK)

    messages = agent.act(
        [{"id": "1", "name": "add", "arguments": {"a": 1}}, ToolCall("2", "nope", {})]
    )

    assert messages[0] == {"role": "tool", "name": "add", "content": "3", "tool_call_id": "1"}
    assert messages[1]["content"].startswith("Error: There is no tool named 'nope'.")


def test_think_asks_once_with_tools_and_settings() -> None:
    agent, model, _ = adding(calls(("add", {"a": 1})), model_settings={"temperature": 0})

    result = agent.think([{"role": "user", "content": "x"}], {"max_tokens": 5})

    assert result["content"] == [{"id": "c0", "name": "add", "arguments": {"a": 1}}]
    assert model.settings == [{"temperature": 0, "max_tokens": 5}]
    assert len(model.requests) == 1


def test_tool_rounds_are_not_part_of_the_remembered_turn() -> None:
    memory = HistoryMemory()
    agent, _, _ = adding(calls(("add", {"a": 1})), OK, memories=[memory])

    agent.step({"q": "x"})

    assert [message["role"] for message in memory.get_messages()] == ["user", "assistant"]


def test_usage_is_summed_over_the_calls_of_a_step() -> None:
    def said(*events: Any) -> dict[str, Any]:
        return gather([*events, Usage(input_tokens=10, output_tokens=1), Finished(reason="stop")])

    agent, _, _ = adding(
        said(ToolCallDelta(0, "i", "add", '{"a":1}')), said(TextDelta("no")), said(TextDelta(OK))
    )

    [*_, last] = agent.stream({"q": "x"})

    assert last.usage == Usage(input_tokens=30, output_tokens=3)  # type: ignore[union-attr]


def test_a_stream_shows_the_tools_as_they_run() -> None:
    agent, _, _ = adding(calls(("add", {"a": 1}), ("nope", {})), OK)

    events = [event for event in agent.stream({"q": "x"}) if not isinstance(event, Finished)]

    assert [type(event).__name__ for event in events] == [
        "ToolCallDelta",
        "ToolCallDelta",
        "ToolStarted",
        "ToolFinished",
        "ToolStarted",
        "ToolFinished",
        "TextDelta",
        "StepFinished",
    ]
    done = [event for event in events if isinstance(event, ToolFinished)]
    assert (done[0].content, done[0].is_error) == ("3", False)
    assert done[1].is_error


def collected(*args: Any, **options: Any) -> list[Any]:
    async def gather_all() -> list[Any]:
        return [event async for event in run_rounds(*args, **options)]

    return asyncio.run(gather_all())


def test_run_rounds_passes_on_events_tools_and_the_end() -> None:
    counter = Counter()
    model = Replies(calls(("add", {"a": 1})), "Three.")
    messages = [{"role": "user", "content": "x"}]

    events = collected(model, messages, [counter.add], {"tool_choice": "required"})

    assert [type(event) for event in events] == [
        ToolCallDelta,
        Finished,
        ToolStarted,
        ToolFinished,
        TextDelta,
        Finished,
        RoundsFinished,
    ]
    assert events[-1].result["content"] == "Three."
    assert [message["role"] for message in events[-1].messages] == [
        "assistant",
        "tool",
        "assistant",
    ]
    assert messages == [{"role": "user", "content": "x"}]
    assert model.settings[1] == {"tool_choice": "auto"}


def test_run_rounds_ends_with_an_error_after_the_last_round() -> None:
    with pytest.raises(AnswerError, match="exceeded 2 rounds"):
        collected(Replies(calls(("add", {"a": 1}))), [], [Counter().add], max_rounds=2)


def test_an_async_approval_is_awaited_in_both_worlds() -> None:
    async def approve(*_: Any) -> bool:
        await asyncio.sleep(0)
        return True

    call = calls(("add", {"a": 1}))
    agent, _, counter = adding(call, OK, call, OK, approve=approve)

    assert asyncio.run(agent.astep({"q": "x"})) == {"answer": "42"}
    assert agent.step({"q": "x"}) == {"answer": "42"}
    assert counter.calls == [(1, 2), (1, 2)]


def test_sync_tools_do_not_block_the_loop() -> None:
    def slow() -> str:
        time.sleep(0.2)
        return "ok"

    agent = Agent("a", model=Replies(calls(("slow", {})), *[OK] * 9), tools=[slow])

    async def beside() -> int:
        beats = 0
        task = asyncio.create_task(agent.astep({"q": "x"}))
        while not task.done():
            await asyncio.sleep(0.01)
            beats += 1
        return beats

    assert asyncio.run(beside()) > 5


def test_rounds_go_over_the_wire() -> None:
    counter = Counter()
    with ChatServer(Reply(calls=[Call("add", '{"a": 40}', id="call_9")]), Reply(OK)) as server:
        model = LegacyOpenAIModel("m", api_key="sk-test", base_url=server.url)
        out = Agent("a", "S", model=model, tools=[counter.add], push_keys={"answer": ""}).step(
            {"q": "?"}
        )

    assert out == {"answer": "42"}
    sent = server.bodies[1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[3]["tool_call_id"] == sent[2]["tool_calls"][0]["id"] == "call_9"
    assert sent[3]["content"] == "42"


def test_act_takes_arguments_as_services_write_them_and_names_what_is_no_call() -> None:
    agent, _, _ = adding()
    written = {"id": "1", "name": "add", "arguments": '{"a": 1}'}

    answers = agent.act([written, {"id": "2"}])

    assert answers[0]["content"] == "3"
    assert "There is no tool named ''" in answers[1]["content"]
    with pytest.raises(ToolError, match="'x' was given as a tool call"):
        agent.act(["x"])  # type: ignore[list-item]
