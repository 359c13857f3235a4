"""The events of Anthropic's Messages, to ours.

Shapes as in the anthropic SDK 2.14, read 2026-11-29. An answer is a list of blocks; each comes as
a start, deltas and a stop. Unknown events and blocks say nothing, but a block is kept, since the
service wants back what it sent.
"""

from __future__ import annotations

import json
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
"""Between two texts of one answer with something else between them."""

OPAQUE = "anthropic"
"""Marks the sealed parts of an answer as Anthropic's: no other provider is sent them."""

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
}
"""Ends in our words. Others (``pause_turn``: a tool of the service's own still runs) stay."""


def decode(lines: Iterable[str | bytes], origin: Origin | None = None) -> Iterator[Event]:
    """Yield what the lines of a recorded stream say."""
    yield from decode_lines(lines, MessagesDecoder(origin or Origin(provider=OPAQUE, model="")))


class MessagesDecoder:
    """Takes the events of one answer."""

    def __init__(self, origin: Origin) -> None:
        self.finished = False
        self.characters = 0
        self._origin = origin
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._calls: dict[int, int] = {}

    def feed(self, event: ServerEvent) -> Iterable[Event]:
        """Return what one event says."""
        name, data = event
        body = event_json(data)
        kind = body.get("type") or name
        if kind == "content_block_delta":
            delta = body["delta"]
            if delta["type"] == "text_delta":  # nearly all events
                return self._text(body["index"], delta["text"])
            return self._delta(body["index"], delta)
        match kind:
            case "message_start":
                self._begin(body["message"])
            case "content_block_start":
                return self._block(body["index"], body["content_block"])
            case "message_delta":
                self._message.update(_given(body["delta"]))
                self._usage.update(_given(body.get("usage") or {}))
            case "message_stop":
                return self._end()
            case "error":
                raise failures.from_event(self._origin, body.get("error") or body)
        if body.get("error"):  # of a proxy, in the words of another protocol
            raise failures.from_event(self._origin, body["error"])
        return ()  # a ping, the stop of a block, or what is not known yet

    def document(self, document: Any) -> list[Event]:
        """Return what an answer says that came whole."""
        self._begin({**document, "content": []})
        events: list[Event] = []
        for index, block in enumerate(document["content"]):
            events += self._block(index, block)
        return events + self._end()

    def finish(self) -> list[Event]:
        """Return nothing: this protocol always says its end."""
        if not self.finished:
            raise failures.truncated(self._origin, self.characters)
        return []

    def _begin(self, message: Mapping[str, Any]) -> None:
        self._message = dict(message)
        self._usage.update(_given(message.get("usage") or {}))

    def _block(self, index: int, block: Mapping[str, Any]) -> list[Event]:
        """Return what the start of a block says; one that came whole says all there."""
        kind = block["type"]
        self._blocks[index] = dict(block)
        pieces = self._pieces[index] = []
        match kind:
            case "text":
                notes = [_citation(note) for note in block.get("citations") or ()]
                return [*self._text(index, block.get("text") or ""), *notes]
            case "thinking":
                return _thought(pieces, block.get("thinking") or "")
            case "tool_use":
                number = self._calls[index] = len(self._calls)
                call = ToolCallDelta(number, str(block.get("id") or ""), str(block["name"]))
                whole = block.get("input")
                text = whole if isinstance(whole, str) else json.dumps(whole) if whole else ""
                return [call, *self._arguments(index, text)]
        return []

    def _delta(self, index: int, delta: Mapping[str, Any]) -> list[Event]:
        block = self._blocks[index]
        match delta["type"]:
            case "input_json_delta":
                return self._arguments(index, delta["partial_json"])
            case "thinking_delta":
                return _thought(self._pieces[index], delta["thinking"])
            case "signature_delta":
                block["signature"] = (block.get("signature") or "") + delta["signature"]
            case "citations_delta":
                note = delta["citation"]
                block["citations"] = [*(block.get("citations") or ()), note]
                return [_citation(note)]
        return []

    def _text(self, index: int, piece: str) -> list[Event]:
        if not piece:
            return []
        pieces = self._pieces[index]
        begins = not pieces and self._stands_apart(index)
        pieces.append(piece)
        self.characters += len(piece)
        return [TextDelta(SEPARATOR), TextDelta(piece)] if begins else [TextDelta(piece)]

    def _stands_apart(self, index: int) -> bool:
        """Whether something stands between the text that begins and the one before it.

        A text with citations comes as many blocks, one right after the other.
        """
        kinds = [(n, self._blocks[n]["type"]) for n in self._blocks if n < index]
        spoken = [n for n, kind in kinds if kind == "text" and self._pieces[n]]
        return bool(spoken) and any(kind != "text" for n, kind in kinds if n > max(spoken))

    def _arguments(self, index: int, piece: str) -> list[Event]:
        if not piece:
            return []
        self._pieces[index].append(piece)
        if index not in self._calls:  # of a tool of the service's own
            return []
        self.characters += len(piece)
        return [ToolCallDelta(self._calls[index], arguments=piece)]

    def _end(self) -> list[Event]:
        self.finished = True
        told = str(self._message.get("stop_reason") or "")
        reason = _REASONS.get(told, told) or "stop"
        if self._calls and reason == "stop":
            reason = "tool_calls"
        events: list[Event] = []
        details = self._message.get("stop_details") or {}
        if reason == "refusal" and not self.characters and details.get("explanation"):
            events.append(TextDelta(str(details["explanation"])))  # else a person sees nothing
        if self._usage:
            events.append(_usage(self._usage))
        blocks = [_whole(self._blocks[n], self._pieces[n]) for n in sorted(self._blocks)]
        finished = Finished(
            reason=reason,
            model=str(self._message.get("model") or self._origin.model),
            request_id=self._origin.request_id,
            opaque=tuple({"provider": OPAQUE, "item": item} for item in _sealed(blocks)),
            raw={**self._message, "content": blocks, "usage": self._usage or None},
        )
        return [*events, finished]


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that say something; a later null takes nothing back."""
    return {name: value for name, value in fields.items() if value is not None}


def _thought(pieces: list[str], piece: str) -> list[Event]:
    if not piece:
        return []
    pieces.append(piece)
    return [ThinkingDelta(piece)]


def _whole(block: Mapping[str, Any], pieces: list[str]) -> dict[str, Any]:
    """Return a block as it would have come in one piece."""
    text = "".join(pieces)
    if block["type"] in {"text", "thinking"}:
        return {**block, block["type"]: text}
    if not text:
        return dict(block)
    try:
        return {**block, "input": json.loads(text)}
    except (ValueError, RecursionError):
        return {**block, "input": text}


def _sealed(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what must go back, if anything must that a message does not hold anyway."""
    kept = [block for block in blocks if _goes_back(block)]
    if all(block["type"] in {"text", "tool_use"} for block in kept):
        return
    length = 0
    for block in kept:
        if block["type"] == "text":
            length += len(block["text"])
            continue
        if length:
            yield {"type": "text", "length": length}
            length = 0
        is_call = block["type"] == "tool_use"
        yield {"type": "tool_use", "call_id": block.get("id")} if is_call else block
    if length:
        yield {"type": "text", "length": length}


def _goes_back(block: Mapping[str, Any]) -> bool:
    if block["type"] == "thinking":
        return bool(block.get("signature"))  # broken off before it was sealed
    return block["type"] != "text" or bool(block["text"])


def _citation(note: Mapping[str, Any]) -> Citation:
    title = str(note.get("document_title") or note.get("title") or "")
    url = str(note.get("url") or note.get("source") or "")
    is_tag = title.startswith("[") and title.endswith("]")
    page = note.get("start_page_number")
    return Citation(
        quote=str(note.get("cited_text") or ""),
        tag=title if is_tag else "",
        url=url if url.startswith(("http://", "https://")) else "",
        title="" if is_tag else title,
        page=page if isinstance(page, int) else None,
    )


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Return the tokens; Anthropic counts those from and for its cache apart from the rest."""
    read = usage.get("cache_read_input_tokens")
    parts = (usage.get("input_tokens"), usage.get("cache_creation_input_tokens"), read)
    written = usage.get("output_tokens_details") or {}
    kept = usage.get("cache_creation") or {}
    known = [part for part in parts if part is not None]
    return Usage(
        input_tokens=sum(known) if known else None,
        output_tokens=usage.get("output_tokens"),
        cached_tokens=read,
        reasoning_tokens=written.get("thinking_tokens"),
        cache_write_tokens=usage.get("cache_creation_input_tokens") or None,
        hour_cache_write_tokens=kept.get("ephemeral_1h_input_tokens") or None,
    )
