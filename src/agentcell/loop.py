"""Async code, run from sync code: one daemon thread with an event loop, for the process's life.

A notebook's own loop is already running in the main thread, so a magic cannot use it. Code run
here stops within moments of an interrupt: its task is cancelled, its sockets close, and what it
prints goes to the cell that started it.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_POLL = 0.2
"""Seconds between looks for an interrupt: on Windows a lock is not woken by one."""

_GRACE = 0.8
"""Seconds that a cancelled task may take to clean up before the caller goes on without it."""


class _End:
    """The last thing a pump puts in its queue: how the work ended."""

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self.value = value
        self.error = error


class LoopThread:
    """Owns one event loop on one daemon thread; started at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop, started if need be."""
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=loop.run_forever, name="agentcell-loop", daemon=True
                )
                self._thread.start()
                self._loop = loop
            return self._loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to its end on the loop and return what it returns.

        Raises
        ------
        KeyboardInterrupt
            After the task was cancelled and had its moment to clean up.
        RuntimeError
            If called from the loop itself, where it would wait for ever: use `await` there.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("this runs on agentcell's own loop already: use await instead")

        async def whole(inbox: queue.SimpleQueue[Any]) -> None:
            inbox.put(_End(value=await work))

        for last in self._pump(whole):
            return last  # type: ignore[no-any-return]
        raise AssertionError("a pump always ends with one value")

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Yield what `items` yields. Closing the iterator early cancels and closes `items`."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("this runs on agentcell's own loop already: use async for instead")

        async def each(inbox: queue.SimpleQueue[Any]) -> None:
            try:
                async for item in items:
                    inbox.put(item)
            finally:
                close = getattr(items, "aclose", None)
                if close is not None:
                    await close()
            inbox.put(_End())

        return self._pump(each, items=True)

    def _pump(self, work: Any, *, items: bool = False) -> Iterator[Any]:
        inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        context = contextvars.copy_context()  # what the task prints goes to the calling cell
        loop = self.loop()
        task: asyncio.Task[None] | None = None
        ended = threading.Event()

        async def guarded() -> None:
            try:
                await work(inbox)
            except BaseException as error:  # noqa: BLE001 (handed over whole to the caller)
                inbox.put(_End(error=error))
            finally:
                ended.set()

        def start() -> None:
            nonlocal task
            task = loop.create_task(guarded(), context=context)

        def cancel() -> None:
            if task is not None and not task.done():
                task.cancel()

        loop.call_soon_threadsafe(start)
        finished = False
        try:
            while True:
                try:
                    got = inbox.get(timeout=_POLL)
                except queue.Empty:
                    continue
                if isinstance(got, _End):
                    finished = True
                    if got.error is not None:
                        raise got.error
                    if not items:
                        yield got.value
                    return
                yield got
        finally:
            if not finished:  # interrupted, or the caller had enough
                loop.call_soon_threadsafe(cancel)
                try:
                    ended.wait(_GRACE)
                except KeyboardInterrupt:  # a second interrupt: do not wait any longer
                    pass


LOOP = LoopThread()
"""The process's own loop thread. No thread exists until its first use."""
