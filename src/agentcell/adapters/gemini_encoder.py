"""A checked request, to the body of a request by Gemini's generate_content.

Shapes as in the google-genai SDK 3.6 and https://ai.google.dev/gemini-api/docs, read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from agentcell.adapters.data_url import media_base64
from agentcell.adapters.gemini_decoder import OPAQUE, SEALS
from agentcell.adapters.gemini_settings import generation_config, is_older, resolution
from agentcell.adapters.json_object import json_object
from agentcell.adapters.parts import Media, Part, Text, Turn
from agentcell.adapters.request import Request, Tool
from agentcell.adapters.segments import kept_items, split_text
from agentcell.adapters.settings import Asked, ToolChoice
from agentcell.errors import BadRequest
from agentcell.messages import ToolCall
from agentcell.modality import FieldModality

UNSEALED = "skip_thought_signature_validator"
"""Stands for the seal of a call that another model made. Gemini 3 refuses a call without one;
public clients send this word, after Google's guide to thought signatures (seen 2026-11-30 in
github.com/strands-agents/sdk-python/pull/1298, among others)."""


def encode(request: Request, *, files_at: str) -> dict[str, Any]:
    """Return `request` as the body of a generate_content request.

    Parameters
    ----------
    files_at
        The address under which the service keeps files; they are named by address.
    """
    settings = request.settings
    asked = Asked(OPAQUE, request.model)
    if settings.schema is not None and request.tools and is_older(request.model):
        asked.refuse(
            f"{asked.name} cannot call tools and follow a schema in one answer.",
            "leave one of them out, or use a model of Gemini 3 or later.",
        )
    contents = list(_Contents(request, files_at).contents())
    if not contents:
        raise BadRequest(
            f"The messages to {asked.name} say nothing; a user's text or attachment was expected.",
            fix="write a question.",
            provider=OPAQUE,
            model=request.model,
        )
    body: dict[str, Any] = {"contents": contents}
    systems = [turn for turn in request.turns if turn.role in {"system", "developer"}]
    if system := "\n\n".join(p.text for t in systems for p in t.parts if isinstance(p, Text)):
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        body["tools"] = _tools(request.tools)
    if mode := _calling(settings.tool_choice, request.tools, asked):
        body["toolConfig"] = {"functionCallingConfig": mode}
    details = [media.detail for turn in request.turns for media in turn.media]
    if config := generation_config(settings, asked, details):
        body["generationConfig"] = config
    return body


class _Contents:
    """Makes the conversation of its turns. A result names its tool, which only the call knows."""

    def __init__(self, request: Request, files_at: str) -> None:
        self._request = request
        self._files_at = files_at
        self._calls: dict[str, tuple[str, str]] = {}

    def contents(self) -> Iterator[dict[str, Any]]:
        """Yield the conversation; what one side says in a row is one content.

        The results of one answer's calls are one of their own, in the order of the calls: the
        service counts them against the calls before them. A message that says nothing is left out.
        """
        last: tuple[str, list[tuple[int, dict[str, Any]]]] = ("", [])
        for turn in self._request.turns:
            rank = 0
            match turn.role:
                case "assistant":
                    side, parts = "model", list(self._answer(turn))
                case "user":
                    side, parts = "user", [self._part(part) for part in turn.parts]
                case "tool":
                    side, parts = "results", [self._result(turn)]
                    rank = list(self._calls).index(turn.call_id)
                case _:
                    continue
            if not parts:
                continue
            if side != last[0]:
                yield from _content(*last)
                last = (side, [])
            last[1].extend((rank, part) for part in parts)
        yield from _content(*last)

    def _answer(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """Yield an earlier answer's parts in the order in which they came, with their seals.

        The text and the calls are those of the message, which may have been changed since; a
        text that was changed loses its seal.
        """
        kept = kept_items(turn.opaque, OPAQUE)
        calls = {call.id: call for call in turn.calls}
        items = [item for item in kept if item["type"] == "text"]
        lengths = [item["length"] for item in items]
        texts = split_text(turn.text, lengths, "")
        is_same = [len(text) for text in texts] == lengths
        seal_due = not is_older(self._request.model)
        for item in kept:
            seal = {SEALS: item[SEALS]} if SEALS in item else {}
            match item["type"]:
                case "text":
                    text = texts.pop(0) if texts else ""
                    if text or (seal and is_same):
                        yield {"text": text, **(seal if is_same else {})}
                case "call":
                    if call := calls.pop(item["call_id"], None):
                        own = item.get(SEALS) or (UNSEALED if seal_due else None)
                        yield self._call(call, item.get("id", ""), own)
                        seal_due = False
                case _:
                    yield dict(item["part"])
        yield from ({"text": text} for text in texts)
        for call in calls.values():
            yield self._call(call, call.id, UNSEALED if seal_due else None)
            seal_due = False

    def _call(self, call: ToolCall, call_id: str, seal: str | None) -> dict[str, Any]:
        arguments = call.arguments
        if call.raw_arguments and not arguments:
            arguments = {"raw_arguments": call.raw_arguments}
        self._calls.pop(call.id, None)  # the order is that of the last calls
        self._calls[call.id] = (call.name, call_id)
        own_id = {"id": call_id} if call_id else {}
        part: dict[str, Any] = {"functionCall": {**own_id, "name": call.name, "args": arguments}}
        return {**part, SEALS: seal} if seal else part

    def _result(self, turn: Turn) -> dict[str, Any]:
        if turn.call_id not in self._calls:  # the service refuses it, whatever its name
            raise BadRequest(
                f"The result for the call {turn.call_id!r} has no call before it, and"
                f" {OPAQUE}/{self._request.model} answers calls only.",
                fix="keep the assistant's message with the call, or leave the result out.",
                provider=OPAQUE,
                model=self._request.model,
            )
        name, call_id = self._calls[turn.call_id]
        own_id = {"id": call_id} if call_id else {}
        response: dict[str, Any] = {**own_id, "name": name, "response": _told(turn)}
        if turn.media:
            response["parts"] = [self._part(media) for media in turn.media]
        return {"functionResponse": response}

    def _part(self, part: Part) -> dict[str, Any]:
        match part:
            case Text():
                return _text(part)
            case Media():
                detail = ""
                if part.modality is FieldModality.IMAGE:
                    detail = part.detail or self._request.settings.detail
                return {**self._media(part), **resolution(detail, self._request.model)}
            case _:
                assert_never(part)

    def _media(self, part: Media) -> dict[str, Any]:
        if part.source in {"url", "file_id"}:
            uri = part.url if part.source == "url" else _file_uri(part.file_id, self._files_at)
            kind = {"mimeType": part.mime_type} if part.mime_type else {}
            return {"fileData": {**kind, "fileUri": uri}}
        mime_type, data = media_base64(part)
        return {"inlineData": {"mimeType": mime_type, "data": data}}


def _content(side: str, ranked: list[tuple[int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    if ranked:
        parts = [part for _, part in sorted(ranked, key=lambda one: one[0])]
        yield {"role": "model" if side == "model" else "user", "parts": parts}


def _told(turn: Turn) -> dict[str, Any]:
    """Return a tool's result as the object that the service wants.

    A result that is a JSON object is that object, any other text its ``result``; what went wrong
    is an ``error``.
    """
    if turn.is_error or turn.text.startswith("Error: "):
        return {"error": turn.text.removeprefix("Error: ")}
    found = json_object(turn.text)
    return {"result": turn.text} if found is None else found


def _file_uri(file_id: str, files_at: str) -> str:
    """Return the address of a file, which people also know by its name, ``files/abc``."""
    if "://" in file_id:
        return file_id
    return f"{files_at}/{file_id if file_id.startswith('files/') else f'files/{file_id}'}"


def _text(part: Text) -> dict[str, Any]:
    return {"text": part.text}


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return the functions as one tool, and each tool of the service's own as one of its own."""
    functions = [_function(tool) for tool in tools if tool.builtin is None]
    own = [_builtin(tool.builtin) for tool in tools if tool.builtin is not None]
    return [{"functionDeclarations": functions}, *own] if functions else own


def _function(tool: Tool) -> dict[str, Any]:
    form: dict[str, Any] = {"name": tool.name}
    if tool.description:
        form["description"] = tool.description
    if tool.parameters.get("properties"):
        form["parametersJsonSchema"] = dict(tool.parameters)
    return form


def _builtin(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{"type": "google_search", …}`` as ``{"googleSearch": {…}}``."""
    first, *more = str(tool["type"]).split("_")
    fields = {name: value for name, value in tool.items() if name != "type"}
    return {first + "".join(word.capitalize() for word in more): fields}


def _calling(
    choice: ToolChoice | None, tools: Sequence[Tool], asked: Asked
) -> dict[str, Any] | None:
    if choice is None or choice.mode == "auto":
        if any(tool.strict for tool in tools):
            return {"mode": "VALIDATED"}  # what is called follows its schema
        return None if choice is None else {"mode": "AUTO"}
    if choice.mode != "tool":
        return {"mode": {"required": "ANY"}.get(choice.mode, "NONE")}
    if all(tool.name != choice.name for tool in tools):
        asked.refuse(
            f"{asked.name} cannot be made to use {choice.name!r}, a tool of its own.",
            "leave tool_choice out, and say in the prompt to use it.",
        )
    return {"mode": "ANY", "allowedFunctionNames": [choice.name]}
