"""Texts, pictures, calls and whole messages → the dicts in which OpenAI's clients write them.

The other way round, `agentcell.adapters.content` reads these dicts for every adapter. So a prompt
file, a runner and an adapter agree on one shape; what each provider wants is made of it last.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from agentcell.assets.asset import MediaAsset
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, ToolCall
from agentcell.modality import FieldModality
from agentcell.strict_json import strict_json


def text_part(text: str) -> dict[str, Any]:
    """Return one piece of a message's text as a part."""
    return {"type": "text", "text": text}


def image_part(url: str, detail: str = "") -> dict[str, Any]:
    """Return an image as a part.

    Parameters
    ----------
    url
        An address, or a data URL.
    detail
        How closely to look: ``auto``, ``low``, ``high`` or ``original``; empty: not said.
    """
    return {
        "type": "image_url",
        "image_url": {"url": url, **({"detail": detail} if detail else {})},
    }


def data_url(data: bytes, mime_type: str) -> str:
    """Return a file's bytes as a data URL."""
    return f"data:{mime_type};base64,{base64.b64encode(data).decode('ascii')}"


def media_part(asset: MediaAsset) -> dict[str, Any]:
    """Return an attachment as a part; its file is read.

    Raises
    ------
    AttachmentError
        If its file cannot be read.
    """
    if asset.file_id is not None:
        kind = "input_image" if asset.modality is FieldModality.IMAGE else "input_file"
        return {"type": kind, "file_id": asset.file_id}
    url = asset.url or data_url(asset.load_bytes(), asset.mime_type)
    if asset.modality is FieldModality.IMAGE:
        return image_part(url)
    place = "file_url" if asset.url else "file_data"
    return {"type": "file", "file": {"filename": asset.default_filename, place: url}}


def call_dict(call: ToolCall) -> dict[str, Any]:
    """Return a tool call; its arguments are JSON text, or what the model sent for it."""
    arguments = call.raw_arguments or json.dumps(call.arguments, ensure_ascii=False)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def read_call(call: object) -> ToolCall | None:
    """Return a tool call as OpenAI's clients write it, or flat; None if it is neither.

    Parameters
    ----------
    call
        ``{"id", "function": {"name", "arguments"}}`` or ``{"id", "name", "arguments"}``;
        arguments may be JSON text, of which what is no object is kept as it is.
    """
    if isinstance(call, ToolCall):
        return call
    if not isinstance(call, Mapping):
        return None
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    name, arguments = named.get("name"), named.get("arguments")
    call_id = call.get("id") or call.get("call_id")
    if not (isinstance(name, str) and name and isinstance(call_id, str) and call_id):
        return None
    if isinstance(arguments, Mapping) or arguments is None:
        return ToolCall(call_id, name, dict(arguments or {}))
    return parsed_call(call_id, name, arguments) if isinstance(arguments, str) else None


def parsed_call(call_id: str, name: str, arguments: str) -> ToolCall:
    """Return the call whose arguments are this JSON text; what is no JSON object is kept as it is.

    Parameters
    ----------
    call_id, name
        See `ToolCall`.
    arguments
        As they came. Empty: none. What is JSON is told in `strict_json`.
    """
    try:
        value = strict_json(arguments if arguments.strip() else "{}")
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return ToolCall(call_id, name, value)
    return ToolCall(call_id, name, {}, raw_arguments=arguments)


def openai_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return messages as plain dicts, lists and texts that JSON can hold.

    Parameters
    ----------
    messages
        In any of the shapes that adapters take; they are not changed. What they hold beside
        OpenAI's own keys (``opaque``, ``is_error``) stays.

    Raises
    ------
    AttachmentError
        If an attachment's file cannot be read.
    """
    return [_message(message) for message in messages]


def _message(message: Message) -> dict[str, Any]:
    plain = dict(message)
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        plain["content"] = [_part(block) for block in content]
    elif isinstance(content, (TextMessageBlock, MediaMessageBlock, MediaAsset)):
        plain["content"] = [_part(content)]
    if calls := message.get("tool_calls"):
        plain["tool_calls"] = [
            call_dict(call) if isinstance(call, ToolCall) else call for call in calls
        ]
    return plain


def _part(block: Any) -> Any:
    if isinstance(block, str):
        return text_part(block)
    if isinstance(block, TextMessageBlock):
        return text_part(block.text)
    if isinstance(block, MediaMessageBlock):
        return media_part(block.asset)
    if isinstance(block, MediaAsset):
        return media_part(block)
    return dict(block) if isinstance(block, Mapping) else block
