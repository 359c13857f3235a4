"""The events of Anthropic's Messages, in the shapes in which the service sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcell.adapters.anthropic_decoder import decode
from agentcell.adapters.events import Citation, Event, TextDelta, ThinkingDelta, Usage, gather
from agentcell.errors import Overloaded, StreamTruncated


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def start(**fields: Any) -> str:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    return event("message_start", message={**head, **fields})


def block(index: int, kind: str, *deltas: dict[str, Any], **fields: Any) -> list[str]:
    first = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}.get(kind, {})
    return [
        event("content_block_start", index=index, content_block={"type": kind, **first, **fields}),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def text(index: int, *pieces: str) -> list[str]:
    return block(index, "text", *({"type": "text_delta", "text": piece} for piece in pieces))


def end(reason: str = "end_turn", **fields: Any) -> list[str]:
    usage = fields.pop("usage", {"output_tokens": 5})
    delta = {"stop_reason": reason, "stop_sequence": None, **fields}
    return [event("message_delta", delta=delta, usage=usage), event("message_stop")]


def result_of(*lines: str) -> dict[str, Any]:
    return gather(decode(lines))


def opaque_of(result: dict[str, Any]) -> list[Any]:
    return [part["item"] for part in result["assistant_message"].get("opaque", [])]


def test_usage_counts_the_cache_and_what_comes_last() -> None:
    first = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 3,
        "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2},
        "cache_read_input_tokens": 20,
        "output_tokens": 1,
    }
    last = {
        "input_tokens": None,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 30},
    }

    result = result_of(start(usage=first), *text(0, "Hi"), *end(usage=last))

    assert result["usage"] == Usage(
        input_tokens=33,
        output_tokens=50,
        cached_tokens=20,
        reasoning_tokens=30,
        cache_write_tokens=3,
        hour_cache_write_tokens=2,
    )
    assert result["raw_response"]["usage"]["output_tokens"] == 50


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause_turn"),
        ("something_new", "something_new"),
    ],
)
def test_each_end_is_translated_or_kept(told: str, reason: str) -> None:
    assert result_of(start(), *text(0, "x"), *end(told))["finish_reason"] == reason


def test_a_refusal_without_text_says_why_and_one_with_text_keeps_it() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "This may do harm."}

    silent = result_of(start(), *end("refusal", stop_details=details))
    partial = result_of(start(), *text(0, "First,"), *end("refusal", stop_details=details))

    assert (silent["content"], silent["finish_reason"]) == ("This may do harm.", "refusal")
    assert (partial["content"], partial["finish_reason"]) == ("First,", "refusal")
    assert silent["raw_response"]["stop_details"]["category"] == "bio"
    assert result_of(start(), *end("refusal", stop_details=None))["content"] == ""


def test_parallel_calls_do_not_mix_and_their_empty_first_pieces_say_nothing() -> None:
    def piece(text: str) -> dict[str, Any]:
        return {"type": "input_json_delta", "partial_json": text}

    calls = [
        *block(0, "tool_use", piece(""), piece('{"a"'), piece(":1}"), id="t1", name="f", input={}),
        *block(1, "tool_use", piece(""), id="t2", name="g", input={}),
        *block(2, "tool_use", id="t3", name="h", input={"whole": True}),
    ]

    result = result_of(start(), *calls, *end("tool_use"))

    assert result["content"] == [
        {"id": "t1", "name": "f", "arguments": {"a": 1}},
        {"id": "t2", "name": "g", "arguments": {}},
        {"id": "t3", "name": "h", "arguments": {"whole": True}},
    ]
    assert result["finish_reason"] == "tool_calls"
    assert opaque_of(result) == []
    assert result["raw_response"]["content"][0]["input"] == {"a": 1}


def test_thinking_is_kept_with_its_seal_also_where_nothing_of_it_is_shown() -> None:
    sealed = {"type": "signature_delta", "signature": "Eq1"}
    more = {"type": "signature_delta", "signature": "Bcg"}
    lines = [
        start(),
        *block(0, "thinking", {"type": "thinking_delta", "thinking": "Hm."}, sealed, more),
        *block(1, "thinking", sealed),
        *block(2, "redacted_thinking", data="zzz"),
        *text(3, "42"),
        *end(),
    ]

    result = result_of(*lines)

    assert (result["thinking"], result["content"]) == ("Hm.", "42")
    assert opaque_of(result) == [
        {"type": "thinking", "thinking": "Hm.", "signature": "Eq1Bcg"},
        {"type": "thinking", "thinking": "", "signature": "Eq1"},
        {"type": "redacted_thinking", "data": "zzz"},
        {"type": "text", "length": 2},
    ]


def test_thinking_that_was_cut_before_its_seal_is_shown_but_not_sent_back() -> None:
    thought = {"type": "thinking_delta", "thinking": "Hm"}

    result = result_of(start(), *block(0, "thinking", thought), *end("max_tokens"))

    assert (result["thinking"], result["finish_reason"]) == ("Hm", "length")
    assert opaque_of(result) == []


def test_a_sentence_in_many_cited_blocks_is_one_and_a_tool_between_parts_two() -> None:
    page = {
        "type": "page_location",
        "cited_text": "Total 42.00",
        "document_index": 0,
        "document_title": "[bill_1 Bill]",
        "start_page_number": 3,
        "end_page_number": 4,
    }
    web = {
        "type": "web_search_result_location",
        "cited_text": "c",
        "title": "Page",
        "url": "https://a.example",
    }
    lines = [
        start(),
        *text(0, "The total "),
        *block(
            1,
            "text",
            {"type": "text_delta", "text": "is 42"},
            {"type": "citations_delta", "citation": page},
        ),
        *text(2, "."),
        *block(
            3,
            "server_tool_use",
            {"type": "input_json_delta", "partial_json": '{"q":"x"}'},
            id="srv",
            name="web_search",
            input={},
        ),
        *block(4, "web_search_tool_result", tool_use_id="srv", content=[]),
        *block(
            5,
            "text",
            {"type": "text_delta", "text": "Found."},
            {"type": "citations_delta", "citation": web},
        ),
        *end(),
    ]

    result = result_of(*lines)

    assert result["content"] == "The total is 42.\n\nFound."
    assert result["citations"] == [
        Citation(quote="Total 42.00", tag="[bill_1 Bill]", page=3),
        Citation(quote="c", url="https://a.example", title="Page"),
    ]
    first, call, found, last = opaque_of(result)
    assert (first, last) == ({"type": "text", "length": 16}, {"type": "text", "length": 6})
    assert call["input"] == {"q": "x"}
    assert found["type"] == "web_search_tool_result"


def test_an_answer_must_say_its_end() -> None:
    for lines in (
        [start(), *text(0, "Hi")],
        [start(), *text(0, "Hi"), end()[0]],
        [start()],
        [],
    ):
        with pytest.raises(StreamTruncated):
            result_of(*lines)


def test_an_error_event_has_its_type_and_unknown_events_say_nothing() -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    with pytest.raises(Overloaded, match="broke off its answer: Overloaded") as caught:
        result_of(start(), event("error", error=error))
    assert caught.value.status == 529

    unknown = {"type": "some_delta", "data": 1}
    lines = [start(), event("ping"), event("new_event", x=1), *block(0, "hologram", unknown)]
    events: list[Event] = list(decode([*lines, *text(1, "x"), *end()]))
    assert events[0] == TextDelta("x")


def test_thoughts_and_texts_come_in_their_order() -> None:
    thought = {"type": "thinking_delta", "thinking": "a"}
    lines = [start(), *block(0, "thinking", thought), *text(1, "b", "c"), *end()]

    assert list(decode(lines))[:3] == [ThinkingDelta("a"), TextDelta("b"), TextDelta("c")]
