"""The chunks of Gemini's generate_content, in the shapes in which the service sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcell.adapters.events import Citation, Event, TextDelta, ThinkingDelta, Usage, gather
from agentcell.adapters.gemini_decoder import decode
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    Overloaded,
    ServiceError,
    StreamTruncated,
)


def chunk(*parts: dict[str, Any], finish: str = "", **fields: Any) -> str:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    candidate.update(fields.pop("candidate", {}))
    body = {"candidates": [candidate], "modelVersion": "m", "responseId": "r-1", **fields}
    return f"data: {json.dumps(body)}\r\n\r\n"


def result_of(*lines: str) -> dict[str, Any]:
    return gather(decode(lines))


def opaque_of(result: dict[str, Any]) -> list[Any]:
    return [part["item"] for part in result["assistant_message"].get("opaque", [])]


def test_a_plain_answer_with_its_usage() -> None:
    first = {"promptTokenCount": 10, "candidatesTokenCount": 1}
    last = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 4,
        "cachedContentTokenCount": 3,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
        "totalTokenCount": 26,
        "promptTokensDetails": [
            {"modality": "TEXT", "tokenCount": 4},
            {"modality": "IMAGE", "tokenCount": 6},
            {"modality": "IMAGE"},
        ],
        "candidatesTokensDetails": [{"modality": "TEXT", "tokenCount": 5}],
    }

    result = result_of(
        chunk({"text": "Hel"}, usageMetadata=first),
        chunk({"text": "lo"}, finish="STOP", usageMetadata=last),
    )

    assert (result["content"], result["finish_reason"]) == ("Hello", "stop")
    assert result["usage"] == Usage(
        input_tokens=14, output_tokens=12, cached_tokens=3, reasoning_tokens=7, image_tokens=6
    )
    assert (result["model"], result["request_id"]) == ("m", "r-1")
    assert result["raw_response"]["candidates"][0]["content"]["parts"] == [{"text": "Hello"}]
    assert opaque_of(result) == []


def test_a_reason_with_every_chunk_does_not_end_the_answer() -> None:
    result = result_of(
        chunk({"text": "one "}, finish="STOP"), chunk({"text": "two"}, finish="STOP")
    )

    assert result["content"] == "one two"


def test_the_body_may_end_only_after_a_reason() -> None:
    for lines in ([chunk({"text": "x"})], [chunk({"text": ""})], []):
        with pytest.raises(StreamTruncated):
            result_of(*lines)


def test_thoughts_are_kept_apart_and_seals_kept() -> None:
    result = result_of(
        chunk({"text": "Let me", "thought": True}),
        chunk({"text": " think.", "thought": True}),
        chunk({"text": "4"}),
        chunk({"text": "2"}),
        chunk({"text": "", "thoughtSignature": "AAAA"}, finish="STOP"),
    )

    assert (result["thinking"], result["content"]) == ("Let me think.", "42")
    assert opaque_of(result) == [
        {"type": "text", "length": 2},
        {"type": "text", "length": 0, "thoughtSignature": "AAAA"},
    ]
    parts = result["raw_response"]["candidates"][0]["content"]["parts"]
    assert [part["text"] for part in parts] == ["Let me think.", "42", ""]


def test_a_sealed_text_is_not_joined_with_what_stands_beside_it() -> None:
    result = result_of(
        chunk({"text": "a"}, {"text": "b", "thoughtSignature": "BBBB"}),
        chunk({"text": "c"}, {"text": "d"}, finish="STOP"),
    )

    assert [item["length"] for item in opaque_of(result)] == [1, 1, 2]


def test_calls_come_whole_with_or_without_ids_and_only_the_first_is_sealed() -> None:
    calls: list[dict[str, Any]] = [
        {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1.0}}, "thoughtSignature": "AAAA"},
        {"functionCall": {"name": "g"}},
    ]

    result = result_of(chunk(calls[0]), chunk(calls[1], finish="STOP"))

    assert result["content"] == [
        {"id": "c1", "name": "f", "arguments": {"a": 1.0}},
        {"id": "call_1", "name": "g", "arguments": {}},
    ]
    assert result["finish_reason"] == "tool_calls"
    assert opaque_of(result) == [
        {"type": "call", "call_id": "c1", "id": "c1", "thoughtSignature": "AAAA"},
        {"type": "call", "call_id": "call_1"},
    ]


def test_what_the_services_own_tools_did_goes_back_and_a_picture_does_not() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    outcome = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}

    result = result_of(chunk(code), chunk(outcome, picture, {"text": "1"}, finish="STOP"))

    assert [item.get("part", item) for item in opaque_of(result)] == [
        code,
        outcome,
        {"type": "text", "length": 1},
    ]
    assert picture in result["raw_response"]["candidates"][0]["content"]["parts"]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("FUNCTION_CALL", "tool_calls"),
        ("CONTINUATION", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("SOMETHING_NEW", "something_new"),
    ],
)
def test_each_end_is_translated_or_kept(told: str, reason: str) -> None:
    without_content = chunk(finish=told, candidate={"content": None})

    assert result_of(chunk({"text": "x"}), without_content)["finish_reason"] == reason


@pytest.mark.parametrize(
    ("told", "kind", "retryable"),
    [
        ("MALFORMED_FUNCTION_CALL", ServiceError, True),
        ("MALFORMED_RESPONSE", ServiceError, True),
        ("OTHER", ServiceError, True),
        ("UNEXPECTED_TOOL_CALL", ServiceError, False),
        ("MISSING_THOUGHT_SIGNATURE", BadRequest, False),
        ("PUP_LIMITED_DISABLED", AuthenticationError, False),
    ],
)
def test_an_end_that_is_no_answer_is_an_error(
    told: str, kind: type[ServiceError], retryable: bool
) -> None:
    why = {"finishMessage": "said why"}

    with pytest.raises(kind, match=f"{told}: said why") as caught:
        result_of(chunk(finish=told, candidate=why))

    assert caught.value.retryable is retryable
    assert caught.value.fix


def test_a_blocked_question_is_filtered_not_answered() -> None:
    feedback = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    blocked = {**feedback, "usageMetadata": {"promptTokenCount": 4}, "modelVersion": "m"}

    result = result_of(f"data: {json.dumps(blocked)}\n\n")

    assert (result["content"], result["finish_reason"]) == ("", "content_filter")
    assert result["usage"].input_tokens == 4
    assert result["raw_response"]["promptFeedback"] == feedback["promptFeedback"]
    harmless: dict[str, Any] = {"promptFeedback": {"safetyRatings": []}}
    assert result_of(chunk({"text": "x"}, finish="STOP", **harmless))["finish_reason"] == "stop"


def test_grounding_and_quotations_are_citations() -> None:
    grounding = {
        "groundingChunks": [
            {"web": {"uri": "https://a.example", "title": "A"}},
            {"retrievedContext": {"title": "b.pdf", "pageNumber": 3}},
        ],
        "groundingSupports": [
            {"segment": {"text": "It is 42."}, "groundingChunkIndices": [0, 1, 9]}
        ],
    }
    quoted = {"citationSources": [{"startIndex": 4, "endIndex": 9, "uri": "https://c.example"}]}

    result = result_of(
        chunk({"text": "Ünd "}, candidate={"groundingMetadata": grounding}),
        chunk({"text": "fünf"}, finish="STOP", candidate={"citationMetadata": quoted}),
    )
    alone = result_of(
        chunk(
            finish="STOP", candidate={"groundingMetadata": {**grounding, "groundingSupports": []}}
        )
    )

    assert result["citations"] == [
        Citation(quote="It is 42.", url="https://a.example", title="A"),
        Citation(quote="It is 42.", title="b.pdf", page=3),
        Citation(quote=" fün", url="https://c.example"),
    ]
    assert [note.title for note in alone["citations"]] == ["A", "b.pdf"]


def test_an_error_in_the_stream_has_its_type() -> None:
    error = {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}

    with pytest.raises(Overloaded, match="overloaded") as caught:
        result_of(chunk({"text": "x"}), f"data: {json.dumps({'error': error})}\n\n")

    assert caught.value.status == 503


def test_only_the_first_of_several_answers_is_the_answer() -> None:
    second = {"candidates": [{"index": 1, "content": {"parts": [{"text": "other"}]}}]}

    result = result_of(
        chunk({"text": "one"}),
        f"data: {json.dumps(second)}\n\n",
        chunk(finish="STOP"),
        "data: [DONE]\n",
    )

    assert result["content"] == "one"


def test_pieces_come_as_they_are() -> None:
    lines = [
        chunk({"text": "a", "thought": True}),
        chunk({"text": "b"}, {"text": "c"}, finish="STOP"),
    ]

    events: list[Event] = list(decode(lines))

    assert events[:-1] == [ThinkingDelta("a"), TextDelta("b"), TextDelta("c")]
