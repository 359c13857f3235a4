"""A checked request, to the body of a request by Anthropic's Messages.

Shapes as in the anthropic SDK 2.14, which speaks the API of 2026-10-21, and its guides, read
2026-11-29. What that version refuses, on every model: temperature, top_p and top_k; a document
in an assistant's message; citations in a user's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from agentcell.adapters.anthropic_decoder import OPAQUE, SEPARATOR
from agentcell.adapters.anthropic_schema import answer_schema
from agentcell.adapters.anthropic_settings import thinking_fields
from agentcell.adapters.data_url import media_base64
from agentcell.adapters.parts import Media, Part, Text, Turn
from agentcell.adapters.request import Request, Tool
from agentcell.adapters.segments import kept_items, split_text
from agentcell.adapters.settings import Asked, ToolChoice
from agentcell.errors import BadRequest
from agentcell.messages import ToolCall
from agentcell.modality import FieldModality

DEFAULT_MAX_TOKENS = 16_384
"""The service wants a limit with each request; all its models of today may say as much."""


def encode(request: Request, *, citations: bool = False) -> dict[str, Any]:
    """Return `request` as the body of a Messages request, streamed.

    Parameters
    ----------
    citations
        Whether attached PDFs are to be cited.
    """
    settings = request.settings
    asked = Asked(OPAQUE, request.model)
    if citations and settings.schema is not None:
        asked.refuse(
            f"{asked.name} cannot cite and follow a schema in one answer.",
            "leave the schema out, or make the model without citations.",
        )
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": settings.max_tokens or DEFAULT_MAX_TOKENS,
        "messages": _messages(request.turns, citations=citations),
        "stream": True,
    }
    if not body["messages"]:
        raise BadRequest(
            f"The messages to {asked.name} say nothing; a user's text or attachment was expected.",
            fix="write a question.",
            provider=OPAQUE,
            model=request.model,
        )
    if system := _system(request.turns):
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    elif used := dict.fromkeys(call.name for turn in request.turns for call in turn.calls):
        # Earlier calls are refused where no tools are told; these may not be called again.
        body["tools"] = [_tool(Tool(name=name)) for name in used]
        body["tool_choice"] = {"type": "none"}
    if settings.tool_choice is not None:
        body["tool_choice"] = _tool_choice(settings.tool_choice, request.tools)
    body |= thinking_fields(settings.reasoning, asked)
    if settings.schema is not None:
        form = {"type": "json_schema", "schema": answer_schema(settings.schema, asked)}
        body["output_config"] = {**body.get("output_config", {}), "format": form}
    if settings.stop:
        body["stop_sequences"] = list(settings.stop)
    # Only other servers get these two; see `instead_of`.
    sampling = {"temperature": settings.temperature, "top_p": settings.top_p}
    return {**body, **{name: value for name, value in sampling.items() if value is not None}}


def _system(turns: Sequence[Turn]) -> str | list[dict[str, Any]]:
    parts = [part for turn in turns if turn.role in {"system", "developer"} for part in turn.parts]
    texts = [part for part in parts if isinstance(part, Text) and part.text.strip()]
    if len(texts) == 1:
        return texts[0].text
    return [_text(part.text) for part in texts]


def _messages(turns: Sequence[Turn], *, citations: bool) -> list[dict[str, Any]]:
    """Return the conversation; what the user and the tools say in a row is one message.

    Results must stand together in one message, before all else in it. A message that says
    nothing is left out, since the service refuses it.
    """
    messages: list[dict[str, Any]] = []
    ids = _CallIds()
    for turn in turns:
        if turn.role in {"system", "developer"}:
            continue
        role = "assistant" if turn.role == "assistant" else "user"
        if role == "assistant":
            content = _assistant(turn, ids)
        elif turn.role == "tool":
            content = [_tool_result(turn, ids, citations=citations)]
        else:
            content = list(_content(turn.parts, citations=citations))
        if not content:
            continue
        last = messages[-1] if messages else None
        if last is None or last["role"] != role:
            messages.append({"role": role, "content": content})
        elif role == "assistant" or turn.role == "user":
            last["content"] += content
        else:
            results = sum(block["type"] == "tool_result" for block in last["content"])
            last["content"][results:results] = content
    return messages


class _CallIds:
    """Calls' ids as the service takes them: letters, digits, ``_`` and ``-``, none of them twice.

    Ids of other providers hold other characters, and servers that give none have their calls
    numbered anew in each answer.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._now: dict[str, str] = {}

    def call(self, call_id: str) -> str:
        """Return the id for a new call."""
        plain = unique = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id) or "call"
        number = 1
        while unique in self._used:
            number += 1
            unique = f"{plain}_{number}"
        self._used.add(unique)
        self._now[call_id] = unique
        return unique

    def result(self, call_id: str) -> str:
        """Return the id of the last call of that id."""
        return self._now.get(call_id) or re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)


def _assistant(turn: Turn, ids: _CallIds) -> list[dict[str, Any]]:
    """Return an earlier answer's blocks; without thinking at its end, which the service refuses.

    An answer ends so if it was cut while the model thought.
    """
    blocks = list(_answer_blocks(turn, ids))
    while blocks and blocks[-1]["type"] in {"thinking", "redacted_thinking"}:
        blocks.pop()
    return blocks


def _answer_blocks(turn: Turn, ids: _CallIds) -> Iterator[dict[str, Any]]:
    """Yield an earlier answer's blocks in the order in which they came.

    Thinking must stand before what it led to, unchanged. The text and the calls are those of the
    message, which may have been changed since; the kept items only say where they stood.
    """
    kept = kept_items(turn.opaque, OPAQUE)
    calls = {call.id: call for call in turn.calls}
    lengths = [item["length"] for item in kept if item["type"] == "text"]
    texts = split_text(turn.text, lengths, SEPARATOR)
    for item in kept:
        match item["type"]:
            case "text":
                if texts:
                    yield from _said(texts.pop(0))
            case "tool_use":
                if call := calls.pop(item["call_id"], None):
                    yield _call(call, ids)
            case _:
                yield dict(item)
    for text in texts:
        yield from _said(text)
    for call in calls.values():
        yield _call(call, ids)


def _said(text: str) -> Iterator[dict[str, Any]]:
    if text.strip():  # "text content blocks must contain non-whitespace text"
        yield _text(text)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(call: ToolCall, ids: _CallIds) -> dict[str, Any]:
    arguments = call.arguments
    if call.raw_arguments and not arguments:
        arguments = {"raw_arguments": call.raw_arguments}
    return {"type": "tool_use", "id": ids.call(call.id), "name": call.name, "input": arguments}


def _tool_result(turn: Turn, ids: _CallIds, *, citations: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": ids.result(turn.call_id)}
    if content := list(_content(turn.parts, citations=citations)):
        only = content[0]
        is_text = len(content) == 1 and only["type"] == "text"
        result["content"] = only["text"] if is_text else content
    if turn.is_error:
        result["is_error"] = True
    return result


def _content(parts: Sequence[Part], *, citations: bool) -> Iterator[dict[str, Any]]:
    for part in parts:
        match part:
            case Text():
                yield from _said(part.text)
            case Media():
                yield _media(part, citations=citations)
            case _:
                assert_never(part)


def _media(part: Media, *, citations: bool) -> dict[str, Any]:
    block = {"type": "image", "source": _source(part)}
    if part.modality is FieldModality.IMAGE:
        return block
    block["type"] = "document"
    if citations:  # the title comes back with each citation, and so tells the attachment
        return {**block, "title": part.tag, "citations": {"enabled": True}}
    return {**block, "title": part.filename} if part.filename else block


def _source(part: Media) -> dict[str, Any]:
    match part.source:
        case "file_id":
            return {"type": "file", "file_id": part.file_id}
        case "url":
            return {"type": "url", "url": part.url}
    kind, data = media_base64(part)
    return {"type": "base64", "media_type": kind, "data": data}


def _tool(tool: Tool) -> dict[str, Any]:
    if tool.builtin is not None:
        return dict(tool.builtin)
    schema = {"type": "object", **tool.parameters}  # without its type it is refused
    form: dict[str, Any] = {"name": tool.name, "input_schema": schema}
    if tool.description:
        form["description"] = tool.description
    if tool.strict:
        form["strict"] = True
    return form


def _tool_choice(choice: ToolChoice, tools: Sequence[Tool]) -> dict[str, Any]:
    if choice.mode != "tool":
        return {"type": {"required": "any"}.get(choice.mode, choice.mode)}
    own = [tool.builtin for tool in tools if tool.builtin is not None]
    names = {str(tool["type"]): str(tool.get("name") or tool["type"]) for tool in own}
    return {"type": "tool", "name": names.get(choice.name, choice.name)}
