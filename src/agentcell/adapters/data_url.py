"""An attachment, to the address or the data URL that stands for it in a request."""

from __future__ import annotations

import base64

from agentcell.adapters.parts import Media


def media_url(media: Media) -> str:
    """Return where `media` is, or all of it as a data URL."""
    asset = media.asset
    if asset is None or media.source == "url":
        return media.url
    data = base64.b64encode(asset.load_bytes()).decode("ascii")
    return f"data:{asset.mime_type};base64,{data}"
