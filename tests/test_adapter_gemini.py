"""Gemini's generate_content: what goes out, what goes back, what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import media
import wire
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.gemini_encoder import UNSEALED
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    KeyMissing,
    ModelError,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    ServiceError,
    TooLarge,
    UnknownModel,
    Unsupported,
)
from agentcell.messages import ToolCall
from agentcell.testing import Call, GeminiServer, Reply
from agentcell.testing.gemini_server import SEAL

HI = [{"role": "user", "content": "Hi"}]
TOOL = {
    "name": "f",
    "description": "Does f.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
}


def model(name: str = "gemini-3.8-flash", **options: Any) -> GeminiModel:
    return GeminiModel(name, "AIza-test", **options)


def encoded(model: GeminiModel, *arguments: Any) -> dict[str, Any]:
    body = model.encode(*arguments)
    wire.check("gemini", body)
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
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "Four"},
        ],
    )

    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief.\n\nBe kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "One"}, {"text": "Two"}]},
            {"role": "model", "parts": [{"text": "Three"}]},
            {"role": "user", "parts": [{"text": "Four"}]},
        ],
    }
    for empty in ([{"role": "user", "content": ""}], [{"role": "system", "content": "x"}]):
        with pytest.raises(BadRequest, match="say nothing"):
            model().encode(empty)


def test_an_image_of_each_source_goes_out(tmp_path: Path) -> None:
    images = media.every_image(tmp_path)

    content = [media.block(image) for image in images.values()]
    body = encoded(model(), [{"role": "user", "content": content}])

    parts = body["contents"][0]["parts"]
    data = base64.b64encode((tmp_path / "photo.png").read_bytes()).decode()
    assert parts[0] == {"inlineData": {"mimeType": "image/png", "data": data}}
    assert [list(part) for part in parts] == [["inlineData"]] * 3 + [["fileData"]] * 2
    assert parts[3] == {"fileData": {"fileUri": "https://example.com/a.png"}}
    base = "https://generativelanguage.googleapis.com/v1beta/files"
    assert parts[4] == {"fileData": {"fileUri": f"{base}/file-abc123"}}


def test_a_pdf_of_each_source_goes_out(tmp_path: Path) -> None:
    pdfs = media.every_pdf(tmp_path)

    content = [media.block(pdf) for pdf in pdfs.values()]
    body = encoded(model(), [{"role": "user", "content": content}])

    path, _, _, url, _ = body["contents"][0]["parts"]
    data = base64.b64encode((tmp_path / "bill.pdf").read_bytes()).decode()
    assert path == {"inlineData": {"mimeType": "application/pdf", "data": data}}
    assert url["fileData"] == {
        "mimeType": "application/pdf",
        "fileUri": "https://example.com/a.pdf",
    }


@pytest.mark.parametrize(
    ("file_id", "uri"),
    [
        ("files/abc", "https://generativelanguage.googleapis.com/v1beta/files/abc"),
        ("abc", "https://generativelanguage.googleapis.com/v1beta/files/abc"),
        ("https://example.com/v1/files/abc", "https://example.com/v1/files/abc"),
        ("gs://bucket/a.png", "gs://bucket/a.png"),
    ],
)
def test_a_file_is_named_by_its_address(file_id: str, uri: str) -> None:
    image = media.block(ImageAsset.from_file_id(file_id, mime_type="image/png"))

    part = encoded(model(), [{"role": "user", "content": [image]}])["contents"][0]["parts"][0]

    assert part["fileData"] == {"mimeType": "image/png", "fileUri": uri}


def test_an_image_is_seen_as_closely_as_was_asked() -> None:
    def sent(name: str, detail: str, setting: str = "auto") -> tuple[Any, Any]:
        part = {"type": "image_url", "image_url": {"url": "https://a.example/x", "detail": detail}}
        body = encoded(
            model(name), [{"role": "user", "content": [part]}], None, {"detail": setting}
        )
        level = body["contents"][0]["parts"][0].get("mediaResolution", {}).get("level")
        return level, body.get("generationConfig", {}).get("mediaResolution")

    assert sent("gemini-4-argon", "low") == ("MEDIA_RESOLUTION_LOW", None)
    assert sent("gemini-4-argon", "", "original") == ("MEDIA_RESOLUTION_ULTRA_HIGH", None)
    assert sent("gemini-4-argon", "auto", "high") == (None, None)
    assert sent("gemini-2.5-flash", "", "high") == (None, "MEDIA_RESOLUTION_HIGH")
    with pytest.raises(Unsupported, match="original size") as caught:
        model("gemini-2.5-flash").encode(HI, None, {"detail": "original"})
    assert "high" in caught.value.fix


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
    marked, sent, question = body["contents"][0]["parts"]
    assert marked["text"] == "Attached to the instructions: [guide_1 guide]"
    assert (list(sent), question["text"]) == (["inlineData"], "Hi")


def test_results_of_one_answers_calls_are_one_content_with_their_media() -> None:
    image = media.block(ImageAsset.from_bytes(media.png()), "shot")
    bill = media.block(PdfAsset.from_bytes(media.pdf()), "bill")
    calls = [{"id": "a", "name": "look", "arguments": {"n": 1}}, ToolCall("b", "read", {})]
    messages = [*HI, asked(*calls), said("a", ["here", image, bill]), said("b", ""), *HI]

    body = encoded(model(), messages)

    roles = [content["role"] for content in body["contents"]]
    assert roles == ["user", "model", "user", "user"]
    first, second = (part["functionResponse"] for part in body["contents"][2]["parts"])
    assert (first["id"], first["name"], first["response"]) == ("a", "look", {"result": "here"})
    assert [part["inlineData"]["mimeType"] for part in first["parts"]] == [
        "image/png",
        "application/pdf",
    ]
    assert second == {"id": "b", "name": "read", "response": {"result": ""}}


@pytest.mark.parametrize("more", [{}, {"name": "f"}])
def test_a_result_without_its_call_is_refused_whatever_its_name(more: dict[str, str]) -> None:
    with pytest.raises(BadRequest, match="'lost' has no call before it") as caught:
        model().encode([*HI, said("lost", **more)])

    assert "keep the assistant's message with the call" in caught.value.fix


def test_results_stand_in_the_order_of_their_calls_however_they_were_given() -> None:
    first = [{"id": "a", "name": "f", "arguments": {}}, {"id": "b", "name": "g", "arguments": {}}]
    second = [{"id": "c", "name": "f", "arguments": {}}, {"id": "a", "name": "g", "arguments": {}}]
    messages = [*HI, asked(*first), said("b", "2"), said("a", "1")]
    messages += [asked(*second), said("a", "4"), said("c", "3"), *HI]

    contents = encoded(model(), messages)["contents"]

    results = [
        [part["functionResponse"]["response"]["result"] for part in contents[at]["parts"]]
        for at in (2, 4)
    ]
    assert results == [["1", "2"], ["3", "4"]]


def test_seals_go_back_where_they_came_from() -> None:
    calls = [Call("f", '{"a": 1}', "c1"), Call("g", "{}", "c2")]
    first = Reply("Let me ", "look.", thinking=["h", "m"], calls=calls)
    with GeminiServer(first, Reply("Done.", thinking=["aha"]), "Bye.") as server:
        thinker = GeminiModel("gemini-4-argon", "k", server.url)
        answer = thinker.invoke(HI, [TOOL])["assistant_message"]
        told_to = [*HI, answer, said("c1"), said("c2")]
        told = thinker.invoke(told_to, [TOOL])["assistant_message"]
        calls_again = [
            {"id": c.id, "name": c.name, "arguments": c.arguments} for c in answer["tool_calls"]
        ]
        history = [*HI, {**answer, "tool_calls": calls_again}, said("c1"), said("c2"), told, *HI]
        thinker.invoke(json.loads(json.dumps(history)), [TOOL])  # as a file keeps it
        for body in server.bodies:
            wire.check("gemini", body)

    contents = server.bodies[2]["contents"]
    assert contents[1]["parts"] == [
        {"text": "Let me look."},
        {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}, "thoughtSignature": SEAL},
        {"functionCall": {"id": "c2", "name": "g", "args": {}}},
        {"text": "", "thoughtSignature": SEAL},
    ]
    assert contents[3]["parts"] == [{"text": "Done."}, {"text": "", "thoughtSignature": SEAL}]


def test_a_changed_answer_goes_back_as_it_is_now_without_the_seal_of_its_text() -> None:
    def item(**fields: Any) -> dict[str, Any]:
        return {"provider": "gemini", "item": fields}

    opaque = [
        item(type="text", length=3, thoughtSignature="AAAA"),
        item(type="call", call_id="c1", thoughtSignature="BBBB"),
        item(type="part", part={"executableCode": {"language": "PYTHON", "code": "1"}}),
    ]
    call = ToolCall("c1", "f", {})

    def parts(text: str, *calls: ToolCall) -> list[Any]:
        answer = asked(*calls, content=text, opaque=opaque)
        messages = [*HI, answer, *(said(call.id) for call in calls)]
        return list(encoded(model(), messages)["contents"][1]["parts"])

    as_it_came, sealed_call, code = parts("one", call)
    assert as_it_came == {"text": "one", "thoughtSignature": "AAAA"}
    # No id came with the call, so none goes back: the answer to it has none either.
    assert sealed_call == {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "BBBB"}
    assert "executableCode" in code
    assert parts("[partial]") == [{"text": "[partial]"}, code]
    assert parts("")[0] == code


def test_a_result_names_no_id_where_its_call_had_none() -> None:
    opaque = [{"provider": "gemini", "item": {"type": "call", "call_id": "call_0"}}]
    messages = [*HI, asked(ToolCall("call_0", "f", {}), opaque=opaque), said("call_0")]

    body = encoded(model("gemini-2.5-flash"), messages)

    assert body["contents"][1]["parts"] == [{"functionCall": {"name": "f", "args": {}}}]
    assert "id" not in body["contents"][2]["parts"][0]["functionResponse"]


def test_the_calls_of_another_model_get_googles_own_word_for_a_missing_seal() -> None:
    opaque = [{"provider": "anthropic", "item": {"type": "thinking", "signature": "x"}}]
    calls = [ToolCall("a", "f", {}), ToolCall("b", "f", {}, raw_arguments="[1")]
    messages = [*HI, asked(*calls, content="Wait", opaque=opaque), said("a"), said("b")]

    newer = encoded(model("gemini-3.8-flash"), messages)["contents"][1]["parts"]
    older = encoded(model("gemini-2.5-pro"), messages)["contents"][1]["parts"]

    assert [part.get("thoughtSignature") for part in newer] == [None, UNSEALED, None]
    assert [part.get("thoughtSignature") for part in older] == [None, None, None]
    assert newer[2]["functionCall"]["args"] == {"raw_arguments": "[1"}


def test_tools_and_their_choice_have_this_protocols_shape() -> None:
    search = {"type": "google_search"}
    plain = {"name": "g"}

    body = encoded(model(), HI, [TOOL, plain, search], {"tool_choice": "g"})

    assert body["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "f",
                    "description": "Does f.",
                    "parametersJsonSchema": TOOL["parameters"],
                },
                {"name": "g"},
            ]
        },
        {"googleSearch": {}},
    ]
    calling = {"mode": "ANY", "allowedFunctionNames": ["g"]}
    assert body["toolConfig"] == {"functionCallingConfig": calling}
    for common, mode in {"auto": "AUTO", "none": "NONE", "required": "ANY"}.items():
        sent = encoded(model(), HI, [TOOL], {"tool_choice": common})
        assert sent["toolConfig"]["functionCallingConfig"] == {"mode": mode}
    strict = encoded(model(), HI, [{**TOOL, "strict": True}])
    assert strict["toolConfig"]["functionCallingConfig"] == {"mode": "VALIDATED"}
    assert "toolConfig" not in encoded(model(), HI, [TOOL])
    with pytest.raises(Unsupported, match="cannot be made to use 'url_context'"):
        model().encode(HI, [{"type": "url_context"}], {"tool_choice": "url_context"})


def test_settings_have_the_names_of_this_protocol() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    settings = {
        "temperature": 1,
        "top_p": 0.5,
        "max_tokens": 10,
        "stop": "END",
        "seed": 7,
        "schema": schema,
    }

    body = encoded(model("gemini-3.1-pro-preview"), HI, None, settings)

    assert body["generationConfig"] == {
        "temperature": 1.0,
        "topP": 0.5,
        "maxOutputTokens": 10,
        "stopSequences": ["END"],
        "seed": 7,
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }
    with pytest.raises(Unsupported, match="32 bits"):
        model().encode(HI, None, {"seed": 2**31})


def test_tools_and_a_schema_go_together_from_gemini_3_on() -> None:
    settings = {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}}

    assert encoded(model(), HI, [TOOL], settings)["generationConfig"]["responseJsonSchema"]
    with pytest.raises(Unsupported, match="cannot call tools and follow a schema") as caught:
        model("gemini-2.5-flash").encode(HI, [TOOL], settings)
    assert "Gemini 3" in caught.value.fix
    able = [model(n).capabilities.structured_output for n in ("gemini-4-argon", "gemini-2.5-pro")]
    assert able == [True, False]


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("gemini-2.5-flash", True),
        ("gemini-3.1-pro-preview", True),
        ("a-model-of-tomorrow", True),
        ("gemini-3.5-flash", False),
        ("gemini-3.8-flash", False),
        ("models/gemini-4-argon", False),
        ("gemini-flash-latest", False),
        ("gemini-10-x", False),
    ],
)
def test_a_model_that_ignores_temperature_refuses_it(name: str, takes: bool) -> None:
    for setting in ({"temperature": 1.0}, {"top_p": 0.5}):
        if takes:
            assert encoded(model(name), HI, None, setting)["generationConfig"]
        else:
            with pytest.raises(Unsupported, match="takes no setting") as caught:
                model(name).encode(HI, None, setting)
            assert "set reasoning" in caught.value.fix


@pytest.mark.parametrize(
    ("name", "reasoning", "expected"),
    [
        ("gemini-4-argon", "xhigh", {"includeThoughts": True, "thinkingLevel": "XHIGH"}),
        ("gemini-2.5-flash", "none", {"includeThoughts": False, "thinkingBudget": 0}),
        ("gemini-2.5-pro", "high", {"includeThoughts": True, "thinkingBudget": 24_576}),
        ("gemini-2.5-pro", {"thinkingBudget": -1}, {"includeThoughts": True, "thinkingBudget": -1}),
        (
            "gemini-4-argon",
            {"effort": "low", "includeThoughts": False},
            {"includeThoughts": False, "thinkingLevel": "LOW"},
        ),
    ],
)
def test_reasoning_becomes_a_level_or_a_budget(
    name: str, reasoning: Any, expected: dict[str, Any]
) -> None:
    body = encoded(model(name), HI, None, {"reasoning": reasoning})

    assert body["generationConfig"]["thinkingConfig"] == expected


@pytest.mark.parametrize(
    ("name", "effort"),
    [("gemini-4-argon", "none"), ("gemini-4-argon", "max"), ("gemini-2.5-pro", "xhigh")],
)
def test_an_effort_that_a_model_does_not_know_is_refused_with_those_it_does(
    name: str, effort: str
) -> None:
    with pytest.raises(Unsupported, match=f"knows no effort '{effort}'") as caught:
        model(name).encode(HI, None, {"reasoning": effort})

    assert "minimal, low, medium, high" in caught.value.fix


def test_an_effort_and_a_budget_do_not_go_together() -> None:
    with pytest.raises(Unsupported, match="not both"):
        model().encode(HI, None, {"reasoning": {"effort": "low", "thinkingBudget": 9}})


# Keys, addresses, the service's own words for what goes wrong.


@pytest.mark.parametrize(
    ("ending", "name", "path"),
    [
        ("", "gemini-4-argon", "/v1beta/models/gemini-4-argon"),
        ("/v1", "gemini-4-argon", "/v1/models/gemini-4-argon"),
        ("/proxy/v1beta/", "models/gemini-4-argon", "/proxy/v1beta/models/gemini-4-argon"),
        ("", "tunedModels/mine", "/v1beta/tunedModels/mine"),
        ("", "odd?name#x", "/v1beta/models/odd%3Fname%23x"),
    ],
)
def test_the_address_has_a_version_once_and_the_models_name(
    ending: str, name: str, path: str
) -> None:
    with GeminiServer() as server:
        base = server.url.removesuffix("/v1") + ending
        GeminiModel(name, "k", base).invoke(HI)

    assert server.requests[0].path == f"{path}:streamGenerateContent?alt=sse"


def test_googles_variable_comes_before_geminis(monkeypatch: pytest.MonkeyPatch) -> None:
    with GeminiServer("hello", key="key-of-google") as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.setenv("GEMINI_API_KEY", "key-of-gemini")
        talker = GeminiModel("gemini-4-argon")
        with pytest.raises(AuthenticationError) as caught:
            talker.invoke(HI)
        monkeypatch.setenv("GOOGLE_API_KEY", "key-of-google")
        assert talker.invoke(HI)["content"] == "hello"

    assert "check GEMINI_API_KEY or api_key" in caught.value.fix
    assert "key" not in server.requests[0].path


def test_a_missing_key_is_said_before_any_request() -> None:
    with pytest.raises(KeyMissing, match="GEMINI_API_KEY is not set"):
        GeminiModel("gemini-4-argon").invoke(HI)


def test_a_local_server_gets_no_real_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "AIza-real")
    with GeminiServer() as server:
        GeminiModel("m", base_url=server.url).invoke(HI)

    assert server.requests[0].headers["x-goog-api-key"] == "no-key-needed"


def test_a_redirect_does_not_take_the_key_to_another_host() -> None:
    with GeminiServer() as thief:
        elsewhere = {"location": f"{thief.url}/models/m:streamGenerateContent?alt=sse"}
        for status in (301, 302, 307, 308):
            away = Reply(status=status, raw="", headers=elsewhere)
            with GeminiServer(away) as server, pytest.raises(ServiceError) as caught:
                GeminiModel("m", "secret-key", server.url).invoke(HI)
            assert caught.value.status == status
        assert thief.requests == []


def failing(status: int, code: str, message: str, *details: dict[str, Any]) -> Reply:
    """Return an error as Google words it."""
    error = {"code": status, "message": message, "status": code, "details": list(details)}
    return Reply(status=status, raw=json.dumps({"error": error}))


_QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"
_WAIT = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}


@pytest.mark.parametrize(
    ("reply", "kind", "retryable", "wait"),
    [
        (
            failing(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
            ),
            AuthenticationError,
            False,
            None,
        ),
        (failing(403, "PERMISSION_DENIED", "no"), AuthenticationError, False, None),
        (
            failing(404, "NOT_FOUND", "models/m is not found for API version v1beta"),
            UnknownModel,
            False,
            None,
        ),
        (
            failing(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed",
            ),
            TooLarge,
            False,
            None,
        ),
        (
            failing(400, "INVALID_ARGUMENT", "Unable to process input image"),
            BadRequest,
            False,
            None,
        ),
        (failing(429, "RESOURCE_EXHAUSTED", "quota", _WAIT), RateLimited, True, 34.5),
        (
            failing(
                429,
                "RESOURCE_EXHAUSTED",
                "quota",
                {"@type": _QUOTA, "violations": [{"quotaId": "RequestsPerDayPerProject"}]},
                _WAIT,
            ),
            QuotaExceeded,
            False,
            34.5,
        ),
        (failing(503, "UNAVAILABLE", "The model is overloaded."), Overloaded, True, None),
        (failing(500, "INTERNAL", "oops"), ServiceError, True, None),
        (failing(504, "DEADLINE_EXCEEDED", "too late"), ServiceError, True, None),
    ],
)
def test_the_services_own_errors_have_their_types(
    reply: Reply, kind: type[ModelError], retryable: bool, wait: float | None
) -> None:
    with GeminiServer(reply) as server, pytest.raises(ModelError) as caught:
        GeminiModel("m", "k", server.url, max_retries=0).invoke(HI)

    assert type(caught.value) is kind
    assert (caught.value.retryable, caught.value.retry_after) == (retryable, wait)


def test_an_end_that_may_pass_is_tried_again() -> None:
    candidate = {"content": {"parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL"}
    raw = f"data: {json.dumps({'candidates': [candidate]})}\n\n"
    bad = Reply(raw=raw, headers={"content-type": "text/event-stream"})
    with GeminiServer(bad, "there") as server:
        assert GeminiModel("m", "k", server.url).invoke(HI)["content"] == "there"

    assert len(server.requests) == 2


def test_a_picture_that_gemini_does_not_take_is_converted_before_it_is_sent() -> None:
    drawing = media.block(ImageAsset.from_bytes(media.png(kind="GIF"), filename="a.gif"))
    with GeminiServer() as server:
        GeminiModel("m", "k", server.url).invoke([{"role": "user", "content": [drawing]}])

    blob = server.bodies[0]["contents"][0]["parts"][0]["inlineData"]
    assert blob["mimeType"] == "image/png"
