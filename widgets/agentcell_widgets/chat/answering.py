"""A question → what comes of it, told to the panel piece by piece while it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from agentcell.adapters.events import Retrying, TextDelta, ThinkingDelta, Waiting
from agentcell.adapters.redaction import known_keys, redacted
from agentcell.agents.acting import ApprovalMode
from agentcell.agents.exchange import ToolFinished, ToolStarted
from agentcell.asking import AskEvent
from agentcell.errors import AgentcellError
from agentcell.loop import LOOP
from agentcell.messages import ToolCall
from agentcell.request import Request
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell.wording import say, word
from agentcell_widgets.chat.asks import Asks, Tell
from agentcell_widgets.chat.views import (
    Seen,
    View,
    call_view,
    question_view,
    shortened,
    turn_view,
)

PACE = 1 / 20
"""Seconds between two messages with pieces of an answer: what came meanwhile goes in one."""

_LONGEST_SAID = 400


class Answering:
    """One question on its way, on agentcell's own loop.

    Parameters
    ----------
    session
        Who asks.
    prepare
        Makes the request, which asks the person by `asks`; it may take long, and may fail.
    tell
        Takes messages: ``begun``, ``delta``, ``thinking``, ``call``, ``ask``, ``asked``,
        ``status``, ``ended``, ``refused``.
    mode
        See `Asks`.
    replaces
        The turn in whose place this one comes; empty: none.
    text
        What the person wrote, given back to them where nothing was asked.
    """

    def __init__(  # noqa: PLR0913 (each is a fact of its own)
        self,
        session: Session,
        prepare: Callable[[Asks], Request],
        tell: Tell,
        *,
        mode: ApprovalMode | None = None,
        replaces: str = "",
        text: str = "",
    ) -> None:
        self._session = session
        self._prepare = prepare
        self._tell = tell
        self.asks = Asks(self._told, lambda call, state: self._call(call, None, state), mode)
        self._replaces = replaces
        self._text = text
        self._pending: list[tuple[str, str]] = []
        self._flushing: asyncio.TimerHandle | None = None
        self._parts: list[View] = []
        self._begun: View = {}
        self._task: asyncio.Task[None] | None = None
        self._is_ending = self._has_ended = False
        self.is_over = False
        self.request: Request | None = None
        self.seen = Seen()

    # -- from the first word to the last ------------------------------------------------------

    def start(self, over: Callable[[], None]) -> None:
        """Begin, on agentcell's own loop; from any thread.

        Parameters
        ----------
        over
            Called at its end, whatever that is, on the loop.
        """
        loop = LOOP.loop()

        def end(_: object) -> None:
            self.is_over = True
            over()

        def begin() -> None:
            self._task = loop.create_task(self.run())
            self._task.add_done_callback(end)

        loop.call_soon_threadsafe(begin)

    def stop(self) -> None:
        """Stop; what came until now is kept. From any thread."""
        LOOP.loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None and not self._is_ending:
            self._task.cancel()

    async def run(self) -> None:
        """Ask, and tell of all that comes; an error is told and not raised."""
        try:
            request = await asyncio.to_thread(self._prepare, self.asks)
        except asyncio.CancelledError:
            self._tell("refused", text=self._text, error=None)
            raise
        except Exception as error:  # noqa: BLE001 (shown in the panel: nobody else would see it)
            self._tell("refused", text=self._text, error=error_view(error))
            return
        self.request = request
        notes = (*request.notes, *request.question.hints)
        self.seen.notes = tuple(plain(word(one)) for one in notes)
        self._begun = {
            "turn": request.id,
            "replaces": self._replaces,
            "notes": list(self.seen.notes),
            "status": say("Asking {model} …", model=plain(request.model.name)),
            **question_view(request.question.text, request.question.blocks),
        }
        self._tell("begun", **self._begun)
        failure: Exception | None = None
        try:
            async with aclosing(self._session.astream(request)) as events:  # type: ignore[type-var]
                async for event in events:
                    self._take(event)
        except Exception as error:  # noqa: BLE001 (as above)
            failure = error
        finally:
            self._is_ending = True  # a further stop has nothing to stop
            await self._end(request, failure)

    def live(self) -> View | None:
        """Return what came until now, for a page that was not there; None if nothing did."""
        if not self._begun or self._has_ended or self.is_over:
            return None
        return {
            **self._begun,
            "parts": [dict(part) for part in self._parts],
            "thinking": shortened(self.seen.thinking),
            "asks": [{"turn": self.id, **one} for one in self.asks.open.values()],
        }

    async def _end(self, request: Request, failure: Exception | None) -> None:
        self._flush()
        error = None if failure is None else error_view(failure)
        if error is not None:
            self.seen.fix = error["fix"]
        turn = self._session.history.find(request.id)
        view = None  # a long answer takes its time: whatever else runs on the loop goes on
        if turn is not None:
            view = await asyncio.to_thread(turn_view, turn, self.seen)
        text = "" if turn is not None else self._text
        self._has_ended = True
        self._tell("ended", turn=request.id, view=view, error=error, text=text)

    # -- what comes -----------------------------------------------------------------------------

    def _take(self, event: AskEvent) -> None:
        match event:
            case TextDelta():
                self._put("delta", event.text)
            case ThinkingDelta():
                self.seen.thinking += event.text
                self._put("thinking", event.text)
            case ToolStarted():
                self._flush()
                self._call(event.call, None)
            case ToolFinished():
                self.seen.finished[event.call.id] = event
                self._call(event.call, event)
            case Retrying():
                self._say(
                    say(
                        "{reason}: asking again in {seconds} s …",
                        reason=plain(event.reason)[:_LONGEST_SAID],
                        seconds=f"{event.wait:.0f}",
                    )
                )
            case Waiting():
                reason = plain(event.reason)[:_LONGEST_SAID]
                self._say(say("Waiting: {reason} …", reason=reason))

    def _call(self, call: ToolCall, finished: ToolFinished | None, state: str = "running") -> None:
        view = call_view(call, finished, state=state)
        known = next((one for one in self._parts if one.get("id") == call.id), None)
        if known is None:
            self._parts.append({"kind": "call", **view})
        else:
            known.update(view)
        self._tell("call", turn=self.id, call=view)

    def _told(self, kind: str, /, **facts: Any) -> None:
        self._flush()
        self._tell(kind, turn=self.id, **facts)

    def _say(self, status: str) -> None:
        self._told("status", text=status)

    def _put(self, kind: str, text: str) -> None:
        if self._pending and self._pending[-1][0] == kind:
            self._pending[-1] = (kind, self._pending[-1][1] + text)
        else:
            self._pending.append((kind, text))
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(PACE, self._flush)

    def _flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        pending, self._pending = self._pending, []
        for kind, text in pending:
            if kind == "delta" and self._parts and self._parts[-1]["kind"] == "text":
                self._parts[-1]["text"] += text
            elif kind == "delta":
                self._parts.append({"kind": "text", "text": text})
            self._tell(kind, turn=self.id, text=text)

    @property
    def id(self) -> str:
        """The turn's name; empty until it is known."""
        return "" if self.request is None else self.request.id


def error_view(error: Exception) -> View:
    """Return what the panel shows of an error: its kind, what is wrong, what to do.

    Parameters
    ----------
    error
        One of ours, or any other one.
    """
    kind = type(error).__name__
    if isinstance(error, AgentcellError):
        return {"kind": kind, "problem": plain(error.problem), "fix": plain(error.fix)}
    said = redacted(plain(str(error)), *known_keys())  # it may come from anywhere
    return {"kind": kind, "problem": said[:_LONGEST_SAID], "fix": ""}
