"""What every model must do that speaks one of the protocols, however it is written."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from agentcell.adapters.events import ModelResponseType, TextDelta, gather
from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ConnectionFailed,
    ModelError,
    QuotaExceeded,
    RateLimited,
    ServiceError,
    UnknownModel,
)
from agentcell.messages import ToolCall
from agentcell.testing.conformance.attachments import PDF, PNG
from agentcell.testing.conformance.check import Check, needs
from agentcell.testing.conformance.contract import attached, check_result
from agentcell.testing.conformance.raising import raises
from agentcell.testing.conformance.subject import HI, TOOLS, TYPED, Subject
from agentcell.testing.ports import unused_url
from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Call, Reply

_HARD = 'Say "ß票🎉", \\n and </tag>.'
"""Words that are sent wrongly when they are pasted into JSON, or encoded twice."""


def sent_text(server: ProviderServer, number: int = -1) -> str:
    """Return all texts of the body of a request, whatever they stand under, one on a line.

    Parameters
    ----------
    server
        Which was asked.
    number
        Of the request; -1 is the last.
    """

    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for part in value.values() for text in texts(part)]
        if isinstance(value, list):
            return [text for part in value for text in texts(part)]
        return [value] if isinstance(value, str) else []

    return "\n".join(texts(server.bodies[number]))


@needs("server")
def the_question_reaches_the_service(subject: Subject) -> None:
    """All of it, unchanged, with the model's name and the key."""
    messages = [{"role": "system", "content": "Answer in verse."}, *_asking(_HARD)]
    with subject.talking() as (model, server):
        model.invoke(messages, None)

    assert len(server.requests) == 1
    assert "Answer in verse." in sent_text(server)
    assert _HARD in sent_text(server)
    assert server.model_of(server.requests[0]) == model.model_name
    assert server.key_of(server.requests[0]) == subject.key, "the key did not come"


@needs("server")
def the_answer_is_what_the_service_said(subject: Subject) -> None:
    """Whole, streamed, and on an event loop."""
    with subject.talking(Reply("Hel", "lo, ", "wörld 🎉\n")) as (model, _):
        results = [
            model.invoke(HI, None),
            gather(model.stream(HI)),
            asyncio.run(model.ainvoke(HI)),
        ]

    for result in results:
        check_result(result)
        assert result["content"] == "Hello, wörld 🎉\n"


@needs("server")
def earlier_turns_reach_the_service_in_order(subject: Subject) -> None:
    """A model holds no conversation: what came before is sent with each question."""
    with subject.talking("The second.") as (model, server):
        said = {"role": "assistant", "content": "The first."}
        model.invoke([*_asking("Question one"), said, *_asking("Question two")], None)
        model.invoke(HI, None)

    places = [sent_text(server, 0).find(t) for t in ("Question one", "The first.", "Question two")]
    assert places == sorted(places)
    assert places[0] >= 0
    assert "Question" not in sent_text(server, 1), "an earlier call's messages were sent again"


@needs("server", "streaming")
def pieces_come_as_they_are_sent(subject: Subject) -> None:
    """The first is there while the service is still thinking; closing hangs up."""
    with subject.talking() as (model, server):
        server.stall("one", "two", after=1)
        stream = model.stream(HI)
        first = next(event for event in stream if isinstance(event, TextDelta))
        assert first.text == "one"
        stream.close()
        assert server.disconnected.wait(2), "the connection stayed open"


@needs("server", "streaming")
def a_stream_may_be_cut_into_any_bytes(subject: Subject) -> None:
    """Inside a character, with other line endings, with comments between."""
    text = ("naïve ", "票据 ", "🎉")
    for newline in ("\n", "\r\n"):
        for size in (1, 3, 1000):
            reply = Reply(*text, split_bytes=size, newline=newline, comments=True)
            with subject.talking(reply) as (model, _):
                assert model.invoke(HI, None)["content"] == "".join(text), (newline, size)


@needs("server", "tools")
def tools_go_there_and_back(subject: Subject) -> None:
    """The offer, the call with its arguments, and the result."""
    call = Call("weather", '{"town": "Kyōto"}', "call_a")
    with subject.talking(Reply(calls=[call]), "It rains.") as (model, server):
        asked = model.invoke(HI, TOOLS)
        check_result(asked, TOOLS)
        assert asked["type"] is ModelResponseType.TOOL_CALL
        (got,) = asked["content"]
        assert (got["name"], got["arguments"]) == ("weather", {"town": "Kyōto"})
        calls = [ToolCall(got["id"], got["name"], got["arguments"])]
        usual = {"role": "assistant", "content": "", "tool_calls": calls}
        said = {"role": "tool", "tool_call_id": got["id"], "name": "weather", "content": "42 mm"}
        answer = model.invoke([*HI, asked.get("assistant_message") or usual, said], TOOLS)

    assert "The weather in a town." in sent_text(server, 0)
    assert "42 mm" in sent_text(server, 1)
    assert answer["content"] == "It rains."


@needs("server", "images")
def an_image_reaches_the_service(subject: Subject) -> None:
    """Its bytes, as they are."""
    _arrives(subject, ImageAsset.from_bytes(PNG), PNG)


@needs("server", "pdfs")
def a_pdf_reaches_the_service(subject: Subject) -> None:
    """Its bytes, as they are."""
    _arrives(subject, PdfAsset.from_bytes(PDF), PDF)


@needs("server")
def each_refusal_has_its_error(subject: Subject) -> None:
    """So that what is built on it knows whether to wait, to ask the person, or to give up."""
    cases: list[tuple[int, tuple[type[ModelError], ...]]] = [
        (400, (BadRequest,)),
        (401, (AuthenticationError,)),
        (403, (AuthenticationError,)),
        (404, (UnknownModel, BadRequest)),
        (413, (BadRequest,)),
        (429, (RateLimited,)),
        (500, (ServiceError,)),
        (503, (ServiceError,)),
    ]
    for status, kinds in cases:
        for html in (False, True):
            with subject.talking() as (model, server):
                server.then().fail(status, f"No: {subject.key}", retry_after=0, html=html)
                with raises(*kinds) as caught:
                    model.invoke(HI, None)
                server.then("fine")
                assert model.invoke(HI, None)["content"] == "fine"
            text = f"{caught.value}\n{caught.value!r}"
            assert subject.key not in text, f"the key is in the error for {status}"
            assert "<body>" not in text, f"a page is in the error for {status}"
            assert not isinstance(caught.value, QuotaExceeded), "waiting helps"


@needs("server")
def what_breaks_off_is_no_answer(subject: Subject) -> None:
    """Whether the connection breaks, is aborted, or ends in good order but too early."""
    faults: list[tuple[str, int | None]] = [
        *(("cut", after) for after in (None, 0, 1)),
        *(("reset", after) for after in (None, 0, 1)),
        *(("end_early", after) for after in (0, 1)),
    ]
    for fault, after in faults:
        with subject.talking() as (model, server):
            getattr(server, fault)(after=after)
            with raises(*TYPED):
                model.invoke(HI, None)
            server.then("fine")
            assert model.invoke(HI, None)["content"] == "fine", (fault, after)


@needs("server")
def nobody_there_is_a_failed_connection(subject: Subject) -> None:
    """Typed, and said in a sentence."""
    with raises(ConnectionFailed) as caught:
        subject.model(unused_url()).invoke(HI, None)

    assert subject.key not in str(caught.value)


def _asking(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def _arrives(subject: Subject, asset: MediaAsset, data: bytes) -> None:
    with subject.talking("A receipt.") as (model, server):
        result = model.invoke(model.ready(attached(asset)).messages, None)

    assert result["content"] == "A receipt."
    assert base64.b64encode(data).decode() in json.dumps(server.bodies[0])
    assert "What is it?" in sent_text(server)


CHECKS: list[Check] = [
    the_question_reaches_the_service,
    the_answer_is_what_the_service_said,
    earlier_turns_reach_the_service_in_order,
    pieces_come_as_they_are_sent,
    a_stream_may_be_cut_into_any_bytes,
    tools_go_there_and_back,
    an_image_reaches_the_service,
    a_pdf_reaches_the_service,
    each_refusal_has_its_error,
    what_breaks_off_is_no_answer,
    nobody_there_is_a_failed_connection,
]
