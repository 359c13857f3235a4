"""The events of an answer in the background, to one display that grows with them."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

from agentcell.adapters.events import Finished, Retrying, TextDelta, ThinkingDelta
from agentcell.agents.exchange import ToolFinished, ToolStarted
from agentcell.answer import Answer
from agentcell.asking import AskEvent
from agentcell.messages import ToolCall, media_blocks
from agentcell.session import Request, Session
from agentcell_magics import cards
from agentcell_magics.budget_command import answer_cost
from agentcell_magics.cards import Bundle
from agentcell_magics.cells import running_source
from agentcell_magics.live import answer_bundle, show
from agentcell_magics.pace import Pace, utf8_bytes
from agentcell_magics.stale_marks import marked
from agentcell_magics.turn_display import metadata
from agentcell_magics.wording import say


class AsyncDisplay:
    """What came of an answer until now, and the display that shows it once there is one.

    Parameters
    ----------
    session
        Who asks.
    request
        What is asked.
    quiet
        Whether the answer is shown alone.
    """

    def __init__(self, session: Session, request: Request, *, quiet: bool) -> None:
        self.lock = threading.RLock()
        """Held while it changes: events come from one thread, a cell that waits is another."""
        self._session = session
        self._request = request
        self._quiet = quiet
        self._source = running_source()
        self._tags = [block.tag for block in media_blocks(request.messages)]
        self._text: list[str] = []
        self._text_bytes = 0
        self._calls: list[tuple[ToolCall, ToolFinished | None]] = []
        self._said = say("Asking {model} …", model=request.model.name)
        self._has_ended = False
        self._is_over = False
        self._is_stale = False
        self._display_id = uuid.uuid4().hex
        self._shown: Any = None
        self._is_shown_again = False
        self._pace = Pace()

    @property
    def text(self) -> str:
        """What came of the answer until now."""
        return "".join(self._text)

    def take(self, event: AskEvent) -> None:
        """Add what an event says; the display follows as fast as hosts can."""
        with self.lock:
            match event:
                case TextDelta():
                    self._text.append(event.text)
                    self._text_bytes += utf8_bytes(event.text)
                    self._said = ""
                case ThinkingDelta():
                    return
                case ToolStarted():
                    self._calls.append((event.call, None))
                    self._clear()
                case ToolFinished():
                    self._calls[-1] = (event.call, event)
                    self._said = say("Asking {model} …", model=self._request.model.name)
                case Retrying():
                    if self._has_ended:
                        self._clear()
                    self._said = say("{reason}: asking again …", reason=event.reason)
                case _:
                    self._has_ended = isinstance(event, Finished)
                    return
            self._has_ended = False
            if self._shown is not None and self._pace.is_time(self._text_bytes):
                self._update(None)

    def end(self, answer: Answer | None, *, text: str | None = None, said: str = "") -> None:
        """Show how it ended.

        Parameters
        ----------
        answer
            What is kept of it, None if nothing is.
        text
            The whole answer; None: what came until now.
        said
            What to say of the end.
        """
        with self.lock:
            self._is_over = True
            self._said = said
            if text is not None:
                self._text = [text]
            self._update(answer)

    def mark(self, stale: bool) -> None:
        """Say, or no longer say, that an earlier cell ran again since."""
        with self.lock:
            self._is_stale = stale
            self._update(None)

    def show(self) -> None:
        """Begin the display in the cell that runs now."""
        with self.lock:
            self._shown = show(*self._bundle(None), display_id=self._display_id)

    def show_again(self) -> None:
        """Send the last state from the cell that waits: nbclient drops what came between cells."""
        with self.lock:
            if not self._is_shown_again:
                self._is_shown_again = True
                self._update(None)

    def _clear(self) -> None:
        self._text.clear()
        self._text_bytes = 0

    def _update(self, answer: Answer | None) -> None:
        if self._shown is None:
            return
        began = time.monotonic()
        data, facts = self._bundle(answer)
        self._shown.update(data, metadata=facts, raw=True)
        shown_bytes = utf8_bytes(data["text/plain"])  # with the tools' lines
        self._pace.sent(data.values(), shown_bytes, time.monotonic() - began)

    def _bundle(self, answer: Answer | None) -> tuple[Bundle, Bundle]:
        """Return all that the display shows now: tools, answer, how it stands."""
        answer = answer or (self._session.answer(self._request) if self._is_over else None)
        parts: list[Bundle] = []
        span = None
        if self._calls and not self._quiet:
            parts.append(
                cards.tool_calls(self._calls, unfinished="stopped" if self._is_over else "running")
            )
        if self.text.strip() and (self._request.schema is None or self._is_over):
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
        facts = metadata(self._request, answer, done, source=self._source)
        if facts is not None:
            facts["answer"] = span or [0, 0]  # where it stands in the plain text
        return data, {"agentcell": facts} if facts else {}
