"""A hosted media service: what is sent, how a job is waited for, and how it ends."""

from __future__ import annotations

import asyncio
import base64
import json
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

from agentcell import keys
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.failures import Origin
from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AgentcellError,
    AuthenticationError,
    BadRequest,
    ConnectionFailed,
    GenerationError,
    GenerationFailed,
    ModelError,
    NoBackend,
    QuotaExceeded,
    RateLimited,
)
from agentcell.imaging.backends import watching
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, Progressed
from agentcell.imaging.hosted import answers, encode
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.service import MediaService, found_service
from agentcell.imaging.hosted.states import FAILED, Patience, outcome
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import MediaServer, Reply, failure, unused_url
from agentcell.testing.media_files import PIXEL as PNG
from media import png

TOKEN = "tk-9f8e7d6c5b4a3210"  # noqa: S105 (made up)
FOX = GenerationWish(prompt="a fox")
CLIP = GenerationWish(prompt="waves", kind="video")
SOON = Patience(image=20, video=20, interval=0.01, longest=0.05)


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as running:
        yield running


def backend(server: MediaServer, patience: Patience = SOON, **options: Any) -> HostedMediaBackend:
    return HostedMediaBackend(server.url, TOKEN, patience=patience, **options)


async def _gathered(events: Any) -> list[BackendEvent]:
    return [event async for event in events]


def run(
    maker: HostedMediaBackend, wish: GenerationWish = FOX, key: str = "key-1"
) -> list[BackendEvent]:
    return asyncio.run(_gathered(maker.run(wish, key=key)))


def resume(maker: HostedMediaBackend, request_id: str) -> list[BackendEvent]:
    return asyncio.run(_gathered(maker.resume(request_id, FOX)))


def fails(
    maker: HostedMediaBackend, wish: GenerationWish = FOX, key: str = "key-1"
) -> GenerationFailed:
    with pytest.raises(GenerationFailed) as caught:
        run(maker, wish, key)
    return caught.value


def error(status: int, said: str = "no", **headers: str) -> Reply:
    body = json.dumps({"success": False, "error": said})
    return Reply(status=status, raw=body, headers={"content-type": "application/json", **headers})


# -- who is asked


def test_without_an_address_or_a_token_nobody_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # case 32
    assert not HostedMediaBackend().is_at_hand()
    assert found_service() is None

    monkeypatch.setenv("AGENTCELL_MEDIA_URL", "https://media.example.org/")
    assert not HostedMediaBackend().is_at_hand()
    assert found_service() is None
    with pytest.raises(NoBackend, match="AGENTCELL_MEDIA_TOKEN is not set"):
        HostedMediaBackend().check(FOX)

    monkeypatch.setenv("AGENTCELL_MEDIA_TOKEN", f" {TOKEN} ")
    assert HostedMediaBackend().is_at_hand()
    service = found_service()
    assert service is not None
    assert (service.base_url, service.token) == ("https://media.example.org", TOKEN)
    assert TOKEN not in repr(service)


def test_the_token_is_looked_for_and_kept_where_keys_are(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTCELL_MEDIA_URL", "https://media.example.org")
    keys.keep("AGENTCELL_MEDIA_TOKEN", TOKEN)

    service = found_service()
    shell.run_cell("%agent key")
    shell.run_cell("%agent key hosted --forget")

    assert service is not None
    assert service.token == TOKEN
    assert found_service() is None
    said = capsys.readouterr().out
    assert TOKEN not in said
    assert "AGENTCELL_MEDIA_TOKEN" in said
    assert "The key for hosted is forgotten" in said


@pytest.mark.parametrize(
    "url",
    [
        "http://media.example.org",
        "http://10.0.0.5:8080",
        "http://media.local",
        "ftp://media.example.org",
        "media.example.org",
        "https://",
        "https://user:hunter2@media.example.org",
        "https://media.example.org?token=hunter2",
        "https://media.example.org/#hunter2",
        "https://media.example.org:x",
        "https://media example.org",
        "https://media.example.org\\@evil.example",
        "https://[::1",
    ],
)
def test_a_token_goes_out_by_https_alone_and_to_a_plain_address(url: str) -> None:
    with pytest.raises(GenerationError) as caught:
        MediaService(base_url=url, token=TOKEN)

    assert TOKEN not in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]"])
def test_on_this_machine_http_will_do(url: str) -> None:
    assert MediaService(base_url=url, token=TOKEN).is_here


@pytest.mark.parametrize("token", ["", "  ", "two words", "späße", "line\nbreak"])
def test_what_can_be_no_token_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(GenerationError) as caught:
        MediaService(base_url="https://media.example.org", token=token)

    assert not token.strip() or token not in str(caught.value)


def test_files_may_be_on_this_machine_only_if_the_service_is() -> None:
    here = HostedMediaBackend("http://127.0.0.1:1", TOKEN)
    there = HostedMediaBackend("https://media.example.org", TOKEN)

    assert here.downloader().loopback
    assert not there.downloader().loopback


# -- what is sent


def test_a_wish_is_submitted_once_with_the_token_and_the_key(server: MediaServer) -> None:
    run(backend(server))

    (post,) = server.posts
    assert post.path == "/agent-integrations/media-generation/images"
    assert post.headers["authorization"] == f"Bearer {TOKEN}"
    assert post.headers["idempotency-key"] == "key-1"
    assert post.headers["content-type"] == "application/json"
    assert post.body == {"prompt": "a fox", "wait": False, "n": 1}


def test_all_of_an_image_wish_is_sent(server: MediaServer) -> None:
    # case 34
    wish = GenerationWish(
        prompt=" a fox ",
        model="seedream-4-0-250828",
        count=8,
        size="1536x1024",
        seed=-7,
        references=(ImageAsset.from_url("https://in.example/u1.png?sig=1"),),
    )

    run(backend(server), wish)

    assert server.posts[0].body == {
        "prompt": " a fox ",
        "wait": False,
        "model": "seedream-4-0-250828",
        "n": 8,
        "size": "1536x1024",
        "inputImages": ["https://in.example/u1.png?sig=1"],
        "seed": -7,
    }


def test_all_of_a_video_wish_is_sent(server: MediaServer) -> None:
    # case 36
    wish = GenerationWish(
        prompt="w",
        kind="video",
        seconds=60,
        aspect="16:9",
        negative="blur",
        references=(ImageAsset.from_url("https://in/f.png"),),
    )

    run(backend(server), wish)

    assert server.posts[0].path == "/agent-integrations/media-generation/videos"
    assert server.posts[0].body == {
        "prompt": "w",
        "wait": False,
        "inputImage": "https://in/f.png",
        "durationSeconds": 60,
        "aspectRatio": "16:9",
        "negativePrompt": "blur",
    }


@pytest.mark.parametrize("size", [(3, 2), (700, 700)])
def test_a_local_picture_is_sent_as_what_it_holds(
    size: tuple[int, int], server: MediaServer
) -> None:
    import io
    import os

    from PIL import Image

    out = io.BytesIO()
    Image.frombytes("RGB", size, os.urandom(size[0] * size[1] * 3)).save(out, "PNG")
    wish = GenerationWish(prompt="x", references=(ImageAsset.from_bytes(out.getvalue()),))

    run(backend(server), wish)

    (sent,) = server.posts[0].body["inputImages"]
    head, _, data = sent.partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == out.getvalue()


@pytest.mark.parametrize(
    "wish",
    [
        GenerationWish(
            prompt="x",
            references=(ImageAsset.from_bytes(PNG),),
            mask=ImageAsset.from_bytes(PNG),
        ),
        GenerationWish(prompt="x", negative="blur"),
        GenerationWish(prompt="x", quality="high"),
        GenerationWish(prompt="x", kind="video", size="640x480"),
        GenerationWish(
            prompt="x",
            kind="video",
            references=(ImageAsset.from_bytes(PNG), ImageAsset.from_bytes(png())),
        ),
        GenerationWish(prompt="x", references=(ImageAsset.from_file_id("file-1"),)),
    ],
)
def test_what_the_protocol_has_no_word_for_is_refused_before_anything_is_sent(
    wish: GenerationWish, server: MediaServer
) -> None:
    with pytest.raises(GenerationError):
        backend(server).check(wish)
    with pytest.raises(GenerationError):
        encode.body_of(wish)

    assert server.requests == []


# -- the wait


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


# -- later


def test_a_job_is_found_again_without_a_second_submit(server: MediaServer) -> None:
    # case 47
    url = server.file("a.png", PNG)
    server.job("queued", request_id="req-7", files=[url])
    fails(backend(server, Patience(image=0)))

    server.jobs[0].states = ["success"]
    events = resume(backend(server), "req-7")

    assert [type(event) for event in events] == [Progressed, Made, Ended]
    assert len(server.posts) == 1


def test_a_job_that_is_not_ready_is_asked_after_once_even_without_time(server: MediaServer) -> None:
    server.job("queued", request_id="req-7")
    fails(backend(server, Patience(image=0)))

    with pytest.raises(GenerationFailed, match="'queued'"):
        resume(backend(server, Patience(image=0)), "req-7")

    assert len(server.polls) == 1


def test_a_job_that_the_service_does_not_know_is_told(server: MediaServer) -> None:
    with pytest.raises(GenerationFailed, match="unknown request"):
        resume(backend(server), "req-99")


@pytest.mark.parametrize(("takes_cancel", "is_stopped"), [(True, True), (False, False)])
def test_a_job_is_stopped_where_the_service_can(takes_cancel: bool, is_stopped: bool) -> None:
    with MediaServer(token=TOKEN, takes_cancel=takes_cancel) as server:
        server.job("queued", request_id="req-1")
        fails(backend(server, Patience(image=0)))

        assert asyncio.run(backend(server).cancel("req-1")) is is_stopped
        assert len(server.cancels) == is_stopped


@pytest.mark.parametrize(
    ("fault", "is_stopped"),
    [
        (Reply(status=204, raw=""), True),
        (Reply(raw='{"success":false,"error":"too late"}'), False),
        (error(409), False),
    ],
)
def test_what_the_service_says_to_the_wish_to_stop_is_believed(
    fault: Reply, is_stopped: bool, server: MediaServer
) -> None:
    server.fault("cancel", fault)

    assert asyncio.run(backend(server).cancel("req-1")) is is_stopped


def test_a_wish_to_stop_that_does_not_arrive_is_an_error(server: MediaServer) -> None:
    server.fault("cancel", failure(500))

    with pytest.raises(AgentcellError):
        asyncio.run(backend(server).cancel("req-1"))


# -- what it makes


def test_a_small_file_may_stand_in_the_answer_itself(server: MediaServer) -> None:
    data = base64.b64encode(PNG).decode()
    server.job("success", files=[f"data:image/png;base64,{data}"])

    made = run(backend(server))[-2]

    assert isinstance(made, Made)
    assert made.data == PNG


def test_a_clip_comes_with_its_still_picture(server: MediaServer) -> None:
    server.job(
        "success",
        files=["https://files.example/a.mp4?sig=1"],
        thumbnails=["https://files.example/a.jpg?sig=1"],
    )

    made = run(backend(server), CLIP)[-2]

    assert isinstance(made, Made)
    assert made.kind == "video"
    assert made.thumbnail_url.endswith("a.jpg?sig=1")
    assert "sig=1" not in repr(made)


def test_items_that_are_none_are_passed_over(server: MediaServer) -> None:
    media = [None, 5, {}, {"type": "image"}, {"type": 3, "url": "u"}, {"type": "image", "url": "u"}]
    server.job("success", fields={"media": media})

    assert len([event for event in run(backend(server)) if isinstance(event, Made)]) == 1


@pytest.mark.parametrize(("include", "query"), [(False, ""), (True, "?includeUpstream=true")])
def test_models_are_listed_as_the_service_says(
    include: bool, query: str, server: MediaServer
) -> None:
    # case 52
    models = asyncio.run(backend(server).models(include_upstream=include))

    assert models["curated"][0] == {"id": "seedream-4-0-250828", "modality": "image"}
    assert ("upstream" in models) is include
    assert server.requests[0].path == f"/agent-integrations/media-generation/models{query}"


@pytest.mark.parametrize("raw", ["<html>", '{"success":true}', '{"success":false,"error":"no"}'])
def test_a_list_of_models_that_is_none_is_told(raw: str, server: MediaServer) -> None:
    server.fault("models", Reply(raw=raw))

    with pytest.raises(ModelError, match="list of models cannot be read"):
        asyncio.run(backend(server).models())
