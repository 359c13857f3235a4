"""The events of OpenAI's Responses, to ours.

Events are told apart by their ``type``. llama.cpp's server leaves their indexes and numbers out,
so a piece belongs to the item that it names, else to the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentcell.adapters import failures
from agentcell.adapters.answer import decode_lines
from agentcell.adapters.events import (
    Citation,
    Event,
    Finished,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
)
from agentcell.adapters.failures import Origin
from agentcell.adapters.sse import ServerEvent, event_json

SEPARATOR = "\n\n"
"""Between the messages of one answer: a commentary and what follows it."""

OPAQUE = "openai"
"""Marks the sealed parts of an answer as OpenAI's: no other provider is sent them."""

_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


_HANDLERS = {
    "response.refusal.delta": "_refusal",
    "response.reasoning_summary_text.delta": "_thought",
    "response.reasoning_text.delta": "_thought",
    "response.reasoning_summary_part.added": "_thought_part",
    "response.output_item.added": "_item_added",
    "response.output_item.done": "_item_done",
    "response.function_call_arguments.delta": "_arguments",
    "response.function_call_arguments.done": "_arguments_done",
    "response.output_text.annotation.added": "_annotation",
    "response.completed": "_ended",
    "response.incomplete": "_ended",
    "response.failed": "_ended",
}
"""The method for each kind of event that says something."""


def decode(lines: Iterable[str | bytes], origin: Origin | None = None) -> Iterator[Event]:
    """Yield what the lines of a recorded stream say."""
    yield from decode_lines(lines, ResponsesDecoder(origin or Origin(provider="openai", model="")))


class ResponsesDecoder:
    """Takes the events of one answer."""

    def __init__(self, origin: Origin) -> None:
        self.finished = False
        self.characters = 0
        self._origin = origin
        self._refused = False
        self._calls: dict[str, int] = {}
        self._has_arguments: set[int] = set()
        self._texts: list[str] = []
        self._spoken: set[str] = set()
        self._opaque: list[dict[str, Any]] = []

    def feed(self, event: ServerEvent) -> Iterable[Event]:
        """Return what one event says."""
        name, data = event
        if data.startswith(b"[DONE]"):
            return ()
        body = event_json(data)
        kind = body.get("type") or name
        if kind == "response.output_text.delta":  # nearly all events
            return self._text(body["delta"], body)
        if kind in _HANDLERS:
            return list(getattr(self, _HANDLERS[kind])(body))
        if kind == "error" or body.get("error"):
            raise failures.from_event(self._origin, body.get("error") or body)
        return ()  # progress of the answer or of a tool: nothing to say about it

    def document(self, document: Any) -> list[Event]:
        """Return what an answer says that came whole."""
        events: list[Event] = []
        for item in document["output"]:
            events += self._item_done({"item": item})
        return events + list(self._ended({"response": document}))

    def finish(self) -> list[Event]:
        """Return nothing: this protocol always says its end."""
        if not self.finished:
            raise failures.truncated(self._origin, self.characters)
        return []

    def _text(self, piece: str, body: Mapping[str, Any]) -> list[Event]:
        if not piece:
            return []
        self.characters += len(piece)
        item = body.get("item_id") or ""
        if item in self._spoken or not self._texts:
            if not self._texts:
                self._begin(item)
            return [TextDelta(piece)]
        self._begin(item)  # a second message, after a commentary or a tool
        return [TextDelta(SEPARATOR), TextDelta(piece)]

    def _begin(self, item: str) -> None:
        self._spoken.add(item)
        self._texts.append(item)

    def _refusal(self, body: Mapping[str, Any]) -> Iterator[Event]:
        self._refused = True
        yield from self._text(body["delta"], body)

    def _thought(self, body: Mapping[str, Any]) -> Iterator[Event]:
        if body["delta"]:
            yield ThinkingDelta(body["delta"])

    def _thought_part(self, body: Mapping[str, Any]) -> Iterator[Event]:
        if body.get("summary_index"):
            yield ThinkingDelta("\n\n")

    def _item_added(self, body: Mapping[str, Any]) -> Iterator[Event]:
        item = body["item"]
        if item.get("type") == "function_call":
            yield from self._call_begun(item)

    def _call_begun(self, item: Mapping[str, Any]) -> Iterator[Event]:
        key = str(item.get("id") or item.get("call_id") or len(self._calls))
        if key not in self._calls:
            self._calls[key] = len(self._calls)
            call_id = str(item.get("call_id") or item.get("id") or "")
            yield ToolCallDelta(self._calls[key], call_id, item.get("name") or "")

    def _index(self, body: Mapping[str, Any]) -> int:
        return self._calls.get(str(body.get("item_id") or ""), len(self._calls) - 1)

    def _arguments(self, body: Mapping[str, Any]) -> Iterator[Event]:
        index = self._index(body)
        if index >= 0 and body["delta"]:
            self._has_arguments.add(index)
            self.characters += len(body["delta"])
            yield ToolCallDelta(index, arguments=body["delta"])

    def _arguments_done(self, body: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the arguments of a server that sends them only whole."""
        index = self._index(body)
        if index >= 0 and index not in self._has_arguments and body.get("arguments"):
            yield from self._arguments({**body, "delta": body["arguments"]})

    def _annotation(self, body: Mapping[str, Any]) -> Iterator[Event]:
        note = body.get("annotation") or {}
        if note.get("type") == "url_citation":
            url, title = str(note.get("url") or ""), str(note.get("title") or "")
            yield Citation(quote="", url=url, title=title)
        elif note.get("type") == "file_citation":
            yield Citation(quote="", title=str(note.get("filename") or note.get("file_id") or ""))

    def _item_done(self, body: Mapping[str, Any]) -> Iterator[Event]:
        """Yield what of an item did not come in pieces, and keep what must go back later."""
        item = body["item"]
        match item.get("type"):
            case "function_call":
                yield from self._call_begun(item)
                key = item.get("id") or item.get("call_id")
                yield from self._arguments_done({**item, "item_id": key})
                self._keep({"type": "function_call", "call_id": item.get("call_id")})
            case "message":
                yield from self._message_done(item)
            case "reasoning" if item.get("encrypted_content"):
                # Without its seal it cannot go back: OpenAI has kept nothing that its id names.
                kept = ("type", "id", "summary", "content", "encrypted_content")
                self._keep({key: item[key] for key in kept if item.get(key) is not None})

    def _message_done(self, item: Mapping[str, Any]) -> Iterator[Event]:
        parts = item.get("content") or []
        whole = "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
        self._refused = self._refused or any(part.get("type") == "refusal" for part in parts)
        at = {"item_id": item.get("id") or ""}
        if not self._spoken & {at["item_id"], ""}:  # "": its pieces did not name their item
            yield from self._text(whole, at)
            for part in parts:
                for note in part.get("annotations") or ():
                    yield from self._annotation({"annotation": note})
        if whole:
            self._keep({"type": "message", "phase": item.get("phase"), "length": len(whole)})

    def _keep(self, item: dict[str, Any]) -> None:
        self._opaque.append({"provider": OPAQUE, "item": item})

    def _ended(self, body: Mapping[str, Any]) -> Iterator[Event]:
        response = body["response"]
        status = response.get("status") or "completed"
        if status == "failed" or response.get("error"):
            raise failures.from_event(self._origin, response.get("error") or {})
        if not self.characters and not self._calls:  # a server that sends nothing but the end
            for item in response.get("output") or ():
                yield from self._item_done({"item": item})
        reason = "tool_calls" if self._calls else "refusal" if self._refused else "stop"
        if status == "incomplete":
            why = str((response.get("incomplete_details") or {}).get("reason") or "length")
            reason = _INCOMPLETE.get(why, why)
        elif status != "completed":
            raise failures.truncated(self._origin, self.characters)
        self.finished = True
        if usage := response.get("usage"):
            yield _usage(usage)
        yield Finished(
            reason=reason,
            model=str(response.get("model") or self._origin.model),
            request_id=self._origin.request_id,
            opaque=tuple(self._opaque) if self._has_seal() else (),
            raw=response,
        )

    def _has_seal(self) -> bool:
        """Whether anything must go back as it came: reasoning, or the phase of a message."""
        return any(
            part["item"]["type"] == "reasoning" or part["item"].get("phase")
            for part in self._opaque
        )


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = usage.get("input_tokens_details") or {}
    written = usage.get("output_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cached_tokens=read.get("cached_tokens"),
        reasoning_tokens=written.get("reasoning_tokens"),
        cache_write_tokens=read.get("cache_write_tokens") or None,
        image_tokens=read.get("image_tokens") or None,
        image_output_tokens=written.get("image_tokens") or None,
    )
