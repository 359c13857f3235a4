"""A question that is answered in the background, to a handle that can be waited for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import time
from collections.abc import Generator, Iterator
from contextlib import aclosing, closing
from typing import Any

from agentcell.answer import Answer
from agentcell.errors import AgentcellError, HistoryError, Stopped
from agentcell.loop import LOOP
from agentcell.session import Request, Session
from agentcell_magics.async_display import AsyncDisplay
from agentcell_magics.stale_marks import stale_marks
from agentcell_magics.turn_display import answer_text

_POLL = 0.2
"""Seconds between looks for an interrupt while a cell waits for a handle."""


class AsyncAnswer:
    """The handle of a question that is answered in the background.

    ``await handle`` and `result` give the `Answer`, or raise what went wrong. Its display, where
    it was shown, follows it. Made by ``%%agent --async``.

    Parameters
    ----------
    session
        Who asks.
    request
        What is asked.
    name
        What `%agent running` calls it.
    quiet
        Whether its display shows the answer alone.
    """

    def __init__(
        self, session: Session, request: Request, name: str, *, quiet: bool = False
    ) -> None:
        self.name = name
        self.request = request
        self._session = session
        self._quiet = quiet
        self._display = AsyncDisplay(session, request, quiet=quiet)
        self._outcome: concurrent.futures.Future[Answer] = concurrent.futures.Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._began = time.monotonic()

    def __repr__(self) -> str:
        return f"AsyncAnswer({self.name!r}, {self.status}, {len(self.text)} characters)"

    # -- what a person asks it ----------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether it is at its end, whatever that is."""
        return self._outcome.done()

    @property
    def text(self) -> str:
        """What came of the answer until now."""
        return self._display.text

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
        """Wait for its end; an interrupt ends the waiting and not the answer.

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
            self._display.show_again()
        return self.done

    def result(self, timeout: float | None = None) -> Answer:
        """Wait for the answer and return it.

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

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._awaited().__await__()

    async def _awaited(self) -> Answer:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def tell(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop of a cell that is over
                loop.call_soon_threadsafe(ended.set)

        self._outcome.add_done_callback(tell)
        await ended.wait()
        self._display.show_again()
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
            with self._ending(), closing(self._session.stream(self.request)) as events:  # type: ignore[type-var]
                for event in events:
                    self._display.take(event)
        except KeyboardInterrupt:
            raise (self._outcome.exception() or Stopped("after the answer.")) from None

    async def _work(self) -> None:
        with self._ending():
            events = self._session.astream(self.request)
            async with aclosing(events) as each:  # type: ignore[type-var]
                async for event in each:
                    self._display.take(event)

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """However it ends, the handle knows, and its display shows it."""
        try:
            yield
            self._end(None)
        except Exception as error:  # noqa: BLE001 (`result` raises it)
            self._end(error)
        except BaseException:
            seconds = time.monotonic() - self._began
            kept = " The partial answer is kept." if self.text.strip() else ""
            self._end(Stopped(f"after {seconds:.1f} s, as you asked.{kept}"))
            raise

    def _over(self, _: object) -> None:
        """Take note of a task that was cancelled before its first step."""
        if not self.done:
            self._end(Stopped("before it was asked, as you asked."))

    def _end(self, error: Exception | None) -> None:
        answer = self._session.answer(self.request)
        if error is None and answer is None:
            error = HistoryError(
                "The conversation was reset while its answer came.", fix="ask again."
            )
        with self._display.lock:  # who waits for the outcome shows the display again after this
            if self.done:
                return
            if error is None and answer is not None:
                self._outcome.set_result(answer)
                text = answer_text(self.request, answer, str(answer))
                self._display.end(answer, text=text)
            else:
                error = error or AssertionError("an answer or an error")
                self._outcome.set_exception(error)
                self._display.end(answer, said=_told(error))
        if self._loop is not None and not self._quiet:
            marks = stale_marks(self._session)
            marks.watch(self.request.turn, self.request.conversation, self._display.mark)
            marks.look_again(self._session)  # an earlier cell may have run again meanwhile

    def _ipython_display_(self) -> None:
        self._display.show()


def _told(error: Exception) -> str:
    """Return an error on one line, as the display shows it; `result` raises it whole."""
    if isinstance(error, AgentcellError):
        fix = f" ({error.fix})" if error.fix else ""
        return f"{type(error).__name__}: {error.problem}{fix}"
    return f"{type(error).__name__}: {str(error)[:400]}"
