"""An asynchronous iterator → the same, which can be stopped from anywhere while it is awaited."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any


class PumpStopped(Exception):
    """The iterator was stopped by `Pump.stop_soon`."""


class Pump:
    """Reads an iterator in a task of its own and hands on what comes.

    Parameters
    ----------
    events
        Closed at the end, whatever the end is.
    """

    def __init__(self, events: AsyncGenerator[Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._end = object()
        self._is_stopped = False
        self._task = asyncio.ensure_future(self._read(events))
        self._task.add_done_callback(lambda _: self._queue.put_nowait(self._end))

    async def _read(self, events: AsyncGenerator[Any]) -> None:
        async with contextlib.aclosing(events):
            async for event in events:
                self._queue.put_nowait(event)

    def stop_soon(self) -> None:
        """Stop the iterator at once; may be called from any thread."""
        self._is_stopped = True
        with contextlib.suppress(RuntimeError):  # the loop is gone, and the task with it
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def events(self) -> AsyncIterator[Any]:
        """Yield what comes.

        Raises
        ------
        PumpStopped
            If it was stopped before its end.
        Exception
            What the iterator raised.
        """
        try:
            while (event := await self._queue.get()) is not self._end:
                yield event
            if self._task.cancelled() and self._is_stopped:
                raise PumpStopped
            self._task.result()
        finally:
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait([self._task])
