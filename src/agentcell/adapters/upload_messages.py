"""Messages, to the attachments whose content they hold; and to messages that name files instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentcell.assets.asset import MediaAsset
from agentcell.errors import AttachmentError
from agentcell.messages import MediaMessageBlock, Message
from agentcell.modality import FieldModality


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """Messages and what is attached to them with its content: files, bytes and data URLs.

    Parameters
    ----------
    messages
        As given.
    at
        The attachments by place: the number of the message, and of the block in it.
    """

    messages: list[Message]
    at: Mapping[tuple[int, int], MediaAsset]

    @classmethod
    def to(cls, messages: Iterable[Message]) -> Attached:
        """Find what is attached to `messages`; what is no message holds nothing."""
        given = list(messages)
        at = {
            (number, index): asset
            for number, message in enumerate(given)
            for index, block in enumerate(_blocks(message))
            if (asset := _asset(block)) is not None
        }
        return cls(messages=given, at=at)

    def naming(self, references: Mapping[str, str]) -> list[Message]:
        """Return the messages with files named instead of attached.

        Parameters
        ----------
        references
            What a file is named by, for each fingerprint; other attachments stay.
        """
        chosen = {place: one for place, one in self.at.items() if one.fingerprint() in references}
        result = []
        for number, message in enumerate(self.messages):
            blocks = [
                _named(block, asset, references[asset.fingerprint()])
                if (asset := chosen.get((number, index))) is not None
                else block
                for index, block in enumerate(_blocks(message))
            ]
            changed = any(place[0] == number for place in chosen)
            result.append({**message, "content": blocks} if changed else message)
        return result


def _blocks(message: object) -> list[Any]:
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, (Mapping, MediaMessageBlock, MediaAsset)):
        return [content]
    return list(content) if isinstance(content, (list, tuple)) else []


def _asset(block: object) -> MediaAsset | None:
    asset: MediaAsset | None = None
    if isinstance(block, MediaMessageBlock):
        asset = block.asset
    elif isinstance(block, MediaAsset):
        asset = block
    elif isinstance(block, Mapping):
        asset = _of_data_url(block)
    return asset if asset is not None and asset.snapshot is not None else None


def _of_data_url(part: Mapping[str, Any]) -> MediaAsset | None:
    """Return what an OpenAI-shaped part holds as a data URL; None if it holds none that is whole.

    A damaged one is left for `encode` to refuse, or the service.
    """
    fields = _fields(part)
    url = fields.get("url") or fields.get("file_data") or fields.get("file_url")
    if fields.get("file_id") or not isinstance(url, str) or not url.strip().startswith("data:"):
        return None
    name = fields.get("filename")
    try:
        asset = MediaAsset.from_base64(url, filename=name if isinstance(name, str) else None)
    except AttachmentError:
        return None
    is_image = _is_image(part) or url.strip().startswith("data:image/")
    return asset if (asset.modality is FieldModality.IMAGE) is is_image else None


def _is_image(part: Mapping[str, Any]) -> bool:
    return part.get("type") in {"image_url", "input_image"}


def _fields(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part's fields, whether it holds them itself or in an object of its own."""
    if _is_image(part):
        image = part.get("image_url")
        return {**part, **image} if isinstance(image, Mapping) else {**part, "url": image}
    if part.get("type") in {"file", "input_file"}:
        file = part.get("file")
        return dict(file) if isinstance(file, Mapping) else dict(part)
    return {}


def _named(block: object, asset: MediaAsset, reference: str) -> object:
    """Return `block` with a file's name in the place of the content."""
    kind = type(asset)
    file = kind.from_file_id(reference, mime_type=asset.mime_type, filename=asset.filename)
    if isinstance(block, MediaMessageBlock):
        return replace(block, asset=file)
    if isinstance(block, MediaAsset):
        return MediaMessageBlock(asset=file, field_name="content", tag=block.prompt_summary())
    # A part keeps its detail. Gemini wants the type too: it is that of an empty data URL.
    empty = f"data:{asset.mime_type};base64,"
    fields = _fields(block) if isinstance(block, Mapping) else {}
    if asset.modality is FieldModality.IMAGE:
        detail = {"detail": fields["detail"]} if fields.get("detail") else {}
        return {"type": "input_image", "file_id": reference, "image_url": empty, **detail}
    part = {"type": "input_file", "file_id": reference, "file_data": empty}
    return {**part, "filename": asset.default_filename}
