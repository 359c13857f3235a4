"""Gemini's makers of pictures and clips: what they send and read, and what goes wrong."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from google.genai import types

import wire
from agentcell.errors import (
    ContentFiltered,
    GenerationError,
    GenerationFailed,
    ModelError,
    NotResumable,
)
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.backends.watching import Patience
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, PartialImage, Progressed
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import GeminiMediaServer, OpenAIImagesServer, Reply
from agentcell.testing.image_servers import CLIP
from drawn import mask, picture
from image_backends_kit import BILLED, KEY, asset, failed, made, openai, run, until_it_failed

QUICK = Patience(total=20, interval=0.01, longest=0.02)
HASTY = Patience(total=0.05, interval=0.02, longest=0.02)


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


@BILLED
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
