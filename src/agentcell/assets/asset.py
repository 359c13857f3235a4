"""A path, bytes, base64, an address or a file id -> an attachment that never changes."""

from __future__ import annotations

import os
from typing import TypeAlias, cast

from agentcell.assets.address import checked_url, shown_url, url_filename
from agentcell.assets.media import MediaAsset
from agentcell.assets.sniff import suffix_type
from agentcell.errors import AttachmentError
from agentcell.modality import FieldModality

__all__ = [
    "Asset",
    "ImageAsset",
    "MediaAsset",
    "PdfAsset",
    "asset_from_bytes",
    "asset_from_path",
    "asset_from_url",
]


class ImageAsset(MediaAsset):
    """One image. Attributes and ways to make one: see `MediaAsset`."""

    __slots__ = ()
    modality = FieldModality.IMAGE


class PdfAsset(MediaAsset):
    """One PDF. Attributes and ways to make one: see `MediaAsset`."""

    __slots__ = ()
    modality = FieldModality.PDF


Asset: TypeAlias = ImageAsset | PdfAsset


def asset_from_path(path: str | os.PathLike[str], *, filename: str | None = None) -> Asset:
    """Read a local file as the kind of asset that its content is.

    Parameters
    ----------
    path, filename
        As for `MediaAsset.from_path`.

    Raises
    ------
    AttachmentError
        As there.
    """
    return cast("Asset", MediaAsset.from_path(path, filename=filename))


def asset_from_bytes(
    data: bytes | bytearray | memoryview,
    filename: str | None = None,
    *,
    mime_type: str | None = None,
) -> Asset:
    """Take a file's content as the kind of asset that it is.

    Parameters
    ----------
    data, filename, mime_type
        As for `MediaAsset.from_bytes`.

    Raises
    ------
    AttachmentError
        As there.
    """
    return cast("Asset", MediaAsset.from_bytes(data, mime_type=mime_type, filename=filename))


def asset_from_url(url: str, *, modality: FieldModality = FieldModality.ANY) -> Asset:
    """Name a file on the web.

    Parameters
    ----------
    url
        http, https or ``data:``. The content of a data address decides what it is.
    modality
        IMAGE or PDF, as the field declares; with ANY the ending of the address decides.

    Raises
    ------
    AttachmentError
        If the address cannot be used, or it does not say what it leads to.
    """
    if isinstance(url, str) and url.lstrip()[:5].lower() == "data:":
        holder = {FieldModality.IMAGE: ImageAsset, FieldModality.PDF: PdfAsset}.get(modality)
        return cast("Asset", (holder or MediaAsset).from_base64(url))
    if modality is FieldModality.IMAGE:
        return ImageAsset.from_url(url)
    if modality is FieldModality.PDF:
        return PdfAsset.from_url(url)
    address = checked_url(url)
    claim = suffix_type(url_filename(address))
    if not claim:
        raise AttachmentError(
            f"{shown_url(address)} does not say whether it leads to an image or a PDF.",
            fix='declare it: -i name="IMAGE:…" or "PDF:…"; or ImageAsset.from_url(…).',
        )
    return (PdfAsset if claim == "application/pdf" else ImageAsset).from_url(address)
