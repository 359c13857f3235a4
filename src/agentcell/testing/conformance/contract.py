"""What every model must do, whoever answers it: also one that only has `invoke`."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import (
    Citation,
    Finished,
    ModelResponseType,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    gather,
)
from agentcell.adapters.model import Model
from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.errors import Unsupported
from agentcell.messages import MediaMessageBlock, ToolCall
from agentcell.session import Session
from agentcell.testing.conformance.attachments import PDF, PNG
from agentcell.testing.conformance.check import Check, needs
from agentcell.testing.conformance.raising import raises
from agentcell.testing.conformance.subject import HI, TOOLS, Subject

_EVENTS = (TextDelta, ThinkingDelta, ToolCallDelta, Citation, Retrying, Usage, Finished)
_REASONS = {"stop", "length", "tool_calls", "content_filter", "refusal"}
_NO_IO = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system"}

_watched: list[list[str]] = []


def _watch(event: str, _arguments: object) -> None:
    if event in _NO_IO:
        for seen in _watched:
            seen.append(event)


def check_result(result: Any, tools: list[dict[str, Any]] | None = None) -> None:
    """Check that `result` is what `Model.invoke` returns.

    Parameters
    ----------
    result
        Anything.
    tools
        Those that were offered.
    """
    assert isinstance(result, dict), f"invoke returned a {type(result).__name__}, not a dict"
    assert "content" in result, "the result has no 'content'"
    content = result["content"]
    if result.get("type") is ModelResponseType.TOOL_CALL:
        names = {tool["name"] for tool in tools or ()}
        assert isinstance(content, list)
        assert content, "a TOOL_CALL without calls"
        for call in content:
            assert call["name"] in names, f"{call['name']!r} was called, and offered were {names}"
            assert isinstance(call["id"], str)
            assert call["id"], "a call without an id cannot be answered"
            assert isinstance(call["arguments"], dict)
        ids = [call["id"] for call in content]
        assert len(set(ids)) == len(ids), f"two calls have one id: {ids}"
    else:
        assert result.get("type") is ModelResponseType.CONTENT, (
            f"'type' is {result.get('type')!r}, not a ModelResponseType"
        )
        assert isinstance(content, str), f"'content' is a {type(content).__name__}, not a text"
    assert result.get("usage") is None or isinstance(result["usage"], Usage)
    assert result.get("finish_reason") in {None, *_REASONS}
    assert result.get("request_id") is None or isinstance(result["request_id"], str)
    said = result.get("assistant_message")
    assert said is None or said["role"] == "assistant"


@needs()
def it_is_a_model_with_a_name(subject: Subject) -> None:
    """A cell names it as provider/model; its key is in no text of it."""
    model = subject.model()

    assert isinstance(model, Model)
    assert model.model_name
    assert model.provider
    assert model.name == f"{model.provider}/{model.model_name}"
    assert isinstance(model.capabilities, ModelCapabilities)
    assert subject.key not in repr(model) + str(model) + model.name


@needs()
def making_it_opens_nothing(subject: Subject) -> None:
    """No connection and no process before the first question."""
    if not getattr(_watch, "is_on", False):  # such a hook can never be taken away again
        sys.addaudithook(_watch)
        _watch.is_on = True  # type: ignore[attr-defined]
    seen: list[str] = []
    _watched.append(seen)
    try:
        with contextlib.suppress(OSError):  # nobody is there
            subject.model()
    finally:
        _watched.remove(seen)

    assert seen == [], f"making the model did {seen}"


@needs()
def its_answer_is_text_or_calls(subject: Subject) -> None:
    """What `invoke` returns can be read by all that is built on it."""
    with subject.asked() as model:
        check_result(model.invoke(HI, None))
        check_result(model.invoke(messages=HI, tools=None, settings=None))
        check_result(model.invoke(HI, [], {}))


@needs()
def its_stream_is_its_answer_in_pieces(subject: Subject) -> None:
    """A stream has events of known kinds, and one end, which is its last."""
    with subject.asked() as model:
        events = list(model.stream(HI))

    strange = [event for event in events if not isinstance(event, _EVENTS)]
    assert strange == []
    assert [isinstance(event, Finished) for event in events].count(True) == 1
    assert isinstance(events[-1], Finished)
    check_result(gather(events))


@needs()
def it_answers_on_event_loops(subject: Subject) -> None:
    """On one, on the next one, and while others are asked."""

    async def ask(model: Any) -> None:
        check_result(await model.ainvoke(HI))
        events = [event async for event in model.astream(HI)]
        check_result(gather(events))
        for result in await asyncio.gather(*(model.ainvoke(HI) for _ in range(4))):
            check_result(result)

    with subject.asked() as model:
        for _ in range(2):
            asyncio.run(ask(model))


@needs()
def it_answers_threads_at_once(subject: Subject) -> None:
    """One model is shared by many nodes and threads."""
    with subject.asked() as model, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: model.invoke(HI, None), range(8)))

    for result in results:
        check_result(result)


@needs()
def what_it_is_given_stays_as_it_is(subject: Subject) -> None:
    """Messages, tools and settings belong to the caller, who sends them again."""
    offered = TOOLS if subject.able.tools else []
    messages: list[Any] = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    ]
    given: Any = (messages, offered, {})
    before = copy.deepcopy(given)
    with subject.asked() as model:
        model.invoke(*given)
        list(model.stream(*given))

    assert given == before


@needs()
def a_conversation_goes_on(subject: Subject) -> None:
    """Its own answer is a message that it takes."""
    with subject.asked() as model:
        result = model.invoke([{"role": "system", "content": "Be short."}, *HI], None)
        usual = {"role": "assistant", "content": result["content"]}
        said = result.get("assistant_message") or usual
        check_result(model.invoke([*HI, said, *HI], None))


@needs()
def a_session_asks_it(subject: Subject) -> None:
    """From a cell: an answer, and a second question that knows the first."""
    with subject.asked() as model:
        session = Session(model)
        first, second = session.ask("Hi"), session.ask("And now?")

        assert isinstance(first, str)
        assert isinstance(second, str)
        assert len(session.turns) == 2


@needs("tools")
def offered_tools_may_be_called(subject: Subject) -> None:
    """It calls what was offered, or answers; and it takes a result of a tool."""
    call = ToolCall("call_1", "weather", {"town": "Oslo"})
    history = [
        *HI,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "name": "weather", "content": "rain"},
    ]
    with subject.asked() as model:
        check_result(model.invoke(HI, TOOLS), TOOLS)
        check_result(model.invoke(history, TOOLS), TOOLS)


@needs("no tools")
def tools_it_cannot_call_are_refused(subject: Subject) -> None:
    """Nobody waits for a call that will never come."""
    with subject.asked() as model, raises(Unsupported):
        model.invoke(HI, TOOLS)


@needs("images")
def an_image_is_taken(subject: Subject) -> None:
    """It declares `image_input`."""
    _is_taken(subject, ImageAsset.from_bytes(PNG))


@needs("pdfs")
def a_pdf_is_taken(subject: Subject) -> None:
    """It declares `pdf_input`."""
    _is_taken(subject, PdfAsset.from_bytes(PDF))


@needs("no images")
def an_image_is_refused_before_any_request(subject: Subject) -> None:
    """It does not declare `image_input`."""
    _is_refused(subject, ImageAsset.from_bytes(PNG))


@needs("no pdfs")
def a_pdf_is_refused_before_any_request(subject: Subject) -> None:
    """It does not declare `pdf_input`."""
    _is_refused(subject, PdfAsset.from_bytes(PDF))


def attached(asset: MediaAsset) -> list[dict[str, Any]]:
    """Return messages with `asset` in them.

    Parameters
    ----------
    asset
        An image or a PDF.
    """
    block = MediaMessageBlock(asset=asset, field_name="receipt", tag="[receipt_1 Receipt]")
    return [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, block]}]


def _is_taken(subject: Subject, asset: MediaAsset) -> None:
    with subject.asked() as model:
        check_result(model.invoke(model.ready(attached(asset)).messages, None))


def _is_refused(subject: Subject, asset: MediaAsset) -> None:
    with subject.asked() as model:
        with raises(Unsupported, match="receipt") as caught:
            model.ready(attached(asset))
        assert caught.value.fix
        with raises(Unsupported):
            Session(model).ask("What is it?", attach={"receipt": asset})


CHECKS: list[Check] = [
    it_is_a_model_with_a_name,
    making_it_opens_nothing,
    its_answer_is_text_or_calls,
    its_stream_is_its_answer_in_pieces,
    it_answers_on_event_loops,
    it_answers_threads_at_once,
    what_it_is_given_stays_as_it_is,
    a_conversation_goes_on,
    a_session_asks_it,
    offered_tools_may_be_called,
    tools_it_cannot_call_are_refused,
    an_image_is_taken,
    a_pdf_is_taken,
    an_image_is_refused_before_any_request,
    a_pdf_is_refused_before_any_request,
]
