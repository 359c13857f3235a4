"""OpenAI-shaped messages reach every provider by one converter, and come back in the same shape."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

import media
import wire
from agentcell import (
    AnthropicModel,
    GeminiModel,
    ImageAsset,
    LegacyOpenAIModel,
    OpenAIModel,
    PdfAsset,
    SimplePrompt,
)
from agentcell.adapters.content import read_messages
from agentcell.adapters.events import Gathering, ToolCallDelta
from agentcell.adapters.json_object import json_object
from agentcell.errors import AttachmentError, AttachmentWarning, BadRequest, Unsupported
from agentcell.messages import TextMessageBlock, ToolCall
from agentcell.openai_shape import openai_messages
from agentcell.testing import Call, GeminiServer, Reply

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
WEBP = "data:image/webp;base64,QUJD"


def gemini(**options: Any) -> GeminiModel:
    return GeminiModel("gemini-2.5-flash", "AIza-test", **options)


def body(messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    made = gemini(**options).encode(messages)
    wire.check("gemini", made)
    return made


def part(url: str, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def asked(*calls: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in calls
        ],
    }


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def gif(frames: int = 2) -> bytes:
    colours = ["red", "blue", "green"]
    images = [Image.new("RGB", (2, 2), colours[at]) for at in range(frames)]
    out = io.BytesIO()
    images[0].save(out, "GIF", save_all=True, append_images=images[1:])
    return out.getvalue()


def data_url(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


# -- cases 83 to 89: Gemini


def test_text_and_image_parts_keep_their_order() -> None:  # case 83
    sent = body([{"role": "user", "content": [text("a"), part(WEBP)]}])

    inline = {"inlineData": {"mimeType": "image/webp", "data": "QUJD"}}
    assert sent["contents"] == [{"role": "user", "parts": [{"text": "a"}, inline]}]


def test_the_systems_text_goes_before_the_conversation() -> None:  # case 84
    sent = body([{"role": "system", "content": "S"}, HI])

    assert sent["systemInstruction"]["parts"] == [{"text": "S"}]
    assert [one["role"] for one in sent["contents"]] == ["user"]


def test_several_system_messages_are_one_text() -> None:  # case 85
    system = [{"role": "system", "content": "One"}, {"role": "developer", "content": "Two"}]

    sent = body([system[0], HI, system[1]])

    assert sent["systemInstruction"]["parts"] == [{"text": "One\n\nTwo"}]


def test_a_call_and_its_result_are_of_the_model_and_the_user() -> None:  # case 86
    sent = body([HI, asked(("c1", "f", '{"x":1}')), result("c1", "42")])

    _, call, answer = sent["contents"]
    told = {key: call["parts"][0]["functionCall"][key] for key in ("name", "args")}
    assert (call["role"], told) == ("model", {"name": "f", "args": {"x": 1}})
    response = answer["parts"][0]["functionResponse"]
    assert (answer["role"], response["name"], response["response"]) == (
        *("user", "f"),
        {"result": "42"},
    )


RESULTS = [
    ('{"a": [1, {"b": true}]}', {}, {"a": [1, {"b": True}]}),
    ("[1]", {}, {"result": "[1]"}),
    ("", {}, {"result": ""}),
    ('{"a": NaN}', {}, {"result": '{"a": NaN}'}),
    ('{"a": 1, "a": 2}', {}, {"result": '{"a": 1, "a": 2}'}),
    ("{not json}", {}, {"result": "{not json}"}),
    ("{" * 5_000 + "}" * 5_000, {}, {"result": "{" * 5_000 + "}" * 5_000}),
    ("no such file", {"is_error": True}, {"error": "no such file"}),
    ("Error: no such file", {}, {"error": "no such file"}),
    ("Errors: none", {}, {"result": "Errors: none"}),
]


@pytest.mark.parametrize(("content", "more", "response"), RESULTS)
def test_a_result_is_an_object_of_its_own_or_made_one(
    content: str, more: dict[str, Any], response: dict[str, Any]
) -> None:
    sent = body([HI, asked(("c1", "f", "{}")), result("c1", content, **more)])

    assert sent["contents"][2]["parts"][0]["functionResponse"]["response"] == response


@pytest.mark.parametrize(
    "arguments", ["{bad", "[1]", '"x"', '{"x": NaN}', '{"x": -Infinity}', '{"x": 1e999}']
)
def test_arguments_that_are_no_object_are_kept_and_never_made_empty(arguments: str) -> None:
    sent = body([HI, asked(("c1", "f", arguments)), result("c1", "Error: no JSON")])  # case 87

    call = sent["contents"][1]["parts"][0]["functionCall"]
    assert call["args"] == {"raw_arguments": arguments}
    with GeminiServer(Reply(calls=[Call("f", "{bad", "c1")])) as server:
        reply = GeminiModel("gemini-2.5-flash", "k", server.url).invoke([HI], [{"name": "f"}])
    (heard,) = reply["assistant_message"]["tool_calls"]
    assert (heard.arguments, bool(heard.raw_arguments)) == ({}, True)


def test_a_result_without_its_call_is_an_error() -> None:  # case 88
    with pytest.raises(BadRequest, match="The result for the call 'c9' has no call before it"):
        gemini().encode([HI, asked(("c1", "f", "{}")), result("c9", "42")])


def test_a_gif_goes_out_as_its_first_frame_or_is_refused() -> None:  # case 89
    url = data_url(gif(), "image/gif")
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [text("a"), part(url, detail="low")]}
    ]

    with pytest.warns(AttachmentWarning, match="reads no GIF: the first frame"):
        sent = body(messages)
    blob = sent["contents"][0]["parts"][1]["inlineData"]
    frame = Image.open(io.BytesIO(base64.b64decode(blob["data"]))).convert("RGB")

    assert blob["mimeType"] == "image/png"
    assert frame.getpixel((0, 0)) == (255, 0, 0)
    assert messages[0]["content"][1]["image_url"]["url"] == url
    with pytest.raises(Unsupported, match="does not read image/gif") as caught:
        gemini(gif_images="refuse").encode(messages)
    assert 'gif_images="first_frame"' in caught.value.fix
    with pytest.raises(ValueError, match="gif_images is 'skip'"):
        gemini(gif_images="skip")


def test_a_gif_under_another_name_or_damaged_never_goes_out_as_one() -> None:
    named = data_url(gif(1), "image/png")
    with pytest.warns(AttachmentWarning):
        sent = body([{"role": "user", "content": [part(named)]}])
    assert sent["contents"][0]["parts"][0]["inlineData"]["mimeType"] == "image/png"

    for damaged in ("data:image/gif;base64,R0lGODlh", "data:image/gif;base64,???"):
        with pytest.raises(AttachmentError, match="A GIF image in the messages"):
            gemini().encode([{"role": "user", "content": [part(damaged)]}])


def test_a_gif_that_is_an_attachment_follows_the_same_choice() -> None:
    block = media.block(ImageAsset.from_bytes(gif()))
    with GeminiServer("a") as server:
        asking: list[dict[str, Any]] = [{"role": "user", "content": [block]}]
        with pytest.raises(Unsupported, match="does not read image/gif"):
            GeminiModel("m", "k", server.url, gif_images="refuse").invoke(asking)
        assert server.requests == []
        GeminiModel("m", "k", server.url).invoke(asking)

    (sent,) = server.bodies
    assert sent["contents"][0]["parts"][0]["inlineData"]["mimeType"] == "image/png"


def test_what_one_side_says_in_a_row_is_one_content_and_empty_parts_are_dropped() -> None:
    sent = body(
        [
            HI,
            {"role": "user", "content": [text(""), text("there")]},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": "Yes?"},
            {"role": "assistant", "content": "Go on."},
            {"role": "user", "content": [text("")]},
        ]
    )

    assert sent["contents"] == [
        {"role": "user", "parts": [{"text": "Hi"}, {"text": "there"}]},
        {"role": "model", "parts": [{"text": "Yes?"}, {"text": "Go on."}]},
    ]


def test_parallel_results_are_one_content_in_the_order_of_the_calls() -> None:
    calls = asked(("a", "f", "{}"), ("b", "g", "{}"))

    sent = body([HI, calls, result("a", "1"), result("b", "2"), HI])

    names = [one["functionResponse"]["name"] for one in sent["contents"][2]["parts"]]
    assert (names, [one["role"] for one in sent["contents"]]) == (
        ["f", "g"],
        ["user", "model", "user", "user"],
    )


# -- every provider

MODELS: list[tuple[str, Any]] = [
    ("gemini", gemini()),
    ("responses", OpenAIModel("gpt-4.1", "k")),
    ("chat", LegacyOpenAIModel("gpt-4.1", "k")),
    ("anthropic", AnthropicModel("claude-haiku-4-5", "k")),
]


@pytest.mark.parametrize(("kind", "model"), MODELS, ids=[kind for kind, _ in MODELS])
def test_a_prompt_files_messages_are_what_each_provider_takes(kind: str, model: Any) -> None:
    prompt = SimplePrompt.from_text("$system$\nS\n$user$\nU %text% %images%!\n$assistant$\nA")
    messages = prompt.build_messages(text="$x", images=[media.png(), media.png(kind="JPEG")])
    messages.append({"role": "user", "content": "More?"})

    sent = json.dumps(model.encode(messages))

    wire.check(kind, json.loads(sent))
    for piece in ("U $x ", "More?", "image/png", "image/jpeg"):
        assert piece in sent


@pytest.mark.parametrize(("kind", "model"), MODELS, ids=[kind for kind, _ in MODELS])
def test_calls_results_and_images_in_openais_words_reach_each_provider(
    kind: str, model: Any
) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [text("a"), part(data_url(media.png(), "image/png"))]},
        asked(("c1", "f", '{"x": "é"}'), ("c2", "g", "")),
        result("c1", "one"),
        result("c2", [text("two")], is_error=True),
        {"role": "user", "content": "b"},
    ]
    tools = [{"type": "function", "function": {"name": n, "parameters": {}}} for n in ("f", "g")]

    sent = model.encode(messages, tools)

    wire.check(kind, sent)
    written = json.dumps(sent, ensure_ascii=False)
    assert all(word in written for word in ("é", "one", "two"))
    assert ("is_error" in written) is (kind == "anthropic")


@pytest.mark.parametrize(("kind", "model"), MODELS, ids=[kind for kind, _ in MODELS])
def test_audio_is_refused_before_any_request(kind: str, model: Any) -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}

    with pytest.raises(Unsupported, match="'input_audio', in message 1") as caught:
        model.encode([{"role": "user", "content": [audio]}])

    assert "write down what is said" in caught.value.fix
    assert "QUJD" not in str(caught.value) + kind


# -- and back


def test_messages_are_written_as_openais_clients_do_and_read_the_same() -> None:
    picture = media.block(ImageAsset.from_bytes(media.png()))
    bill = media.block(PdfAsset.from_bytes(media.pdf(), filename="bill.pdf"))
    away = media.block(ImageAsset.from_url("https://example.org/a.png"))
    filed = media.block(ImageAsset.from_file_id("file-1"))
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [TextMessageBlock("a"), picture, bill, away, filed, "b"]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [ToolCall("c1", "f", {"x": "é"}), ToolCall("c2", "g", {}, "{bad")],
            "opaque": [{"type": "x"}],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "1", "is_error": True},
    ]

    plain = openai_messages(messages)

    assert json.loads(json.dumps(plain)) == plain
    functions = [one["function"] for one in plain[1]["tool_calls"]]
    assert functions == [
        {"name": "f", "arguments": '{"x": "é"}'},
        {"name": "g", "arguments": "{bad"},
    ]
    assert plain[1]["opaque"] == [{"type": "x"}]
    assert messages[1]["tool_calls"][0] == ToolCall("c1", "f", {"x": "é"})  # as it was
    model = OpenAIModel("gpt-4.1", "k")
    for before, after in zip(
        read_messages(messages, model), read_messages(plain, model), strict=True
    ):
        assert (before.calls, before.opaque, before.is_error) == (
            *(after.calls, after.opaque, after.is_error),
        )
        assert before.text == after.text
        assert [m.modality for m in before.media] == [m.modality for m in after.media]
    assert model.encode(plain)["input"][0] == model.encode(messages)["input"][0]


def test_an_object_is_one_only_if_json_can_say_it_again() -> None:
    assert json_object(' {"a": 1} ') == {"a": 1}
    none = ("[]", "1", '{"a": Infinity}', '{"a": 1e400}', "{", "")
    assert [json_object(one) for one in none] == [None] * 6


@pytest.mark.parametrize("said", ['{"x": NaN}', '{"x": 1e999}', '{"x": [Infinity]}'])
def test_a_call_with_a_number_that_json_lacks_is_told_to_the_model_and_can_be_sent_again(
    said: str,
) -> None:
    gathering = Gathering()
    gathering.take(ToolCallDelta(0, "c1", "f", said))

    (call,) = gathering.tool_calls()

    assert (call.arguments, call.raw_arguments) == ({}, said)
    sent = body(
        [HI, {"role": "assistant", "content": "", "tool_calls": [call]}, result("c1", "no")]
    )
    assert json.loads(json.dumps(sent, allow_nan=False)) == sent
