"""The chunks of OpenAI's Chat Completions, to our events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentcell.adapters import failures
from agentcell.adapters.answer import decode_lines
from agentcell.adapters.events import (
    Event,
    Finished,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
)
from agentcell.adapters.failures import Origin
from agentcell.adapters.sse import ServerEvent, event_json


def decode(lines: Iterable[str | bytes], origin: Origin | None = None) -> Iterator[Event]:
    """Yield what the lines of a recorded stream say."""
    origin = origin or Origin(provider="openai-chat", model="")
    yield from decode_lines(lines, ChatDecoder(origin))


class ChatDecoder:
    """Takes the chunks of one answer. Servers leave much of the protocol out; see each method."""

    def __init__(self, origin: Origin) -> None:
        self.finished = False
        self.characters = 0
        self._origin = origin
        self._reason = ""
        self._refused = False
        self._usage: Mapping[str, Any] | None = None
        self._head: dict[str, Any] = {}
        self._begun = False
        self._text: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._at: dict[int, int] = {}

    def feed(self, event: ServerEvent) -> list[Event]:
        """Return what one chunk says."""
        name, data = event
        if data.startswith(b"[DONE]"):
            return self._finish()
        chunk = event_json(data)
        self._begun = True
        error = chunk.get("error")
        if error or name == "error":
            raise failures.from_event(self._origin, error or chunk)
        if not self._head:
            self._head = {key: chunk[key] for key in ("id", "created", "model") if key in chunk}
        if usage := chunk.get("usage"):
            self._usage = usage
        choices = chunk.get("choices")
        if not choices:
            return []
        choice = choices[0]
        if choice.get("index"):  # another answer to the same question, asked for by extra_body
            return []
        events: list[Event] = []
        delta = choice.get("delta")
        if delta:
            text = delta.get("content")
            if text.__class__ is str and text and len(delta) == 1:  # nearly all chunks
                self.characters += len(text)
                self._text.append(text)
                events.append(TextDelta(text))
            else:
                events.extend(self._delta(delta))
        if reason := choice.get("finish_reason"):
            self._reason = str(reason)
        return events

    def document(self, document: Any) -> list[Event]:
        """Return what an answer says that came whole."""
        choice = document["choices"][0]
        self._begun = True
        self._head = {key: document[key] for key in ("id", "created", "model") if key in document}
        self._usage = document.get("usage")
        events = list(self._delta(choice["message"]))
        self._reason = str(choice.get("finish_reason") or "stop")
        return events + self._finish()

    def finish(self) -> list[Event]:
        """Return the end, where a server left ``[DONE]`` out but said why it stopped."""
        if self.finished:
            return []
        if not self._reason:
            raise failures.truncated(self._origin, self.characters)
        return self._finish()

    def _finish(self) -> list[Event]:
        if self.finished:
            return []
        if not self._begun:  # an end without a beginning
            raise failures.truncated(self._origin, 0)
        self.finished = True
        reason = _REASONS.get(self._reason, self._reason) or "stop"
        if self._refused and reason == "stop":
            reason = "refusal"
        if self._calls and reason == "stop":
            reason = "tool_calls"
        events: list[Event] = [_usage(self._usage)] if self._usage else []
        model = str(self._head.get("model") or self._origin.model)
        finished = Finished(
            reason=reason, model=model, request_id=self._origin.request_id, raw=self._raw()
        )
        return [*events, finished]

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Event]:
        # DeepSeek, vLLM, llama.cpp and LM Studio write reasoning_content; Ollama and OpenRouter
        # write reasoning.
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str):
            yield ThinkingDelta(thought)
        yield from self._content(delta.get("content"))
        if refusal := delta.get("refusal"):
            self._refused = True
            yield from self._content(refusal)
        for call in delta.get("tool_calls") or ():
            yield self._tool_call(call)

    def _content(self, content: object) -> Iterator[Event]:
        if isinstance(content, str) and content:
            self.characters += len(content)
            self._text.append(content)
            yield TextDelta(content)
        elif isinstance(content, list):  # Mistral sends parts once it thinks
            for part in content:
                thinking = part.get("thinking")
                if isinstance(thinking, list):
                    yield from (ThinkingDelta(str(piece.get("text", ""))) for piece in thinking)
                else:
                    yield from self._content(part.get("text"))

    def _tool_call(self, call: Mapping[str, Any]) -> ToolCallDelta:
        function = call.get("function") or {}
        call_id, name = str(call.get("id") or ""), str(function.get("name") or "")
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        text = text if arguments is not None else ""
        index = self._index(call.get("index"), call_id)
        known = self._calls[index]
        known["id"] = known["id"] or call_id
        known["function"]["name"] = known["function"]["name"] or name
        known["function"]["arguments"] += text
        self.characters += len(text)
        return ToolCallDelta(index, call_id, name, text)

    def _index(self, given: object, call_id: str) -> int:
        """Return the place of a call among ours.

        Ollama has sent every call with index 0, and Gemini's compatible endpoint none at all:
        a new id begins a new call.
        """
        place = len(self._calls) - 1
        if isinstance(given, int):
            place = self._at.get(given, -1)
        if place < 0 or (call_id and self._calls[place]["id"] not in {"", call_id}):
            place = len(self._calls)
            empty = {"name": "", "arguments": ""}
            self._calls.append({"id": call_id, "type": "function", "function": empty})
        if isinstance(given, int):
            self._at[given] = place
        return place

    def _raw(self) -> dict[str, Any]:
        """Return the answer in the shape that it has when it is not streamed."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text)}
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": 0, "message": message, "finish_reason": self._reason or None}
        raw = {**self._head, "object": "chat.completion", "choices": [choice]}
        return {**raw, "usage": dict(self._usage)} if self._usage else raw


_REASONS = {
    "function_call": "tool_calls",
    "max_tokens": "length",
    "eos": "stop",
    "end_turn": "stop",
    "safety": "content_filter",
}
"""Ends as some servers name them; OpenAI's own are ours."""


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = usage.get("prompt_tokens_details") or {}
    written = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
        cached_tokens=read.get("cached_tokens"),
        reasoning_tokens=written.get("reasoning_tokens"),
        cache_write_tokens=read.get("cache_write_tokens") or None,
        image_tokens=read.get("image_tokens") or None,
        image_output_tokens=written.get("image_tokens") or None,
    )
