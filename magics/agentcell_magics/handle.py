"""Work in the background → a handle that can be waited for, awaited and cancelled."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import time
from collections.abc import Generator, Iterator
from typing import Any, Generic, TypeVar

from agentcell.errors import AgentcellError, Stopped
from agentcell.loop import LOOP

T = TypeVar("T")

_POLL = 0.2
"""Seconds between looks for an interrupt while a cell waits for a handle."""


class Handle(Generic[T]):
    """What a cell begun in the background gives; ``await handle`` and `result` wait for its end.

    A kind of work says what it does in `_go` and `_go_here`, and what comes of it in `_end`.

    Parameters
    ----------
    name
        What people call it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._began = time.monotonic()

    # -- what a person asks it ----------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether it is at its end, whatever that is."""
        return self._outcome.done()

    @property
    def status(self) -> str:
        """``running``, ``complete``, ``stopped`` or ``failed``."""
        if not self.done:
            return "running"
        error = self._outcome.exception()
        if error is None:
            return "complete"
        return "stopped" if isinstance(error, Stopped) else "failed"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for its end; an interrupt ends the waiting and not the work.

        Parameters
        ----------
        timeout
            Seconds; None: as long as it takes.

        Returns
        -------
        bool
            Whether it is at its end.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not self.done:
            left = _POLL if end is None else min(_POLL, end - time.monotonic())
            if left <= 0:
                break
            concurrent.futures.wait([self._outcome], left)
        if self.done:
            self._show_again()
        return self.done

    def result(self, timeout: float | None = None) -> T:
        """Wait for what comes of it and return that.

        Parameters
        ----------
        timeout
            Seconds; None: as long as it takes.

        Raises
        ------
        TimeoutError
            If it is not there by then.
        Stopped
            If it was cancelled.
        AgentcellError
            Whatever went wrong.
        """
        if not self.wait(timeout):
            raise TimeoutError(f"{self.name} still runs after {timeout:g} s")
        return self._outcome.result()

    def __await__(self) -> Generator[Any, None, T]:
        return self._awaited().__await__()

    async def _awaited(self) -> T:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def tell(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop of a cell that is over
                loop.call_soon_threadsafe(ended.set)

        self._outcome.add_done_callback(tell)
        await ended.wait()
        self._show_again()
        return self._outcome.result()

    def cancel(self) -> bool:
        """Stop it; what came until now is kept.

        Returns
        -------
        bool
            False if it was at its end already.
        """
        if self.done:
            return False
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel)
        return True

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    # -- what others are told of it -----------------------------------------------------------

    @property
    def asker(self) -> tuple[str | None, int]:
        """The cell that began it, None where the host tells none, and which of its questions."""
        return None, 1

    @property
    def conversation(self) -> str | None:
        """The conversation that it belongs to, if to any."""
        return None

    def describe(self) -> str:
        """Return what it is about, and how far it is, in one line."""
        return self.status

    # -- how it comes about -------------------------------------------------------------------

    def start(self) -> None:
        """Begin, on agentcell's own loop; what it prints goes to the cell that runs now."""
        loop, context = LOOP.loop(), contextvars.copy_context()

        def begin() -> None:
            self._task = loop.create_task(self._work(), context=context)
            self._task.add_done_callback(self._over)

        self._loop = loop
        loop.call_soon_threadsafe(begin)

    def run(self) -> None:
        """Do all of it now, where no display can follow it.

        Raises
        ------
        Stopped
            After what came was kept.
        """
        try:
            with self._ending():
                self._go_here()
        except KeyboardInterrupt:
            raise (self._outcome.exception() or Stopped("at its end.")) from None

    async def _work(self) -> None:
        with self._ending():
            await self._go()

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """However it ends, the handle knows, and its display shows it."""
        try:
            yield
            self._end(None)
        except Exception as error:  # noqa: BLE001 (`result` raises it)
            self._end(error)
        except BaseException:
            self._end(self._stopped(time.monotonic() - self._began))
            raise

    def _over(self, _: object) -> None:
        """Take note of a task that was cancelled before its first step."""
        if not self.done:
            self._end(Stopped("before it was asked, as you asked."))

    async def _go(self) -> None:
        """Do the work on the loop."""
        raise NotImplementedError

    def _go_here(self) -> None:
        """Do the work in the thread that calls."""
        raise NotImplementedError

    def _end(self, error: Exception | None) -> None:
        """Let `_outcome` have what came of it, and show that; a second time does nothing."""
        raise NotImplementedError

    def _stopped(self, seconds: float) -> Stopped:
        """Return what `result` raises after a stop."""
        return Stopped(f"after {seconds:.1f} s, as you asked.")

    def _show_again(self) -> None:
        """Send the last state from the cell that waits."""


def told(error: Exception) -> str:
    """Return an error on one line, as a display shows it; `Handle.result` raises it whole."""
    if isinstance(error, AgentcellError):
        fix = f" ({error.fix})" if error.fix else ""
        return f"{type(error).__name__}: {error.problem}{fix}"
    return f"{type(error).__name__}: {str(error)[:400]}"
