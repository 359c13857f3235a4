"""What every adapter must make of an answer that is well."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from agentcell.adapters.events import (
    Event,
    Finished,
    ModelResponseType,
    TextDelta,
    Usage,
    gather,
)
from agentcell.testing import Call, Reply
from agentcell.testing.conformance.check import Check, needs
from agentcell.testing.conformance.subject import HI, TOOLS, Subject


@needs("server", "options", "streaming")
def a_streamed_answer_is_the_whole_answer(subject: Subject) -> None:
    with subject.talking(Reply("Hel", "lo, ", "wörld 🎉", usage=(3, 5, 2, 1))) as (model, _):
        events = list(model.stream(HI))
        result = model.invoke(HI)

    texts = [event.text for event in events if isinstance(event, TextDelta)]
    assert texts == ["Hel", "lo, ", "wörld 🎉"]
    assert isinstance(events[-1], Finished)
    assert gather(events) == result
    assert result["type"] is ModelResponseType.CONTENT
    assert result["content"] == "Hello, wörld 🎉"
    assert result["assistant_message"]["role"] == "assistant"
    assert result["assistant_message"]["content"] == "Hello, wörld 🎉"
    assert result["finish_reason"] == "stop"
    assert result["request_id"] == "req_1"
    assert result["model"] == model.model_name
    assert result["raw_response"]
    assert result["usage"] == Usage(
        input_tokens=3, output_tokens=5, cached_tokens=2, reasoning_tokens=1
    )


@needs("server", "options", "streaming")
def asynchronous_calls_give_the_same(subject: Subject) -> None:
    async def both(model: Any) -> tuple[list[Event], dict[str, Any]]:
        return [event async for event in model.astream(HI)], await model.ainvoke(HI)

    with subject.talking(Reply("one ", "two")) as (model, _):
        expected = model.invoke(HI)
        for _ in range(2):  # a loop of its own each time, as asyncio.run makes them
            events, result = asyncio.run(both(model))
            assert gather(events) == result == expected
        gc.collect()


@needs("server", "options", "streaming")
def an_answer_without_usage_has_none(subject: Subject) -> None:
    with subject.talking(Reply("x", usage=None)) as (model, _):
        assert model.invoke(HI)["usage"] is None


@needs("server", "options", "streaming")
def thinking_is_kept_apart_from_the_answer(subject: Subject) -> None:
    with subject.talking(Reply("42", thinking=["Let me ", "think."])) as (model, _):
        result = model.invoke(HI)

    assert result["content"] == "42"
    assert result["thinking"] == "Let me think."


@needs("server", "options", "streaming")
def an_empty_answer_is_an_answer(subject: Subject) -> None:
    with subject.talking(Reply()) as (model, _):
        result = model.invoke(HI)

    assert result["type"] is ModelResponseType.CONTENT
    assert result["content"] == ""
    assert result["finish_reason"] == "stop"


@needs("server", "options", "streaming", "tools")
def a_tool_round_goes_there_and_back(subject: Subject) -> None:
    calls = [Call("weather", '{"town": "Kyōto"}', "call_a"), Call("clock", "{}", "call_b")]
    with subject.talking(Reply("Let me look.", calls=calls), "It rains.") as (model, server):
        asked = model.invoke(HI, TOOLS)
        history = [*HI, asked["assistant_message"]]
        for call_id in ("call_a", "call_b"):
            content = f"result of {call_id}"
            history.append({"role": "tool", "tool_call_id": call_id, "content": content})
        answer = model.invoke(history, TOOLS)

    assert asked["type"] is ModelResponseType.TOOL_CALL
    assert asked["finish_reason"] == "tool_calls"
    assert asked["content"] == [
        {"id": "call_a", "name": "weather", "arguments": {"town": "Kyōto"}},
        {"id": "call_b", "name": "clock", "arguments": {}},
    ]
    assert asked["assistant_message"]["content"] == "Let me look."
    assert answer["content"] == "It rains."
    sent = str(server.bodies[1])
    for expected in ("Let me look.", "call_a", "call_b", "result of call_a", "result of call_b"):
        assert expected in sent


@needs("server", "options", "streaming", "tools")
def arguments_that_are_no_json_are_kept_for_the_model(subject: Subject) -> None:
    bad = Reply(calls=[Call("weather", '{"town":')])
    with subject.talking(bad, "Sorry.") as (model, server):
        asked = model.invoke(HI, TOOLS)
        said = {"role": "tool", "tool_call_id": "call_1", "content": "no JSON"}
        answer = model.invoke([*HI, asked["assistant_message"], said], TOOLS)

    call = asked["assistant_message"]["tool_calls"][0]
    assert (call.arguments, call.raw_arguments) == ({}, '{"town":')
    assert answer["content"] == "Sorry."
    assert len(server.requests) == 2


@needs("server", "options", "streaming")
def each_way_to_end_has_its_reason(subject: Subject) -> None:
    replies = {
        "length": Reply("cut off he", finish="length"),
        "content_filter": Reply("not this", finish="content_filter"),
        "refusal": Reply(refusal="I won't."),
    }
    assert subject.server is not None
    for reason in sorted(subject.server.ends):
        reply = replies[reason]
        with subject.talking(reply) as (model, server):
            result = model.invoke(HI)
        assert result["finish_reason"] == reason
        assert result["content"] == (reply.refusal or "".join(reply.text))
        assert len(server.requests) == 1  # no failure, to be tried again


@needs("server", "options", "streaming", "tools")
def a_whole_document_is_read_where_a_stream_was_asked_for(subject: Subject) -> None:
    calls = [Call("weather", '{"town": "Oslo"}')]
    replies = [Reply("All of it.", whole=True), Reply(calls=calls, whole=True)]
    with subject.talking(*replies) as (model, _):
        text, tools = model.invoke(HI, TOOLS), model.invoke(HI, TOOLS)

    assert text["content"] == "All of it."
    assert text["usage"].output_tokens == 7
    assert tools["content"][0]["arguments"] == {"town": "Oslo"}


@needs("server", "options", "streaming")
def pieces_may_end_anywhere(subject: Subject) -> None:
    text = ("naïve ", "票据 ", "🎉 end")
    for newline in ("\n", "\r\n", "\r"):
        for split in (1, 2, 3, 7, 1000):
            reply = Reply(*text, split_bytes=split, newline=newline, comments=True)
            with subject.talking(reply) as (model, _):
                assert model.invoke(HI)["content"] == "".join(text), (newline, split)


CHECKS: list[Check] = [
    a_streamed_answer_is_the_whole_answer,
    asynchronous_calls_give_the_same,
    an_answer_without_usage_has_none,
    thinking_is_kept_apart_from_the_answer,
    an_empty_answer_is_an_answer,
    a_tool_round_goes_there_and_back,
    arguments_that_are_no_json_are_kept_for_the_model,
    each_way_to_end_has_its_reason,
    a_whole_document_is_read_where_a_stream_was_asked_for,
    pieces_may_end_anywhere,
]
