"""Rate limits → a model that keeps them, or a gate that rows pass one by one before they go out.

A model of ours keeps them itself, at each request. Where the workers are other processes, or the
model is somebody else's, rows wait here before they are handed over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from agentcell.adapters.model import Model, innermost
from agentcell.adapters.rate_limits import Place, RateLimits
from agentcell.adapters.recording import RecordingModel
from agentcell.adapters.remote import RemoteModel
from agentcell.batch.work import Asked
from agentcell.loop import LOOP


def keeps_limits(model: Any) -> bool:
    """Whether a model can keep limits itself."""
    return isinstance(model, Model) and isinstance(innermost(model), RemoteModel)


def limited(model: Any, limits: RateLimits | None) -> Any:
    """Return `model`, or a copy of it that keeps `limits`."""
    if limits is None or not keeps_limits(model):
        return model
    if isinstance(model, RecordingModel):
        inner = limited(model.model, limits)
        return RecordingModel(inner, model.recording, model.mode, timing=model.timing)
    return model.limited(limits) if isinstance(model, RemoteModel) else model


class Gate:
    """Lets rows out as `limits` allow, in the order in which they came."""

    def __init__(self, limits: RateLimits, model: Any) -> None:
        self._limits = limits
        self._model = model

    def pass_(self, asked: Asked, then: Callable[[Future[Place]], None]) -> Future[Place]:
        """Stand in line with a row; `then` is called with its place once it may go out.

        Cancelling what is returned leaves the line.
        """
        tokens = self._tokens(asked)
        waiting = asyncio.run_coroutine_threadsafe(self._granted(tokens), LOOP.loop())
        waiting.add_done_callback(then)
        return waiting

    def _tokens(self, asked: Asked) -> int:
        if self._limits.tokens_per_minute is None or not isinstance(self._model, Model):
            return 0
        from agentcell.adapters.estimate import estimate_tokens

        found = estimate_tokens(
            asked.messages,
            self._model,
            tools=asked.tools,
            settings=asked.settings,
            read_pdfs=False,
        )
        return found.tokens

    async def _granted(self, tokens: int) -> Place:
        place = self._limits.ask(tokens)
        try:
            await place.wait()
        except BaseException:
            place.leave()
            raise
        return place
