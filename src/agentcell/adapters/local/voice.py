"""The small model, as the reader uses it: for one sentence at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agentcell.adapters.events import Event, TextDelta, Usage
from agentcell.adapters.local.kept import KeptOpening
from agentcell.adapters.local.phrasing import MAX_TOKENS, opening, phrase_request
from agentcell.adapters.local.speaker import Speaker
from agentcell.errors import ModelError


@dataclass(frozen=True, slots=True)
class Voice:
    """A speaker, and how it is used.

    Parameters
    ----------
    idle_seconds
        How long its child process may be idle before it ends.
    is_built_in
        Whether it holds the built-in model, and not a file of the user's.
    """

    speaker: Speaker
    idle_seconds: float
    is_built_in: bool = False

    async def warm(self) -> None:
        """Start the child and have it read what every request for a sentence begins with.

        If that fails nothing is said: who asks for a sentence is told.
        """
        if not self.speaker.is_warm:
            with contextlib.suppress(ModelError, OSError):
                await self._read_opening()

    async def _read_opening(self) -> None:
        kept, name = await asyncio.to_thread(self._kept)
        if name and await self.speaker.slot("restore", name):
            self.speaker.now_warm()
            return
        _, usage = await self._said({"messages": opening(), "max_tokens": 1, "temperature": 0.0})
        self.speaker.now_warm()
        if kept is None or usage is None:
            return
        name = kept.new_name()
        try:
            saved = await self.speaker.slot("save", name)
            # Another thread's question may have come between: that is never kept.
            if saved and saved.get("n_saved") == usage.input_tokens:
                await asyncio.to_thread(kept.keep, name)
        finally:
            kept.drop(name)

    def _kept(self) -> tuple[KeptOpening | None, str | None]:
        """Return where it is kept, and the file if it is there. Only the built-in model's is."""
        if not self.is_built_in:
            return None, None
        kept = KeptOpening(self.speaker.gguf)
        return kept, kept.found()

    async def sentence(
        self, question: str, value: str, sampling: dict[str, Any]
    ) -> tuple[str, Usage | None]:
        """Return a sentence that says `value`, not checked yet, and the tokens it took.

        Parameters
        ----------
        sampling
            ``temperature`` and its like, as the server names them.

        Raises
        ------
        ModelError
            If there is no sentence: see `Speaker.chat`.
        """
        longest = min(sampling.get("max_tokens", MAX_TOKENS), MAX_TOKENS)
        body = {**phrase_request(question, value), **sampling, "max_tokens": longest}
        return await self._said(body)

    async def chat(self, body: dict[str, Any]) -> AsyncGenerator[Event]:
        """Yield the answer to a chat request as it comes; see `Speaker.chat`."""
        async with aclosing(self.speaker.chat(body, idle_seconds=self.idle_seconds)) as events:
            async for event in events:
                yield event

    async def _said(self, body: dict[str, Any]) -> tuple[str, Usage | None]:
        text: list[str] = []
        usage = None
        async with aclosing(self.chat(body)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    text.append(event.text)
                elif isinstance(event, Usage):
                    usage = event
        return " ".join("".join(text).split()), usage
