"""OpenAI's and Gemini's pictures and clips, against servers on loopback that speak as they do."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from openai.types.image_edit_params import ImageEditParamsBase

import wire
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AttachmentError,
    AuthenticationError,
    ConnectionFailed,
    ContentFiltered,
    GenerationError,
    GenerationFailed,
    KeyMissing,
    ModelError,
    NotResumable,
    RateLimited,
    ServiceError,
    Timeout,
)
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.backends.openai_wish import sendable
from agentcell.imaging.backends.watching import Patience
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, PartialImage, Progressed
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import GeminiMediaServer, OpenAIImagesServer, Reply, SilentPort, unused_url
from agentcell.testing.image_servers import CLIP, FormPart, fields_of
from drawn import mask, noise, picture

KEY = "sk-test-0123456789abcdef0123456789"
QUICK = Patience(total=20, interval=0.01, longest=0.02)
HASTY = Patience(total=0.05, interval=0.02, longest=0.02)


def asset(data: bytes) -> ImageAsset:
    return ImageAsset.from_bytes(data)


def run(backend: ImageBackend, wish: GenerationWish) -> list[BackendEvent]:
    backend.check(wish)

    async def all_of_it() -> list[BackendEvent]:
        return [event async for event in backend.run(wish, key="k")]

    return asyncio.run(all_of_it())


def made(events: list[BackendEvent]) -> list[bytes | None]:
    return [event.data for event in events if isinstance(event, Made)]


def until_it_failed(
    backend: ImageBackend, wish: GenerationWish
) -> tuple[list[BackendEvent], ModelError]:
    events: list[BackendEvent] = []

    async def all_of_it() -> None:
        async for event in backend.run(wish, key="k"):
            events.append(event)  # noqa: PERF401 (what came before the error is kept)

    with pytest.raises(ModelError) as caught:
        asyncio.run(all_of_it())
    return events, caught.value


def failed(backend: ImageBackend, wish: GenerationWish) -> ModelError:
    with pytest.raises(ModelError) as caught:
        run(backend, wish)
    assert KEY not in f"{caught.value!r} {caught.value}"
    return caught.value


# -- OpenAI ---------------------------------------------------------------------------------------


def openai(server: OpenAIImagesServer, **options: Any) -> OpenAIImages:
    return OpenAIImages(KEY, server.url, **options)


@pytest.mark.parametrize(
    "wish",
    [
        GenerationWish(prompt="a fox"),
        GenerationWish(prompt="a fox", model="gpt-image-2", size="1536x864", quality="low"),
        GenerationWish(prompt="狐狸", format="webp", count=3, size="auto", quality="max"),
        GenerationWish(prompt="a fox", format="jpeg", size="1024x1536", quality="auto"),
    ],
)
def test_what_openai_is_sent_is_what_its_own_types_allow(wish: GenerationWish) -> None:
    with OpenAIImagesServer() as server:
        events = run(openai(server), wish)

    (body,) = server.bodies
    wire.check_images(body)
    assert body["prompt"] == wish.prompt
    assert body["output_format"] == wish.format
    assert len(made(events)) == wish.count
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_single_picture_of_openai_comes_with_previews() -> None:
    first, last = picture("red"), picture("blue")
    with OpenAIImagesServer(pictures=(last,), previews=(first, last)) as server:
        events = run(openai(server, partial_images=2), GenerationWish(prompt="a fox"))

    assert events[0] == Accepted("")
    assert [one for one in events if isinstance(one, PartialImage)] == [
        PartialImage(first, 0),
        PartialImage(last, 1),
    ]
    assert made(events) == [last]
    assert isinstance(events[-1], Ended)
    assert server.bodies[0]["partial_images"] == 2
    assert server.bodies[0]["stream"] is True


def test_several_pictures_of_openai_come_in_one_answer_in_their_order() -> None:
    drawn = (picture("red"), picture("green"), picture("blue"))
    with OpenAIImagesServer(pictures=drawn) as server:
        events = run(openai(server), GenerationWish(prompt="a fox", count=3))

    assert made(events) == list(drawn)
    assert "stream" not in server.bodies[0]
    assert server.bodies[0]["n"] == 3


def test_an_edit_by_openai_is_a_form_with_every_reference_and_the_mask() -> None:
    base, other, hole = picture("red"), picture("blue", kind="JPEG"), mask()
    wish = GenerationWish(
        prompt="a hat; naïve",
        references=(asset(base), asset(other)),
        mask=asset(hole),
        quality="low",
    )
    with OpenAIImagesServer() as server:
        run(openai(server), wish)

    (request,) = server.requests
    assert request.path.endswith("/images/edits")
    files = [part for part in request.body if isinstance(part, FormPart) and part.filename]
    assert [(one.name, one.mime_type, one.data) for one in files] == [
        ("image[]", "image/png", base),
        ("image[]", "image/jpeg", other),
        ("mask", "image/png", hole),
    ]
    fields = fields_of(request)
    assert fields["prompt"] == "a hat; naïve"
    assert (fields["stream"], fields["quality"]) == ("true", "low")
    known = set(ImageEditParamsBase.__annotations__) | {"stream"}
    assert {*fields, "image", "mask"} <= known


def test_a_large_reference_goes_out_whole_from_where_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "large.png"
    file.write_bytes(noise((900, 900)))
    wish = GenerationWish(prompt="a hat", references=(ImageAsset.from_path(file),))
    with OpenAIImagesServer() as server:
        run(openai(server), wish)

    (sent,) = [part for part in server.requests[0].body if part.filename]
    assert sent.data == file.read_bytes()


def test_a_reference_of_another_type_is_sent_as_one_that_openai_takes() -> None:
    wish = GenerationWish(prompt="a hat", references=(asset(picture("red", kind="BMP")),))
    with OpenAIImagesServer() as server:
        run(openai(server), wish)

    (sent,) = [part for part in server.requests[0].body if part.filename]
    assert sent.mime_type in {"image/png", "image/jpeg"}
    assert asset(sent.data).mime_type == sent.mime_type


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"seed": 3}, "no seed"),
        ({"negative": "blur"}, "no negative prompt"),
        ({"kind": "video"}, "makes no videos"),
        ({"size": "1000x1000"}, "multiples of 16"),
        ({"size": "4096x1024"}, "multiples of 16"),
        ({"size": "2048x512"}, "no side more than 3 times"),
        ({"size": "512x512", "model": "gpt-image-1-mini"}, "1024x1024"),
        ({"prompt": "x" * 32_001}, "32,001 characters"),
        ({"references": (asset(picture()),), "mask": asset(picture())}, "no transparent part"),
        (
            {"references": (asset(picture()),), "mask": asset(mask((10, 10)))},
            "The mask has 10x10 pixels",
        ),
    ],
)
def test_what_openai_does_not_take_is_refused_before_anything_is_sent(
    wish: dict[str, Any], said: str
) -> None:
    with OpenAIImagesServer() as server, pytest.raises(GenerationError, match=said):
        openai(server).check(GenerationWish(**{"prompt": "a fox", **wish}))

    assert server.requests == []


def test_a_reference_that_is_an_address_is_refused_since_nothing_is_fetched() -> None:
    there = ImageAsset.from_url("https://example.org/a.png")
    with pytest.raises(AttachmentError):
        OpenAIImages(KEY).check(GenerationWish(prompt="a hat", references=(there,)))


def test_no_key_is_told_before_anything_is_sent() -> None:
    with pytest.raises(KeyMissing, match="OPENAI_API_KEY"):
        OpenAIImages().check(GenerationWish(prompt="a fox"))
    with pytest.raises(KeyMissing, match="GEMINI_API_KEY"):
        GeminiMedia().check(GenerationWish(prompt="a fox"))


_BILLED = pytest.mark.parametrize(
    ("reply", "kind", "is_billed"),
    [
        (lambda s: s.fail(429, retry_after=7), RateLimited, False),
        (lambda s: s.fail(401), AuthenticationError, False),
        (
            lambda s: s.fail(400, "Your request was rejected", code="moderation_blocked"),
            ContentFiltered,
            False,
        ),
        (lambda s: s.fail(500), ServiceError, None),
        (lambda s: s.fail(503), ServiceError, None),
        (lambda s: s.fail(502, html=True), ServiceError, None),
        (lambda s: s.cut(after=None), ConnectionFailed, None),
        (lambda s: s.reset(after=None), ConnectionFailed, None),
        (lambda s: s.plan(Reply(raw="<html>hello</html>")), GenerationFailed, True),
        (lambda s: s.plan(Reply(raw=b"")), GenerationFailed, True),
    ],
    ids=["429", "401", "policy", "500", "503", "502 page", "cut", "reset", "a page", "nothing"],
)


@_BILLED
@pytest.mark.parametrize("count", [1, 2])
def test_a_refusal_of_openai_is_typed_and_says_whether_it_cost(
    reply: Any, kind: type[ModelError], is_billed: bool | None, count: int
) -> None:
    with OpenAIImagesServer() as server:
        reply(server)
        error = failed(openai(server), GenerationWish(prompt="a fox", count=count))

    assert isinstance(error, kind)
    assert error.is_billed is is_billed
    assert len(server.requests) == 1, "what may be paid for is never sent again by itself"
    if is_billed is not False:
        assert "charged" in f"{error.problem} {error.fix}"


@pytest.mark.parametrize(
    "fault", [Reply(cut=1), Reply(clean_cut=1), Reply(reset=1)], ids=["cut", "ended", "reset"]
)
@pytest.mark.parametrize("count", [1, 2])
def test_an_answer_of_openai_that_breaks_off_leaves_open_whether_it_cost(
    fault: Reply, count: int
) -> None:
    with OpenAIImagesServer(previews=(picture(),)) as server:
        server.plan(fault)
        error = failed(openai(server), GenerationWish(prompt="a fox", count=count))

    assert isinstance(error, GenerationFailed)
    assert error.is_billed in (None, True)
    assert "charged" in f"{error.problem} {error.fix}"


def test_an_answer_of_openai_that_stops_coming_ends_in_time() -> None:
    with OpenAIImagesServer(previews=(picture(),)) as server:
        server.plan(Reply(stall=1))
        error = failed(openai(server, timeout=0.3), GenerationWish(prompt="a fox"))

    assert isinstance(error, Timeout)
    assert error.is_billed is None


def test_an_error_within_openais_stream_is_that_error() -> None:
    with OpenAIImagesServer(previews=(picture(),)) as server:
        server.plan(
            Reply(error={"code": "moderation_blocked", "message": "no such foxes"}, error_after=1)
        )
        error = failed(openai(server), GenerationWish(prompt="a fox"))

    assert isinstance(error, ContentFiltered)
    assert "no such foxes" in error.problem
    assert error.is_billed is None


@pytest.mark.parametrize("count", [1, 2])
def test_a_picture_of_openai_that_is_no_base64_was_paid_for(count: int) -> None:
    with OpenAIImagesServer(pictures=("%%% no base64 %%%",)) as server:
        error = failed(openai(server), GenerationWish(prompt="a fox", count=count))

    assert isinstance(error, GenerationFailed)
    assert error.is_billed is True
    assert "no base64" in error.problem


def test_a_preview_that_is_no_base64_loses_no_picture() -> None:
    with OpenAIImagesServer(previews=("%%%",), pictures=(picture(),)) as server:
        events = run(openai(server), GenerationWish(prompt="a fox"))

    assert made(events) == [picture()]


def test_one_of_openais_pictures_that_is_no_base64_loses_no_other() -> None:
    drawn = (picture("red"), "%%%", picture("blue"))
    with OpenAIImagesServer(pictures=drawn) as server:
        events, error = until_it_failed(openai(server), GenerationWish(prompt="a fox", count=3))

    assert made(events) == [picture("red"), picture("blue")]
    assert isinstance(events[-1], Ended)
    assert "no base64" in error.problem


def test_nobody_listening_and_nobody_answering_differ_in_what_they_cost() -> None:
    wish = GenerationWish(prompt="a fox")
    nobody = failed(OpenAIImages(KEY, unused_url()), wish)
    with SilentPort() as silent:
        not_reached = failed(OpenAIImages(KEY, silent.url, timeout=0.3), wish)
    with OpenAIImagesServer() as server:
        server.stall(after=None)
        no_answer = failed(openai(server, timeout=0.3), wish)

    assert (nobody.is_billed, not_reached.is_billed, no_answer.is_billed) == (False, False, None)


def test_what_openais_picture_cost_follows_from_its_tokens() -> None:
    with OpenAIImagesServer() as server:
        server.plan(Reply(usage=(1000, 4160)))
        set_price("openai/gpt-image-2.5-flare", input=5, output=30)
        try:
            events = run(openai(server), GenerationWish(prompt="a fox"))
        finally:
            forget_price("openai/gpt-image-2.5-flare")

    ended = events[-1]
    assert isinstance(ended, Ended)
    assert ended.cost == Decimal("0.1298")  # (1000 × 5 + 4160 × 30) / 1,000,000
    assert ended.model == "gpt-image-2.5-flare"


@pytest.mark.parametrize(
    ("wish", "least", "most"),
    [
        ({"quality": "low"}, "0.008", "0.013"),
        ({"quality": "high"}, "0.12", "0.14"),
        ({"quality": "low", "size": "1536x1024"}, "0.012", "0.017"),
        ({"quality": "low", "count": 4}, "0.03", "0.04"),
    ],
)
def test_about_what_a_picture_will_cost_is_known_before(
    wish: dict[str, Any], least: str, most: str
) -> None:
    price = OpenAIImages(KEY).price(GenerationWish(prompt="a fox", model="gpt-image-2", **wish))

    assert price is not None
    assert Decimal(least) < price < Decimal(most)


def test_what_nobody_can_know_of_a_price_is_none_until_a_person_says_it() -> None:
    wish = GenerationWish(prompt="a fox", model="gpt-image-2.6-flare", count=3)
    assert OpenAIImages(KEY).price(wish) is None
    assert OpenAIImages(KEY).price(GenerationWish(prompt="a fox", quality="max")) is None

    set_price("openai/gpt-image-2.6-flare", per_image="0.05")
    try:
        assert OpenAIImages(KEY).price(wish) == Decimal("0.15")
    finally:
        forget_price("openai/gpt-image-2.6-flare")


def test_openai_keeps_no_jobs() -> None:
    with pytest.raises(NotResumable):
        OpenAIImages(KEY).resume("", GenerationWish(prompt="a fox"))


def test_while_openais_references_are_converted_the_loop_goes_on() -> None:
    first, second = (asset(noise((side, 900), "BMP")) for side in (900, 901))
    began = time.perf_counter()
    sendable(first)
    alone = time.perf_counter() - began
    gaps: list[float] = []

    async def beat() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    async def both(backend: OpenAIImages) -> None:
        beating = asyncio.create_task(beat())
        wish = GenerationWish(prompt="p", references=(second,))
        async for _ in backend.run(wish, key="k"):
            pass
        beating.cancel()

    with OpenAIImagesServer() as server:
        asyncio.run(both(openai(server)))

    assert max(gaps) < alone / 2


# -- Gemini: pictures -----------------------------------------------------------------------------


def gemini(server: GeminiMediaServer, **options: Any) -> GeminiMedia:
    return GeminiMedia(KEY, server.url, patience=QUICK, **options)


@pytest.mark.parametrize(
    "wish",
    [
        GenerationWish(prompt="a fox"),
        GenerationWish(prompt="a fox", size="1376x768", seed=7),
        GenerationWish(prompt="a hat", references=(asset(picture()), asset(picture("blue")))),
    ],
)
def test_what_gemini_is_sent_is_what_its_own_types_allow(wish: GenerationWish) -> None:
    with GeminiMediaServer() as server:
        events = run(gemini(server), wish)

    (body,) = server.bodies
    config = body.pop("generationConfig")
    wire.check("gemini", body)
    types.GenerateContentConfig.model_validate(config)
    parts = body["contents"][0]["parts"]
    assert parts[0] == {"text": wish.prompt}
    sent = [base64.b64decode(part["inlineData"]["data"]) for part in parts[1:]]
    assert sent == [one.load_bytes() for one in wish.references]
    assert config["responseModalities"] == ["TEXT", "IMAGE"]
    assert len(made(events)) == 1
    assert server.requests[0].headers["x-goog-api-key"] == KEY


def test_several_pictures_of_gemini_are_several_requests_with_seeds_of_their_own() -> None:
    with GeminiMediaServer() as server:
        events = run(gemini(server), GenerationWish(prompt="a fox", count=3, seed=5))

    seeds = [body["generationConfig"]["seed"] for body in server.bodies]
    assert seeds == [5, 6, 7]
    assert [one.seed for one in events if isinstance(one, Made)] == seeds


@pytest.mark.parametrize(
    ("size", "config"),
    [
        ("1024x1024", {"aspectRatio": "1:1", "imageSize": "1K"}),
        ("1376x768", {"aspectRatio": "16:9", "imageSize": "1K"}),
        ("1536x2752", {"aspectRatio": "9:16", "imageSize": "2K"}),
        ("4096x4096", {"aspectRatio": "1:1", "imageSize": "4K"}),
        ("512x512", {"aspectRatio": "1:1", "imageSize": "512"}),
    ],
)
def test_a_size_becomes_geminis_shape_and_size(size: str, config: dict[str, str]) -> None:
    with GeminiMediaServer() as server:
        run(gemini(server), GenerationWish(prompt="a fox", size=size))

    assert server.bodies[0]["generationConfig"]["imageConfig"] == config


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"size": "1000x300"}, "pictures of 1:1"),
        ({"size": "9000x9000"}, "up to about 4096"),
        ({"quality": "high"}, "no quality"),
        ({"negative": "blur"}, "no negative prompt"),
        ({"references": (asset(picture()),), "mask": asset(mask())}, "no mask"),
        ({"references": (asset(picture()),) * 15}, "takes 14"),
        ({"kind": "video", "aspect": "4:3"}, "16:9 and 9:16"),
        ({"kind": "video", "size": "100x100"}, "640x360"),
    ],
)
def test_what_gemini_does_not_take_is_refused_before_anything_is_sent(
    wish: dict[str, Any], said: str
) -> None:
    with GeminiMediaServer() as server, pytest.raises(GenerationError, match=said):
        gemini(server).check(GenerationWish(**{"prompt": "a fox", **wish}))

    assert server.requests == []


@_BILLED
def test_a_refusal_of_gemini_is_typed_and_says_whether_it_cost(
    reply: Any, kind: type[ModelError], is_billed: bool | None
) -> None:
    if kind is ContentFiltered:
        return  # Gemini says so within its answer, see below
    with GeminiMediaServer() as server:
        reply(server)
        error = failed(gemini(server), GenerationWish(prompt="a fox"))

    assert isinstance(error, kind)
    assert error.is_billed is is_billed
    assert len(server.requests) == 1


def test_a_prompt_that_gemini_blocks_is_not_paid_for() -> None:
    blocked = '{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}'
    with GeminiMediaServer() as server:
        server.plan(Reply(raw=blocked, headers={"content-type": "application/json"}))
        error = failed(gemini(server), GenerationWish(prompt="a fox"))

    assert isinstance(error, ContentFiltered)
    assert error.is_billed is False


def test_a_picture_that_gemini_holds_back_may_have_been_paid_for() -> None:
    with GeminiMediaServer() as server:
        server.plan(Reply(finish="content_filter"))
        error = failed(gemini(server), GenerationWish(prompt="a fox"))

    assert isinstance(error, ContentFiltered)
    assert error.is_billed is None


def test_words_in_the_place_of_a_picture_are_told() -> None:
    said = '{"candidates": [{"content": {"parts": [{"text": "I cannot draw."}]}}]}'
    with GeminiMediaServer() as server:
        server.plan(Reply(raw=said, headers={"content-type": "application/json"}))
        error = failed(gemini(server), GenerationWish(prompt="a fox"))

    assert isinstance(error, GenerationFailed)
    assert "I cannot draw. The answer" in error.problem
    assert error.is_billed is True


def test_one_of_geminis_pictures_that_is_no_base64_loses_no_other() -> None:
    drawn = ("%%%", picture("red"), "%%%", picture("blue"))
    with GeminiMediaServer(pictures=drawn) as server:
        events, error = until_it_failed(gemini(server), GenerationWish(prompt="a fox", count=2))

        assert len(server.requests) == 1, "what goes wrong is not paid for once more"
    assert made(events) == [picture("red"), picture("blue")]
    assert isinstance(events[-1], Ended)
    assert "no base64" in error.problem


# -- Gemini: clips --------------------------------------------------------------------------------


def test_a_clip_is_begun_once_and_looked_at_until_it_is_done() -> None:
    wish = GenerationWish(
        prompt="waves",
        kind="video",
        seconds=8,
        aspect="16:9",
        size="1280x720",
        seed=3,
        references=(asset(picture()),),
    )
    with GeminiMediaServer(states=("queued", "in_progress", "in_progress", "completed")) as server:
        events = run(gemini(server), wish)

    (begun,) = server.submits
    wire.check_interaction(begun.body)
    assert begun.body["background"] is True
    assert begun.body["store"] is True
    assert begun.body["response_format"] == {
        "type": "video",
        "delivery": "inline",
        "aspect_ratio": "16:9",
        "duration": "8s",
        "resolution": "720p",
    }
    assert begun.body["generation_config"]["video_config"] == {"task": "image_to_video"}
    assert events[0] == Accepted("int-1")
    words = [one.state for one in events if isinstance(one, Progressed)]
    assert words == ["queued", "in_progress", "completed"]
    assert made(events) == [CLIP]


def test_a_clip_that_was_accepted_earlier_is_asked_for_without_a_second_submit() -> None:
    wish = GenerationWish(prompt="waves", kind="video")
    with GeminiMediaServer(states=("in_progress", "in_progress", "completed")) as server:
        backend = GeminiMedia(KEY, server.url, patience=HASTY)
        server.states = ["in_progress"]
        error = failed(backend, wish)
        server.states = ["completed"]

        async def later() -> list[BackendEvent]:
            again = GeminiMedia(KEY, server.url, patience=QUICK)
            return [event async for event in again.resume("int-1", wish)]

        events = asyncio.run(later())

    assert isinstance(error, GenerationFailed)
    assert (error.is_billed, error.is_over) == (True, False)
    assert "int-1" in error.fix
    assert made(events) == [CLIP]
    assert len(server.submits) == 1


def test_a_look_that_goes_wrong_is_taken_again_since_it_costs_nothing() -> None:
    with GeminiMediaServer(states=("in_progress", "completed")) as server:
        server.reply("ok").fail(500).cut(after=None).fail(429).reply("ok")
        events = run(gemini(server), GenerationWish(prompt="waves", kind="video"))

    assert made(events) == [CLIP]
    assert len(server.submits) == 1
    assert len(server.requests) == 5


@pytest.mark.parametrize(("status", "is_over"), [(404, True), (401, False), (403, False)])
def test_a_clip_that_gemini_does_not_tell_of_is_not_asked_for_for_ever(
    status: int, is_over: bool
) -> None:
    with GeminiMediaServer(states=("in_progress",)) as server:
        server.reply("ok").fail(status)
        error = failed(gemini(server), GenerationWish(prompt="waves", kind="video"))

    assert isinstance(error, GenerationFailed)
    assert (error.status, error.is_billed, error.is_over) == (status, True, is_over)
    assert len(server.requests) == 2


def test_a_look_that_brings_more_than_can_be_held_is_given_up_and_can_be_taken_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentcell.imaging.backends.gemini_service.MOST_BYTES", 100_000)
    with GeminiMediaServer(states=("in_progress", "completed"), clip=bytes(300_000)) as server:
        error = failed(gemini(server), GenerationWish(prompt="waves", kind="video"))
        looks = len(server.requests) - len(server.submits)

    assert isinstance(error, GenerationFailed)
    assert "more than 100,000 bytes" in error.problem
    assert (error.is_billed, error.is_over) == (True, False)
    assert looks == 1


@pytest.mark.parametrize("state", ["failed", "cancelled", "incomplete", "budget_exceeded"])
def test_a_clip_that_ends_badly_is_told_with_the_services_reason(state: str) -> None:
    with GeminiMediaServer(states=("in_progress", state)) as server:
        server.errors = [{"message": "waves are wet"}]
        error = failed(gemini(server), GenerationWish(prompt="waves", kind="video"))

    assert isinstance(error, GenerationFailed)
    assert state in error.problem
    assert "waves are wet" in error.problem
    assert error.is_over


def test_a_clip_that_is_done_and_empty_is_no_success() -> None:
    with GeminiMediaServer(clip=None) as server:
        error = failed(gemini(server), GenerationWish(prompt="waves", kind="video"))

    assert isinstance(error, GenerationFailed)
    assert "holds no clip" in error.problem


def test_a_clip_can_be_cancelled() -> None:
    with GeminiMediaServer(states=("in_progress",)) as server:
        server.interactions["int-9"] = {}

        assert asyncio.run(gemini(server).cancel("int-9")) is True

    assert server.cancelled == ["int-9"]


def test_a_picture_of_gemini_cannot_be_asked_for_again() -> None:
    with pytest.raises(NotResumable, match="keeps no pictures"):
        GeminiMedia(KEY).resume("x", GenerationWish(prompt="a fox"))


_NASTY = [
    "[]",
    "null",
    "{}",
    '{"data": null}',
    '{"data": [null, 3, "x"]}',
    '{"data": [{"b64_json": 5}]}',
    '{"error": "broken"}',
    '{"error": {"message": {"a": [1]}}}',
    '{"candidates": [null]}',
    '{"candidates": {"a": 1}}',
    '{"candidates": [{"content": {"parts": [null, {"inlineData": 3}, {"text": 5}]}}]}',
    '{"candidates": [{"content": [], "finishReason": 7}], "promptFeedback": []}',
    '{"candidates": [{"content": {"parts": [{"inlineData": {"data": "%%%"}}]}}]}',
    '{"id": 5, "status": null}',
    '{"id": "a", "status": "completed", "steps": [null, {"content": [3, {"type": "video"}]}]}',
    '{"id": "a", "status": "completed", "steps": {}, "errors": [3, {"message": 4}], "usage": 3}',
    '{"id": "a", "status": "failed", "errors": {"message": "x"}}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", _NASTY, ids=range(len(_NASTY)))
def test_whatever_a_service_answers_is_an_error_of_ours(text: str) -> None:
    answer = Reply(raw=text, headers={"content-type": "application/json"})
    with OpenAIImagesServer(answer) as one, GeminiMediaServer(answer) as other:
        failed(openai(one), GenerationWish(prompt="a fox", count=2))
        failed(gemini(other), GenerationWish(prompt="a fox"))
        failed(gemini(other), GenerationWish(prompt="waves", kind="video"))


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {"input_tokens": "x"},
        {"input_tokens": 5, "output_tokens": 7, "output_tokens_details": 3},
        {"input_tokens": 5, "output_tokens": -7, "input_tokens_details": {"image_tokens": "x"}},
    ],
)
def test_a_count_of_tokens_that_is_none_loses_no_picture(usage: Any) -> None:
    body = {"data": [{"b64_json": base64.b64encode(picture()).decode()}] * 2, "usage": usage}
    answer = Reply(raw=json.dumps(body), headers={"content-type": "application/json"})
    with OpenAIImagesServer(answer) as server:
        events = run(openai(server), GenerationWish(prompt="a fox", count=2))

    assert len(made(events)) == 2


@pytest.mark.parametrize(
    "usage",
    [3, {"promptTokenCount": "x", "candidatesTokenCount": None}, {"candidatesTokensDetails": 5}],
)
def test_a_count_of_geminis_that_is_none_loses_no_picture(usage: Any) -> None:
    data = base64.b64encode(picture()).decode()
    body = {
        "candidates": [{"content": {"parts": [{"inlineData": {"data": data}}]}}],
        "usageMetadata": usage,
    }
    answer = Reply(raw=json.dumps(body), headers={"content-type": "application/json"})
    with GeminiMediaServer(answer) as server:
        events = run(gemini(server), GenerationWish(prompt="a fox"))

    assert made(events) == [picture()]


def test_stopping_closes_the_connection_to_the_service() -> None:
    async def stopped(backend: ImageBackend) -> None:
        events = backend.run(GenerationWish(prompt="a fox"), key="k")
        async for event in events:
            if isinstance(event, PartialImage):
                break
        await events.aclose()  # type: ignore[attr-defined]

    with OpenAIImagesServer(previews=(picture(),)) as server:
        server.plan(Reply(stall=1))
        asyncio.run(stopped(openai(server)))

        assert server.disconnected.wait(10)
