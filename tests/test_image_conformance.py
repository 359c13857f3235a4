"""Every maker of pictures keeps to the protocol, and whoever does not is found."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from decimal import Decimal
from typing import Any

import pytest

from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.backends.procedural import ProceduralBackend
from agentcell.imaging.backends.watching import Patience
from agentcell.imaging.events import Accepted, BackendEvent, Ended, Made, Progressed
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience as HostedPatience
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import (
    GeminiMediaServer,
    MediaServer,
    OpenAIImagesServer,
    check_image_backend,
)
from drawn import picture

KEY = "sk-test-0123456789abcdef0123456789"
FOX = GenerationWish(prompt="a fox")
FOXES = GenerationWish(prompt="foxes", count=2)
WAVES = GenerationWish(prompt="waves", kind="video")


@pytest.mark.parametrize("wish", [FOX, FOXES], ids=["one", "two"])
def test_procedural(wish: GenerationWish) -> None:
    check_image_backend(ProceduralBackend, wish)


@pytest.mark.parametrize("wish", [FOX, FOXES], ids=["one", "two"])
def test_openai(wish: GenerationWish) -> None:
    with OpenAIImagesServer() as server:
        check_image_backend(lambda: OpenAIImages(KEY, server.url), wish)


@pytest.mark.parametrize("wish", [FOX, FOXES, WAVES], ids=["one", "two", "clip"])
def test_gemini(wish: GenerationWish) -> None:
    quick = Patience(interval=0.01)
    with GeminiMediaServer() as server:
        check_image_backend(lambda: GeminiMedia(KEY, server.url, patience=quick), wish)


def test_a_hosted_media_service() -> None:
    quick = HostedPatience(interval=0.01)
    with MediaServer(token=KEY) as server:
        server.job("queued", "success", files=[server.file("a.png", picture())])
        check_image_backend(lambda: HostedMediaBackend(server.url, KEY, patience=quick), FOX)


class Good(ImageBackend):
    """What a backend should be; each wrong one differs in one thing."""

    name = "good"
    is_free = True
    events: tuple[BackendEvent, ...] = (
        Accepted("r"),
        Progressed("painting", 0.5),
        Made(kind="image", data=b"x"),
        Ended(),
    )

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncGenerator[BackendEvent]:
        del wish, key
        for event in self.events:
            yield event


MADE = Made(kind="image", data=b"x")

WRONGS: dict[str, dict[str, Any]] = {
    "Ended is not the last event": {"events": (Ended(), MADE)},
    "exactly once": {"events": (MADE, Ended(), Ended())},
    "0 files were made": {"events": (Ended(),)},
    "a video was made": {"events": (Made(kind="video", data=b"x"), Ended())},
    "neither bytes nor an address": {"events": (Made(kind="image"), Ended())},
    "Accepted comes after the first file": {"events": (MADE, Accepted("r"), Ended())},
    "progress is 7": {"events": (Progressed("x", 7), MADE, Ended())},
    "yields str": {"events": ("hello", MADE, Ended())},
    "holds a slash": {"name": "a/b"},
    "kinds is empty": {"kinds": frozenset()},
    "it is free, and has a price": {"price": lambda *_: Decimal(1)},
    "its price is -1": {"price": lambda *_: Decimal(-1)},
    "check takes a video": {"check": lambda *_: None},
    "is_at_hand returns no bool": {"is_at_hand": lambda _: "yes"},
}


def test_a_good_one_passes() -> None:
    check_image_backend(Good, FOX)


@pytest.mark.parametrize("said", WRONGS)
def test_what_breaks_the_protocol_is_told(said: str) -> None:
    wrong = type("Wrong", (Good,), WRONGS[said])

    with pytest.raises(AssertionError, match=said):
        check_image_backend(wrong, FOX)


def test_a_resume_that_is_none_is_found() -> None:
    class Resumes(Good):
        def resume(self, request_id: str, wish: GenerationWish) -> AsyncGenerator[BackendEvent]:
            del request_id
            return self.run(wish, key="")

    with pytest.raises(AssertionError, match="can_resume is False"):
        check_image_backend(Resumes, FOX)
