"""Turns, to turns whose media stand where the model takes them; or a refusal with the way out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentcell.adapters.parts import Media, Part, Text, Turn
from agentcell.errors import Unsupported
from agentcell.modality import FieldModality

if TYPE_CHECKING:
    from agentcell.adapters.model import Model


def place_media(turns: list[Turn], model: Model) -> list[Turn]:
    """Return `turns` with media moved to where `model` takes them, if it was made so.

    Raises
    ------
    Unsupported
        Naming the model, the modality, the source, the field and the way out.
    """
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
