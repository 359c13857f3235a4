"""A question that is answered in the background, to a handle whose display grows meanwhile."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import threading
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import aclosing, closing
from typing import Any

from agentcell.adapters.events import Finished, Retrying, TextDelta, ThinkingDelta
from agentcell.agents.exchange import ToolFinished, ToolStarted
from agentcell.answer import Answer
from agentcell.asking import AskEvent
from agentcell.errors import AgentcellError, HistoryError, Stopped
from agentcell.loop import LOOP
from agentcell.messages import ToolCall, media_blocks
from agentcell.session import Request, Session
from agentcell_magics import cards
from agentcell_magics.budget_command import answer_cost
from agentcell_magics.cards import Bundle
from agentcell_magics.cells import running_source
from agentcell_magics.live import answer_bundle, show
from agentcell_magics.stale_marks import marked, stale_marks
from agentcell_magics.turn_display import answer_text, metadata
from agentcell_magics.wording import say

_POLL = 0.2
"""Seconds between looks for an interrupt while a cell waits for a handle."""

_SHORTEST_WAIT = 0.1
"""Seconds between updates: faster ones make hosts lose messages."""

_BYTES_PER_SECOND = 8_000
"""How much updates may send, besides one and a half times the answer's own length."""


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
        self._source = running_source()
        self._is_stale = False
        self._outcome: concurrent.futures.Future[Answer] = concurrent.futures.Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._began = time.monotonic()
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[tuple[ToolCall, ToolFinished | None]] = []
        self._said = f"Asking {request.model.name} …"
        self._has_ended = False
        self._tags = [block.tag for block in media_blocks(request.messages)]
        self._display_id = uuid.uuid4().hex
        self._shown: Any = None
        self._is_shown_again = False
        self._pace = _Pace()
        self._lock = threading.RLock()

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
        return "".join(self._text)

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
            self._show_again()
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
                    self._take(event)
        except KeyboardInterrupt:
            raise (self._outcome.exception() or Stopped("after the answer.")) from None

    async def _work(self) -> None:
        with self._ending():
            events = self._session.astream(self.request)
            async with aclosing(events) as each:  # type: ignore[type-var]
                async for event in each:
                    self._take(event)

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
        with self._lock:
            if self.done:
                return
            self._said = "" if error is None else _told(error)
            if error is None and answer is not None:
                self._text = [answer_text(self.request, answer, str(answer))]
                self._outcome.set_result(answer)
            else:
                self._outcome.set_exception(error or AssertionError("an answer or an error"))
            self._update(answer)
        if self._loop is not None and not self._quiet:
            marks = stale_marks(self._session)
            marks.watch(self.request.turn, self.request.conversation, self._mark)
            marks.look_again(self._session)  # an earlier cell may have run again meanwhile

    def _mark(self, stale: bool) -> None:
        """Say, or no longer say, that an earlier cell ran again since."""
        with self._lock:
            self._is_stale = stale
            self._update(None)

    def _take(self, event: AskEvent) -> None:
        with self._lock:
            match event:
                case TextDelta():
                    self._text.append(event.text)
                    self._said = ""
                case ThinkingDelta():
                    self._thinking.append(event.text)
                    return
                case ToolStarted():
                    self._calls.append((event.call, None))
                    self._text.clear()
                case ToolFinished():
                    self._calls[-1] = (event.call, event)
                    self._said = say("Asking {model} …", model=self.request.model.name)
                case Retrying():
                    if self._has_ended:
                        self._text.clear()
                    self._said = say("{reason}: asking again …", reason=event.reason)
                case _:
                    self._has_ended = isinstance(event, Finished)
                    return
            self._has_ended = False
            if self._shown is not None and self._pace.is_time(len(self.text)):
                self._update(None)

    # -- its display --------------------------------------------------------------------------

    def _ipython_display_(self) -> None:
        with self._lock:
            self._shown = show(*self._bundle(None), display_id=self._display_id)

    def _show_again(self) -> None:
        """Send the last state from the cell that waits: nbclient drops what came between cells."""
        with self._lock:
            if not self._is_shown_again:
                self._is_shown_again = True
                self._update(None)

    def _update(self, answer: Answer | None) -> None:
        if self._shown is None:
            return
        data, facts = self._bundle(answer)
        self._pace.sent(sum(map(len, data.values())))
        self._shown.update(data, metadata=facts, raw=True)

    def _bundle(self, answer: Answer | None) -> tuple[Bundle, Bundle]:
        """Return all that the display shows now: tools, answer, how it stands."""
        answer = answer or (self._session.answer(self.request) if self.done else None)
        parts: list[Bundle] = []
        span = None
        if self._calls and not self._quiet:
            parts.append(
                cards.tool_calls(self._calls, unfinished="stopped" if self.done else "running")
            )
        if self.text.strip() and (self.request.schema is None or self.done):
            start = sum(len(part["text/plain"]) + 2 for part in parts if part["text/plain"])
            parts.append(answer_bundle(self.text, self._tags))
            span = [start, start + len(parts[-1]["text/plain"])]
        if self._said:
            parts.append(cards.line(self._said))
        if answer is not None and answer.status != "failed" and not self._quiet:
            bundle = cards.footer(answer, cost=answer_cost(answer, self._session))
            parts.append(marked(bundle) if self._is_stale else bundle)
        parts = parts or [cards.line("The model answered nothing.")]
        data = {
            kind: "\n\n".join(part[kind] for part in parts if part[kind])
            for kind in ("text/markdown", "text/plain")
        }
        done = [one for _, one in self._calls if one is not None]
        facts = metadata(self.request, answer, done, source=self._source)
        if facts is not None:
            facts["answer"] = span or [0, 0]  # where it stands in the plain text
        return data, {"agentcell": facts} if facts else {}


class _Pace:
    """Says when a display may be updated again, so that hosts can follow."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._last = 0.0
        self._bytes = 0

    def is_time(self, length: int) -> bool:
        now = time.monotonic()
        allowed = 1.5 * length + _BYTES_PER_SECOND * (now - self._began) + 2_000
        return now - self._last >= _SHORTEST_WAIT and self._bytes + length <= allowed

    def sent(self, count: int) -> None:
        self._last = time.monotonic()
        self._bytes += count


def _told(error: Exception) -> str:
    """Return an error on one line, as the display shows it; `result` raises it whole."""
    if isinstance(error, AgentcellError):
        fix = f" ({error.fix})" if error.fix else ""
        return f"{type(error).__name__}: {error.problem}{fix}"
    return f"{type(error).__name__}: {str(error)[:400]}"
