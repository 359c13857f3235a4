"""The chunks of Gemini's generate_content, to our events.

Shapes as in the google-genai SDK 3.6, read 2026-11-29. Each chunk is a piece of a whole response;
none marks the end, and older models give a reason to finish with every chunk. So an answer is at
its end when the body is and a reason was given.
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
from agentcell.errors import AuthenticationError, BadRequest, ModelError, ServiceError

OPAQUE = "gemini"
"""Marks the sealed parts of an answer as Gemini's: no other provider is sent them."""

SEALS = "thoughtSignature"

_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "FUNCTION_CALL": "tool_calls",  # of aimock and proxies; the service itself says STOP
    "CONTINUATION": "length",  # a limit of the service's own; more would be a request of its own
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        "content_filter",
    ),
    **dict.fromkeys(
        ("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "content_filter"
    ),
    **dict.fromkeys(("ESCALATION", "MODEL_ARMOR"), "content_filter"),
}

_FAILED: dict[str, tuple[type[ModelError], bool, str]] = {
    "MALFORMED_FUNCTION_CALL": (ServiceError, True, "run the cell again, or simplify the tools."),
    "MALFORMED_RESPONSE": (ServiceError, True, "run the cell again."),
    "OTHER": (ServiceError, True, "run the cell again, or word the question differently."),
    "UNEXPECTED_TOOL_CALL": (ServiceError, False, "give the tools, or say that there are none."),
    "TOO_MANY_TOOL_CALLS": (ServiceError, False, "ask for less at once."),
    "NO_IMAGE": (ServiceError, False, "ask for an image in plain words."),
    "IMAGE_OTHER": (ServiceError, False, "word the question differently."),
    "MISSING_THOUGHT_SIGNATURE": (BadRequest, False, "start the conversation over."),
    "PUP_LIMITED_DISABLED": (AuthenticationError, False, "look at the account's state at Google."),
}
"""Ends that are no answer: the error, whether the same request may succeed, and the way out."""


def decode(lines: Iterable[str | bytes], origin: Origin | None = None) -> Iterator[Event]:
    """Yield what the lines of a recorded stream say."""
    yield from decode_lines(lines, GeminiDecoder(origin or Origin(provider=OPAQUE, model="")))


class GeminiDecoder:
    """Takes the chunks of one answer."""

    def __init__(self, origin: Origin) -> None:
        self.finished = False
        self.characters = 0
        self._origin = origin
        self._reason = ""
        self._reason_words = ""
        self._usage: Mapping[str, Any] = {}
        self._head: dict[str, Any] = {}
        self._parts: list[tuple[dict[str, Any], list[str]]] = []
        self._calls: list[str] = []
        self._grounding: Mapping[str, Any] = {}
        self._quoted: Mapping[str, Any] = {}

    def feed(self, event: ServerEvent) -> Iterable[Event]:
        """Return what one chunk says."""
        name, data = event
        if data.startswith(b"[DONE]"):  # of a proxy
            return ()
        chunk = event_json(data)
        if name == "error" or chunk.get("error"):
            raise failures.from_event(self._origin, chunk.get("error") or chunk)
        return self._chunk(chunk)

    def document(self, document: Any) -> list[Event]:
        """Return what an answer says that came whole: one response, or the list of its chunks."""
        events: list[Event] = []
        for chunk in document if isinstance(document, list) else [document]:
            if chunk.get("error"):
                raise failures.from_event(self._origin, chunk["error"])
            if not chunk.keys() & {"candidates", "promptFeedback", "usageMetadata"}:
                raise LookupError("no part of a response")
            events += self._chunk(chunk)
        return events + self.finish()

    def finish(self) -> list[Event]:
        """Return the end, or raise if the service gave none."""
        if self.finished:
            return []
        if not self._reason:
            raise failures.truncated(self._origin, self.characters)
        if failed := _FAILED.get(self._reason):
            raise self._failure(*failed)
        self.finished = True
        reason = _REASONS.get(self._reason, self._reason.lower())
        if self._calls and reason == "stop":
            reason = "tool_calls"
        events: list[Event] = [*self._citations()]
        if self._usage:
            events.append(counted(self._usage))
        request_id = self._origin.request_id or self._head.get("responseId")
        finished = Finished(
            reason=reason,
            model=str(self._head.get("modelVersion") or self._origin.model),
            request_id=request_id,
            opaque=tuple({"provider": OPAQUE, "item": item} for item in self._sealed()),
            raw=self._raw(),
        )
        return [*events, finished]

    def _chunk(self, chunk: Mapping[str, Any]) -> list[Event]:
        if usage := chunk.get("usageMetadata"):
            self._usage = usage
        if not self._head:
            known = ("modelVersion", "responseId", "createTime")
            self._head = {key: chunk[key] for key in known if key in chunk}
        if feedback := chunk.get("promptFeedback"):
            self._head["promptFeedback"] = feedback
            if feedback.get("blockReason"):
                self._reason = self._reason or "SAFETY"
        candidates = chunk.get("candidates")
        if not candidates:
            return []
        candidate = candidates[0]
        if candidate.get("index"):  # another answer to the same question, asked for by extra_body
            return []
        if reason := candidate.get("finishReason"):
            self._reason = str(reason)
            self._reason_words = str(candidate.get("finishMessage") or "")
        self._grounding = candidate.get("groundingMetadata") or self._grounding
        self._quoted = candidate.get("citationMetadata") or self._quoted
        content = candidate.get("content")
        events: list[Event] = []
        for part in (content.get("parts") or ()) if content else ():
            events += self._part(part)
        return events

    def _part(self, part: Mapping[str, Any]) -> list[Event]:
        text = part.get("text")
        if text.__class__ is str:
            if len(part) == 1 and self._parts and self._parts[-1][0] == _PLAIN:  # nearly all
                self._parts[-1][1].append(text)
            else:
                self._begin_text(part, text)
            if not text:
                return []
            if part.get("thought"):
                return [ThinkingDelta(text)]
            self.characters += len(text)
            return [TextDelta(text)]
        self._parts.append((dict(part), []))
        call = part.get("functionCall")
        return [] if call is None else self._call(call)

    def _begin_text(self, part: Mapping[str, Any], text: str) -> None:
        """Add `text` to the last part if that is of its kind; a part with a seal stands alone."""
        kind = {key: value for key, value in part.items() if key != "text"}
        if self._parts and self._parts[-1][0] == {**kind, "text": ""} and SEALS not in kind:
            self._parts[-1][1].append(text)
        elif text or kind:
            self._parts.append(({**kind, "text": ""}, [text]))

    def _call(self, call: Mapping[str, Any]) -> list[Event]:
        number = len(self._calls)
        call_id = str(call.get("id") or "")
        self._calls.append(call_id or f"call_{number}")
        arguments = call.get("args")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        self.characters += len(text)
        return [ToolCallDelta(number, call_id, str(call["name"]), text)]

    def _sealed(self) -> Iterator[dict[str, Any]]:
        """Yield where each part stood and its seal, if there is any; of a text its length."""
        if not any(part.keys() - _HELD for part, _ in self._parts):
            return
        calls = iter(self._calls)
        for part, pieces in self._parts:
            seal = {SEALS: part[SEALS]} if SEALS in part else {}
            if "functionCall" in part:
                call = part["functionCall"]
                own_id = {"id": call["id"]} if call.get("id") else {}
                yield {"type": "call", "call_id": next(calls), **own_id, **seal}
            elif "text" not in part:
                if "inlineData" not in part:  # a picture would make each later request as large
                    yield {"type": "part", "part": part}
            elif not part.get("thought"):
                yield {"type": "text", "length": len("".join(pieces)), **seal}
            elif seal:
                yield {"type": "part", "part": {**part, "text": "".join(pieces)}}

    def _citations(self) -> Iterator[Citation]:
        chunks = [_source(chunk) for chunk in self._grounding.get("groundingChunks") or ()]
        supports = self._grounding.get("groundingSupports") or ()
        for support in supports:
            quote = str((support.get("segment") or {}).get("text") or "")
            for number in support.get("groundingChunkIndices") or ():
                if 0 <= number < len(chunks):
                    yield Citation(quote=quote, **chunks[number])
        if not supports:
            yield from (Citation(quote="", **chunk) for chunk in chunks)
        sources = self._quoted.get("citationSources") or self._quoted.get("citations") or ()
        said = self._answer().encode() if sources else b""
        for source in sources:
            start, end = source.get("startIndex") or 0, source.get("endIndex") or 0  # in bytes
            quote = said[start:end].decode("utf-8", "ignore")
            url, title = str(source.get("uri") or ""), str(source.get("title") or "")
            yield Citation(quote=quote, url=url, title=title)

    def _answer(self) -> str:
        texts = (pieces for part, pieces in self._parts if not part.get("thought"))
        return "".join(piece for pieces in texts for piece in pieces)

    def _raw(self) -> dict[str, Any]:
        """Return the answer in the shape that it has when it is not streamed."""
        parts = [
            {**part, "text": "".join(pieces)} if "text" in part else part
            for part, pieces in self._parts
        ]
        candidate: dict[str, Any] = {
            "content": {"role": "model", "parts": parts},
            "finishReason": self._reason,
        }
        if self._grounding:
            candidate["groundingMetadata"] = self._grounding
        if self._quoted:
            candidate["citationMetadata"] = self._quoted
        return {"candidates": [candidate], "usageMetadata": dict(self._usage), **self._head}

    def _failure(self, kind: type[ModelError], retryable: bool, fix: str) -> ModelError:
        words = f": {failures.one_line(self._reason_words)}" if self._reason_words else ""
        problem = f"{self._origin.name} ended its answer with {self._reason}{words}."
        return self._origin.error(kind, problem, fix, retryable=retryable)


_PLAIN = {"text": ""}
_HELD = {"text", "thought", "functionCall", "inlineData"}
"""What a message holds of a part without a seal, or need not hold."""


def _source(chunk: Mapping[str, Any]) -> dict[str, Any]:
    for kind in ("web", "retrievedContext", "maps", "image"):
        if found := chunk.get(kind):
            page = found.get("pageNumber")
            return {
                "url": str(found.get("uri") or found.get("sourceUri") or ""),
                "title": str(found.get("title") or ""),
                "page": page if isinstance(page, int) else None,
            }
    return {"title": ""}


def content_reason(reason: str) -> str:
    """Return what Gemini's word for the end of an answer means; empty for one that is no answer."""
    return _REASONS.get(reason, "")


def counted(usage: Mapping[str, Any]) -> Usage:
    """Return the tokens; Gemini counts thoughts, and what its own tools read, apart."""
    return Usage(
        input_tokens=_sum(usage.get("promptTokenCount"), usage.get("toolUsePromptTokenCount")),
        output_tokens=_sum(usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")),
        cached_tokens=usage.get("cachedContentTokenCount"),
        reasoning_tokens=usage.get("thoughtsTokenCount"),
        image_tokens=_images(usage.get("promptTokensDetails")),
        image_output_tokens=_images(usage.get("candidatesTokensDetails")),
    )


def _images(details: list[Mapping[str, Any]] | None) -> int | None:
    """Return the tokens of images among those counted by modality; None for none."""
    counts = [each.get("tokenCount") for each in details or () if each.get("modality") == "IMAGE"]
    return _sum(*counts) or None


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
