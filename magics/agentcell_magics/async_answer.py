"""A question that is answered in the background, to a handle that can be waited for."""

from __future__ import annotations

from contextlib import aclosing, closing

from agentcell.answer import Answer
from agentcell.errors import HistoryError, Stopped
from agentcell.session import Request, Session
from agentcell_magics.async_display import AsyncDisplay
from agentcell_magics.handle import Handle, told
from agentcell_magics.stale_marks import stale_marks
from agentcell_magics.turn_display import answer_text
from agentcell_magics.wording import say

_LONGEST_QUESTION = 80


class AsyncAnswer(Handle[Answer]):
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
        super().__init__(name)
        self.request = request
        self._session = session
        self._quiet = quiet
        self._display = AsyncDisplay(session, request, quiet=quiet)

    def __repr__(self) -> str:
        return f"AsyncAnswer({self.name!r}, {self.status}, {len(self.text)} characters)"

    @property
    def text(self) -> str:
        """What came of the answer until now."""
        return self._display.text

    @property
    def asker(self) -> tuple[str | None, int]:
        """The cell that asks, and which of its questions."""
        return self.request.turn.cell_id, self.request.turn.part

    @property
    def conversation(self) -> str | None:
        """The conversation that the question belongs to."""
        return self.request.conversation

    def describe(self) -> str:
        """Return the question's beginning, who is asked, and how much came."""
        asked = " ".join(self.request.turn.question.split())
        short = asked if len(asked) <= _LONGEST_QUESTION else f"{asked[:_LONGEST_QUESTION]}…"
        came = say("{count} characters", count=f"{len(self.text):,}")
        return f"{short} · {self.request.model.name} · {came}"

    def _go_here(self) -> None:
        with closing(self._session.stream(self.request)) as events:  # type: ignore[type-var]
            for event in events:
                self._display.take(event)

    async def _go(self) -> None:
        events = self._session.astream(self.request)
        async with aclosing(events) as each:  # type: ignore[type-var]
            async for event in each:
                self._display.take(event)

    def _stopped(self, seconds: float) -> Stopped:
        kept = " The partial answer is kept." if self.text.strip() else ""
        return Stopped(f"after {seconds:.1f} s, as you asked.{kept}")

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
                self._display.end(answer, said=told(error))
        if self._loop is not None and not self._quiet:
            marks = stale_marks(self._session)
            marks.watch(self.request.turn, self.request.conversation, self._display.mark)
            marks.look_again(self._session)  # an earlier cell may have run again meanwhile

    def _show_again(self) -> None:
        self._display.show_again()

    def _ipython_display_(self) -> None:
        self._display.show()
