"""A question and the events of its answer, to one finished turn, however the answer ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, get_args

from agentcell.adapters.events import (
    Citation,
    Event,
    Finished,
    Gathering,
    ModelResponseType,
    Retrying,
    TextDelta,
    Usage,
)
from agentcell.errors import AgentcellError, ModelError
from agentcell.history.closing import closed
from agentcell.history.turns import Turn
from agentcell.messages import Message, TextMessageBlock
from agentcell.safe_text import whole_characters

_EVENTS = get_args(Event)


class TurnRecord:
    """Gathers events, and hands over the turn once: `with record: … record.take(event)`.

    Parameters
    ----------
    asked
        The turn as it began: its question, and no answer yet.
    commit
        Takes the finished turn. It is called again where an interrupt broke into it, so a
        second call with the same turn must do nothing more.

    Attributes
    ----------
    added
        What followed the question, where tools are called: whoever carries the calls out puts
        each message here as it comes, the answer last.
    """

    def __init__(self, asked: Turn, commit: Callable[[Turn], None]) -> None:
        self._asked = asked
        self._commit = commit
        self.added: list[Message] = []
        self._ended: Turn | None = None
        self._gathering = Gathering()
        self._usage: Usage | None = None
        self._citations: list[Citation] = []
        self._started = time.monotonic()
        self._recorded: float | None = None

    def take(self, event: Event) -> None:
        """Add one event.

        Raises
        ------
        ModelError
            If a model of someone's own gives what is no event.
        """
        is_text = not isinstance(event, TextDelta) or isinstance(event.text, str)
        if not isinstance(event, _EVENTS) or not is_text:
            raise ModelError(
                f"{self._asked.model} gave {str(event)[:80]!r} for a piece of its answer; an event"
                " was expected.",
                fix='yield TextDelta("…") for each piece, and Finished(reason="stop") at the end.',
            )
        if isinstance(event, Retrying) and self._gathering.finished is not None:
            self.next_call()  # an answer that could not be used is asked for again
        self._gathering.take(event)
        if isinstance(event, Finished) and event.seconds is not None:
            self._recorded = (self._recorded or 0.0) + event.seconds

    def next_call(self) -> None:
        """Count what the model said until now, and wait for what it says next."""
        came = self._gathering
        self._gathering = Gathering()
        self._usage = _sum(self._usage, came.usage)
        self._citations += came.citations

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        try:
            self._close(kind, error)
        except KeyboardInterrupt:  # also then the turn is kept
            if self._ended is None:
                self._close(kind, error)
            else:
                self._commit(self._ended)
            raise

    def _close(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        if kind is None:
            try:
                message = self._whole_answer()
            except Exception as broken:
                self._end(self._failed(broken))
                raise
            self._end(self._turn("complete", message=message))
        elif isinstance(error, Exception):
            self._end(self._failed(error))
        else:  # an interrupt, a cancelled task, a closed iterator
            self._end(self._turn("interrupted"))

    def _end(self, turn: Turn) -> None:
        self._ended = turn
        self._commit(turn)

    def _whole_answer(self) -> Message | None:
        if self.added:
            return None  # it stands there
        result = self._gathering.result()
        if result["type"] is ModelResponseType.TOOL_CALL:
            raise ModelError(
                f"{self._asked.model} wants to call {result['content'][0]['name'][:80]!r}, but was"
                " given no tools.",
                fix="ask again, or ask another model.",
            )
        message: Message = result["assistant_message"]
        return {**message, "content": whole_characters(message["content"])}

    def _failed(self, error: Exception) -> Turn:
        if isinstance(error, AgentcellError):
            return self._turn("failed", error=error.problem)
        return self._turn("failed", error=f"{type(error).__name__}: {error}")

    def _turn(self, status: Any, *, message: Message | None = None, error: str = "") -> Turn:
        came = self._gathering
        return replace(
            self._asked,
            messages=(*self._asked.messages, *self._said(message)),
            status=status,
            finish_reason=came.finished.reason if came.finished else "",
            usage=_sum(self._usage, came.usage),
            citations=(*self._citations, *came.citations),
            seconds=self._seconds(),
            error=error,
        )

    def _seconds(self) -> float:
        """Return how long the answer took; of a recorded one, how long it took then."""
        return time.monotonic() - self._started if self._recorded is None else self._recorded

    def _said(self, message: Message | None) -> list[Message]:
        """Return what followed the question, so that it can be sent again as it stands."""
        if message is not None:
            return [message]
        rounds = [_sendable(one) for one in closed(self.added)]
        if rounds and rounds[-1]["role"] == "assistant":
            return rounds
        text = whole_characters("".join(self._gathering.text))
        if any(one["content"] == text for one in rounds if one.get("tool_calls")):
            text = ""  # what was said before the calls, not after them
        return [*rounds, {"role": "assistant", "content": text}] if text else rounds


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return one + other if one and other else one or other


def _sendable(message: Message) -> Message:
    """Return a message without halves of characters, which no service takes."""
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": whole_characters(content)}
    blocks = [
        replace(block, text=whole_characters(block.text))
        if isinstance(block, TextMessageBlock)
        else block
        for block in content
    ]
    return {**message, "content": blocks}
