"""A model that says what it is told to, for tests of what is built on models."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest

import media
from agentcell import Session
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import (
    Event,
    Finished,
    ModelResponseType,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from agentcell.errors import RateLimited, StreamTruncated, Unsupported
from agentcell.testing import Asked, Call, FakeModel, Reply

HI = [{"role": "user", "content": "Hi"}]


def test_it_gives_its_answers_in_order_and_the_last_one_again_and_again() -> None:
    model = FakeModel("one", "two")

    assert [model.invoke(HI)["content"] for _ in range(3)] == ["one", "two", "two"]
    assert FakeModel().invoke(HI)["content"] == "Hello."
    assert FakeModel("").invoke(HI)["content"] == ""


def test_it_keeps_what_it_was_asked() -> None:
    model = FakeModel(invoke_settings={"top_p": 0.5})
    messages: list[Any] = [*HI]
    tools = [{"name": "clock", "description": "", "parameters": {}}]

    model.invoke(messages, tools, {"temperature": 0}, extra_body={"a": 1})
    messages.append("changed later")
    tools.clear()

    (asked,) = model.requests
    assert asked.messages == HI
    assert [tool["name"] for tool in asked.tools] == ["clock"]
    assert asked.settings == {"top_p": 0.5, "temperature": 0}
    assert asked.options == {"extra_body": {"a": 1}}


def test_a_call_a_reply_and_an_error_are_answers() -> None:
    reply = Reply("4", "2", thinking=["hm"], usage=(3, 2), finish="length")
    model = FakeModel(Call("weather", '{"town": "Oslo"}'), reply, RateLimited("slow", fix="wait"))

    asked, answered = model.invoke(HI), model.invoke(HI)

    assert asked["type"] is ModelResponseType.TOOL_CALL
    assert asked["content"] == [{"id": "call_1", "name": "weather", "arguments": {"town": "Oslo"}}]
    assert (answered["content"], answered["thinking"]) == ("42", "hm")
    assert answered["finish_reason"] == "length"
    assert answered["usage"] == Usage(input_tokens=3, output_tokens=2)
    assert answered["model"] == "model"
    with pytest.raises(RateLimited, match="slow"):
        model.invoke(HI)


def test_events_are_played_as_they_are() -> None:
    events: list[Event | BaseException] = [ThinkingDelta("hm"), TextDelta("a")]
    whole = FakeModel([*events, Finished(reason="stop", model="real-1")])
    broken, failing = FakeModel(events), FakeModel([*events, RateLimited("slow")])

    assert list(whole.stream(HI)) == [*events, Finished(reason="stop", model="real-1")]
    with pytest.raises(StreamTruncated):
        broken.invoke(HI)
    seen: list[Any] = []
    with pytest.raises(RateLimited):
        seen.extend(failing.stream(HI))
    assert seen == events


def test_a_function_answers_what_was_asked() -> None:
    def count(asked: Asked) -> str:
        return f"{len(asked.messages)} messages"

    model = FakeModel(count)

    assert [model.invoke(HI * n)["content"] for n in (1, 3)] == ["1 messages", "3 messages"]


def test_what_only_a_server_can_do_is_refused() -> None:
    for reply in (Reply("x", cut=1), Reply(status=500), Reply("x", split_bytes=1)):
        with pytest.raises(ValueError, match="a fake model plays"):
            FakeModel(reply)


def test_it_takes_what_it_is_said_to_take() -> None:
    model = FakeModel(capabilities=ModelCapabilities())

    with pytest.raises(Unsupported):
        Session(model).ask("What is it?", attach={"page": media.pdf()})
    assert model.requests == []


def test_an_answer_that_is_given_up_is_closed() -> None:
    model = FakeModel(Reply("one", "two", delay=0.01))

    async def first() -> Event:
        stream = model.astream(HI)
        try:
            return await anext(stream)
        finally:
            await stream.aclose()  # type: ignore[attr-defined]

    assert asyncio.run(first()) == TextDelta("one")
    assert model.closed == 1


def test_it_is_copied_with_what_is_still_to_come() -> None:
    model = FakeModel("one", "two")
    model.invoke(HI)

    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 (made here)
        assert other.invoke(HI)["content"] == "two"
    assert len(model.requests) == 1


def test_a_session_is_tested_with_it() -> None:
    model = FakeModel("The total is 42.")
    session = Session(model)

    answer = session.ask("What is the total?")

    assert answer == "The total is 42."
    assert model.requests[0].messages[-1]["content"] == "What is the total?"
