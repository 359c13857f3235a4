"""A maker that follows a script, and what came of a job in a session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from decimal import Decimal
from typing import Any, ClassVar

from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import (
    Accepted,
    BackendEvent,
    Ended,
    Generated,
    GenerationEvent,
    Made,
)
from agentcell.imaging.generation import Generation
from agentcell.imaging.wish import GenerationWish
from agentcell.session import Session
from drawn import picture

KEY = "sk-test-0123456789abcdef0123456789"
FOX = GenerationWish(prompt="a fox", model="scripted")


class ScriptedBackend(ImageBackend):
    """Makes what it is told to, and notes what it was asked."""

    name = "scripted"
    can_resume: ClassVar[bool] = True

    def __init__(self, *events: BackendEvent | Exception, cost: Decimal | None = None) -> None:
        self.events = events or (
            Accepted("req-1"),
            Made(kind="image", data=picture()),
            Ended(model="painter", cost=Decimal("0.04"), seed=9),
        )
        self.asked: list[GenerationWish] = []
        self.keys: list[str] = []
        self.resumed: list[str] = []
        self.cost = cost
        self.holding = asyncio.Event()
        self.is_holding = False

    def price(self, wish: GenerationWish) -> Decimal | None:
        return self.cost if super().price(wish) is None else super().price(wish)

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncGenerator[BackendEvent]:
        self.asked.append(wish)
        self.keys.append(key)
        async for event in self._said():
            yield event

    async def resume(self, request_id: str, wish: GenerationWish) -> AsyncGenerator[BackendEvent]:
        del wish
        self.resumed.append(request_id)
        async for event in self._said():
            yield event

    async def cancel(self, request_id: str) -> bool:
        return request_id == "req-1"

    async def _said(self) -> AsyncGenerator[BackendEvent]:
        for event in self.events:
            if isinstance(event, Exception):
                raise event
            yield event


def using(session: Session, backend: ImageBackend) -> Session:
    session.generator.backends.add(backend)
    return session


def events_of(session: Session, wish: GenerationWish, **options: Any) -> list[GenerationEvent]:
    async def all_of_it() -> list[GenerationEvent]:
        return [event async for event in session.generator.stream(wish, **options)]

    return asyncio.run(all_of_it())


def resumed(session: Session, name: str) -> Generation:
    async def all_of_it() -> list[GenerationEvent]:
        return [event async for event in session.generator.resume(name)]

    last = asyncio.run(all_of_it())[-1]
    assert isinstance(last, Generated)
    return last.generation


def generated(session: Session, wish: GenerationWish = FOX, **options: Any) -> Generation:
    last = events_of(session, wish, **options)[-1]
    assert isinstance(last, Generated)
    return last.generation


def lines(session: Session) -> list[dict[str, Any]]:
    path = session.generator.ledger.path
    assert path is not None
    return [json.loads(line) for line in path.read_text().splitlines()]
