"""Answers told beforehand, to a model that gives them through the same events as a real one."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import (
    Event,
    Finished,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
)
from agentcell.adapters.model import Model
from agentcell.messages import Message
from agentcell.testing.replies import Call, Reply, pieces

_SAID = ("calls", "thinking", "refusal", "finish", "usage", "delay")
"""What of a `Reply` a model can say itself; the rest is a server's."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, as the model got it.

    Parameters
    ----------
    messages, tools, settings
        Those of `Model.invoke`; the lists and dicts are copies.
    options
        What else came with the call.
    """

    messages: list[Message]
    tools: list[dict[str, Any]]
    settings: dict[str, Any]
    options: dict[str, Any]


Told: TypeAlias = str | Reply | Call | BaseException | Iterable[Event | BaseException]
"""What a fake model may be told to answer with."""


class FakeModel(Model):
    """Gives `answers` in order, the last one again and again; keeps what it was asked.

    Use it to test what you build on a model::

        model = FakeModel(Call("weather", '{"town": "Oslo"}'), "It rains.")
        ...
        assert model.requests[1].messages[-1]["content"] == "rain"

    Parameters
    ----------
    answers
        Each one a text, a `Reply` (pieces, thinking, usage, ``delay`` between events), a `Call`
        of a tool, an error to raise, a list of events and errors that is played as it is (without
        a `Finished` it is an answer that broke off), or a function that makes one of these of
        what was `Asked`. None: ``"Hello."``.
    model_name
        Its name after ``fake/``.
    capabilities
        What it takes; by default images and PDFs, everywhere.
    invoke_settings
        Settings for every call, under those given with the call.

    Attributes
    ----------
    requests
        What it was asked, in order.
    closed
        How many answers came to an end, or were given up.
    """

    provider = "fake"

    def __init__(
        self,
        *answers: Told | Callable[[Asked], Told],
        model_name: str = "model",
        capabilities: ModelCapabilities | None = None,
        invoke_settings: Mapping[str, Any] | None = None,
    ) -> None:
        able = ModelCapabilities(
            image_input=True, pdf_input=True, system_media="sent", tool_result_media="sent"
        )
        super().__init__(model_name, invoke_settings, capabilities=capabilities or able)
        self._answers = [answer if callable(answer) else _played(answer) for answer in answers]
        self._answers = self._answers or [_played("Hello.")]
        self._lock = threading.Lock()
        self.requests: list[Asked] = []
        self.closed = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    async def astream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Event]:
        """Yield the next answer.

        Parameters
        ----------
        messages, tools, settings, kwargs
            Kept in `requests`.
        """
        asked = Asked(
            list(messages),
            copy.deepcopy(list(tools or ())),
            {**self.invoke_settings, **(settings or {})},
            kwargs,
        )
        with self._lock:
            self.requests.append(asked)
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        delay, events = _played(answer(asked)) if callable(answer) else answer
        try:
            for event in events:
                await asyncio.sleep(delay)
                if isinstance(event, BaseException):
                    raise event
                yield self._named(event)
        finally:
            self.closed += 1

    def _named(self, event: Event) -> Event:
        if isinstance(event, Finished) and not event.model:
            return replace(event, model=self.model_name)
        return event


def _played(answer: Told) -> tuple[float, list[Event | BaseException]]:
    """Return the seconds between the events of an answer, and the events."""
    if isinstance(answer, BaseException):
        return 0.0, [answer]
    if isinstance(answer, Call):
        answer = Reply(calls=[answer])
    if isinstance(answer, str):
        answer = Reply(*pieces(answer, 3))
    if not isinstance(answer, Reply):
        return 0.0, list(answer)
    if Reply(*answer.text, **{name: getattr(answer, name) for name in _SAID}) != answer:
        raise ValueError(
            f"of a Reply, a fake model plays the text and {', '.join(_SAID)}; for an answer that"
            " breaks off give a list of events and an error"
        )
    events: list[Event | BaseException] = [ThinkingDelta(piece) for piece in answer.thinking]
    events += [TextDelta(piece) for piece in (answer.text or filter(None, [answer.refusal]))]
    for index, call in enumerate(answer.calls):
        events.append(ToolCallDelta(index, call.id, call.name))
        events += [
            ToolCallDelta(index, arguments=piece) for piece in pieces(call.arguments, call.pieces)
        ]
    if answer.usage is not None:
        cached, thought = (*answer.usage[2:], None, None)[:2]
        events.append(
            Usage(
                input_tokens=answer.usage[0],
                output_tokens=answer.usage[1],
                cached_tokens=cached,
                reasoning_tokens=thought,
            )
        )
    events.append(Finished(reason="refusal" if answer.refusal else answer.finish))
    return answer.delay, events
