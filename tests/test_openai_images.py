"""OpenAI's maker of pictures: what it sends, what it reads, and what goes wrong."""

from __future__ import annotations

import asyncio
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openai.types.image_edit_params import ImageEditParamsBase

import wire
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AttachmentError,
    ContentFiltered,
    GenerationError,
    GenerationFailed,
    KeyMissing,
    ModelError,
    NotResumable,
    Timeout,
)
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.backends.openai_wish import sendable
from agentcell.imaging.events import Accepted, Ended, PartialImage
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import OpenAIImagesServer, Reply, SilentPort, unused_url
from agentcell.testing.image_servers import FormPart, fields_of
from drawn import mask, noise, picture
from image_backends_kit import BILLED, KEY, asset, failed, made, openai, run, until_it_failed


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


@BILLED
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
