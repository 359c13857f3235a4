"""Any model and a recording, to a model that asks once and answers from the file afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from dataclasses import replace
from itertools import count
from typing import Any

from agentcell.adapters.events import Event, Finished, Usage, Waiting, closable
from agentcell.adapters.model import Model
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.recording.canonical import canonical, key_of
from agentcell.adapters.recording.entry import Entry, Timed, error_record
from agentcell.adapters.recording.file import Recording
from agentcell.adapters.recording.miss import missed
from agentcell.adapters.registry import resolve
from agentcell.assets.limits import MediaLimits
from agentcell.errors import ModelError
from agentcell.messages import Message
from agentcell.modality import FieldModality

MODES = ("off", "record", "rerecord", "replay", "auto")
"""``record`` asks what the file does not answer and keeps it; ``rerecord`` asks everything once
more; ``replay`` asks nothing; ``auto`` replays what is there and asks the rest without keeping
it."""

_REFUSED = (401, 403)
"""Answers that say something about a key, not about the question: never kept."""

_NO_PART = ("timeout", "max_retries", "extra_headers")
"""Options of a call that say how it is made, not what is asked; headers may hold keys."""


class RecordingModel(Model):
    """A model whose answers are kept in a file, and come from it the next time.

    Parameters
    ----------
    model
        Who is asked; or a name, see `agentcell.adapters.registry.resolve`.
    recording
        The file, or its path.
    mode
        One of `MODES`.
    timing
        Whether a replayed answer takes the time that it took; by default it comes at once.

    Notes
    -----
    An interrupted answer is kept as far as it was taken, and ends in an interrupt again. An error
    that the service gave to the question is kept and raised again; one about the connection or
    the key is not. Where the model may be asked, an answer that did not come to its end is asked
    for again.
    """

    def __init__(
        self,
        model: Model | str,
        recording: Recording | str | os.PathLike[str],
        mode: str = "auto",
        *,
        timing: bool = False,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}; one of {', '.join(MODES)} was expected")
        self.model = model if isinstance(model, Model) else resolve(model)
        super().__init__(
            self.model.model_name,
            self.model.invoke_settings,
            capabilities=self.model.capabilities,
        )
        self.provider = self.model.provider  # type: ignore[misc]  # it speaks for another
        self.media_limits = self.model.media_limits  # type: ignore[misc]
        self.is_free = self.model.is_free  # type: ignore[misc]
        self.recording = recording if isinstance(recording, Recording) else Recording(recording)
        self.mode = mode
        self.timing = timing
        self._asked_again: set[str] = set()

    def ready(self, messages: list[Message], **options: Any) -> Outgoing:
        """Return `messages` as the model itself takes them.

        Parameters
        ----------
        messages, options
            See `Model.ready`.
        """
        return self.model.ready(messages, **options)

    def request_limits(self) -> MediaLimits:
        """Return what one request of the model itself may hold."""
        return self.model.request_limits()

    def check_media(self, messages: list[Message]) -> None:
        """Refuse what the model itself refuses.

        Parameters
        ----------
        messages
            See `Model.check_media`.
        """
        self.model.check_media(messages)

    def check_source(self, modality: FieldModality, source: str, field_name: str) -> None:
        """Refuse what the model itself refuses.

        Parameters
        ----------
        modality, source, field_name
            See `Model.check_source`.
        """
        self.model.check_source(modality, source, field_name)

    def stream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Iterator[Event]:
        """Yield the answer, from the file or as it comes.

        Parameters
        ----------
        messages, tools, settings, kwargs
            See `Model.invoke`.

        Raises
        ------
        RecordingMiss
            In the mode ``replay``, if the file has no answer to this.
        """
        if self.mode == "off":
            yield from self.model.stream(messages, tools, settings, **kwargs)
            return
        asked, entry = self._look_up(messages, tools, settings, kwargs)
        if entry is not None:
            passed = 0.0
            for at, event in entry.events:
                if self.timing:
                    time.sleep(max(0.0, at - passed))
                    passed = at
                yield _timed(event, entry.seconds)
            _end(entry, KeyboardInterrupt("The recorded answer was stopped here."))
            return
        taking = self._taking(asked)
        answer = self.model.stream(messages, tools, settings, **kwargs)
        with taking, closing(closable(answer)) as events:
            for event in events:
                yield taking.take(event)

    async def astream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Event]:
        """Like `stream`, asynchronous.

        Parameters
        ----------
        messages, tools, settings, kwargs
            See `Model.invoke`.
        """
        asked, entry = (
            ({}, None) if self.mode == "off" else self._look_up(messages, tools, settings, kwargs)
        )
        if entry is not None:
            passed = 0.0
            for at, event in entry.events:
                if self.timing:
                    await asyncio.sleep(max(0.0, at - passed))
                    passed = at
                yield _timed(event, entry.seconds)
            _end(entry, asyncio.CancelledError("The recorded answer was stopped here."))
            return
        taking = self._taking(asked) if self.mode != "off" else None
        answer: Any = self.model.astream(messages, tools, settings, **kwargs)
        async with aclosing(answer) as events:
            if taking is None:
                async for event in events:
                    yield event
                return
            with taking:
                async for event in events:
                    yield taking.take(event)

    def is_answered(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> bool:
        """Return whether the answer comes from the file, so that nobody is asked or paid.

        Parameters
        ----------
        messages, tools, settings
            See `Model.invoke`.
        """
        if self.mode in {"off", "replay"}:
            return self.mode == "replay"
        return self._look_up(messages, tools, settings, {})[1] is not None

    def names(self, messages: list[Message]) -> Iterator[str]:
        """Yield names for what comes of `messages`: of the same question always the same.

        Parameters
        ----------
        messages
            See `Model.invoke`.
        """
        key = key_of(canonical(self.name, messages, None, None))
        for number in count():
            yield hashlib.sha256(f"{key}{number}".encode()).hexdigest()[:12]

    def _look_up(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None,
        settings: dict[str, Any] | None,
        options: dict[str, Any],
    ) -> tuple[dict[str, Any], Entry | None]:
        """Return the question, and its entry if that is the answer."""
        merged = {**self.invoke_settings, **(settings or {})}
        own = {name: value for name, value in options.items() if name not in _NO_PART}
        asked = canonical(self.name, messages, tools, {**own, **merged})
        key = key_of(asked)
        if self.mode == "rerecord" and key not in self._asked_again:
            return asked, None
        entry = self.recording.get(key)
        if self.mode == "replay":
            if entry is None:
                raise missed(self.recording, asked)
            return asked, entry
        return asked, entry if entry is not None and entry.is_whole else None

    def _taking(self, asked: dict[str, Any]) -> _Taking:
        def keep(entry: Entry) -> None:
            self._asked_again.add(entry.key)
            self.recording.put(entry)

        return _Taking(self.model, asked, None if self.mode == "auto" else keep)


class _Taking:
    """Takes the events of one answer, and hands over the entry at its end, whatever that is.

    Where nothing is kept the events pass as they are.
    """

    def __init__(
        self, model: Model, asked: dict[str, Any], keep: Callable[[Entry], None] | None
    ) -> None:
        self._model = model
        self._usage: Usage | None = None
        self._asked = asked
        self._keep = keep
        self._events: list[Timed] = []
        self._began = time.monotonic()

    def take(self, event: Event) -> Event:
        if self._keep is None:
            return event
        at = self._seconds()
        if isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Finished):
            event = replace(event, seconds=at, cost=self._cost())
        if not isinstance(event, Waiting):  # that is about this machine, not about the answer
            self._events.append((at, event))
        return event

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if self._keep is None:
            return
        failure: dict[str, Any] | None = None
        if isinstance(error, ModelError):
            if error.status is None or error.status in _REFUSED:
                return
            failure = error_record(error)
        elif isinstance(error, Exception):
            return
        self._keep(
            Entry(
                key=key_of(self._asked),
                asked=self._asked,
                events=tuple(self._events),
                seconds=self._seconds(),
                # Who has the end of an answer may go without asking whether more comes.
                stopped=error is not None and failure is None and not self._has_ended(),
                error=failure,
            )
        )

    def _cost(self) -> str:
        """Return what the answer cost; empty where nobody knows."""
        from agentcell.adapters.pricing import cost

        price = cost(self._model, self._usage)
        return "" if price is None else str(price.total)

    def _has_ended(self) -> bool:
        return bool(self._events) and isinstance(self._events[-1][1], Finished)

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 2)


def _timed(event: Event, seconds: float) -> Event:
    """Return an answer's end with the time that it took; what it says itself is told again."""
    if isinstance(event, Finished) and event.seconds is None:
        return replace(event, seconds=seconds)
    return event


def _end(entry: Entry, stopped: BaseException) -> None:
    if entry.stopped:
        raise stopped
    if (failure := entry.failure()) is not None:
        raise failure
