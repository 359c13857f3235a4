"""Messages ↔ records that are JSON; the bytes of attachments go to and come from an asset store."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.errors import AttachmentError, HistoryError
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, ToolCall

Missing: TypeAlias = Callable[[str], None]
"""Takes a sentence that says which attachment's content is gone."""


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
        try:
            self.write(asset)
        except OSError as error:
            raise HistoryError(
                f"An attachment cannot be kept in '{self.folder}': {error.strerror or error}.",
                fix="free some space, or choose a folder that can be written.",
            ) from error

    def write(self, asset: MediaAsset) -> None:
        """Like `put`, with the system's own error.

        Parameters
        ----------
        asset
            As there.

        Raises
        ------
        OSError
            If the folder cannot be written.
        """
        place = self.place(asset.fingerprint())
        if place is None:
            return
        if place.exists() and place.stat().st_size == asset.size_bytes:
            with contextlib.suppress(OSError):  # it is someone else's
                os.utime(place)  # wanted again: no cleaning takes it for a leftover
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, asset.load_bytes())

    def get(self, fingerprint: str) -> bytes | None:
        """Return the content, or None if it is not there or not what it was.

        Parameters
        ----------
        fingerprint
            See `MediaAsset.fingerprint`.
        """
        place = self.place(fingerprint)
        try:
            data = place.read_bytes() if place else None
        except OSError:
            return None
        if data is None or f"sha256:{hashlib.sha256(data).hexdigest()}" != fingerprint:
            return None
        return data

    def place(self, fingerprint: str) -> Path | None:
        """Return the file of a content, which need not be there; None where it has no content.

        Parameters
        ----------
        fingerprint
            See `MediaAsset.fingerprint`.
        """
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
            stream.flush()
            os.fsync(stream.fileno())  # else a power cut could leave the name without the content
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


def from_record(record: Any, store: AssetStore, missing: Missing | None = None) -> Message:
    """Return the message that `to_record` made a record of.

    An attachment whose content is gone becomes a text that says so.

    Parameters
    ----------
    missing
        Is told of each attachment that is gone. None: a warning is.

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
            message["content"] = [
                _block(block, store, missing or _warn) for block in record["content"]
            ]
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
    store.put(block.asset)
    return block_record(block)


def block_record(block: MediaMessageBlock) -> dict[str, Any]:
    """Return an attachment as JSON values; its content is named by its fingerprint."""
    asset = block.asset
    detail = {"detail": asset.detail} if asset.detail else {}
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
        **detail,
    }


def _warn(text: str) -> None:
    warnings.warn(text, MissingAttachmentWarning, stacklevel=3)


def _block(record: Mapping[str, Any], store: AssetStore, missing: Missing) -> Any:
    if record["type"] == "text":
        return TextMessageBlock(record["text"])
    if record["type"] == "part":
        return record["part"]
    block = block_from_record(record, store)
    if block is None:
        missing(f"The content of {record['tag']} is gone; it is not sent again.")
        return TextMessageBlock(f"(The attachment {record['tag']} is no longer here.)")
    return block


def block_from_record(record: Mapping[str, Any], store: AssetStore) -> MediaMessageBlock | None:
    """Return the attachment of which `block_record` made a record; None if its content is gone."""
    asset = _asset(record, store)
    if asset is None:
        return None
    if detail := record.get("detail"):
        asset = replace(asset, detail=str(detail))
    return MediaMessageBlock(asset, record["field_name"], record["tag"], record["description"])


def _asset(record: Mapping[str, Any], store: AssetStore) -> MediaAsset | None:
    shared = getattr(store, "shared", None)  # one that knows it whole: nothing is read twice
    kept: MediaAsset | None = shared(record["fingerprint"]) if shared else None
    if kept is not None:
        return kept.replaced(filename=record["filename"], notes=kept.notes)
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
