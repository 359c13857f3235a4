"""A batch that is stopped → the answers on their way are given up, and no other is begun."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

from agentcell.adapters.events import Event, Gathering
from agentcell.errors import BatchError, Stopped


class Stopper:
    """Knows the calls under way in this process, and ends them. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[asyncio.Task[Any], asyncio.AbstractEventLoop] = {}
        self.is_stopped = False

    def check(self) -> None:
        """Raise `Stopped` if all is over."""
        if self.is_stopped:
            raise Stopped("before this row was sent, as you asked.")

    async def gathered(self, events: AsyncIterator[Event]) -> Gathering:
        """Return all that `events` say; given up once the batch is stopped."""
        task = asyncio.current_task()
        with self._lock:
            if task is not None:
                self._tasks[task] = asyncio.get_running_loop()
        gathering = Gathering()
        try:
            self.check()
            async for event in events:
                gathering.take(event)
        finally:
            with self._lock:
                self._tasks.pop(task, None)  # type: ignore[arg-type]
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
        return gathering

    def stop(self) -> None:
        """Give up every call under way; each closes its connection."""
        with self._lock:
            self.is_stopped = True
            tasks = list(self._tasks.items())
        for task, loop in tasks:
            loop.call_soon_threadsafe(task.cancel)

    def reason(self, failure: BaseException) -> Exception:
        """Return the error of a row whose work ended in no ordinary exception."""
        if self.is_stopped or isinstance(failure, KeyboardInterrupt):
            return Stopped("while this row's answer was on its way, as you asked.")
        return BatchError(
            f"The work on this row ended with {type(failure).__name__}.",
            fix="let tools raise ordinary exceptions; sys.exit ends no batch.",
        )
