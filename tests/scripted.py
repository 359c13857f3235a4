"""A model that says what it is told to, through the same events as a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import Event, Finished, TextDelta, Usage
from agentcell.adapters.model import Model
from agentcell.messages import Message


class ScriptedModel(Model):
    """Answers each request with `pieces`; keeps the messages and settings it was sent.

    `wait` is in seconds, before each piece; `error` is raised after the pieces; `end` says
    whether the end marker comes.
    """

    provider = "scripted"

    def __init__(
        self,
        pieces: Iterable[str] = ("Hel", "lo"),
        *,
        name: str = "model",
        wait: float = 0.0,
        error: BaseException | None = None,
        end: bool = True,
        pdf_input: bool = True,
    ) -> None:
        super().__init__(
            name, capabilities=ModelCapabilities(image_input=True, pdf_input=pdf_input)
        )
        self.pieces = tuple(pieces)
        self.wait = wait
        self.error = error
        self.end = end
        self.requests: list[list[Message]] = []
        self.settings: list[dict[str, Any]] = []
        self.closed = 0

    async def astream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,  # noqa: ARG002
        settings: dict[str, Any] | None = None,
        **_: Any,
    ) -> AsyncIterator[Event]:
        self.requests.append(messages)
        self.settings.append(dict(settings or {}))
        try:
            for piece in self.pieces:
                await asyncio.sleep(self.wait)
                yield TextDelta(piece)
            if self.error is not None:
                raise self.error
            yield Usage(input_tokens=10, output_tokens=len(self.pieces))
            if self.end:
                yield Finished(reason="stop", model=self.model_name)
        finally:
            self.closed += 1
