"""A job's events, questions about its cost and the passing of time → one row to read from."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from agentcell.budget import Confirm, CostQuestion
from agentcell.imaging.events import GenerationEvent, Planned


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment passed in which nothing else happened."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The person is to be asked about the cost; `reply` from whichever thread they are in."""

    question: CostQuestion
    _loop: asyncio.AbstractEventLoop = field(repr=False)
    _said: asyncio.Future[bool | str] = field(repr=False)

    def reply(self, said: bool | str) -> None:
        """Say what came of it; see `agentcell.budget.Confirm`.

        Parameters
        ----------
        said
            True: it may go out.
        """

        def tell() -> None:
            if not self._said.done():
                self._said.set_result(said)

        self._loop.call_soon_threadsafe(tell)


Happening: TypeAlias = GenerationEvent | Tick | Asked


async def making(
    begin: Callable[[Confirm], AsyncIterator[GenerationEvent]],
    planned: Callable[[str], None] | None = None,
    *,
    every: float = 1.0,
) -> AsyncGenerator[Happening]:
    """Yield what happens to a job; closing it early cancels what `begin` returned.

    Parameters
    ----------
    begin
        Called with whom to ask about the cost.
    planned
        Called with the job's name before anything is sent, on this loop's thread: who stops the
        wait must be told of the job, though no event has come out here yet.
    every
        Seconds without an event after which a `Tick` comes.
    """
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[Happening | None] = asyncio.Queue()

    async def ask(question: CostQuestion) -> bool | str:
        said: asyncio.Future[bool | str] = loop.create_future()
        inbox.put_nowait(Asked(question, loop, said))
        return await said

    async def read() -> None:
        events = begin(ask)
        try:
            async for event in events:
                if planned is not None and isinstance(event, Planned):
                    planned(event.job_id)
                inbox.put_nowait(event)
        finally:
            try:
                close = getattr(events, "aclose", None)
                if close is not None:
                    await close()
            finally:
                inbox.put_nowait(None)

    # One task reads from first to last: what is opened in a task must be closed in it.
    reading = asyncio.create_task(read())
    try:
        while True:
            try:
                # Not wait_for: before Python 3.12 it lost a cancel that came with an event.
                async with asyncio.timeout(every):
                    event = await inbox.get()
            except TimeoutError:
                event = Tick()
            if event is None:
                break
            yield event
        await reading
    finally:
        if not reading.done():
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await reading
