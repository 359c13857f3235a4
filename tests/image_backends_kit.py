"""Makers of pictures against servers on loopback."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AuthenticationError,
    ConnectionFailed,
    ContentFiltered,
    GenerationFailed,
    ModelError,
    RateLimited,
    ServiceError,
)
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.events import BackendEvent, Made
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import OpenAIImagesServer, Reply

KEY = "sk-test-0123456789abcdef0123456789"


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


def openai(server: OpenAIImagesServer, **options: Any) -> OpenAIImages:
    return OpenAIImages(KEY, server.url, **options)


BILLED = pytest.mark.parametrize(
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
