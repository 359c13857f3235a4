"""One recorded question and its answer ↔ one line of text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from agentcell import errors
from agentcell.adapters.events import (
    Citation,
    Event,
    Finished,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
)
from agentcell.adapters.recording.content import has_content, put_back, taken_out
from agentcell.errors import HistoryError, ModelError

Timed = tuple[float, Event]
"""Seconds since the question went out, and an event."""

PAUSE = 0.25
"""Seconds. Pieces of text that come closer together are written as one piece."""

_KINDS: dict[str, type[Any]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "call": ToolCallDelta,
    "citation": Citation,
    "retrying": Retrying,
    "usage": Usage,
    "finished": Finished,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_FACTS = ("fix", "provider", "model", "status", "request_id", "retry_after", "retryable")
"""Of an error, besides its kind and its problem."""

_LEFT_OUT = {"raw"}
"""The provider's raw response is for the moment; it may hold anything."""


def _lost(digest: str, data: bytes) -> None:
    """Keep nothing: for a look at a line that is not written anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One question and what was answered.

    Parameters
    ----------
    key
        The SHA-256 of the question; see `canonical`.
    asked
        The question itself, to tell what differs from another.
    events
        What was answered, with the seconds since the question went out.
    seconds
        How long it took.
    stopped
        Whether the person stopped it.
    error
        The class of the error in which it ended, and the error's attributes; else None.
    """

    key: str
    asked: Mapping[str, Any] = field(repr=False)
    events: tuple[Timed, ...] = field(repr=False)
    seconds: float = 0.0
    stopped: bool = False
    error: Mapping[str, Any] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the answer came to its own end."""
        return not self.stopped and self.error is None

    def line(self, keep: Callable[[str, bytes], None] = _lost) -> str:
        """Return the entry as one line of JSON, without its end of line.

        Parameters
        ----------
        keep
            Is given each medium that the answer holds: its SHA-256 and its bytes.

        Raises
        ------
        ModelError
            If an event holds what cannot be written down.
        """
        record: dict[str, Any] = {"key": self.key, "seconds": self.seconds}
        if self.stopped:
            record["stopped"] = True
        if self.error is not None:
            record["error"] = dict(self.error)
        record["asked"] = self.asked
        events = [_event_record(at, event) for at, event in joined(self.events)]
        try:
            media: dict[str, bytes] = {}
            record["events"] = taken_out(events, media.__setitem__)
            for digest, data in sorted(media.items()):
                record.setdefault("media", []).append(digest)
                keep(digest, data)
            return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as problem:
            raise ModelError(
                f"The answer cannot be written into a recording: {problem}.",
                fix="let the adapter give texts, numbers, lists and dicts; or %agent record off.",
            ) from problem

    @classmethod
    def of_line(
        cls, line: str, file: str = "", content: Callable[[str], bytes] | None = None
    ) -> Entry:
        """Return the entry in a line.

        Parameters
        ----------
        file
            The recording's name, for the message of an error.
        content
            Returns the medium of a SHA-256; None: marks stay in the place of media.

        Raises
        ------
        HistoryError
            If it holds none.
        """
        try:
            record = json.loads(line)
            _check(record)
            events = record["events"]
            if content is not None and "media" in record:
                events = put_back(events, {one: content(one) for one in record["media"]})
            return cls(
                key=record["key"],
                asked=record["asked"],
                events=tuple(_event(item) for item in events),
                seconds=float(record["seconds"]),
                stopped=bool(record.get("stopped")),
                error=record.get("error"),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            raise HistoryError(
                f"A line of the recording {file} cannot be read: {line[:60]!r}…",
                fix="restore the file from a copy, or record anew: %agent record --again.",
            ) from problem

    def failure(self) -> ModelError | None:
        """Return the error in which the answer ended, as it was raised then."""
        if self.error is None:
            return None
        kind = getattr(errors, str(self.error.get("kind")), ModelError)
        if not (isinstance(kind, type) and issubclass(kind, ModelError)):
            kind = ModelError
        known = {name: self.error[name] for name in _FACTS if name in self.error}
        return kind(str(self.error.get("problem") or "The service failed."), **known)


def _check(record: Mapping[str, Any]) -> None:
    """Refuse a record whose question or error is none."""
    messages = record["asked"].get("messages", [])
    if not (isinstance(messages, list) and all(isinstance(one, dict) for one in messages)):
        raise TypeError("the question's messages are none")
    error = record.get("error")
    if error is not None and not isinstance(error, dict):
        raise TypeError("the error is none")


def error_record(error: ModelError) -> dict[str, Any]:
    """Return an error as JSON values."""
    return {
        "kind": type(error).__name__,
        "problem": error.problem,
        "fix": error.fix,
        "provider": error.provider,
        "model": error.model,
        "status": error.status,
        "request_id": error.request_id,
        "retry_after": error.retry_after,
        "retryable": error.retryable,
    }


def joined(events: Sequence[Timed]) -> list[Timed]:
    """Return `events` with pieces of text that came close together in one piece."""
    whole: list[Timed] = []
    said = "".join(event.text for _, event in events if isinstance(event, TextDelta))
    pause = math.inf if has_content(said) else PAUSE  # of a medium in pieces none is known as one
    for at, event in events:
        last_at, last = whole[-1] if whole else (0.0, None)
        if at - last_at < pause and (one := _one_piece(last, event)) is not None:
            whole[-1] = (last_at, one)
        else:
            whole.append((at, event))
    return whole


def _one_piece(first: Event | None, second: Event) -> Event | None:
    """Return two pieces of one text as one; None if they are none."""
    if isinstance(first, TextDelta) and isinstance(second, TextDelta):
        return TextDelta(first.text + second.text)
    if isinstance(first, ThinkingDelta) and isinstance(second, ThinkingDelta):
        return ThinkingDelta(first.text + second.text)
    return None


def _event_record(at: float, event: Event) -> list[Any]:
    """Return ``[seconds, kind, text]``, or ``[seconds, kind, {fields that differ}]``."""
    name = _NAMES[type(event)]
    if isinstance(event, (TextDelta, ThinkingDelta)):
        return [round(at, 2), name, event.text]
    said = {
        one.name: getattr(event, one.name)
        for one in fields(event)
        if one.name not in _LEFT_OUT and getattr(event, one.name) != one.default
    }
    return [round(at, 2), name, said]


def _event(item: Sequence[Any]) -> Timed:
    at, name, said = item
    kind = _KINDS[name]
    if isinstance(said, str):
        return float(at), kind(said)
    if kind is Finished and "opaque" in said:
        said = {**said, "opaque": tuple(said["opaque"])}
    return float(at), kind(**said)
