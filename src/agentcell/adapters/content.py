"""Messages, in any of the shapes that people write, to the few kinds of part that adapters send.

Each adapter's `encode` matches on `Text` and `Media` and on nothing else. What is of no known
kind is refused here, before any request: no part is ever dropped or guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from agentcell.assets.asset import MediaAsset
from agentcell.errors import BadRequest, Unsupported
from agentcell.messages import MediaMessageBlock, TextMessageBlock, ToolCall
from agentcell.modality import FieldModality

if TYPE_CHECKING:
    from agentcell.adapters.model import Model

ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image or a PDF, by what it is or by where it is.

    Parameters
    ----------
    modality
        IMAGE or PDF.
    source
        One of `agentcell.adapters.model.SOURCES`.
    asset
        The asset, where the part was one; else `url` or `file_id` says where it is.
    url
        An address, or a data URL.
    detail
        How closely an image is to be looked at, where the part says so.
    field_name, tag
        What people and the model call it.
    """

    modality: FieldModality
    source: str
    asset: MediaAsset | None = None
    url: str = ""
    file_id: str = ""
    filename: str = ""
    detail: str = ""
    field_name: str = "content"
    tag: str = ""

    @property
    def mime_type(self) -> str:
        """The type that is known here; empty if only the service can tell."""
        if self.asset is not None:
            return self.asset.mime_type
        match = re.match(r"data:([^;,]+)", self.url)
        return match[1].lower() if match else ""


Part: TypeAlias = Text | Media


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message: its role, its parts, and an assistant's tool calls."""

    role: str
    parts: tuple[Part, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    opaque: tuple[Any, ...] = ()
    call_id: str = ""
    """For a tool's result: the call that it answers."""

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def media(self) -> tuple[Media, ...]:
        """The media parts, in order."""
        return tuple(part for part in self.parts if isinstance(part, Media))


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
    able = model.capabilities
    for turn in turns:
        for media in turn.media:
            _check_place(turn.role, media, model)
            model.check_source(media.modality, media.source, media.field_name)
            _check_type(media, model)
    if able.system_media == "user":
        turns = _hoist_system_media(turns)
    if able.tool_result_media == "user":
        turns = _move_tool_media(turns)
    return turns


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
        raise _bad(model, f"Message {number} is {_short(message)}; a dict was expected.")
    role = message.get("role")
    if role not in ROLES:
        raise _bad(
            model, f"Message {number} has the role {_short(role)}; {_or(ROLES)} was expected."
        )
    call_id = message.get("tool_call_id") or ""
    if role == "tool" and not (isinstance(call_id, str) and call_id):
        raise _bad(model, f"Message {number} is a tool's result without its 'tool_call_id'.")
    calls = message.get("tool_calls") or ()
    return Turn(
        role=role,
        parts=tuple(_parts(message.get("content"), role, number, model)),
        calls=tuple(_call(call, number, model) for call in calls) if role == "assistant" else (),
        opaque=tuple(message.get("opaque") or ()) if role == "assistant" else (),
        call_id=call_id if role == "tool" else "",
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
            f"Message {number} ({role}) has the content {_short(content)};"
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
        f"{model.name} cannot take a part of type {_short(kind)}, in message {number} ({role}).",
        fix="use text, image_url or file parts, or agentcell's own blocks.",
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


def _check_place(role: str, media: Media, model: Model) -> None:
    able = model.capabilities
    where = {
        "system": ("system", able.system_media),
        "developer": ("system", able.system_media),
        "tool": ("tool_result", able.tool_result_media),
        "assistant": ("assistant", "refused"),
    }
    place, does = where.get(role, ("user", "sent"))
    if does != "refused":
        return
    fix = {
        "system": 'put it in a user message, or make the model with system_media="user".',
        "tool_result": 'return text, or make the model with tool_result_media="user".',
        "assistant": "put it in a user message.",
    }[place]
    words = {"tool_result": "a tool's result", "assistant": "an assistant message"}
    raise Unsupported(
        f"{model.name} does not take an attachment ('{media.modality}' from source"
        f" '{media.source}', field '{media.field_name}') in"
        f" {words.get(place, 'a system message')}.",
        fix=fix,
        provider=model.provider,
        model=model.model_name,
    )


def _check_type(media: Media, model: Model) -> None:
    types = model.capabilities.image_types
    kind = media.mime_type
    if types and kind and media.modality is FieldModality.IMAGE and kind not in types:
        raise Unsupported(
            f"{model.name} does not read {kind}, the type of field '{media.field_name}'.",
            fix=f"save it as {' or '.join(sorted(types))}.",
            provider=model.provider,
            model=model.model_name,
        )


def _hoist_system_media(turns: list[Turn]) -> list[Turn]:
    """Move the media of system messages into the first user turn, each after a line about it."""
    moved: list[Part] = []
    kept: list[Turn] = []
    for turn in turns:
        if turn.role in {"system", "developer"} and turn.media:
            for media in turn.media:
                moved += [Text(f"Attached to the instructions: {media.tag}"), media]
            tags = tuple(Text(p.tag) if isinstance(p, Media) else p for p in turn.parts)
            turn = replace(turn, parts=tags)  # noqa: PLW2901 (the same turn, without its media)
        kept.append(turn)
    return _put_before(kept, moved, _first(kept, "user")) if moved else kept


def _move_tool_media(turns: list[Turn]) -> list[Turn]:
    """Move the media of tool results into the user turn after them, each after a line about it."""
    result: list[Turn] = []
    moved: list[Part] = []
    for turn in turns:
        if moved and turn.role != "tool":
            if turn.role == "user":
                turn = replace(turn, parts=(*moved, *turn.parts))  # noqa: PLW2901
            else:
                result.append(Turn(role="user", parts=tuple(moved)))
            moved = []
        if turn.role == "tool" and turn.media:
            for media in turn.media:
                moved += [Text(f"Attached to the result of {turn.call_id}: {media.tag}"), media]
            tags = tuple(Text(p.tag) if isinstance(p, Media) else p for p in turn.parts)
            turn = replace(turn, parts=tags)  # noqa: PLW2901
        result.append(turn)
    if moved:
        result.append(Turn(role="user", parts=tuple(moved)))
    return result


def _first(turns: list[Turn], role: str) -> int | None:
    return next((index for index, turn in enumerate(turns) if turn.role == role), None)


def _put_before(turns: list[Turn], parts: list[Part], index: int | None) -> list[Turn]:
    if index is None:  # no user turn: one of its own, after the leading system messages
        systems = ("system", "developer")
        index = next((i for i, turn in enumerate(turns) if turn.role not in systems), len(turns))
        return [*turns[:index], Turn(role="user", parts=tuple(parts)), *turns[index:]]
    user = replace(turns[index], parts=(*parts, *turns[index].parts))
    return [*turns[:index], user, *turns[index + 1 :]]


def _call(call: object, number: int, model: Model) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if isinstance(call, Mapping):
        function = call.get("function")
        named = function if isinstance(function, Mapping) else call
        name, arguments = named.get("name"), named.get("arguments")
        call_id = call.get("id") or call.get("call_id")
        if isinstance(name, str) and name and isinstance(call_id, str) and call_id:
            if isinstance(arguments, Mapping) or arguments is None:
                return ToolCall(call_id, name, dict(arguments or {}))
            if isinstance(arguments, str):
                return _parsed(call_id, name, arguments)
    raise _bad(
        model,
        f"Message {number} has the tool call {_short(call)};"
        " 'id', 'name' and 'arguments' were expected.",
    )


def _parsed(call_id: str, name: str, arguments: str) -> ToolCall:
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        value = None
    if isinstance(value, dict):
        return ToolCall(call_id, name, value)
    return ToolCall(call_id, name, {}, raw_arguments=arguments)


def _bad(model: Model, problem: str) -> BadRequest:
    return BadRequest(
        problem,
        fix='give messages like {"role": "user", "content": "…"}.',
        provider=model.provider,
        model=model.model_name,
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"  # noqa: PLR2004


def _or(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"
