"""Responses: what goes out, what goes back with the next question, what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import media
import wire
from agentcell.adapters.events import Citation, TextDelta, ThinkingDelta, gather
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.openai_responses_decoder import decode
from agentcell.assets.asset import ImageAsset
from agentcell.errors import RateLimited, ServiceError, StreamTruncated, Unsupported
from agentcell.messages import MediaMessageBlock
from agentcell.testing import Call, Reply, ResponsesServer

HI = [{"role": "user", "content": "Hi"}]
TOOL = {"name": "f", "description": "Does f.", "parameters": {"type": "object"}}


def model(name: str = "gpt-4.1", **options: Any) -> OpenAIModel:
    return OpenAIModel(name, "sk-test", **options)


def encoded(model: OpenAIModel, *arguments: Any) -> dict[str, Any]:
    body = model.encode(*arguments)
    wire.check("responses", body)
    return body


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def completed(output: list[dict[str, Any]] | None = None, **fields: Any) -> str:
    response = {"status": "completed", "model": "m", "output": output or [], **fields}
    return event("response.completed", response=response)


def test_roles_and_texts_go_out_as_they_are() -> None:
    body = encoded(
        model(),
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": ["One", {"type": "input_text", "text": "Two"}]},
            {"role": "assistant", "content": "Three"},
            {"role": "user", "content": "Four"},
        ],
    )

    assert body["input"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "One"},
                {"type": "input_text", "text": "Two"},
            ],
        },
        {"role": "assistant", "content": "Three"},
        {"role": "user", "content": "Four"},
    ]
    assert body["store"] is False
    assert body["stream_options"] == {"include_obfuscation": False}
    assert "include" not in body  # a model that does not think answers 400 to it


def test_an_image_of_each_source_goes_out(tmp_path: Path) -> None:
    images = media.every_image(tmp_path)
    content = [media.block(image) for image in images.values()]

    body = encoded(model(), [{"role": "user", "content": content}], None, {"detail": "original"})

    parts = body["input"][0]["content"]
    assert {part["detail"] for part in parts} == {"original"}
    data = "data:image/png;base64," + base64.b64encode(media.png("blue")).decode()
    assert parts[1] == {"type": "input_image", "detail": "original", "image_url": data}
    assert parts[3]["image_url"] == "https://example.com/a.png"
    assert parts[4] == {"type": "input_image", "detail": "original", "file_id": "file-abc123"}


def test_a_pdf_of_each_source_goes_out_its_data_as_a_data_url(tmp_path: Path) -> None:
    pdfs = media.every_pdf(tmp_path)
    content = [media.block(asset) for asset in pdfs.values()]

    body = encoded(model(), [{"role": "user", "content": content}])

    path, _, _, url, file_id = body["input"][0]["content"]
    data = base64.b64encode((tmp_path / "bill.pdf").read_bytes()).decode()
    assert path == {
        "type": "input_file",
        "filename": "bill.pdf",
        "file_data": f"data:application/pdf;base64,{data}",
    }
    assert url == {"type": "input_file", "file_url": "https://example.com/a.pdf"}
    assert file_id == {"type": "input_file", "file_id": "file-def456"}


def test_openais_own_parts_are_accepted() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "https://a.example/x.png", "detail": "low"}},
        {"type": "input_image", "image_url": "https://a.example/y.png"},
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"},
        },
        {"type": "input_file", "file_id": "file-1"},
    ]

    body = encoded(model(), [{"role": "user", "content": parts}])

    sent = body["input"][0]["content"]
    assert [part["type"] for part in sent] == ["input_image"] * 2 + ["input_file"] * 2
    assert [part.get("detail") for part in sent] == ["low", "auto", None, None]
    assert sent[2]["filename"] == "a.pdf"


def test_media_go_out_with_the_system_and_in_a_tools_result() -> None:
    image = media.block(media.ImageAsset.from_bytes(media.png()), "shot")
    bill = media.block(media.PdfAsset.from_bytes(media.pdf()), "bill")
    call = {"id": "c1", "name": "look", "arguments": {}}

    body = encoded(
        model(),
        [
            {"role": "system", "content": ["See", image]},
            *HI,
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": ["here", image, bill]},
        ],
    )

    assert body["input"][0]["content"][1]["type"] == "input_image"
    output = body["input"][3]["output"]
    assert [part["type"] for part in output] == ["input_text", "input_image", "input_file"]


def test_system_media_moves_to_the_user_when_asked() -> None:
    image = media.block(media.ImageAsset.from_bytes(media.png()), "guide")

    system = {"role": "system", "content": ["See", image]}
    body = encoded(model(system_media="user"), [system, *HI])

    assert body["input"][1]["content"][1]["type"] == "input_image"


def test_a_call_goes_back_without_an_id_of_its_own() -> None:
    call = {"id": "call_x", "name": "f", "arguments": {"a": 1}}
    said = {"role": "tool", "tool_call_id": "call_x", "content": "done"}

    body = encoded(
        model(), [*HI, {"role": "assistant", "content": "Wait", "tool_calls": [call]}, said]
    )

    assert body["input"][1:] == [
        {"role": "assistant", "content": "Wait"},
        {"type": "function_call", "call_id": "call_x", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "call_x", "output": "done"},
    ]


def test_sealed_reasoning_goes_back_where_it_came_from() -> None:
    first = Reply("Let me look.", thinking=["hm"], calls=[Call("f", "{}", "c1")])
    with ResponsesServer(first, Reply("Done.", thinking=["aha"]), "Bye.") as server:
        thinker = OpenAIModel("gpt-6-luna", "k", server.url)
        asked = thinker.invoke(HI, [TOOL])["assistant_message"]
        said = {"role": "tool", "tool_call_id": "c1", "content": "1"}
        told = thinker.invoke([*HI, asked, said], [TOOL])["assistant_message"]
        history = json.loads(json.dumps([*HI, _plain(asked), said, told]))  # as a file keeps it
        thinker.invoke([*history, *HI], [TOOL])
        for body in server.bodies:
            wire.check("responses", body)

    items = server.bodies[2]["input"]
    assert [item.get("type", item.get("role")) for item in items] == [
        "user",
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
        "message",
        "user",
    ]
    assert items[1]["encrypted_content"] == "gAAAA-sealed"
    assert items[2]["content"][0]["text"] == "Let me look."
    assert items[2]["phase"] == "final_answer"
    assert server.bodies[0]["include"] == ["reasoning.encrypted_content"]


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    calls = message["tool_calls"]
    plain = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in calls]
    return {**message, "tool_calls": plain}


def test_what_another_provider_sealed_is_not_sent() -> None:
    opaque = [{"provider": "anthropic", "item": {"type": "thinking", "signature": "x"}}]

    body = encoded(model(), [*HI, {"role": "assistant", "content": "a", "opaque": opaque}, *HI])

    assert body["input"][1] == {"role": "assistant", "content": "a"}


def test_a_changed_answer_goes_back_as_it_is_now() -> None:
    def item(**fields: Any) -> dict[str, Any]:
        return {"provider": "openai", "item": fields}

    opaque = [
        item(type="message", phase="commentary", length=3),
        item(type="function_call", call_id="gone"),
        item(type="message", phase="final_answer", length=2),
    ]
    as_it_came = {"role": "assistant", "content": "one\n\n22", "opaque": opaque}
    changed = {"role": "assistant", "content": "[partial]", "opaque": opaque}

    sent = encoded(model(), [*HI, as_it_came])["input"][1:]
    assert [(m["phase"], m["content"]) for m in sent] == [
        ("commentary", "one"),
        ("final_answer", "22"),
    ]
    sent = encoded(model(), [*HI, changed])["input"][1:]
    assert [m["content"] for m in sent] == ["[partial]"]


def test_tools_are_flat_and_say_whether_they_are_strict() -> None:
    body = encoded(model(), HI, [TOOL, {"type": "web_search"}], {"tool_choice": {"name": "f"}})

    assert body["tools"] == [
        {"type": "function", **TOOL, "strict": False},
        {"type": "web_search"},
    ]
    assert body["tool_choice"] == {"type": "function", "name": "f"}
    assert encoded(model(), HI, [TOOL], {"tool_choice": "required"})["tool_choice"] == "required"
    assert "tool_choice" not in encoded(model(), HI, None, {"tool_choice": "auto"})


def test_settings_have_the_names_of_this_protocol() -> None:
    import pydantic

    class Bill(pydantic.BaseModel):
        total: float
        currency: str = "EUR"

    settings = {
        "temperature": 0.5,
        "max_tokens": 20,
        "reasoning": {"effort": "low", "summary": "auto"},
        "schema": Bill,
    }
    body = encoded(model("gpt-5.4"), HI, None, settings)

    assert body["max_output_tokens"] == 20
    assert body["temperature"] == 0.5
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    form = body["text"]["format"]
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "Bill", True)
    assert form["schema"]["required"] == ["total", "currency"]
    assert form["schema"]["additionalProperties"] is False


@pytest.mark.parametrize("setting", [{"stop": "END"}, {"seed": 3}])
def test_what_this_protocol_lacks_is_refused_with_the_way_out(setting: dict[str, Any]) -> None:
    name = next(iter(setting))
    with pytest.raises(Unsupported, match=f"takes no setting '{name}'") as caught:
        model().encode(HI, None, setting)

    assert "openai-chat/gpt-4.1" in caught.value.fix


@pytest.mark.parametrize(
    ("name", "reasoning", "takes"),
    [
        ("gpt-4.1", None, True),
        ("gpt-4o-mini", None, True),
        ("a-model-of-tomorrow", None, True),
        ("gpt-5.4", None, True),
        ("gpt-6-sol", "none", True),
        ("gpt-6-luna", {"effort": "none"}, True),
        ("gpt-6-sol", None, False),
        ("gpt-6.2-sol", "low", False),
        ("gpt-6-astra", "none", False),
        ("gpt-6.2-astra", None, False),
        ("gpt-6.1-sol", "none", False),
        ("o3", None, False),
        ("gpt-5", None, False),
        ("gpt-5-mini-2025-08-07", None, False),
    ],
)
def test_a_model_that_is_not_sampled_takes_no_temperature(
    name: str, reasoning: Any, takes: bool
) -> None:
    for setting in ({"temperature": 1.0}, {"top_p": 0.5}):
        settings = {**setting, "reasoning": reasoning}
        if takes:
            assert encoded(model(name), HI, None, settings)
        else:
            with pytest.raises(Unsupported, match=f"openai/{name} takes no setting") as caught:
                model(name).encode(HI, None, settings)
            assert "leave it out" in caught.value.fix


def test_another_server_gets_no_option_of_openais_own_and_earlier_answers_in_full() -> None:
    messages = [*HI, {"role": "assistant", "content": "Hello."}, *HI]

    body = encoded(model(base_url="http://127.0.0.1:9/v1"), messages)

    assert "stream_options" not in body
    assert body["input"][1] == {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
    }


# What llama.cpp's server and the service itself make of the protocol.


def test_events_without_indexes_and_ids_are_understood() -> None:
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi"}],
    }
    lines = [
        event("response.created", response={}),
        event("response.output_item.added", item={"type": "message"}),
        event("response.output_text.delta", delta="H"),
        event("response.output_text.delta", delta="i"),
        event("response.output_text.done", text="Hi"),
        event("response.output_item.done", item={**item, "id": "msg_9"}),
        completed([item], usage={"input_tokens": 1, "output_tokens": 2}),
        "data: [DONE]\n\n",
    ]

    result = gather(decode(lines))

    assert result["content"] == "Hi"
    assert result["usage"].output_tokens == 2


def test_what_comes_only_at_the_end_is_not_lost() -> None:
    text = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Hi"}]}
    call = {
        "type": "function_call",
        "id": "fc",
        "call_id": "c",
        "name": "f",
        "arguments": '{"a":1}',
    }
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "s"}

    only_end = gather(decode([completed([thought, text, call])]))
    items = [event("response.output_item.done", item=item) for item in (thought, text, call)]
    items_done = gather(decode([*items, completed([thought, text, call])]))

    for result in (only_end, items_done):
        assert result["assistant_message"]["content"] == "Hi"
        assert result["content"] == [{"id": "c", "name": "f", "arguments": {"a": 1}}]
        assert len(result["assistant_message"]["opaque"]) == 3


def test_parallel_calls_do_not_mix_their_arguments() -> None:
    def added(number: int) -> str:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "f"}
        return event("response.output_item.added", item={**item, "arguments": ""})

    def delta(number: int, text: str) -> str:
        kind = "response.function_call_arguments.delta"
        return event(kind, item_id=f"fc_{number}", delta=text)

    lines = [
        added(1),
        added(2),
        delta(2, '{"b"'),
        delta(1, '{"a":1}'),
        delta(2, ":2}"),
        completed(),
    ]
    result = gather(decode(lines))

    assert [call["arguments"] for call in result["content"]] == [{"a": 1}, {"b": 2}]


def test_two_messages_and_two_summaries_are_kept_apart() -> None:
    text, thought = "response.output_text.delta", "response.reasoning_summary_text.delta"
    part = "response.reasoning_summary_part.added"
    events = list(
        decode(
            [
                event(part, summary_index=0),
                event(thought, delta="a"),
                event(part, summary_index=1),
                event(thought, delta="b"),
                event(text, item_id="m1", delta="one"),
                event(text, item_id="m2", delta="two"),
                completed(),
            ]
        )
    )

    thoughts = [e.text for e in events if isinstance(e, ThinkingDelta)]
    texts = [e.text for e in events if isinstance(e, TextDelta)]
    assert "".join(thoughts) == "a\n\nb"
    assert "".join(texts) == "one\n\ntwo"


def test_citations_are_events() -> None:
    kind = "response.output_text.annotation.added"
    page = {"type": "url_citation", "url": "https://a.example", "title": "A"}
    file = {"type": "file_citation", "filename": "b.pdf"}

    events = list(decode([event(kind, annotation=page), event(kind, annotation=file), completed()]))

    assert events[:2] == [
        Citation(quote="", url="https://a.example", title="A"),
        Citation(quote="", title="b.pdf"),
    ]


def test_each_bad_end_has_its_error() -> None:
    failed = {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}
    with pytest.raises(RateLimited, match="slow"):
        gather(decode([event("response.failed", response=failed)]))
    with pytest.raises(ServiceError, match="no reason was given"):
        gather(decode([event("response.failed", response={"status": "failed", "error": None})]))
    with pytest.raises(StreamTruncated):
        gather(decode([event("response.completed", response={"status": "cancelled"})]))
    with pytest.raises(StreamTruncated):
        gather(decode([event("response.output_text.delta", delta="x")]))
    reason = {"status": "incomplete", "incomplete_details": {"reason": "steered"}}
    assert (
        gather(decode([event("response.incomplete", response=reason)]))["finish_reason"]
        == "steered"
    )


def test_unknown_events_are_passed_over() -> None:
    lines = [event("response.something.new", data=1), event("keepalive"), completed()]

    assert gather(decode(lines))["content"] == ""


def test_a_picture_that_openai_does_not_take_is_converted_before_it_is_sent(
    tmp_path: Path,
) -> None:
    path = tmp_path / "scan.bmp"
    Image.new("RGB", (9, 7), "green").save(path)
    block = MediaMessageBlock(ImageAsset.from_path(path), "scan", "[scan_1 Scan]")
    with ResponsesServer() as server:
        OpenAIModel("gpt-4.1", "key", server.url).invoke([{"role": "user", "content": [block]}])

        (part,) = server.bodies[0]["input"][0]["content"]
        assert part["image_url"].startswith("data:image/png;base64,")
