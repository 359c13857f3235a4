"""Answers whose events come many at a time, packed, or with something wrong among them."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from agentcell.adapters.events import Event, Finished, TextDelta
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.errors import ModelError, Overloaded, ServiceError, StreamTruncated
from agentcell.testing import ChatServer, Reply

HI = [{"role": "user", "content": "Hi"}]


def said(text: str, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'c', 'model': 'm', 'choices': [choice]})}\n\n"


def heard(*events: str, packed: bool = False) -> tuple[list[Event], ModelError | None]:
    """What a model says of a stream that comes in one piece, and the error that ends it."""
    body = "".join(events).encode()
    headers = {"content-type": "text/event-stream"}
    if packed:
        body, headers = gzip.compress(body), {**headers, "content-encoding": "gzip"}
    given: list[Event] = []
    with ChatServer(Reply(raw=body, headers=headers)) as server:
        stream = LegacyOpenAIModel("m", "k", server.url, max_retries=0).stream(HI)
        try:
            for event in stream:
                given.append(event)  # noqa: PERF402 (what came before an error is wanted too)
        except ModelError as error:
            return given, error
    return given, None


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


def test_events_of_one_piece_all_come_in_their_order() -> None:
    words = [f"{number} " for number in range(500)]

    events, error = heard(*map(said, words), said("", "stop"), "data: [DONE]\n\n")

    assert error is None
    assert texts(events) == words
    assert isinstance(events[-1], Finished)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ('data: {"error": {"message": "busy", "code": 503}}\n\n', Overloaded),
        ("data: {not json\n\n", ServiceError),
        ("data: [1, 2]\n\n", ServiceError),
        ('data: {"choices": [{"delta": {"content": "cut off', StreamTruncated),
    ],
)
def test_what_came_before_something_wrong_in_the_same_piece_is_given_first(
    wrong: str, kind: type[ModelError]
) -> None:
    events, error = heard(said("one "), said("two"), wrong)

    assert texts(events) == ["one ", "two"]
    assert type(error) is kind


def test_what_follows_the_end_in_the_same_piece_is_left_out() -> None:
    events, error = heard(said("all", "stop"), "data: [DONE]\n\n", said("more"), "data: {bad\n\n")

    assert error is None
    assert texts(events) == ["all"]


def test_a_packed_stream_is_unpacked() -> None:
    events, error = heard(said("packed", "stop"), "data: [DONE]\n\n", packed=True)

    assert error is None
    assert texts(events) == ["packed"]


def test_an_error_after_text_is_not_followed_by_another_attempt() -> None:
    broken: Any = Reply("one ", error={"message": "busy", "code": 503}, error_after=2)
    with ChatServer(broken, "never") as server:
        stream = LegacyOpenAIModel("m", "k", server.url, max_retries=2).stream(HI)
        with pytest.raises(ModelError):
            list(stream)

    assert len(server.requests) == 1
