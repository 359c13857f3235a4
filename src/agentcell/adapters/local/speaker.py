"""Who asks a GGUF file for words, and the one child process that answers them all.

The child is started at first need, shared by all who use the same file, ended when nobody has
used it for a while, and started again when it is needed again. It never outlives the kernel.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from agentcell.adapters.events import Event
from agentcell.adapters.local.child import Child
from agentcell.adapters.local.exchange import broken, exchange, slot

T = TypeVar("T")


class Speaker:
    """Starts, talks to and stops the child that holds one GGUF file.

    Parameters
    ----------
    gguf
        The file. It is looked at when the child starts.
    alias
        What the model is called in requests and answers.
    """

    def __init__(self, gguf: Path, alias: str) -> None:
        self.gguf = gguf
        self.alias = alias
        self._child: Child | None = None
        self._loading: Child | None = None
        self._users = 0
        self._timer: threading.Timer | None = None
        self._new_locks()
        _SPEAKERS.add(self)

    def _new_locks(self) -> None:
        self._starting = threading.Lock()  # held while a child starts or stops: seconds
        self._counting = threading.Lock()  # held for moments

    @property
    def process_id(self) -> int | None:
        """The child's process id; None while there is none."""
        child = self._child
        return child.process.pid if child is not None and child.is_alive else None

    @property
    def is_warm(self) -> bool:
        """Whether the child has read what stands before every question; see `Voice.warm`."""
        child = self._child
        return child is not None and child.is_alive and child.is_warm

    def now_warm(self) -> None:
        """Note that the child has read it."""
        if self._child is not None:
            self._child.is_warm = True

    async def start(self) -> None:
        """Start the child if there is none, without blocking the loop.

        Raises
        ------
        LocalModelMissing
            If the runtime is not installed or cannot run here, or the file is no model.
        """
        await _off_loop(self._running)

    async def chat(self, body: dict[str, Any], *, idle_seconds: float) -> AsyncGenerator[Event]:
        """Yield the model's answer to an OpenAI-shaped chat request as it comes.

        Closing the iterator closes the connection, and the child stops generating.

        Parameters
        ----------
        idle_seconds
            How long the child is kept afterwards, if nobody else asks it anything.

        Raises
        ------
        LocalModelMissing
            As `start`.
        BadRequest
            If the child cannot take the request, for example when it is too long.
        ConnectionFailed, StreamTruncated
            If the child dies, before or after the first piece of the answer.
        """
        request = {**body, "model": self.alias}
        with self._in_use(idle_seconds):
            for is_last in (False, True):
                child = await _off_loop(self._running)
                import httpx2  # here already: `_running` took the time to import it

                began = False
                try:
                    async with contextlib.aclosing(exchange(child.endpoint, request)) as events:
                        async for event in events:
                            began = True
                            yield event
                except httpx2.TransportError as error:
                    await _off_loop(functools.partial(self._give_up, child))
                    if began or is_last:
                        raise broken(self.alias, error, began=began) from error
                else:
                    return

    async def slot(self, action: str, file_name: str) -> dict[str, Any]:
        """``save`` or ``restore`` what the child has read; see `exchange.slot`.

        Returns
        -------
        dict
            Empty if it could not.
        """
        child = await _off_loop(self._running)
        import httpx2

        try:
            return await slot(child.endpoint, action, file_name)
        except (httpx2.TransportError, ValueError):
            return {}

    def stop(self) -> None:
        """End the child, if there is one. The next request starts another."""
        loading = self._loading
        if loading is not None:
            loading.process.kill()  # who waits for it, waits no longer
        with self._starting:
            child, self._child = self._child, None
        if child is not None:
            child.end()

    @contextlib.contextmanager
    def _in_use(self, idle_seconds: float) -> Iterator[None]:
        with self._counting:
            self._users += 1
        try:
            yield
        finally:
            with self._counting:
                self._users -= 1
            self._stop_later(idle_seconds)

    def _stop_later(self, idle_seconds: float) -> None:
        with self._counting:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._users or idle_seconds > threading.TIMEOUT_MAX:
                return
            self._timer = threading.Timer(idle_seconds, self._stop_if_idle)
            self._timer.daemon = True
            self._timer.start()

    def _stop_if_idle(self) -> None:
        with self._starting:
            with self._counting:
                if self._users:
                    return
            child, self._child = self._child, None
        if child is not None:
            child.end()

    def _give_up(self, child: Child) -> None:
        with self._starting:
            if self._child is child:
                self._child = None
        child.end()

    def _running(self) -> Child:
        """Return the running child, started now if need be. Blocks until its model is loaded."""
        import httpx2  # noqa: F401 (a tenth of a second, which the loop shall not lose)

        with self._starting:
            if self._child is None or not self._child.is_alive:
                if self._child is not None:
                    self._child.end()  # it died by itself: close its pipes
                    self._child = None
                self._loading = Child.start(self.gguf, self.alias)
                try:
                    self._loading.load()
                    self._child = self._loading
                finally:
                    self._loading = None
            return self._child

    def forget_child(self) -> None:
        """In a fork of the process: the child is the parent's, and is left to it."""
        self._new_locks()
        for child in (self._child, self._loading):
            if child is not None:
                child.disown()
        self._child = self._loading = self._timer = None
        self._users = 0


_SPEAKERS: weakref.WeakSet[Speaker] = weakref.WeakSet()
_shared: dict[tuple[Path, str], Speaker] = {}
_sharing = threading.Lock()


def speaker_for(gguf: Path, alias: str) -> Speaker:
    """Return the process's one speaker for `gguf`, so that a file is held in memory once."""
    with _sharing:
        if (gguf, alias) not in _shared:
            _shared[gguf, alias] = Speaker(gguf, alias)
        return _shared[gguf, alias]


@atexit.register
def stop_all() -> None:
    """End every child of this process."""
    for speaker in list(_SPEAKERS):
        speaker.stop()


def _after_fork() -> None:
    global _sharing  # noqa: PLW0603 (another thread may have held it when the fork happened)
    _sharing = threading.Lock()
    for speaker in list(_SPEAKERS):
        speaker.forget_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


async def _off_loop(work: Callable[[], T]) -> T:
    """Run `work` on a thread that nobody waits for when Python exits, unlike `to_thread`'s."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():  # cancelled: nobody wants it any more
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value: T | None = None
        error: BaseException | None = None
        try:
            value = work()
        except BaseException as caught:  # noqa: BLE001 (handed over whole)
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop was closed in the meantime
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="agentcell-local", daemon=True).start()
    return await future
