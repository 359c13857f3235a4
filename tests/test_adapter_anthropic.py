"""Anthropic's Messages: what goes out, what goes back with the next question, what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pydantic
import pytest

import media
import wire
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.anthropic_encoder import DEFAULT_MAX_TOKENS
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.errors import (
    AttachmentError,
    AuthenticationError,
    BadRequest,
    KeyMissing,
    ModelError,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    TooLarge,
    UnknownModel,
    Unsupported,
)
from agentcell.messages import ToolCall
from agentcell.testing import AnthropicServer, Call, Reply

HI = [{"role": "user", "content": "Hi"}]
TOOL = {
    "name": "f",
    "description": "Does f.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
}
OWN = "https://api.anthropic.com"


def model(name: str = "claude-haiku-5-5", **options: Any) -> AnthropicModel:
    return AnthropicModel(name, "sk-ant-test", **options)


def encoded(model: AnthropicModel, *arguments: Any) -> dict[str, Any]:
    body = model.encode(*arguments)
    wire.check("anthropic", body)
    return body


def said(call_id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def asked(*calls: Any, content: str = "", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def test_texts_go_out_and_those_of_the_system_before_the_conversation() -> None:
    body = encoded(
        model(),
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": ["One", {"type": "text", "text": "Two"}]},
            {"role": "assistant", "content": "Three"},
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": "Four"},
        ],
    )

    assert body == {
        "model": "claude-haiku-5-5",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Three"}]},
            {"role": "user", "content": [{"type": "text", "text": "Four"}]},
        ],
    }
    alone = encoded(model(), [{"role": "system", "content": "Be brief."}, *HI])
    assert alone["system"] == "Be brief."


def test_what_says_nothing_is_left_out_since_the_service_refuses_it() -> None:
    messages = [
        {"role": "user", "content": ["  \n", "Hi"]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": " "},
        {"role": "user", "content": "There?"},
    ]

    body = encoded(model(), messages)

    texts = [block["text"] for block in body["messages"][0]["content"]]
    assert texts == ["Hi", "There?"]
    assert len(body["messages"]) == 1
    for empty in ([{"role": "user", "content": " "}], [{"role": "system", "content": "x"}]):
        with pytest.raises(BadRequest, match="say nothing"):
            model().encode(empty)


def test_an_image_of_each_source_goes_out(tmp_path: Path) -> None:
    images = media.every_image(tmp_path)

    content = [media.block(image) for image in images.values()]
    body = encoded(model(), [{"role": "user", "content": content}])

    sources = [block["source"] for block in body["messages"][0]["content"]]
    data = base64.b64encode((tmp_path / "photo.png").read_bytes()).decode()
    assert sources[0] == {"type": "base64", "media_type": "image/png", "data": data}
    assert [source["type"] for source in sources] == ["base64"] * 3 + ["url", "file"]
    assert sources[3]["url"] == "https://example.com/a.png"
    assert sources[4]["file_id"] == "file-abc123"


def test_a_pdf_of_each_source_goes_out(tmp_path: Path) -> None:
    pdfs = media.every_pdf(tmp_path)

    content = [media.block(pdf) for pdf in pdfs.values()]
    body = encoded(model(), [{"role": "user", "content": content}])

    path, _, _, url, file_id = body["messages"][0]["content"]
    data = base64.b64encode((tmp_path / "bill.pdf").read_bytes()).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    assert path == {"type": "document", "source": source, "title": "bill.pdf"}
    assert url["source"] == {"type": "url", "url": "https://example.com/a.pdf"}
    assert file_id["source"] == {"type": "file", "file_id": "file-def456"}


def test_openais_own_parts_are_accepted_and_sent_as_what_they_hold() -> None:
    png = base64.b64encode(media.png()).decode()
    bill = base64.b64encode(media.pdf()).decode()
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": "https://a.example/x.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{png}"}},
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{bill}"},
        },
        {"type": "input_file", "file_id": "file_1"},
    ]

    sent = encoded(model(), [{"role": "user", "content": parts}])["messages"][0]["content"]

    assert [block["type"] for block in sent] == ["image", "image", "document", "document"]
    assert sent[1]["source"] == {"type": "base64", "media_type": "image/png", "data": png}
    assert sent[2]["title"] == "a.pdf"
    bitmap = base64.b64encode(media.png(kind="BMP")).decode()
    liar = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{bitmap}"}}
    with pytest.raises(Unsupported, match="does not read image/bmp"):
        model().encode([{"role": "user", "content": [liar]}])
    bad = {"type": "image_url", "image_url": {"url": "data:image/png;base64,!!!"}}
    with pytest.raises(AttachmentError, match="base64"):
        model().encode([{"role": "user", "content": [bad]}])


def test_media_of_the_system_is_refused_or_moves_into_the_first_user_turn() -> None:
    image = media.block(ImageAsset.from_bytes(media.png()), "guide")
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": ["Compare with", image]},
        *HI,
    ]

    with pytest.raises(Unsupported, match=r"'IMAGE' from source 'bytes', field 'guide'") as caught:
        model().encode(messages)
    body = encoded(model(system_media="user"), messages)

    assert 'system_media="user"' in caught.value.fix
    marked, sent, question = body["messages"][0]["content"]
    assert marked["text"] == "Attached to the instructions: [guide_1 guide]"
    assert (sent["type"], question["text"]) == ("image", "Hi")
    assert body["system"][1]["text"] == "[guide_1 guide]"


def test_results_stand_together_first_in_one_message_with_their_media() -> None:
    image = media.block(ImageAsset.from_bytes(media.png()), "shot")
    bill = media.block(PdfAsset.from_bytes(media.pdf()), "bill")
    calls = [{"id": call_id, "name": "look", "arguments": {"n": 1}} for call_id in ("a", "b", "c")]
    messages: list[dict[str, Any]] = [
        *HI,
        asked(*calls, content=" "),
        said("a", ["here", image, bill]),
        {"role": "user", "content": "By the way"},
        said("b", ""),
        said("c"),
    ]

    body = encoded(model(), messages)

    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"] * 3
    assert len(body["messages"]) == 3
    first, second, third, text = body["messages"][2]["content"]
    assert [part["type"] for part in first["content"]] == ["text", "image", "document"]
    assert second == {"type": "tool_result", "tool_use_id": "b"}
    assert third["content"] == "done"
    assert text["text"] == "By the way"


def test_ids_of_other_providers_become_such_as_the_service_takes() -> None:
    calls = [ToolCall("call|1.x", "f", {}), ToolCall("call_0", "f", {})]
    messages = [
        *HI,
        asked(*calls),
        said("call|1.x"),
        said("call_0"),
        asked(ToolCall("call_0", "f", {}, raw_arguments='{"a":')),  # numbered anew each time
        said("call_0", "no JSON"),
    ]

    body = encoded(model(), messages)

    sent = [block for message in body["messages"] for block in message["content"]]
    assert [b["id"] for b in sent if b["type"] == "tool_use"] == ["call_1_x", "call_0", "call_0_2"]
    results = [b["tool_use_id"] for b in sent if b["type"] == "tool_result"]
    assert results == ["call_1_x", "call_0", "call_0_2"]
    assert sent[-2]["input"] == {"raw_arguments": '{"a":'}


def test_sealed_thinking_goes_back_where_it_came_from() -> None:
    first = Reply("Let me look.", thinking=["h", "m"], calls=[Call("f", '{"a": 1}', "toolu_1")])
    with AnthropicServer(first, Reply("Done.", thinking=["aha"]), "Bye.") as server:
        thinker = AnthropicModel("claude-opus-5-5", "k", server.url)
        answer = thinker.invoke(HI, [TOOL])["assistant_message"]
        told = thinker.invoke([*HI, answer, said("toolu_1")], [TOOL])["assistant_message"]
        calls = [
            {"id": c.id, "name": c.name, "arguments": c.arguments} for c in answer["tool_calls"]
        ]
        history = [*HI, {**answer, "tool_calls": calls}, said("toolu_1"), told, *HI]
        thinker.invoke(json.loads(json.dumps(history)), [TOOL])  # as a file keeps it
        for body in server.bodies:
            wire.check("anthropic", body)

    sealed = {"type": "thinking", "thinking": "hm", "signature": "EqQBCg-sealed"}
    messages = server.bodies[2]["messages"]
    assert messages[1]["content"] == [
        sealed,
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
    ]
    assert messages[3]["content"][0]["thinking"] == "aha"


def test_what_another_provider_sealed_is_not_sent() -> None:
    opaque = [{"provider": "openai", "item": {"type": "reasoning", "encrypted_content": "x"}}]

    body = encoded(model(), [*HI, {"role": "assistant", "content": "a", "opaque": opaque}, *HI])

    assert body["messages"][1]["content"] == [{"type": "text", "text": "a"}]


def test_a_changed_answer_goes_back_as_it_is_now_and_no_message_ends_in_thinking() -> None:
    def item(**fields: Any) -> dict[str, Any]:
        return {"provider": "anthropic", "item": fields}

    thought = item(type="thinking", thinking="t", signature="s")
    opaque = [
        thought,
        item(type="text", length=3),
        item(type="redacted_thinking", data="r"),
        item(type="text", length=2),
        item(type="tool_use", call_id="gone"),
    ]

    def kinds(text: str, opaque: list[Any]) -> list[Any]:
        answer = {"role": "assistant", "content": text, "opaque": opaque}
        sent = encoded(model(), [*HI, answer, *HI])["messages"]
        blocks = [m["content"] for m in sent if m["role"] == "assistant"]
        return [block.get("text", block["type"]) for content in blocks for block in content]

    assert kinds("one\n\n22", opaque) == ["thinking", "one", "redacted_thinking", "22"]
    assert kinds("[partial]", opaque) == ["thinking", "[partial]"]
    assert kinds("", [thought]) == []


def test_tools_and_their_choice_have_this_protocols_shape() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
    strict = {"name": "g", "strict": True}
    untyped = {"name": "h", "parameters": {"properties": {"a": {"type": "string"}}}}

    body = encoded(model(), HI, [TOOL, strict, search], {"tool_choice": "g"})
    assert encoded(model(), HI, [untyped])["tools"][0]["input_schema"]["type"] == "object"

    assert body["tools"] == [
        {"name": "f", "description": "Does f.", "input_schema": TOOL["parameters"]},
        {"name": "g", "input_schema": {"type": "object", "properties": {}}, "strict": True},
        search,
    ]
    assert body["tool_choice"] == {"type": "tool", "name": "g"}
    alone = encoded(model(), HI, [search], {"tool_choice": "web_search_20250305"})
    assert alone["tool_choice"] == {"type": "tool", "name": "web_search"}
    choices = {"auto": "auto", "none": "none", "required": "any"}
    for common, own in choices.items():
        sent = encoded(model(), HI, [TOOL], {"tool_choice": common})
        assert sent["tool_choice"] == {"type": own}
    assert "tool_choice" not in encoded(model(), HI, None, {"tool_choice": "auto"})


def test_settings_have_the_names_of_this_protocol() -> None:
    settings = {"max_tokens": 20, "stop": ["END", "STOP"], "reasoning": "high"}

    body = encoded(model(), HI, None, settings)

    assert body["max_tokens"] == 20
    assert body["stop_sequences"] == ["END", "STOP"]
    assert body["output_config"] == {"effort": "high"}
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("name", "reasoning", "expected"),
    [
        ("claude-opus-5-5", "none", {"thinking": {"type": "disabled"}}),
        (
            "claude-opus-5-5",
            {"effort": "max", "display": "omitted"},
            {
                "thinking": {"type": "adaptive", "display": "omitted"},
                "output_config": {"effort": "max"},
            },
        ),
        (
            "claude-haiku-4-5-20251001",
            {"budget_tokens": 2000},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        ),
        ("claude-opus-5-5", {"type": "between_tools"}, {"thinking": {"type": "between_tools"}}),
    ],
)
def test_reasoning_becomes_thinking_and_effort(
    name: str, reasoning: Any, expected: dict[str, Any]
) -> None:
    body = encoded(model(name), HI, None, {"reasoning": reasoning})

    assert {key: body[key] for key in ("thinking", "output_config") if key in body} == expected


@pytest.mark.parametrize(
    ("name", "reasoning", "fix"),
    [
        ("claude-opus-5-5", "minimal", "none, low, medium, high, xhigh, max"),
        ("claude-haiku-4-5", "low", "budget_tokens"),
        ("claude-sonnet-4-20250514", "high", "budget_tokens"),
        ("claude-3-7-sonnet-latest", "high", "budget_tokens"),
        ("claude-opus-5", {"effort": "none", "budget_tokens": 2000}, "'none' alone"),
    ],
)
def test_an_effort_that_a_model_does_not_know_is_refused_with_those_it_does(
    name: str, reasoning: Any, fix: str
) -> None:
    with pytest.raises(Unsupported, match=rf"anthropic/{name}") as caught:
        model(name).encode(HI, None, {"reasoning": reasoning})

    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("setting", "fix"),
    [
        ({"temperature": 0.2}, "set reasoning"),
        ({"top_p": 0.9}, "set reasoning"),
        ({"seed": 1}, "leave it out"),
        ({"detail": "high"}, "--detail auto"),
    ],
)
def test_what_this_protocol_lacks_is_refused_with_the_way_out(
    setting: dict[str, Any], fix: str
) -> None:
    name = next(iter(setting))

    with pytest.raises(Unsupported, match=f"takes no setting '{name}'") as caught:
        model().encode(HI, None, setting)

    assert fix in caught.value.fix


def test_another_server_that_speaks_the_older_protocol_is_sent_a_temperature() -> None:
    other = AnthropicModel("m", base_url="http://127.0.0.1:8080/v1")

    body = other.encode(HI, None, {"temperature": 0, "top_p": 0.5})

    assert (body["temperature"], body["top_p"]) == (0.0, 0.5)
    for url in ("https://eu.api.anthropic.com", OWN):
        with pytest.raises(Unsupported):
            AnthropicModel("m", "k", url).encode(HI, None, {"temperature": 0})


# Structured output.


class Line(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=2, description="What was bought")
    price: float = pydantic.Field(ge=0)
    kind: str | None = None


class Bill(pydantic.BaseModel):
    lines: list[Line] = pydantic.Field(min_length=1)
    day: str = pydantic.Field(json_schema_extra={"format": "date"})
    default: str = ""


def test_a_schema_says_in_words_what_the_service_cannot_enforce() -> None:
    body = encoded(model(), HI, None, {"schema": Bill, "reasoning": "low"})

    form = body["output_config"]["format"]
    document = form["schema"]
    assert (form["type"], body["output_config"]["effort"]) == ("json_schema", "low")
    assert document["required"] == ["lines", "day", "default"]
    assert document["additionalProperties"] is False
    assert document["properties"]["day"]["format"] == "date"
    assert document["properties"]["lines"]["minItems"] == 1
    line = document["$defs"]["Line"]
    assert line["properties"]["name"]["description"] == "What was bought\n(minLength: 2)"
    assert line["properties"]["price"]["description"] == "(minimum: 0)"
    assert [kind["type"] for kind in line["properties"]["kind"]["anyOf"]] == ["string", "null"]


def test_a_written_schema_is_closed_and_one_with_free_keys_refused() -> None:
    written = {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}}

    sent = encoded(model(), HI, None, {"schema": written})["output_config"]["format"]["schema"]

    assert sent["additionalProperties"] is False
    assert sent["properties"]["a"] == {"anyOf": [{"type": "string"}]}
    assert written == {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}}
    free = {"type": "object", "properties": {"counts": {"type": "object", "title": "Counts"}}}
    typed = {"type": "object", "additionalProperties": {"type": "integer"}}
    for schema in (free, typed):
        with pytest.raises(Unsupported, match="have any keys") as caught:
            model().encode(HI, None, {"schema": schema})
        assert "name the keys" in caught.value.fix


def test_cited_pdfs_carry_their_tag_and_no_schema_goes_with_them() -> None:
    bill = media.block(PdfAsset.from_bytes(media.pdf()), "bill")
    citing = model(citations=True)

    block = encoded(citing, [{"role": "user", "content": [bill]}])["messages"][0]["content"][0]

    assert (block["title"], block["citations"]) == ("[bill_1 bill]", {"enabled": True})
    with pytest.raises(Unsupported, match="cannot cite and follow a schema"):
        citing.encode(HI, None, {"schema": Bill})
    local = AnthropicModel("m", base_url="http://127.0.0.1:8080")
    able = [m.capabilities.structured_output for m in (model(), citing, local)]
    assert able == [True, False, False]


# Keys, addresses, the service's own words for what goes wrong.


def test_the_key_comes_from_either_variable_and_the_address_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with AnthropicServer("hello", key="token-1") as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url.removesuffix("/v1"))
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-1")
        talker = AnthropicModel("claude-haiku-5-5")
        assert talker.invoke(HI)["content"] == "hello"
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-2")
        with pytest.raises(AuthenticationError) as caught:
            talker.invoke(HI)

    assert "check ANTHROPIC_API_KEY or api_key" in caught.value.fix
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].headers["anthropic-version"] == "2026-10-21"
    assert server.requests[1].headers["authorization"] == "Bearer key-2"


def test_a_missing_key_is_said_before_any_request() -> None:
    with pytest.raises(KeyMissing, match="ANTHROPIC_API_KEY is not set"):
        AnthropicModel("claude-haiku-5-5").invoke(HI)


def test_a_local_server_gets_nothing_that_is_meant_for_anthropic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-real")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "real")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Secret: real\nAuthorization: Bearer real")
    with AnthropicServer() as server:
        AnthropicModel("m", base_url=server.url).invoke(HI)

    assert "real" not in str(server.requests[0].headers)


def failing(status: int, kind: str, message: str, **details: Any) -> Reply:
    """Return an error as Anthropic words it."""
    error: dict[str, Any] = {"type": kind, "message": message}
    if details:
        error["details"] = details
    body = {"type": "error", "error": error, "request_id": "req_body"}
    return Reply(status=status, raw=json.dumps(body), headers={"request-id": "req_head"})


@pytest.mark.parametrize(
    ("reply", "kind", "retryable"),
    [
        (failing(400, "invalid_request_error", "max_tokens: 9 > 8"), BadRequest, False),
        (
            failing(400, "invalid_request_error", "prompt is too long: 212 > 200 maximum"),
            TooLarge,
            False,
        ),
        (failing(401, "authentication_error", "invalid bearer"), AuthenticationError, False),
        (failing(402, "billing_error", "credit"), QuotaExceeded, False),
        (failing(404, "not_found_error", "model: claude-0"), UnknownModel, False),
        (failing(413, "request_too_large", "over 32 MB"), TooLarge, False),
        (failing(429, "rate_limit_error", "tokens per minute"), RateLimited, True),
        (
            failing(429, "rate_limit_error", "spent", error_code="enforced_spend_limit_reached"),
            QuotaExceeded,
            False,
        ),
        (
            failing(429, "rate_limit_error", "slowly", error_code="ramp_limit_exceeded"),
            RateLimited,
            True,
        ),
        (failing(529, "overloaded_error", "Overloaded"), Overloaded, True),
    ],
)
def test_the_services_own_errors_have_their_types(
    reply: Reply, kind: type[ModelError], retryable: bool
) -> None:
    with AnthropicServer(reply) as server, pytest.raises(kind) as caught:
        AnthropicModel("claude-haiku-5-5", "k", server.url, max_retries=0).invoke(HI)

    error = caught.value
    assert type(error) is kind
    assert (error.retryable, error.request_id) == (retryable, "req_head")


def test_overload_in_the_middle_of_a_stream_is_retried_before_output_began() -> None:
    busy = Reply("x", error={"type": "overloaded_error", "message": "Overloaded"}, error_after=1)
    with AnthropicServer(busy, "there") as server:
        talker = AnthropicModel("claude-haiku-5-5", "k", server.url)

        assert talker.invoke(HI)["content"] == "there"

    assert len(server.requests) == 2
