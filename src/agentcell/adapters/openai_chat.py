"""OpenAI's Chat Completions, and every server that speaks it: a request to its body, and back.

Shapes as in the openai SDK 3.57 and its guides, read 2026-11-29.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from agentcell.adapters import failures
from agentcell.adapters.answer import decode_lines
from agentcell.adapters.content import Media, Part, Text, Turn, arguments_text
from agentcell.adapters.data_url import media_url
from agentcell.adapters.events import (
    Event,
    Finished,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
)
from agentcell.adapters.failures import Origin
from agentcell.adapters.model import ModelCapabilities
from agentcell.adapters.openai_client import IMAGE_TYPES, OpenAIProtocolModel, is_openai
from agentcell.adapters.openai_models import sampling_instead
from agentcell.adapters.request import Request, Tool, read_request
from agentcell.adapters.settings import ToolChoice
from agentcell.adapters.sse import ServerEvent
from agentcell.errors import Unsupported
from agentcell.messages import Message
from agentcell.modality import FieldModality


class LegacyOpenAIModel(OpenAIProtocolModel):
    """One model of OpenAI's by Chat Completions, or of any server that speaks it.

    Parameters
    ----------
    model_name, api_key, base_url, and all others
        See `RemoteModel`. For a server on this machine or network no key is needed, and the one
        in ``OPENAI_API_KEY`` is not sent to a `base_url` given here.

    Notes
    -----
    A PDF, an attachment in a system message and one in a tool's result are refused: the protocol
    has no place for them. ``system_media="user"`` and ``tool_result_media="user"`` move them
    into a user message instead.
    """

    provider = "openai-chat"
    path = "/chat/completions"

    def default_capabilities(self) -> ModelCapabilities:
        """Images from anywhere but a file id; no PDF."""
        return ModelCapabilities(
            image_input=True,
            image_sources=frozenset({"path", "bytes", "base64", "url"}),
            pdf_sources=frozenset({"path", "bytes", "base64", "file_id"}),
            image_types=IMAGE_TYPES if is_openai(self.base_url) else frozenset(),
        )

    def encode(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the body of the request. Nothing is sent."""
        merged = {**self.invoke_settings, **(settings or {})}
        instead = sampling_instead(self.model_name, merged.get("reasoning"))
        request = read_request(self, messages, tools, settings, instead)
        return encode(request, for_openai=is_openai(self.base_url), name=self.name)

    def decoder(self, origin: Origin) -> ChatDecoder:
        """Return a decoder for one answer."""
        return ChatDecoder(origin)


def encode(request: Request, *, for_openai: bool = True, name: str = "") -> dict[str, Any]:
    """Return `request` as the body of a Chat Completions request, streamed.

    Parameters
    ----------
    for_openai
        Whether it goes to OpenAI itself, which has given some fields new names that other
        servers do not know.
    name
        The model's, for the messages of errors.
    """
    settings = request.settings
    detail = settings.detail
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(turn, detail, for_openai=for_openai) for turn in request.turns],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool, name or request.model) for tool in request.tools]
    if settings.tool_choice is not None:
        body["tool_choice"] = _tool_choice(settings.tool_choice)
    # OpenAI's own models of today refuse max_tokens; llama.cpp, Ollama, vLLM and LM Studio all
    # know max_tokens, and older ones of them nothing else.
    longest = "max_completion_tokens" if for_openai else "max_tokens"
    if settings.schema is not None:
        schema = settings.schema
        form = {"name": schema.name, "schema": schema.document, "strict": schema.strict}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if settings.reasoning is not None:
        body["reasoning_effort"] = _effort(settings.reasoning, name or request.model)
    values = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        longest: settings.max_tokens,
        "stop": list(settings.stop) or None,
        "seed": settings.seed,
    }
    body.update((key, value) for key, value in values.items() if value is not None)
    return body


def decode(lines: Iterable[str | bytes], origin: Origin | None = None) -> Iterator[Event]:
    """Yield what the lines of a recorded stream say."""
    origin = origin or Origin(provider="openai-chat", model="")
    yield from decode_lines(lines, ChatDecoder(origin))


def _message(turn: Turn, detail: str, *, for_openai: bool) -> dict[str, Any]:
    match turn.role:
        case "system" | "developer":
            role = turn.role if for_openai else "system"  # templates of other servers know no more
            return {"role": role, "content": _content(turn.parts, detail)}
        case "assistant":
            return _assistant(turn)
        case "tool":
            content = _content(turn.parts, detail)
            return {"role": "tool", "tool_call_id": turn.call_id, "content": content}
    return {"role": "user", "content": _content(turn.parts, detail)}


def _assistant(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    if turn.text or not turn.calls:
        message["content"] = turn.text
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_text(call)},
            }
            for call in turn.calls
        ]
    return message


def _content(parts: Sequence[Part], detail: str) -> str | list[dict[str, Any]]:
    """Return one text as a text, which every server reads; anything else as a list."""
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [_part(part, detail) for part in parts]


def _part(part: Part, detail: str) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Media():
            if part.modality is FieldModality.IMAGE:
                image = {"url": media_url(part)}
                if part.detail or detail:
                    image["detail"] = part.detail or detail
                return {"type": "image_url", "image_url": image}
            if part.file_id:
                return {"type": "file", "file": {"file_id": part.file_id}}
            file = {"filename": part.filename, "file_data": media_url(part)}
            return {"type": "file", "file": file}
        case _:
            assert_never(part)


def _tool(tool: Tool, name: str) -> dict[str, Any]:
    if tool.builtin is not None:
        raise Unsupported(
            f"{name} cannot take the tool of type {tool.builtin['type']!r} by Chat Completions.",
            fix="use a function, or the same model as openai/….",
            provider="openai-chat",
        )
    function: dict[str, Any] = {"name": tool.name, "parameters": dict(tool.parameters)}
    if tool.description:
        function["description"] = tool.description
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _tool_choice(choice: ToolChoice) -> str | dict[str, Any]:
    if choice.mode == "tool":
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode


def _effort(reasoning: Mapping[str, Any], name: str) -> str:
    if set(reasoning) != {"effort"}:
        raise Unsupported(
            f"{name} takes no more than an effort under 'reasoning' by Chat Completions;"
            f" {', '.join(sorted(map(str, reasoning)))} was given.",
            fix="give reasoning='low' or the like, or use the same model as openai/….",
            provider="openai-chat",
        )
    return str(reasoning["effort"])


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
        self._text: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._at: dict[int, int] = {}

    def feed(self, event: ServerEvent) -> list[Event]:
        """Return what one chunk says."""
        name, data = event
        if data.startswith(b"[DONE]"):
            return self._finish()
        chunk = json.loads(data)
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
    )
