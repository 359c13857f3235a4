"""A job's events as a cell reads them: stopped at any moment, and told of before they come out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentcell.budget import Confirm
from agentcell.imaging.events import Accepted, GenerationEvent, Planned
from agentcell_magics.making import Tick, making


def test_a_stop_that_comes_together_with_an_event_is_not_lost() -> None:
    ended: list[str] = []

    async def run() -> None:
        async def begin(_: Confirm) -> AsyncIterator[GenerationEvent]:
            try:
                await asyncio.sleep(0.01)  # whoever reads waits for the event by now
                yield Planned("job-1", "painter")
                reader.cancel()  # in the same moment
                await asyncio.sleep(30)
                yield Accepted("req-1")
            finally:
                ended.append("closed")

        async def read() -> None:
            async for _ in making(begin):
                pass

        reader = asyncio.create_task(read())
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(reader, 10)
        ended.append("stopped")

    asyncio.run(run())

    assert ended == ["closed", "stopped"]


def test_the_job_is_known_by_name_before_it_is_sent_though_nobody_reads() -> None:
    known: list[str] = []
    sent: list[list[str]] = []

    async def begin(_: Confirm) -> AsyncIterator[GenerationEvent]:
        yield Planned("job-1", "painter")
        sent.append(list(known))
        yield Accepted("req-1")

    async def run() -> None:
        events = making(begin, known.append)
        await anext(events)
        await events.aclose()

    asyncio.run(run())

    assert sent == [["job-1"]]


def test_while_nothing_happens_the_time_passes() -> None:
    async def begin(_: Confirm) -> AsyncIterator[GenerationEvent]:
        await asyncio.sleep(0.05)
        yield Accepted("req-1")

    async def run() -> list[object]:
        return [event async for event in making(begin, every=0.01)]

    *ticks, last = asyncio.run(run())

    assert ticks
    assert all(isinstance(one, Tick) for one in ticks)
    assert last == Accepted("req-1")
