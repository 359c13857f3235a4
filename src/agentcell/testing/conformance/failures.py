"""What every adapter must make of an answer that is none, or breaks."""

from __future__ import annotations

import contextlib
import traceback
from typing import Any

from agentcell.adapters.events import (
    Event,
    Retrying,
    TextDelta,
    gather,
)
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ContentFiltered,
    ModelError,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    ServiceError,
    StreamTruncated,
    Timeout,
    TooLarge,
    UnknownModel,
)
from agentcell.testing import Call, Reply, failure
from agentcell.testing.conformance.check import Check, needs
from agentcell.testing.conformance.raising import raises
from agentcell.testing.conformance.subject import HI, TOOLS, TYPED, Subject, event_of_piece


@needs("server", "options", "streaming", "tools")
def a_stream_that_stops_early_is_never_an_answer(subject: Subject) -> None:
    text = ("one", "two")
    with subject.talking(Reply(*text, calls=[Call("clock")])) as (model, server):
        model.invoke(HI, TOOLS)
        body = server.bodies[0]
    count = len(list(server.events(Reply(*text, calls=[Call("clock")]), "m")))
    ends = 0
    for after in range(count):
        call = [Call("clock")]
        cut, short = Reply(*text, calls=call, cut=after), Reply(*text, calls=call, clean_cut=after)
        for reply in (cut, short):
            with subject.talking(reply, max_retries=0) as (model, server):
                result: Any = None
                with contextlib.suppress(*TYPED):
                    result = model.invoke(HI, TOOLS)
                if result is not None:  # only what comes after the end of the answer is missing
                    assert result["finish_reason"] == "tool_calls"
                    assert result["content"][0]["name"] == "clock"
                    ends += 1
                server.then("fine")
                assert model.invoke(HI, TOOLS)["content"] == "fine"
                assert server.bodies == [body, body]
    assert ends <= 4, "few events may come after the end"


@needs("server", "options", "streaming")
def a_partial_answer_is_shown_before_its_error(subject: Subject) -> None:
    with subject.talking(Reply("one", "two", cut=event_of_piece(subject, 2))) as (model, server):
        seen: list[Event] = []
        with raises(StreamTruncated, match="after 3 characters"):
            seen.extend(model.stream(HI))

    assert seen == [TextDelta("one")]
    assert len(server.requests) == 1  # never asked again once something was shown


@needs("server", "options", "streaming")
def statuses_have_their_errors(subject: Subject) -> None:
    cases: list[tuple[Reply, type[ModelError], bool]] = [
        (failure(400, "bad field"), BadRequest, False),
        (failure(400, "too long", code="context_length_exceeded"), TooLarge, False),
        (failure(400, "no", code="content_policy_violation"), ContentFiltered, False),
        (failure(401, "no"), AuthenticationError, False),
        (failure(402, "pay"), QuotaExceeded, False),
        (failure(403, "no"), AuthenticationError, False),
        (failure(404, "no such model", code="model_not_found"), UnknownModel, False),
        (Reply(status=404, raw="<h1>404 page not found</h1>"), BadRequest, False),
        (failure(408, "slow"), Timeout, True),
        (failure(409, "busy"), BadRequest, True),
        (failure(413, "big"), TooLarge, False),
        (failure(422, "no"), BadRequest, False),
        (failure(429, "wait", retry_after="7"), RateLimited, True),
        (failure(429, "spent", code="insufficient_quota"), QuotaExceeded, False),
        (failure(500, "oops"), ServiceError, True),
        (Reply(status=502, raw="<html><title>Bad gateway</title></html>"), ServiceError, True),
        (failure(503, "busy"), Overloaded, True),
        (failure(529, "busy"), Overloaded, True),
    ]
    for reply, kind, retryable in cases:
        with subject.talking(reply, max_retries=0) as (model, server):
            with raises(ModelError) as caught:
                model.invoke(HI)
            server.then("fine")
            assert model.invoke(HI)["content"] == "fine"
        error = caught.value
        assert type(error) is kind, (reply.status, error)
        assert error.status == reply.status
        assert error.retryable is retryable, (reply.status, error)
        assert error.model == model.model_name
        assert error.provider
        assert error.fix
        assert error.__cause__ is not None
        assert str(reply.status) in str(error)
        assert "<" not in str(error)
        assert len(str(error).splitlines()) <= 4
    with (
        subject.talking(failure(429, "wait", retry_after="7"), max_retries=0) as (model, _),
        raises(RateLimited) as limited,
    ):
        model.invoke(HI)
    assert limited.value.retry_after == 7
    assert limited.value.request_id == "req_fail"


@needs("server", "options", "streaming")
def no_key_is_in_any_text(subject: Subject) -> None:
    other = "sk-proj-abcd****************wxyz"
    said = f"Incorrect API key provided: {subject.key}, {other}. Header Bearer {subject.key}"
    page = f"<html><body>{subject.key}</body></html>"
    replies = [
        failure(401, said),
        failure(400, said),
        Reply(status=500, raw=page),
        Reply(raw=page, headers={"content-type": "text/html"}),
        Reply(raw=f"data: {subject.key}\n\n", headers={"content-type": "text/event-stream"}),
        Reply("x", error={"message": said, "code": "server_error"}, error_after=1),
    ]
    for reply in replies:
        with subject.talking(reply, max_retries=0) as (model, _):
            with raises(ModelError) as caught:
                model.invoke(HI)
            shown = "".join(traceback.format_exception(caught.value))
            shown += repr(caught.value) + repr(model) + str(model.__dict__.get("capabilities"))
            shown += "".join(caught.value._render_traceback_()) + str(caught.value.__dict__)
        assert subject.key not in shown
        assert "wxyz" not in shown


@needs("server", "options", "streaming")
def what_may_pass_is_tried_again_in_sight(subject: Subject) -> None:
    busy = failure(503, "busy")
    limited = failure(429, "wait", retry_after="0")
    with subject.talking(busy, limited, "there") as (model, server):
        events = list(model.stream(HI))

    again = [event for event in events if isinstance(event, Retrying)]
    assert [event.attempt for event in again] == [2, 3]
    assert "busy" in again[0].reason
    assert gather(events)["content"] == "there"
    assert len(server.requests) == 3
    assert server.bodies[0] == server.bodies[2]


@needs("server", "options", "streaming")
def a_failure_that_lasts_ends_in_its_error(subject: Subject) -> None:
    with (
        subject.talking(failure(500, "always")) as (model, server),
        raises(ServiceError, match="always"),
    ):
        model.invoke(HI)

    assert len(server.requests) == 3


@needs("server", "options", "streaming")
def what_cannot_pass_is_not_tried_again(subject: Subject) -> None:
    for reply in (
        failure(400, "x"),
        failure(401, "x"),
        failure(404, "x"),
        failure(429, "x", code="insufficient_quota"),
        failure(429, "x", retry_after="3600"),  # nobody waits for an hour
    ):
        with subject.talking(reply) as (model, server), raises(ModelError):
            model.invoke(HI)
        assert len(server.requests) == 1, reply


@needs("server", "options", "streaming")
def an_error_in_the_stream_has_its_type(subject: Subject) -> None:
    cases: list[tuple[dict[str, Any], type[ModelError], int]] = [
        ({"message": "slow down", "code": "rate_limit_exceeded"}, RateLimited, 3),
        ({"message": "spent", "code": "insufficient_quota"}, QuotaExceeded, 1),
        ({"message": "busy", "type": "overloaded_error"}, Overloaded, 3),
        ({"message": "oops", "code": "server_error"}, ServiceError, 3),
        ({"message": "you may not", "code": "content_policy_violation"}, ContentFiltered, 1),
    ]
    for error, kind, requests in cases:
        with (
            subject.talking(Reply("x", error=error, error_after=1)) as (model, server),
            raises(ModelError) as caught,
        ):
            model.invoke(HI)
        assert type(caught.value) is kind, error
        assert len(server.requests) == requests, error
    late = Reply("x", error={"message": "oops"}, error_after=event_of_piece(subject, 2))
    with subject.talking(late) as (model, server), raises(ServiceError, match="oops"):
        model.invoke(HI)
    assert len(server.requests) == 1


@needs("server", "options", "streaming")
def what_is_no_answer_is_a_service_error(subject: Subject) -> None:
    stream = {"content-type": "text/event-stream"}
    replies = [
        Reply(raw="<html><title>Sign in</title></html>", headers={"content-type": "text/html"}),
        Reply(raw="<html>portal</html>", headers=stream),
        Reply(raw="just text"),
        Reply(raw="data: {not json}\n\n", headers=stream),
        Reply(raw='data: ["a list"]\n\n', headers=stream),
        Reply(raw='data: "a text"\n\n', headers=stream),
        Reply(raw="[1, 2]", headers={"content-type": "application/json"}),
        Reply(raw='{"object": "other"}', headers={"content-type": "application/json"}),
        Reply(raw=b"\xff\xfe\x00", headers={"content-type": "application/json"}),
        Reply(raw="this is not packed", headers={"content-encoding": "gzip"}),
    ]
    for reply in replies:
        with subject.talking(reply) as (model, server):
            with raises(ServiceError):
                model.invoke(HI)
            server.then("fine")
            assert model.invoke(HI)["content"] == "fine"
        assert len(server.requests) == 2, reply
    with (
        subject.talking(Reply(raw="", headers=stream), max_retries=0) as (model, _),
        raises(StreamTruncated, match="after 0 characters"),
    ):
        model.invoke(HI)


CHECKS: list[Check] = [
    a_stream_that_stops_early_is_never_an_answer,
    a_partial_answer_is_shown_before_its_error,
    statuses_have_their_errors,
    no_key_is_in_any_text,
    what_may_pass_is_tried_again_in_sight,
    a_failure_that_lasts_ends_in_its_error,
    what_cannot_pass_is_not_tried_again,
    an_error_in_the_stream_has_its_type,
    what_is_no_answer_is_a_service_error,
]
