"""Events to one result and back, and what a third party's model gets for one method."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import (
    Citation,
    Event,
    Finished,
    Gathering,
    ModelResponseType,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    Waiting,
    agather,
    events_of,
    gather,
    total_usage,
)
from agentcell.adapters.model import Model
from agentcell.errors import ModelError, StreamTruncated, Unsupported
from agentcell.messages import ToolCall
from media import ImageAsset, PdfAsset, block, pdf, png

HI = [{"role": "user", "content": "Hi"}]
STOP = Finished(reason="stop", model="m", request_id="r", raw={"whole": 1})


def test_text_is_joined_and_everything_else_stands_beside_it() -> None:
    usage = Usage(input_tokens=1, output_tokens=2)
    citation = Citation(quote="q", tag="[a_1 a]", page=2)
    events: list[Event] = [
        Waiting(None, "two at a time"),
        Retrying(2, 0.5, "busy"),
        ThinkingDelta("hm"),
        TextDelta("a"),
        citation,
        TextDelta("b"),
        usage,
        STOP,
    ]

    assert gather(events) == {
        "type": ModelResponseType.CONTENT,
        "content": "ab",
        "assistant_message": {"role": "assistant", "content": "ab"},
        "thinking": "hm",
        "citations": [citation],
        "usage": usage,
        "finish_reason": "stop",
        "model": "m",
        "request_id": "r",
        "raw_response": {"whole": 1},
    }


def test_calls_are_put_together_by_their_index() -> None:
    events: list[Event] = [
        ToolCallDelta(1, "b", "g"),
        ToolCallDelta(0, "a", "f", '{"x"'),
        ToolCallDelta(1, arguments="[1]"),
        ToolCallDelta(0, arguments=":1}"),
        ToolCallDelta(2, name="h"),
        Finished(reason="tool_calls", opaque=({"seal": 1},)),
    ]

    result = gather(events)

    assert result["type"] is ModelResponseType.TOOL_CALL
    assert result["content"] == [
        {"id": "a", "name": "f", "arguments": {"x": 1}},
        {"id": "b", "name": "g", "arguments": {}},
        {"id": "call_2", "name": "h", "arguments": {}},
    ]
    assert result["assistant_message"]["tool_calls"][1] == ToolCall("b", "g", {}, "[1]")
    assert result["assistant_message"]["opaque"] == [{"seal": 1}]


def test_an_answer_without_its_end_is_truncated() -> None:
    with pytest.raises(StreamTruncated, match="after 2 characters"):
        gather([TextDelta("ab")])


def test_what_came_before_an_error_can_still_be_read() -> None:
    gathering = Gathering()
    gathering.take(TextDelta("partial"))
    gathering.take(ToolCallDelta(0, "a", "f", '{"x"'))

    assert "".join(gathering.text) == "partial"
    assert gathering.tool_calls() == [ToolCall("a", "f", {}, '{"x"')]


@given(cuts=st.lists(st.integers(1, 60), max_size=8))
def test_a_result_is_the_same_however_its_pieces_were_cut(cuts: list[int]) -> None:
    text, arguments = "Naïve 票据 🎉 text", '{"town": "Kyōto", "n": [1, 2]}'

    def cut(whole: str) -> list[str]:
        places = sorted({0, len(whole), *(c for c in cuts if c < len(whole))})
        return [whole[a:b] for a, b in itertools.pairwise(places)]

    pieces: list[Event] = [TextDelta(piece) for piece in cut(text)]
    pieces += [ToolCallDelta(0, "a", "f")]
    pieces += [ToolCallDelta(0, arguments=piece) for piece in cut(arguments)]
    whole: list[Event] = [TextDelta(text), ToolCallDelta(0, "a", "f", arguments)]

    assert gather([*pieces, STOP]) == gather([*whole, STOP])


def test_a_result_becomes_the_events_that_make_it_again() -> None:
    usage = Usage(input_tokens=1)
    text: list[Event] = [ThinkingDelta("hm"), TextDelta("a"), Citation(quote="q"), usage, STOP]
    calls: list[Event] = [TextDelta("Wait"), ToolCallDelta(0, "a", "f", '{"x": 1}'), STOP]

    for events in (text, calls):
        result = gather(events)
        assert gather(events_of(result)) == result


def test_usage_adds_up_and_what_is_not_known_stays_unknown() -> None:
    total = Usage(input_tokens=1, cached_tokens=2) + Usage(input_tokens=3, output_tokens=4)

    assert total == Usage(input_tokens=4, output_tokens=4, cached_tokens=2)
    more = Usage(cache_write_tokens=1, image_tokens=2)
    assert more + more == Usage(cache_write_tokens=2, image_tokens=4)
    assert total.reasoning_tokens is None
    assert (total + Usage(estimated=True)).estimated


def test_an_asynchronous_stream_is_gathered_the_same() -> None:
    async def stream() -> AsyncIterator[Event]:
        yield TextDelta("a")
        yield STOP

    assert asyncio.run(agather(stream())) == gather([TextDelta("a"), STOP])


# A third party's model.


class OnlyInvoke(Model):
    """The example of the design, as written there."""

    # ruff: noqa: ARG002 (its arguments are those of the contract)

    def __init__(self, model_name: str, api_key: str | None, base_url: str | None = None) -> None:
        super().__init__(model_name=model_name, invoke_settings=None)

    def invoke(  # type: ignore[override]
        self, messages: Any, tools: Any, settings: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        return {"type": ModelResponseType.CONTENT, "content": "..."}


class OnlyStream(Model):
    def stream(self, *_: Any, **__: Any) -> Iterator[Event]:
        yield TextDelta("from ")
        yield TextDelta("stream")
        yield Finished(reason="stop")


class OnlyAstream(Model):
    async def astream(self, *_: Any, **__: Any) -> AsyncIterator[Event]:
        yield TextDelta("from astream")
        yield Finished(reason="stop")


class Nothing(Model):
    pass


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (OnlyInvoke("m", "k"), "..."),
        (OnlyStream("m"), "from stream"),
        (OnlyAstream("m"), "from astream"),
    ],
)
def test_one_method_makes_all_four(model: Model, text: str) -> None:
    async def both() -> tuple[Any, list[Event]]:
        return await model.ainvoke(HI), [event async for event in model.astream(HI)]

    whole, streamed = asyncio.run(both())

    assert model.invoke(HI, None)["content"] == text
    assert gather(model.stream(HI))["content"] == text
    assert whole["content"] == text
    assert gather(streamed)["content"] == text


def test_a_model_without_any_method_says_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"must define invoke\(\), stream\(\) or astream\(\)"):
        Nothing("m").invoke(HI)


@pytest.mark.parametrize("returned", [None, "text", {}, {"type": "content", "content": "x"}])
def test_a_model_that_returns_no_result_is_told_so(returned: Any) -> None:
    class Wrong(Model):
        def invoke(self, *_: Any, **__: Any) -> dict[str, Any]:
            return returned  # type: ignore[no-any-return]

    with pytest.raises(ModelError, match=r"Wrong\.invoke returned .* ModelResponseType"):
        list(Wrong("m").stream(HI))


@pytest.mark.parametrize("name", ["", "  ", None, 5])
def test_a_model_has_a_name(name: Any) -> None:
    with pytest.raises(ModelError, match="model_name is"):
        Nothing(name)


def test_capabilities_are_overridden_by_name() -> None:
    able = ModelCapabilities(image_input=True)

    assert able.with_overrides({"pdf_input": True}).pdf_input
    assert able.with_overrides(None) is able
    with pytest.raises(TypeError):
        able.with_overrides({"video_input": True})


def test_media_that_a_model_cannot_take_are_refused() -> None:
    image = block(ImageAsset.from_bytes(png()), "receipt")
    file = block(PdfAsset.from_bytes(pdf()), "bill")
    reader = Nothing(
        "m", capabilities=ModelCapabilities(image_input=True, image_sources=frozenset({"url"}))
    )

    with pytest.raises(Unsupported, match="custom/m does not support modality 'PDF'"):
        reader.check_media([{"role": "user", "content": [file]}])
    with pytest.raises(Unsupported, match="'IMAGE' source 'bytes' for field 'receipt'") as caught:
        reader.check_media([{"role": "user", "content": [image]}])
    assert caught.value.fix == "give it as url."
    reader.check_media(HI)


@pytest.mark.parametrize(
    "returned",
    [
        {"type": ModelResponseType.CONTENT},
        {"type": ModelResponseType.TOOL_CALL, "content": [{}]},
        {"type": ModelResponseType.TOOL_CALL, "content": "look_up"},
        {"type": "content", "content": "x"},
        None,
    ],
)
def test_an_answer_that_is_none_is_told_to_who_wrote_the_model(returned: Any) -> None:
    class Wrong(Model):
        def invoke(self, *_: Any, **__: Any) -> Any:
            return returned

    with pytest.raises(ModelError, match=r"Wrong\.invoke returned "):
        list(Wrong("m").stream([]))


def test_counts_are_summed_as_far_as_they_are_known() -> None:
    one, two = Usage(input_tokens=1, output_tokens=2), Usage(input_tokens=10)

    assert total_usage() is None
    assert total_usage(None, None) is None
    assert total_usage(None, one) == one
    assert total_usage(one, None, two) == Usage(input_tokens=11, output_tokens=2)
