"""Messages ↔ records that are JSON; the bytes of attachments go to and come from an asset store."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.errors import AttachmentError, HistoryError
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, ToolCall


class AssetStore(Protocol):
    """Keeps contents by their fingerprints."""

    def put(self, asset: MediaAsset) -> None:
        """Keep an asset's content; once is enough for each fingerprint."""

    def get(self, fingerprint: str) -> bytes | None:
        """Return the content, or None if it is not there or not what it was."""


class MissingAttachmentWarning(UserWarning):
    """A kept conversation names an attachment whose content is gone."""


class AssetFolder:
    """An `AssetStore` in a folder: each content once, as ``ab/abcdef…`` by its SHA-256.

    Parameters
    ----------
    folder
        Made when the first content is kept.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"AssetFolder({str(self.folder)[-80:]!r})"

    def put(self, asset: MediaAsset) -> None:
        """Keep an asset's content; an address or file id has none.

        Parameters
        ----------
        asset
            Its content is written once, however often it comes.

        Raises
        ------
        HistoryError
            If the folder cannot be written.
        """
        place = self._place(asset.fingerprint())
        if place is None or place.exists():
            return
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, asset.load_bytes())
        except OSError as error:
            raise HistoryError(
                f"An attachment cannot be kept in '{self.folder}': {error.strerror or error}.",
                fix="free some space, or choose a folder that can be written.",
            ) from error

    def get(self, fingerprint: str) -> bytes | None:
        """Return the content, or None if it is not there or not what it was.

        Parameters
        ----------
        fingerprint
            See `MediaAsset.fingerprint`.
        """
        place = self._place(fingerprint)
        try:
            data = place.read_bytes() if place else None
        except OSError:
            return None
        if data is None or f"sha256:{hashlib.sha256(data).hexdigest()}" != fingerprint:
            return None
        return data

    def _place(self, fingerprint: str) -> Path | None:
        kind, _, digest = fingerprint.partition(":")
        if kind != "sha256" or len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):  # noqa: PLR2004
            return None
        return self.folder / digest[:2] / digest


def write_whole(place: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def to_record(message: Message, store: AssetStore) -> dict[str, Any]:
    """Return a message as JSON values, its attachments' contents in `store`."""
    record = {**message}
    if isinstance(message.get("content"), list):
        record["content"] = [_block_record(block, store) for block in message["content"]]
    if message.get("tool_calls"):
        record["tool_calls"] = [
            {
                "id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "raw_arguments": call.raw_arguments,
            }
            for call in message["tool_calls"]
        ]
    return record


def from_record(record: Any, store: AssetStore) -> Message:
    """Return the message that `to_record` made a record of.

    An attachment whose content is gone becomes a text that says so.

    Raises
    ------
    HistoryError
        If `record` is none.

    Warns
    -----
    MissingAttachmentWarning
        Naming the attachment.
    """
    try:
        message = {**record}
        message["role"] = str(record["role"])
        if isinstance(record["content"], list):
            message["content"] = [_block(block, store) for block in record["content"]]
        if record.get("tool_calls"):
            message["tool_calls"] = [ToolCall(**call) for call in record["tool_calls"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise HistoryError(
            f"A kept message cannot be read: {str(record)[:80]!r}.",
            fix="restore the file from a copy, or begin a new conversation.",
        ) from error
    return message


def _block_record(block: Any, store: AssetStore) -> dict[str, Any]:
    if isinstance(block, TextMessageBlock):
        return {"type": "text", "text": block.text}
    if not isinstance(block, MediaMessageBlock):
        return {"type": "part", "part": block}  # as the provider's own API has it
    asset = block.asset
    store.put(asset)
    return {
        "type": "media",
        "tag": block.tag,
        "field_name": block.field_name,
        "description": block.description,
        "modality": str(asset.modality),
        "fingerprint": asset.fingerprint(),
        "filename": asset.filename,
        "mime_type": asset.mime_type,
        "url": asset.url,
        "file_id": asset.file_id,
    }


def _block(record: Mapping[str, Any], store: AssetStore) -> Any:
    if record["type"] == "text":
        return TextMessageBlock(record["text"])
    if record["type"] == "part":
        return record["part"]
    asset = _asset(record, store)
    if asset is None:
        warnings.warn(
            f"The content of {record['tag']} is gone; it is not sent again.",
            MissingAttachmentWarning,
            stacklevel=2,
        )
        return TextMessageBlock(f"(The attachment {record['tag']} is no longer here.)")
    return MediaMessageBlock(asset, record["field_name"], record["tag"], record["description"])


def _asset(record: Mapping[str, Any], store: AssetStore) -> MediaAsset | None:
    holder = PdfAsset if record["modality"] == "PDF" else ImageAsset
    names = {"filename": record["filename"], "mime_type": record["mime_type"] or None}
    try:
        if record["url"]:
            return holder.from_url(record["url"], **names)
        if record["file_id"]:
            return holder.from_file_id(record["file_id"], **names)
        data = store.get(record["fingerprint"])
        return None if data is None else holder.from_bytes(data, **names)
    except AttachmentError:
        return None
