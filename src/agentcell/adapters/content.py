"""Messages, in any of the shapes that people write, to the few kinds of part that adapters send.

Each adapter's `encode` matches on `Text` and `Media` and on nothing else. What is of no known
kind is refused here, before any request: no part is ever dropped or guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentcell.adapters.parts import ROLES, Media, Part, Text, Turn
from agentcell.adapters.placement import place_media
from agentcell.assets.asset import MediaAsset
from agentcell.errors import BadRequest, Unsupported
from agentcell.messages import MediaMessageBlock, TextMessageBlock, ToolCall
from agentcell.modality import FieldModality
from agentcell.openai_shape import read_call
from agentcell.safe_text import shown_value

if TYPE_CHECKING:
    from agentcell.adapters.model import Model

__all__ = ["Media", "Part", "Text", "Turn", "arguments_text", "read_messages"]


def read_messages(messages: Iterable[Mapping[str, Any]], model: Model) -> list[Turn]:
    """Return `messages` as turns whose parts `model` can take.

    Raises
    ------
    BadRequest
        If a message is not one: no dict, an unknown role, a tool result without its call.
    Unsupported
        If a part is of an unknown kind, or of one that `model` does not take there.
    """
    turns = [_turn(message, number, model) for number, message in enumerate(messages, 1)]
    if not turns:
        raise _bad(model, "There are no messages to send; at least one was expected.")
    return place_media(turns, model)


def arguments_text(call: ToolCall) -> str:
    """Return a call's arguments as JSON text.

    What the model sent was perhaps no JSON. It goes back inside an object, since servers that
    put the arguments into a chat template (vLLM, llama.cpp) fail on anything else.
    """
    if call.raw_arguments and not call.arguments:
        return json.dumps({"raw_arguments": call.raw_arguments}, ensure_ascii=False)
    return json.dumps(call.arguments, ensure_ascii=False)


def _turn(message: object, number: int, model: Model) -> Turn:
    if not isinstance(message, Mapping):
        raise _bad(model, f"Message {number} is {shown_value(message)}; a dict was expected.")
    role = message.get("role")
    if role not in ROLES:
        raise _bad(
            model, f"Message {number} has the role {shown_value(role)}; {_or(ROLES)} was expected."
        )
    call_id = message.get("tool_call_id") or ""
    if role == "tool" and not (isinstance(call_id, str) and call_id):
        raise _bad(model, f"Message {number} is a tool's result without its 'tool_call_id'.")
    calls = message.get("tool_calls") or ()
    name = message.get("name")
    return Turn(
        role=role,
        parts=tuple(_parts(message.get("content"), role, number, model)),
        calls=tuple(_call(call, number, model) for call in calls) if role == "assistant" else (),
        opaque=tuple(message.get("opaque") or ()) if role == "assistant" else (),
        call_id=call_id if role == "tool" else "",
        name=name if role == "tool" and isinstance(name, str) else "",
        is_error=role == "tool" and message.get("is_error") is True,
    )


def _parts(content: object, role: str, number: int, model: Model) -> Iterator[Part]:
    blocks: Iterable[object]
    if content is None:
        return
    if isinstance(content, (str, Mapping, TextMessageBlock, MediaMessageBlock, MediaAsset)):
        blocks = (content,)
    elif isinstance(content, (list, tuple)):
        blocks = content
    else:
        raise _bad(
            model,
            f"Message {number} ({role}) has the content {shown_value(content)};"
            " text or a list of blocks was expected.",
        )
    for block in blocks:
        part = _part(block, role, number, model)
        if not (isinstance(part, Text) and not part.text):  # services refuse empty text parts
            yield part


def _part(  # noqa: PLR0911 (one for each kind)
    block: object, role: str, number: int, model: Model
) -> Part:
    match block:
        case str():
            return Text(block)
        case TextMessageBlock():
            return Text(block.text)
        case MediaMessageBlock():
            return _media(block.asset, field_name=block.field_name, tag=block.tag)
        case MediaAsset():
            return _media(block)
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return Text(text)
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text)
        case Mapping() if block.get("type") in {"image_url", "input_image"}:
            return _image_part(block, model)
        case Mapping() if block.get("type") in {"file", "input_file"}:
            return _file_part(block, model)
    kind = block.get("type") if isinstance(block, Mapping) else type(block).__name__
    raise Unsupported(
        f"{model.name} cannot take a part of type {shown_value(kind)}, in message {number}"
        f" ({role}).",
        fix="write down what is said in it, and send that text."
        if kind == "input_audio"
        else "use text, image_url or file parts, or agentcell's own blocks.",
        provider=model.provider,
        model=model.model_name,
    )


def _media(asset: MediaAsset, *, field_name: str = "content", tag: str = "") -> Media:
    return Media(
        modality=asset.modality,
        source=asset.source_kind,
        asset=asset,
        url=asset.url or "",
        file_id=asset.file_id or "",
        filename=asset.default_filename,
        detail=asset.detail,
        field_name=field_name,
        tag=tag or asset.prompt_summary(),
    )


def _image_part(block: Mapping[str, Any], model: Model) -> Media:
    """Return ``{"type": "image_url", "image_url": {"url", "detail"}}`` and its like."""
    image = block.get("image_url")
    url, detail = image, block.get("detail")
    if isinstance(image, Mapping):
        url, detail = image.get("url"), image.get("detail") or detail
    return _located(
        block, FieldModality.IMAGE, model, url=url, file_id=block.get("file_id"), detail=detail
    )


def _file_part(block: Mapping[str, Any], model: Model) -> Media:
    """Return ``{"type": "file", "file": {"filename", "file_data" | "file_id"}}`` and its like."""
    inner = block.get("file")
    file = inner if isinstance(inner, Mapping) else block
    url = file.get("file_data") or file.get("file_url")
    modality = FieldModality.PDF
    if isinstance(url, str) and url.startswith("data:image/"):
        modality = FieldModality.IMAGE
    name = file.get("filename")
    media = _located(block, modality, model, url=url, file_id=file.get("file_id"))
    return replace(media, filename=name) if isinstance(name, str) and name else media


def _located(  # noqa: PLR0913 (each comes from another key of the part)
    block: Mapping[str, Any],
    modality: FieldModality,
    model: Model,
    *,
    url: object,
    file_id: object,
    detail: object = None,
) -> Media:
    file_id = file_id if isinstance(file_id, str) and file_id else ""
    url = url.strip() if isinstance(url, str) else ""
    if not file_id and not url.startswith(("data:", "https://", "http://")):
        raise Unsupported(
            f"A part of type {block['type']!r} gives no https address, data URL or file id.",
            fix="give one, or use ImageAsset.from_path(...) for a file.",
            provider=model.provider,
            model=model.model_name,
        )
    source = "file_id" if file_id else "base64" if url.startswith("data:") else "url"
    is_image = modality is FieldModality.IMAGE
    return Media(
        modality=modality,
        source=source,
        url=url,
        file_id=file_id,
        filename="image" if is_image else "document.pdf",
        detail=detail if isinstance(detail, str) else "",
        tag="[image]" if is_image else "[document]",
    )


def _call(call: object, number: int, model: Model) -> ToolCall:
    read = read_call(call)
    if read is None:
        raise _bad(
            model,
            f"Message {number} has the tool call {shown_value(call)};"
            " 'id', 'name' and 'arguments' were expected.",
        )
    return read


def _bad(model: Model, problem: str) -> BadRequest:
    return BadRequest(
        problem,
        fix='give messages like {"role": "user", "content": "…"}.',
        provider=model.provider,
        model=model.model_name,
    )


def _or(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"
