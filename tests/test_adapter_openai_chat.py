"""Chat Completions: what goes out, what is refused, and what other servers make of the protocol."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

import media
import wire
from agentcell.adapters.events import (
    Event,
    Finished,
    ModelResponseType,
    TextDelta,
    ThinkingDelta,
    Usage,
    gather,
)
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_chat_decoder import decode
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AttachmentError,
    BadRequest,
    ConnectionFailed,
    KeyMissing,
    ServiceError,
    StreamTruncated,
    Unsupported,
)
from agentcell.messages import TextMessageBlock, ToolCall
from agentcell.testing import ChatServer, Reply

LOCAL = "http://127.0.0.1:9/v1"
HI = [{"role": "user", "content": "Hi"}]


def openai_model(**options: Any) -> LegacyOpenAIModel:
    return LegacyOpenAIModel("gpt-4.1", "sk-test", **options)


def local_model(**options: Any) -> LegacyOpenAIModel:
    return LegacyOpenAIModel("qwen2.5:7b", base_url=LOCAL, **options)


def encoded(model: LegacyOpenAIModel, *arguments: Any) -> dict[str, Any]:
    body = model.encode(*arguments)
    wire.check("chat", body)
    return body


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> str:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return "data: " + json.dumps({"id": "c", "model": "m", "choices": [choice], **more}) + "\n\n"


def result_of(*lines: str) -> dict[str, Any]:
    return gather(decode(lines))


def test_roles_and_texts_go_out_as_they_are() -> None:
    body = encoded(
        openai_model(),
        [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [TextMessageBlock("Be kind.")]},
            {"role": "user", "content": ["One", "", {"type": "text", "text": "Two"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Three"}]},
            {"role": "user", "content": ""},
        ],
    )

    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Be kind."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}],
        },
        {"role": "assistant", "content": "Three"},
        {"role": "user", "content": ""},
    ]
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_a_developer_message_is_a_system_message_to_other_servers() -> None:
    body = encoded(local_model(), [{"role": "developer", "content": "x"}, *HI])

    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_an_image_of_each_source_goes_out_but_a_file_id(tmp_path: Path) -> None:
    images = media.every_image(tmp_path)
    file_id = images.pop("file_id")
    content = [media.block(image, name) for name, image in images.items()]

    body = encoded(openai_model(), [{"role": "user", "content": [*content, "What is it?"]}])

    urls = [part["image_url"]["url"] for part in body["messages"][0]["content"][:4]]
    png = "data:image/png;base64,"
    assert urls[0] == png + base64.b64encode((tmp_path / "photo.png").read_bytes()).decode()
    assert urls[1] == png + base64.b64encode(media.png("blue")).decode()
    assert urls[2] == png + base64.b64encode(media.png("green")).decode()
    assert urls[3] == "https://example.com/a.png"
    expected = r"openai-chat/gpt-4\.1 does not support 'IMAGE' source 'file_id' for field 'photo'"
    with pytest.raises(Unsupported, match=expected) as caught:
        openai_model().encode([{"role": "user", "content": [media.block(file_id, "photo")]}])
    assert caught.value.fix == "give it as path, bytes, base64 or url."


def test_the_type_that_is_sent_is_that_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(media.png())

    body = encoded(
        openai_model(),
        [{"role": "user", "content": [media.block(media.ImageAsset.from_path(path))]}],
    )

    assert body["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png;")


def test_an_image_that_openai_cannot_read_is_refused_and_a_local_server_may_try() -> None:
    bitmap = media.ImageAsset.from_bytes(media.png(kind="BMP"), filename="a.bmp")
    messages = [{"role": "user", "content": [media.block(bitmap)]}]

    with pytest.raises(Unsupported, match="does not read image/bmp, the type of field 'receipt'"):
        openai_model().encode(messages)
    url = encoded(local_model(), messages)["messages"][0]["content"][0]["image_url"]["url"]
    assert url.startswith("data:image/bmp;base64,")


def test_openais_own_image_part_is_accepted_with_its_detail() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://a.example/x.png", "detail": "low"}}
    plain = {"type": "image_url", "image_url": {"url": "https://a.example/y.png"}}

    messages = [{"role": "user", "content": [part, plain]}]
    body = encoded(openai_model(), messages, None, {"detail": "high"})

    assert [p["image_url"]["detail"] for p in body["messages"][0]["content"]] == ["low", "high"]
    without = encoded(openai_model(), messages)["messages"][0]["content"][1]
    assert without["image_url"] == {"url": "https://a.example/y.png"}


@pytest.mark.parametrize("source", ["path", "bytes", "base64", "url", "file_id"])
def test_a_pdf_is_refused(source: str, tmp_path: Path) -> None:
    block = media.block(media.every_pdf(tmp_path)[source], "bill")

    with pytest.raises(Unsupported, match="does not support modality 'PDF' for field 'bill'"):
        openai_model().encode([{"role": "user", "content": [block]}])


def test_a_pdf_goes_out_where_the_caller_says_that_the_model_takes_it(tmp_path: Path) -> None:
    model = openai_model(capability_overrides={"pdf_input": True})
    pdfs = media.every_pdf(tmp_path)

    content = [media.block(pdfs["path"]), media.block(pdfs["file_id"])]
    body = encoded(model, [{"role": "user", "content": content}])

    data, file_id = (part["file"] for part in body["messages"][0]["content"])
    assert data["filename"] == "bill.pdf"
    assert data["file_data"].startswith("data:application/pdf;base64,JVBERi")
    assert file_id == {"file_id": "file-def456"}


def test_media_in_a_system_message_is_refused_with_the_way_out() -> None:
    image = media.block(media.ImageAsset.from_bytes(media.png()), "guide")

    with pytest.raises(Unsupported, match=r"'IMAGE' from source 'bytes', field 'guide'") as caught:
        openai_model().encode([{"role": "system", "content": ["See", image]}, *HI])

    assert 'system_media="user"' in caught.value.fix


def test_media_of_the_system_moves_into_the_first_user_turn_when_asked() -> None:
    image = media.block(media.ImageAsset.from_bytes(media.png()), "guide")
    model = openai_model(system_media="user")

    system = {"role": "system", "content": ["Compare with", image]}
    body = encoded(model, [system, *HI, {"role": "assistant", "content": "Yes"}, *HI])

    texts = [{"type": "text", "text": t} for t in ("Compare with", "[guide_1 guide]")]
    assert body["messages"][0] == {"role": "system", "content": texts}
    marked, sent, question = body["messages"][1]["content"]
    assert marked["text"] == "Attached to the instructions: [guide_1 guide]"
    assert sent["type"] == "image_url"
    assert question["text"] == "Hi"
    assert body["messages"][3] == {"role": "user", "content": "Hi"}
    alone = encoded(model, [system])["messages"]
    assert [message["role"] for message in alone] == ["system", "user"]


def test_media_in_a_tools_result_is_refused_or_moves_to_the_next_user_turn() -> None:
    image = media.block(media.ImageAsset.from_bytes(media.png()), "shot")
    call = {"id": "c1", "name": "look", "arguments": {}}
    other = {"id": "c2", "name": "look", "arguments": {}}
    messages: list[dict[str, Any]] = [
        *HI,
        {"role": "assistant", "content": "", "tool_calls": [call, other]},
        {"role": "tool", "tool_call_id": "c1", "content": ["here", image]},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing"},
    ]

    with pytest.raises(Unsupported, match="in a tool's result"):
        openai_model().encode(messages)
    body = encoded(openai_model(tool_result_media="user"), messages)
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user"]
    moved = body["messages"][-1]["content"]
    assert moved[0]["text"] == "Attached to the result of c1: [shot_1 shot]"
    assert moved[1]["type"] == "image_url"


def test_an_image_in_an_assistants_message_is_refused() -> None:
    image = media.block(media.ImageAsset.from_bytes(media.png()))

    with pytest.raises(Unsupported, match="in an assistant message"):
        openai_model().encode([{"role": "assistant", "content": [image]}, *HI])


def test_tool_calls_go_back_in_openais_shape_whatever_shape_they_had() -> None:
    shapes: list[Any] = [
        ToolCall("a", "f", {"x": 1}),
        {"id": "b", "name": "f", "arguments": {"x": 1}},
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
    ]
    said = [
        {"role": "tool", "tool_call_id": i, "content": [{"type": "text", "text": i}]} for i in "abc"
    ]

    body = encoded(
        openai_model(), [*HI, {"role": "assistant", "content": None, "tool_calls": shapes}, *said]
    )

    calls = body["messages"][1]["tool_calls"]
    assert "content" not in body["messages"][1]
    assert [call["id"] for call in calls] == ["a", "b", "c"]
    assert all(json.loads(call["function"]["arguments"]) == {"x": 1} for call in calls)


def test_arguments_that_were_no_json_go_back_inside_an_object() -> None:
    call = ToolCall("a", "f", {}, raw_arguments='{"x":')
    said = {"role": "tool", "tool_call_id": "a", "content": "that is no JSON"}

    body = encoded(openai_model(), [*HI, {"role": "assistant", "tool_calls": [call]}, said])

    arguments = body["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"raw_arguments": '{"x":'}


def test_tools_are_sent_in_openais_shape() -> None:
    flat = {"name": "f", "description": "Does f.", "parameters": {"type": "object"}}
    nested = {"type": "function", "function": {"name": "g", "strict": True}}

    body = encoded(openai_model(), HI, [flat, nested], {"tool_choice": "g"})

    assert body["tools"][0] == {
        "type": "function",
        "function": {"name": "f", "description": "Does f.", "parameters": {"type": "object"}},
    }
    assert body["tools"][1]["function"]["strict"] is True
    assert body["tool_choice"] == {"type": "function", "function": {"name": "g"}}
    for bad in ({"description": "no name"}, "f", {"name": "f", "parameters": [1]}):
        with pytest.raises(Unsupported, match="cannot take the tool"):
            openai_model().encode(HI, [bad])  # type: ignore[list-item]
    with pytest.raises(Unsupported, match="'web_search'"):
        openai_model().encode(HI, [{"type": "web_search"}])
    with pytest.raises(Unsupported, match="Two tools are called 'f'"):
        openai_model().encode(HI, [flat, flat])


def test_settings_have_openais_names() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "title": "My answer!"}
    settings = {
        "temperature": 1,
        "top_p": 0.5,
        "max_tokens": 10,
        "stop": "END",
        "seed": 7,
        "reasoning": "low",
        "schema": schema,
    }

    body = encoded(openai_model(), HI, None, settings)

    assert body["temperature"] == 1.0
    assert body["top_p"] == 0.5
    assert body["stop"] == ["END"]
    assert body["seed"] == 7
    assert body["reasoning_effort"] == "low"
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "My_answer", "schema": schema, "strict": False},
    }
    with pytest.raises(Unsupported, match="no more than an effort"):
        openai_model().encode(HI, None, {"reasoning": {"effort": "low", "summary": "auto"}})


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (None, "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://me.openai.azure.com/openai/v1", "max_completion_tokens"),
        (LOCAL, "max_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens"),
        ("https://api.openai.com.evil.example/v1", "max_tokens"),
    ],
)
def test_openai_and_the_others_name_the_longest_answer_differently(
    url: str | None, name: str
) -> None:
    model = LegacyOpenAIModel("m", "sk-test", url)

    body = encoded(model, HI, None, {"max_tokens": 5})

    names = {"max_tokens", "max_completion_tokens"}
    assert {key: body[key] for key in names & set(body)} == {name: 5}


def test_the_key_comes_from_the_environment_at_the_first_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer("hello", key="sk-from-env") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
        model = LegacyOpenAIModel("m")
        monkeypatch.setenv("OPENAI_API_KEY", " sk-from-env\n")
        assert model.invoke(HI)["content"] == "hello"


def test_a_missing_key_is_said_before_any_request() -> None:
    with pytest.raises(KeyMissing, match="OPENAI_API_KEY is not set") as caught:
        LegacyOpenAIModel("gpt-4.1", "").invoke(HI)

    assert "OPENAI_API_KEY" in caught.value.fix
    assert "-m local" in caught.value.fix


def test_a_local_server_gets_no_key_and_no_account_of_openais(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-real")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-real")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: real\nAuthorization: Bearer real")
    with ChatServer() as server:
        LegacyOpenAIModel("m", base_url=server.url).invoke(HI)
        LegacyOpenAIModel("m", "given", base_url=server.url).invoke(HI)

    assert "real" not in str([request.headers for request in server.requests])
    assert server.requests[0].headers["authorization"] == "Bearer no-key-needed"
    assert server.requests[1].headers["authorization"] == "Bearer given"


@pytest.mark.parametrize("url", ["localhost:1234", "ftp://x/v1", "http://", "file:///etc/passwd"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadRequest, match="is no http or https address"):
        LegacyOpenAIModel("m", "sk-test", url).invoke(HI)


def test_the_head_of_each_answer_is_in_the_result() -> None:
    result = result_of(
        chunk({"role": "assistant", "content": ""}, model="gpt-4.1-2025"),
        chunk({"content": "Hi"}),
        chunk({}, "stop"),
        "data: [DONE]\n\n",
    )

    assert result["model"] == "gpt-4.1-2025"
    assert result["raw_response"]["choices"][0]["message"]["content"] == "Hi"


# What servers that speak the protocol make of it.


def test_reasoning_has_two_names_and_mistral_sends_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"text": "c"}]}, {"type": "text", "text": "d"}]
    events = list(
        decode(
            [
                chunk({"reasoning_content": "a", "content": None}),
                chunk({"reasoning": "b", "content": ""}),
                chunk({"content": parts}),
                chunk({}, "stop"),
            ]
        )
    )

    expected: list[Event] = [ThinkingDelta("a"), ThinkingDelta("b"), ThinkingDelta("c")]
    assert events[:-1] == [*expected, TextDelta("d")]


def test_calls_are_told_apart_without_indexes_and_when_all_are_zero() -> None:
    def call(**more: Any) -> dict[str, Any]:
        return {"tool_calls": [{"type": "function", **more}]}

    ollama = result_of(
        chunk(call(index=0, id="a", function={"name": "f", "arguments": '{"x":1}'})),
        chunk(call(index=0, id="b", function={"name": "g", "arguments": "{}"})),
        chunk({}, "stop"),
    )
    gemini = result_of(
        chunk(call(id="a", function={"name": "f", "arguments": '{"x":'})),
        chunk({"tool_calls": [{"function": {"arguments": "1}"}}]}),
        chunk(call(id="b", function={"name": "g", "arguments": {}})),
        chunk({}, "stop"),
    )
    expected = [
        {"id": "a", "name": "f", "arguments": {"x": 1}},
        {"id": "b", "name": "g", "arguments": {}},
    ]

    assert ollama["content"] == gemini["content"] == expected
    assert ollama["finish_reason"] == "tool_calls"


def test_a_call_without_an_id_gets_one() -> None:
    call = {"index": 0, "function": {"name": "f", "arguments": "{}"}}

    result = result_of(chunk({"tool_calls": [call]}), chunk({}, "tool_calls"))

    assert result["content"] == [{"id": "call_0", "name": "f", "arguments": {}}]


@pytest.mark.parametrize(
    ("told", "reason"),
    [("stop", "stop"), ("function_call", "tool_calls"), ("eos", "stop"), ("odd", "odd")],
)
def test_each_end_is_kept_or_translated(told: str, reason: str) -> None:
    assert result_of(chunk({"content": "x"}), chunk({}, told))["finish_reason"] == reason


def test_an_end_without_a_reason_is_an_end_and_a_reason_without_an_end_too() -> None:
    assert result_of(chunk({"content": "x"}), "data: [DONE]\n")["finish_reason"] == "stop"
    assert result_of(chunk({"content": "x"}, "length"))["finish_reason"] == "length"
    with pytest.raises(StreamTruncated, match="after 1 characters"):
        result_of(chunk({"content": "x"}))


def test_empty_and_null_fields_are_no_failure() -> None:
    result = result_of(
        ": comment",
        "",
        'data: {"choices": null}\n\n',
        'data: {"choices": [{"index": 0, "delta": null, "finish_reason": null}]}\n\n',
        chunk({"content": None, "tool_calls": None, "refusal": None}),
        chunk({"content": "x"}, usage=None),
        chunk({}, "stop", usage={"prompt_tokens": 3, "completion_tokens": None}),
    )

    assert result["content"] == "x"
    assert result["usage"].input_tokens == 3
    assert result["usage"].output_tokens is None
    assert result["usage"].cached_tokens is None


def test_what_went_into_the_cache_and_into_images_is_counted() -> None:
    read = {"cached_tokens": 2, "cache_write_tokens": 3, "image_tokens": 4}
    written = {"reasoning_tokens": 0, "image_tokens": 0}
    counts = {"prompt_tokens": 9, "completion_tokens": 1}
    details = {"prompt_tokens_details": read, "completion_tokens_details": written}
    last = chunk({"content": "x"}, "stop", usage={**counts, **details})

    assert result_of(last)["usage"] == Usage(
        input_tokens=9,
        output_tokens=1,
        cached_tokens=2,
        reasoning_tokens=0,
        cache_write_tokens=3,
        image_tokens=4,
    )


def test_an_error_in_the_middle_names_the_status_that_it_gives() -> None:
    for error in ({"code": 502, "message": "upstream"}, "upstream"):
        with pytest.raises(ServiceError, match="broke off its answer: upstream"):
            result_of(chunk({"content": "x"}), "data: " + json.dumps({"error": error}) + "\n\n")


# Cases MF064 to MF069 and MF073 of the reference system's observed behaviour.


def test_the_reference_systems_results_are_kept_and_its_failures_are_not() -> None:
    def invoked(*choice: Any) -> dict[str, Any]:
        message, finish = choice
        document = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
        raw = Reply(raw=json.dumps(document), headers={"content-type": "application/json"})
        with ChatServer(raw) as server:
            result = LegacyOpenAIModel("m", "k", server.url).invoke(HI)
        assert len(server.requests) == 1
        return result

    def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        return {"id": call_id, "type": "function", "function": function}

    text = invoked({"role": "assistant", "content": "T"}, "stop")
    assert (text["type"], text["content"]) == (ModelResponseType.CONTENT, "T")
    two = invoked(
        {"content": None, "tool_calls": [call("c1", "f", "{}"), call("c2", "g", '{"b":[1]}')]},
        "tool_calls",
    )
    assert two["type"] is ModelResponseType.TOOL_CALL
    assert two["content"] == [
        {"id": "c1", "name": "f", "arguments": {}},
        {"id": "c2", "name": "g", "arguments": {"b": [1]}},
    ]
    assert invoked({"content": ""}, "stop")["content"] == ""
    bad = invoked({"tool_calls": [call("c1", "f", '{"a":')]}, "tool_calls")
    assert bad["assistant_message"]["tool_calls"][0].raw_arguments == '{"a":'
    array = invoked({"tool_calls": [call("c1", "f", "[1]")]}, "tool_calls")
    assert array["content"][0]["arguments"] == {}
    assert array["assistant_message"]["tool_calls"][0].raw_arguments == "[1]"


def test_the_last_event_is_the_end() -> None:
    events = list(decode([chunk({"content": "x"}), chunk({}, "stop"), "data: [DONE]\n\n"]))

    assert [type(event) for event in events] == [TextDelta, Finished]


def test_only_the_first_of_several_answers_is_the_answer() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]}

    result = result_of(
        chunk({"content": "one"}), f"data: {json.dumps(second)}\n\n", chunk({}, "stop")
    )

    assert (result["content"], result["finish_reason"]) == ("one", "stop")


# What cannot be sent, and what the environment does.


@pytest.mark.parametrize(
    "options",
    [
        {"extra_body": {"x": float("nan")}},
        {"extra_body": {"x": object()}},
        {"extra_headers": {"X-A": "line\nbreak"}},
        {"extra_headers": {"X-A": "café"}},
        {"extra_headers": {"X-A": 5}},
    ],
)
def test_what_cannot_be_put_into_bytes_is_a_bad_request(options: dict[str, Any]) -> None:
    with ChatServer() as server:
        with pytest.raises(BadRequest, match="cannot be sent"):
            LegacyOpenAIModel("m", "k", server.url).invoke(HI, **options)
        assert server.requests == []


def test_arguments_that_json_cannot_hold_are_a_bad_request() -> None:
    call = {"id": "a", "name": "f", "arguments": {"when": object()}}

    with ChatServer() as server, pytest.raises(BadRequest, match="cannot be sent"):
        LegacyOpenAIModel("m", "k", server.url).invoke(
            [*HI, {"role": "assistant", "tool_calls": [call]}]
        )


def test_half_a_character_does_not_break_the_request() -> None:
    with ChatServer() as server:
        model = LegacyOpenAIModel("m", "k", server.url)
        assert model.invoke([{"role": "user", "content": "a\ud800b"}])["content"] == "Hello."

    assert server.bodies[0]["messages"][0]["content"] == "a?b"


def test_extra_fields_go_into_objects_that_are_there() -> None:
    with ChatServer() as server:
        model = LegacyOpenAIModel("m", "k", server.url, extra_body={"stream_options": {"x": 1}})
        model.invoke(HI, extra_body={"top_k": 5})

    assert server.bodies[0]["stream_options"] == {"include_usage": True, "x": 1}
    assert server.bodies[0]["top_k"] == 5


def test_a_proxy_for_the_outside_is_not_asked_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ChatServer() as server:
        model = LegacyOpenAIModel("m", "k", server.url)
        assert asyncio.run(model.ainvoke(HI))["content"] == "Hello."  # a new loop, a new client


def test_an_environment_without_a_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://nowhere:1")

    with (
        ChatServer() as server,
        pytest.raises(ConnectionFailed, match="this environment's") as caught,
    ):
        asyncio.run(LegacyOpenAIModel("m", "k", server.url).ainvoke(HI))

    assert "ALL_PROXY" in caught.value.fix


def test_a_model_that_is_not_sampled_takes_no_temperature() -> None:
    with pytest.raises(Unsupported, match="openai-chat/gpt-6-sol takes no setting 'temperature'"):
        LegacyOpenAIModel("gpt-6-sol", "k").encode(HI, None, {"temperature": 0.2})
    settings = {"temperature": 0.2, "reasoning": "none"}
    assert LegacyOpenAIModel("gpt-6-sol", "k").encode(HI, None, settings)["temperature"] == 0.2


def test_an_attachment_that_cannot_be_read_keeps_its_own_error() -> None:
    class Gone(ImageAsset):
        __slots__ = ()

        def load_bytes(self) -> bytes:
            raise AttachmentError("photo.png was not found; a file was expected.")

    messages = [{"role": "user", "content": [media.block(Gone.from_bytes(media.png()))]}]

    with ChatServer() as server, pytest.raises(AttachmentError, match=r"photo\.png"):
        LegacyOpenAIModel("m", "k", server.url).invoke(messages)


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("gpt-4.1", True),
        ("gpt-5-chat-latest", True),
        ("gpt-5.5", True),
        ("gpt-6-luna", True),
        ("a-model-of-tomorrow", True),
        ("o3", False),
        ("o4-mini-2025-04-16", False),
        ("gpt-5", False),
        ("gpt-5-nano", False),
        ("gpt-5.1", False),
        ("gpt-5.2-codex", False),
    ],
)
def test_a_model_that_takes_no_stop_is_told_what_to_do_instead(name: str, takes: bool) -> None:
    model = LegacyOpenAIModel(name, "k")
    if takes:
        assert model.encode(HI, None, {"stop": "END"})["stop"] == ["END"]
    else:
        with pytest.raises(Unsupported, match=f"openai-chat/{name} takes no setting 'stop'") as no:
            model.encode(HI, None, {"stop": "END"})
        assert "max_tokens" in no.value.fix
    assert model.encode(HI, None, {"seed": 3})["seed"] == 3


def test_who_is_sent_from_responses_to_chat_finds_the_setting_there() -> None:
    for name in ("gpt-4.1", "gpt-6-luna", "o3", "gpt-5.1"):
        with pytest.raises(Unsupported) as refused:
            OpenAIModel(name, "k").encode(HI, None, {"stop": "END"})
        if "openai-chat/" in refused.value.fix:
            assert LegacyOpenAIModel(name, "k").encode(HI, None, {"stop": "END"})
        else:
            assert "leave it out" in refused.value.fix
