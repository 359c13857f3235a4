"""Async code, run from sync code: one daemon thread with an event loop, for the process's life.

A notebook's own loop is already running in the main thread, so a magic cannot use it. Code run
here stops within moments of an interrupt: its task is cancelled, its sockets close, and what it
prints goes to the cell that started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from agentcell.interrupting import Interrupted

T = TypeVar("T")

_POLL = 0.2
"""Seconds between looks for an interrupt: on Windows a lock is not woken by one."""

_GRACE = 0.8
"""Seconds that a cancelled task may take to clean up before the caller goes on without it."""


class _End:
    """The last thing in a task's inbox: how the work ended."""

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self.value = value
        self.error = error


class _Task:
    """One coroutine on the loop, seen from another thread through an inbox."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self._ended = threading.Event()

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        context = contextvars.copy_context()  # what the task prints goes to the calling cell

        def begin() -> None:
            self._task = self._loop.create_task(self._guarded(work), context=context)
            self._task.add_done_callback(lambda _: self._over(work))

        self._loop.call_soon_threadsafe(begin)

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            self.inbox.put(_End(value=await work))
        except BaseException as error:  # noqa: BLE001 (handed over whole to the caller)
            self.inbox.put(_End(error=error))
        finally:
            self._ended.set()

    def _over(self, work: Coroutine[Any, Any, Any]) -> None:
        if not self._ended.is_set():  # cancelled before its first step: nothing of it ran
            work.close()
            self.inbox.put(_End(error=asyncio.CancelledError()))
            self._ended.set()

    def received(self) -> Any:
        """Wait for the next thing in the inbox; an interrupt gets through."""
        while True:
            try:
                return self.inbox.get(timeout=_POLL)
            except queue.Empty:
                continue

    def stop(self) -> None:
        """Cancel the work and give it its moment to clean up."""
        self._loop.call_soon_threadsafe(self._cancel)
        with contextlib.suppress(KeyboardInterrupt):  # a second interrupt: wait no longer
            self._ended.wait(_GRACE)

    def _cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped.

    An exit or an interrupt that a task raises goes to whoever waits for the task. asyncio also
    lets it out of the loop, where it would end the thread, and all who wait would wait for ever.
    """
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue
        return


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
                    target=_run, args=(loop,), name="agentcell-loop", daemon=True
                )
                self._thread.start()
                self._loop = loop
            return self._loop

    def is_here(self) -> bool:
        """Whether the caller runs on the loop's own thread, which must never wait."""
        return threading.current_thread() is self._thread

    def close(self) -> None:
        """Stop the loop and its thread; a later use starts them anew."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to its end on the loop and return what it returns.

        Raises
        ------
        Interrupted
            Of a `KeyboardInterrupt`, after the task was cancelled and had its moment to clean up.
        RuntimeError
            If called from the loop itself, where it would wait for ever: use `await` there.
        """
        if self.is_here():
            work.close()
            raise RuntimeError("this runs on agentcell's own loop already: use await instead")

        task = _Task(self.loop())
        try:  # from the start on: an interrupt may come before the next line
            task.start(work)
            end: _End = task.received()
        except KeyboardInterrupt:
            task.stop()
            raise Interrupted("as you asked.") from None
        except BaseException:
            task.stop()
            raise
        if end.error is not None:
            raise end.error
        return end.value  # type: ignore[no-any-return]

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Yield what `items` yields. Closing the iterator early cancels and closes `items`."""
        if self.is_here():
            raise RuntimeError("this runs on agentcell's own loop already: use async for instead")

        return self._items(items)

    def _items(self, items: AsyncIterator[T]) -> Iterator[T]:
        task = _Task(self.loop())

        async def each() -> None:
            try:
                async for item in items:
                    task.inbox.put(item)
            finally:
                close = getattr(items, "aclose", None)
                if close is not None:
                    await close()

        ended = False
        try:  # from the start on, as in `run`
            task.start(each())
            while not isinstance(got := task.received(), _End):
                yield got
            ended = True
            if got.error is not None:
                raise got.error
        except KeyboardInterrupt:
            if ended:  # the work itself raised it
                raise
            raise Interrupted("as you asked.") from None
        finally:
            if not ended:  # interrupted, or the caller had enough
                task.stop()


LOOP = LoopThread()
"""The process's own loop thread. No thread exists until its first use."""
