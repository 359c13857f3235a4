"""An attachment, to the address, data URL or base64 text that stands for it in a request."""

from __future__ import annotations

import base64

from agentcell.adapters.parts import Media
from agentcell.assets.encoded import decode_text
from agentcell.assets.sniff import HEAD_BYTES, sniff

_MOST_BYTES = 384_000_000
"""Of a data URL's content; no service takes more in one request."""


def media_url(media: Media) -> str:
    """Return where `media` is, or all of it as a data URL."""
    asset = media.asset
    if asset is None or media.source == "url":
        return media.url
    data = base64.b64encode(asset.load_bytes()).decode("ascii")
    return f"data:{asset.mime_type};base64,{data}"


def media_base64(media: Media) -> tuple[str, str]:
    """Return the type of `media` and all of it as base64 text.

    The type is that of the content, whatever a data URL claims: services refuse a wrong one.

    Raises
    ------
    AttachmentError
        If it is a data URL that cannot be decoded, or a file that cannot be read.
    """
    if media.asset is not None:
        data, kind = media.asset.load_bytes(), media.asset.mime_type
    else:
        decoded = decode_text(media.url, _MOST_BYTES)
        data = decoded.data
        kind = sniff(data[:HEAD_BYTES]).mime_type or media.mime_type
    return kind, base64.b64encode(data).decode("ascii")
