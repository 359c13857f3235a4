"""A hosted media service: who is asked, what is sent, and what is made of its answers."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from agentcell import keys
from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AgentcellError,
    GenerationError,
    GenerationFailed,
    ModelError,
    NoBackend,
)
from agentcell.imaging.events import Ended, Made, Progressed
from agentcell.imaging.hosted import encode
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.service import MediaService, found_service
from agentcell.imaging.hosted.states import Patience
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import MediaServer, Reply, failure
from agentcell.testing.media_files import PIXEL as PNG
from hosted_kit import CLIP, FOX, TOKEN, backend, error, fails, resume, run
from media import png


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as running:
        yield running


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
