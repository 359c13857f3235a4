"""What a model says, as it says it; `gather` makes one result of it.

Streamed and whole answers go one way: `Model.invoke` is `gather(Model.stream(...))`.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import AsyncIterable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from agentcell.errors import StreamTruncated
from agentcell.messages import ToolCall
from agentcell.openai_shape import parsed_call


class ModelResponseType(Enum):
    """What a model's answer is: text, or the wish to have tools called."""

    CONTENT = "content"
    TOOL_CALL = "tool_call"


class _Said:
    """What all events share: a repr that shortens what a model said."""

    __slots__: tuple[str, ...] = ()

    def __repr__(self) -> str:
        facts = [f"{name}={reprlib.repr(getattr(self, name))[:40]}" for name in self.__slots__]
        return f"{type(self).__name__}({', '.join(facts)})"


@dataclass(frozen=True, slots=True, repr=False)
class TextDelta(_Said):
    """A piece of the answer."""

    type: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class ThinkingDelta(_Said):
    """A piece of the model's reasoning, kept apart from the answer."""

    type: ClassVar[str] = "thinking"
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class ToolCallDelta(_Said):
    """A piece of a tool call. `index` tells parallel calls apart; `arguments` is JSON text."""

    type: ClassVar[str] = "tool_call"
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Citation(_Said):
    """Where a statement comes from: an attachment by its tag, or a page by its address."""

    type: ClassVar[str] = "citation"
    quote: str
    tag: str = ""
    url: str = ""
    title: str = ""
    page: int | None = None
    """Counted from 1; None where there are no pages."""


@dataclass(frozen=True, slots=True, repr=False)
class Retrying(_Said):
    """The adapter will ask again after `wait` seconds; this is attempt number `attempt`."""

    type: ClassVar[str] = "retrying"
    attempt: int
    wait: float
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Waiting(_Said):
    """The request is held back here, by `RateLimits`, for `wait` seconds; None: not known."""

    type: ClassVar[str] = "waiting"
    wait: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Usage(_Said):
    """Tokens, as the provider counted them. None where it did not say."""

    type: ClassVar[str] = "usage"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Part of `input_tokens`."""
    reasoning_tokens: int | None = None
    """Part of `output_tokens`."""
    cache_write_tokens: int | None = None
    """Part of `input_tokens`, none of them in `cached_tokens`. None also where there were none; so
    with the three below."""
    hour_cache_write_tokens: int | None = None
    """Part of `cache_write_tokens`: kept for an hour, at a higher price."""
    image_tokens: int | None = None
    """Part of `input_tokens`: what the images came to."""
    image_output_tokens: int | None = None
    """Part of `output_tokens`: what the images that the model made came to."""
    estimated: bool = False
    """True where the numbers were counted here, not by a provider."""

    def __add__(self, other: Usage) -> Usage:
        def total(a: int | None, b: int | None) -> int | None:
            return None if a is None and b is None else (a or 0) + (b or 0)

        counts = {
            name: total(getattr(self, name), getattr(other, name))
            for name in self.__slots__
            if name != "estimated"
        }
        return Usage(**counts, estimated=self.estimated or other.estimated)


def total_usage(*counts: Usage | None) -> Usage | None:
    """Return the sum of counts, as far as they are known; None if none is."""
    known = [one for one in counts if one is not None]
    return sum(known[1:], known[0]) if known else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Finished(_Said):
    """The provider's own end of the answer; without one an answer is truncated.

    Parameters
    ----------
    reason
        ``stop``, ``length``, ``tool_calls``, ``content_filter`` or ``refusal``.
    opaque
        What the provider wants back with the next request, unchanged.
    raw
        The whole raw response, where there is one.
    seconds
        How long the answer took, where it was recorded; None: whoever takes it may measure.
    cost
        US dollars, where it was recorded, since prices change; empty: nobody knew it then.
    """

    type: ClassVar[str] = "finished"
    reason: str
    model: str = ""
    request_id: str | None = None
    opaque: tuple[Any, ...] = ()
    raw: Any = None
    seconds: float | None = None
    cost: str | None = None


Event: TypeAlias = (
    TextDelta | ThinkingDelta | ToolCallDelta | Citation | Retrying | Waiting | Usage | Finished
)


@dataclass(slots=True)
class Gathering:
    """Takes events one by one; `result` makes a `Model.invoke` result of them."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)
    citations: list[Citation] = field(default_factory=list)
    retries: list[Retrying] = field(default_factory=list)
    usage: Usage | None = None
    finished: Finished | None = None

    def take(self, event: Event) -> None:
        """Add one event."""
        match event:
            case TextDelta():
                self.text.append(event.text)
            case ThinkingDelta():
                self.thinking.append(event.text)
            case ToolCallDelta():
                call = self.calls.setdefault(event.index, ["", "", ""])
                call[0] = event.id or call[0]
                call[1] = event.name or call[1]
                call[2] += event.arguments
            case Citation():
                self.citations.append(event)
            case Retrying():
                self.retries.append(event)
            case Waiting():
                pass  # said to who looks on; the answer is the same
            case Usage():
                self.usage = event
            case Finished():
                self.finished = event

    def tool_calls(self) -> list[ToolCall]:
        """Return the calls gathered so far, in the order in which they began."""
        return [_tool_call(index, *call) for index, call in sorted(self.calls.items())]

    def result(self) -> dict[str, Any]:
        """Return the result dict of `Model.invoke`.

        Raises
        ------
        StreamTruncated
            If no `Finished` came.
        """
        if self.finished is None:
            raise StreamTruncated(
                f"The answer broke off after {len(''.join(self.text))} characters, without the"
                " provider's end marker.",
                fix="run the cell again.",
            )
        text = "".join(self.text)
        calls = self.tool_calls()
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = calls
        if self.finished.opaque:
            message["opaque"] = list(self.finished.opaque)
        kind = ModelResponseType.TOOL_CALL if calls else ModelResponseType.CONTENT
        content: Any = text
        if calls:
            content = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in calls]
        return {
            "type": kind,
            "content": content,
            "assistant_message": message,
            "thinking": "".join(self.thinking),
            "citations": list(self.citations),
            "usage": self.usage,
            "finish_reason": self.finished.reason,
            "model": self.finished.model,
            "request_id": self.finished.request_id,
            "raw_response": self.finished.raw,
        }


def _tool_call(index: int, call_id: str, name: str, arguments: str) -> ToolCall:
    """Return the call; arguments that are no JSON object are kept as they came."""
    return parsed_call(call_id or f"call_{index}", name, arguments)


def gather(events: Iterable[Event]) -> dict[str, Any]:
    """Return `events` as one `Model.invoke` result."""
    gathering = Gathering()
    for event in events:
        gathering.take(event)
    return gathering.result()


async def agather(events: AsyncIterable[Event]) -> dict[str, Any]:
    """Like `gather`, for an asynchronous stream."""
    gathering = Gathering()
    async for event in events:
        gathering.take(event)
    return gathering.result()


def events_of(result: dict[str, Any]) -> list[Event]:
    """Return a `Model.invoke` result as the events that `gather` would make it of."""
    events: list[Event] = []
    message = result.get("assistant_message") or {}
    if result.get("thinking"):
        events.append(ThinkingDelta(result["thinking"]))
    if result["type"] is ModelResponseType.TOOL_CALL:
        if message.get("content"):
            events.append(TextDelta(content_of(message["content"])))
        for index, call in enumerate(result["content"]):
            arguments = call.get("arguments")
            text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
            events.append(ToolCallDelta(index, str(call.get("id") or ""), call["name"], text))
    else:
        events.append(TextDelta(content_of(result["content"])))
    events.extend(result.get("citations") or ())
    if isinstance(result.get("usage"), Usage):
        events.append(result["usage"])
    is_call = result["type"] is ModelResponseType.TOOL_CALL
    events.append(
        Finished(
            reason=result.get("finish_reason") or ("tool_calls" if is_call else "stop"),
            model=result.get("model") or "",
            request_id=result.get("request_id"),
            opaque=tuple(message.get("opaque") or ()),
            raw=result.get("raw_response"),
        )
    )
    return events


def content_of(content: object) -> str:
    """Return an assistant's content, which may be None, as text."""
    return content if isinstance(content, str) else "" if content is None else str(content)


def closable(events: Iterator[Event]) -> Any:
    """Return an iterator with `close`, which a plain one lacks."""
    return events if hasattr(events, "close") else (event for event in events)
