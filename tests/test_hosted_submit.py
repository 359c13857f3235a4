"""A wish that a hosted media service refuses or loses: what it says, and what may be paid."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.adapters.connection import Timeouts
from agentcell.adapters.failures import Origin
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ConnectionFailed,
    GenerationFailed,
    ModelError,
    QuotaExceeded,
    RateLimited,
)
from agentcell.imaging.hosted import answers
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.testing import MediaServer, Reply, unused_url
from agentcell.testing.media_files import PIXEL as PNG
from hosted_kit import TOKEN, backend, error, fails, run


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as running:
        yield running


# -- the submit


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, AuthenticationError),
        (402, QuotaExceeded),
        (403, AuthenticationError),
        (429, RateLimited),
    ],
)
def test_a_refused_submit_is_not_billed_and_not_repeated(
    status: int, kind: type[ModelError], server: MediaServer
) -> None:
    server.fault("submit", error(status, "Insufficient balance"))

    with pytest.raises(kind, match="Insufficient balance") as caught:
        run(backend(server))

    assert f"{server.url}/agent-integrations/media-generation/images answered {status}" in str(
        caught.value
    )
    assert caught.value.is_billed is False
    assert len(server.posts) == 1
    assert server.charged == 0


def test_the_token_is_refused(server: MediaServer) -> None:
    with pytest.raises(AuthenticationError) as caught:
        run(HostedMediaBackend(server.url, "another-token-12345"))

    assert "another-token-12345" not in str(caught.value) + repr(caught.value)
    assert caught.value.is_billed is False


def test_an_envelope_that_says_no_is_an_error_with_its_words(server: MediaServer) -> None:
    # case 49
    server.fault("submit", Reply(raw='{"success":false,"error":"Insufficient balance"}'))

    failure_ = fails(backend(server))

    assert "Insufficient balance" in failure_.problem
    assert failure_.is_billed is False


@pytest.mark.parametrize(
    "raw",
    [
        '{"success":true}',  # case 50
        '{"success":true,"data":null}',
        '{"success":true,"data":[]}',
        '{"success":true,"data":{"status":"queued"}}',
        '{"success":true,"data":{"requestId":7,"status":"queued"}}',
        '{"success":true,"data":{"requestId":"","status":"queued"}}',
        '{"success":"yes"}',
        "{}",
        "",
        "<html>",
    ],
)
def test_an_answer_that_is_none_leaves_the_bill_open(raw: str, server: MediaServer) -> None:
    server.fault("submit", Reply(raw=raw))

    failure_ = fails(backend(server))

    assert (failure_.is_billed, failure_.is_over) == (None, False)
    assert len(server.posts) == 1


@pytest.mark.parametrize("fault", ["lost", "500", "504", "408", "cut"])
def test_a_lost_answer_says_that_the_bill_is_unknown_and_the_key_charges_once(
    fault: str, server: MediaServer
) -> None:
    # case 48
    if fault == "lost":
        server.lose_answer()
    elif fault == "cut":
        server.fault("submit", Reply(cut=-1))
    else:
        server.fault("submit", error(int(fault)))
    maker = backend(server)

    failure_ = fails(maker, key="the-key")

    assert "billed" in failure_.problem
    assert "not known" in failure_.problem
    assert (failure_.is_billed, failure_.is_over) == (None, False)
    assert len(server.posts) == 1  # nothing is sent again by itself

    run(maker, key="the-key")  # a person asks again

    assert server.keys == ["the-key", "the-key"]
    assert server.charged == 1


def test_a_service_that_says_nothing_leaves_the_bill_open(server: MediaServer) -> None:
    server.fault("submit", Reply(stall=-1))
    timeouts = Timeouts(connect=5, first_byte=0.2, silence=0.2)

    failure_ = fails(backend(server, timeouts=timeouts))

    assert (failure_.is_billed, failure_.is_over) == (None, False)


def test_a_service_that_is_not_there_has_charged_nothing() -> None:
    with pytest.raises(ConnectionFailed) as caught:
        run(HostedMediaBackend(unused_url().removesuffix("/v1"), TOKEN))

    assert caught.value.is_billed is False


def test_a_redirect_takes_the_token_nowhere(server: MediaServer) -> None:
    with MediaServer() as other:
        away = {"location": f"{other.url}/agent-integrations/media-generation/images"}
        server.fault("submit", Reply(status=307, raw="", headers=away))
        server.fault("models", Reply(status=302, raw="", headers=away))

        with pytest.raises(ModelError):
            run(backend(server))
        with pytest.raises(ModelError):
            asyncio.run(backend(server).models())

        assert other.requests == []


# -- words of the service's


ORIGIN = Origin(provider="hosted", model="", key=TOKEN)


def test_a_long_reason_is_cut_to_500_bytes_between_characters() -> None:
    # case 51
    said = answers.detail(("é" * 600).encode(), ORIGIN)

    assert len(said.encode()) <= 500
    assert said.endswith("…")
    assert set(said) == {"é", "…"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"success":false,"error":"Insufficient balance"}', "Insufficient balance"),
        (b'{"error":{"code":5}}', '{"code": 5}'),
        (b'{"message":"no"}', '{"message":"no"}'),
        (b"plain", "plain"),
        (b"", "(an empty body)"),
        (b" \n", "(an empty body)"),
        ("a\x1b[31mb\u202e\nc".encode(), "a [31mb c"),
    ],
)
def test_a_reason_is_the_error_field_or_the_body(body: bytes, said: str) -> None:
    assert answers.detail(body, ORIGIN) == said


@given(st.binary(max_size=2000))
def test_any_body_becomes_a_short_line(body: bytes) -> None:
    said = answers.detail(body, ORIGIN)

    assert said
    assert len(said.encode()) <= 500
    assert len(said.splitlines()) == 1
    assert not {unicodedata.category(one) for one in said} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["success", "data", "requestId", "status", "media", "type", "url", "costUsd"]
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=20,
    )
)
def test_any_document_is_a_job_a_refusal_or_no_answer(document: Any) -> None:
    for body in (document, {"success": True, "data": document}):
        try:
            job = answers.snapshot(json.dumps(body).encode(), ORIGIN)
        except (answers.NoAnswer, answers.Refused):
            continue
        assert job.request_id
        assert job.cost is None or job.cost >= 0


@pytest.mark.parametrize(
    ("told", "cost"),
    [(0.039, "0.039"), (0, "0"), (2, "2"), (-1, None), ("0.1", None), (True, None), (1e400, None)],
)
def test_a_cost_is_what_the_service_tells_and_never_invented(told: Any, cost: str | None) -> None:
    body = {"requestId": "r", "status": "success", "costUsd": told}
    job = answers.snapshot(json.dumps({"success": True, "data": body}).encode(), ORIGIN)

    assert job.cost == (None if cost is None else Decimal(cost))


def test_a_service_that_gives_back_the_token_does_not_get_it_shown(server: MediaServer) -> None:
    said = f"Bearer {TOKEN} at https://files.example/a?X-Amz-Signature=f00dfeed"
    server.fault("submit", error(400, said))
    with pytest.raises(ModelError) as caught:
        run(backend(server))
    server.job("failed", fields={"error": said})
    failure_ = fails(backend(server), key="2")

    for text in (str(caught.value), repr(caught.value), str(failure_), repr(failure_)):
        assert TOKEN not in text
        assert "f00dfeed" not in text


def test_a_request_id_is_written_into_an_address_safely(server: MediaServer) -> None:
    server.job("queued", "success", request_id="../models?x=1#y z", files=[server.file("a", PNG)])

    with pytest.raises(GenerationFailed):  # unknown: the server of tests does not decode it
        run(backend(server))

    assert server.polls[0].path.endswith("/requests/..%2Fmodels%3Fx%3D1%23y%20z")
