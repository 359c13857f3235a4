"""A job of a hosted media service: how it is waited for, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from agentcell.imaging.backends import watching
from agentcell.imaging.events import Accepted, Ended, Made, Progressed
from agentcell.imaging.hosted.states import FAILED, Patience, outcome
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import MediaServer, Reply
from agentcell.testing.media_files import PIXEL as PNG
from hosted_kit import CLIP, FOX, TOKEN, backend, error, fails, run


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as running:
        yield running


def test_a_job_that_is_made_at_once_is_not_asked_after(server: MediaServer) -> None:
    # case 37
    url = server.file("a.png", PNG)
    server.job("success", files=[url], model="seedream", cost=0.039)

    events = run(backend(server))

    assert [type(event) for event in events] == [Accepted, Progressed, Made, Ended]
    made, ended = events[-2:]
    assert isinstance(made, Made)
    assert (made.kind, made.url) == ("image", url)
    assert ended == Ended(model="seedream", cost=Decimal("0.039"))
    assert server.polls == []


def test_a_job_is_asked_after_until_it_is_made(server: MediaServer) -> None:
    # case 38; a word that nobody knows is shown and means that it goes on
    server.job("queued", "RENDERING", "RENDERING", "success", files=[server.file("a", PNG)])

    events = run(backend(server))

    states = [event.state for event in events if isinstance(event, Progressed)]
    assert states == ["queued", "RENDERING", "success"]
    assert len(server.polls) == 3
    assert server.polls[0].path.endswith("/requests/req-1")
    assert server.polls[0].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("state", ["success", "SUCCESS", "Success", " success "])
def test_case_does_not_matter(state: str, server: MediaServer) -> None:
    # case 39
    server.job(state, files=[server.file("a", PNG)])

    assert isinstance(run(backend(server))[-1], Ended)
    assert server.polls == []


@pytest.mark.parametrize("state", ["failed", "FAILED", *sorted(FAILED - {"failed"}), "Timed-Out"])
def test_a_word_for_failure_ends_the_wait(state: str, server: MediaServer) -> None:
    # cases 40 and 46
    server.job("queued", state, request_id="req-9")

    failure_ = fails(backend(server))

    assert "req-9" in failure_.problem
    assert len(server.polls) == 1
    assert failure_.is_billed is None
    assert failure_.is_over
    assert failure_.request_id == "req-9"


@pytest.mark.parametrize("state", ["queued", "", "done", "completed", "failing", "success!"])
def test_any_other_word_means_that_it_goes_on(state: str) -> None:
    assert outcome(state) == "going on"


@pytest.mark.parametrize(
    "fields",
    [
        {"error": "the prompt was not allowed"},
        {"error": {"message": "the prompt was not allowed"}},
        {"reason": "the prompt was not allowed"},
        {"message": "the prompt was not allowed"},
    ],
)
def test_why_it_failed_is_told_where_the_service_says_so(
    fields: dict[str, Any], server: MediaServer
) -> None:
    server.job("failed", fields=fields)

    assert "the prompt was not allowed" in fails(backend(server)).problem


def test_made_without_a_file_is_an_error_that_names_the_job(server: MediaServer) -> None:
    # case 41
    server.job("success", request_id="req-5")

    failure_ = fails(backend(server))

    assert "req-5" in failure_.problem
    assert failure_.is_billed


def test_no_time_means_no_question_and_an_error_that_says_all(server: MediaServer) -> None:
    # case 42
    server.job("queued", request_id="req-7")

    failure_ = fails(backend(server, Patience(image=0)))

    assert server.polls == []
    for word in ("req-7", "'queued'", "0 seconds", "billed", "Do not retry automatically"):
        assert word in failure_.problem
    assert "%generate resume req-7" in failure_.fix
    assert (failure_.is_billed, failure_.is_over) == (True, False)


@pytest.mark.parametrize(("wish", "seconds"), [(FOX, "0.3"), (CLIP, "0.4")])
def test_pictures_and_clips_have_times_of_their_own(
    wish: GenerationWish, seconds: str, server: MediaServer
) -> None:
    server.job("queued")

    failure_ = fails(backend(server, Patience(image=0.3, video=0.4)), wish)

    assert f"within {seconds} seconds" in failure_.problem
    assert len(server.polls) == 1  # the interval is longer than the time


def test_the_times_are_those_that_were_asked_for() -> None:
    patience = Patience()

    assert (patience.image, patience.video, patience.interval) == (300, 420, 4)


def test_failures_of_questions_are_borne_until_the_time_is_over(server: MediaServer) -> None:
    # case 43
    server.job("queued").fault("poll", *[error(500, "boom 500")] * 5)

    failure_ = fails(backend(server, Patience(image=0.5, interval=4)))

    assert len(server.polls) == 1
    assert "500" not in str(failure_)
    assert "boom" not in str(failure_)


@pytest.mark.parametrize(
    "fault",
    [
        error(500),
        error(502),
        error(503),
        error(429),
        error(408),
        error(400),
        Reply(reset=-1),
        Reply(cut=-1),
        Reply(raw="no json"),
        Reply(raw='{"success": true}'),
        Reply(raw='{"success": false, "error": "busy"}'),
        Reply(raw='{"success": true, "data": {"status": 5}}'),
        Reply(raw='{"success": true, "data": {"status": "failed", "requestId": "another"}}'),
        Reply(raw="[]"),
        Reply(raw="[" * 50_000),
        Reply(raw=b"\xff\xfe"),
    ],
)
def test_a_question_that_goes_wrong_is_asked_again(fault: Reply, server: MediaServer) -> None:
    # case 44
    server.job("queued", "success", files=[server.file("a", PNG)]).fault("poll", fault, fault)

    assert isinstance(run(backend(server))[-1], Ended)
    assert len(server.polls) == 3
    assert server.charged == 1


@pytest.mark.parametrize(
    ("status", "word", "is_over"),
    [
        (401, "not authorised", False),
        (403, "not authorised", False),
        (404, "unknown request", True),
        (410, "unknown request", True),
    ],
)
def test_what_no_waiting_changes_ends_the_wait_and_says_what_is_paid(
    status: int, word: str, is_over: bool, server: MediaServer
) -> None:
    # case 45
    server.job("queued", request_id="req-4").fault("poll", error(status))

    failure_ = fails(backend(server))

    assert len(server.polls) == 1
    for part in (word, "req-4", "billed"):
        assert part in failure_.problem
    assert (failure_.is_billed, failure_.is_over, failure_.status) == (True, is_over, status)


def test_waits_after_failures_grow_and_what_the_service_asks_for_is_kept() -> None:
    patience = Patience()

    assert [patience.wait(failures, None) for failures in range(6)] == [4, 8, 16, 30, 30, 30]
    assert patience.wait(1, 60.0) == 60
    assert patience.wait(0, 1.0) == 4  # never more often than by itself


def test_a_service_that_asks_for_more_time_than_there_is_is_not_asked_sooner(
    server: MediaServer,
) -> None:
    server.job("queued").fault("poll", error(429, **{"retry-after": "60"}))

    fails(backend(server, Patience(image=0.5, interval=0.05)))

    assert len(server.polls) == 1


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "4", None, True])
def test_a_patience_that_is_none_is_an_error(value: object) -> None:
    for kind in (Patience, watching.Patience):
        with pytest.raises(ValueError, match="a number of seconds was expected"):
            kind(interval=value)  # type: ignore[arg-type]


def test_stopping_the_wait_stops_the_questions(server: MediaServer) -> None:
    server.job("queued")

    async def stopped() -> int:
        events = backend(server).run(FOX, key="k")
        async for event in events:
            if isinstance(event, Progressed):
                break
        await events.aclose()
        asked = len(server.polls)
        await asyncio.sleep(0.1)
        return len(server.polls) - asked

    assert asyncio.run(stopped()) == 0
