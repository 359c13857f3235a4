"""A hosted media service on loopback, and what is asked of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentcell.errors import GenerationFailed
from agentcell.imaging.events import BackendEvent
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell.imaging.wish import GenerationWish
from agentcell.testing import MediaServer, Reply

TOKEN = "tk-9f8e7d6c5b4a3210"  # noqa: S105 (made up)
FOX = GenerationWish(prompt="a fox")
CLIP = GenerationWish(prompt="waves", kind="video")
SOON = Patience(image=20, video=20, interval=0.01, longest=0.05)


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
