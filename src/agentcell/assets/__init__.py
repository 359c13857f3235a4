"""Attachments: images and PDFs from anywhere, checked, previewed, and prepared for a model.

Names are imported at their first use, so that a module in here costs no more than itself.
`agentcell.assets.coerce`, `.prepare` and `.preview` are modules, each with a function of its name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers: the same names as in `_WHERE`
    from agentcell.assets.asset import (
        ImageAsset,
        MediaAsset,
        PdfAsset,
        asset_from_bytes,
        asset_from_path,
        asset_from_url,
    )
    from agentcell.assets.coerce import register, unregister

_WHERE = {
    "ImageAsset": "asset",
    "MediaAsset": "asset",
    "PdfAsset": "asset",
    "asset_from_bytes": "asset",
    "asset_from_path": "asset",
    "asset_from_url": "asset",
    "register": "coerce",
    "unregister": "coerce",
}

__all__ = [
    "ImageAsset",
    "MediaAsset",
    "PdfAsset",
    "asset_from_bytes",
    "asset_from_path",
    "asset_from_url",
    "register",
    "unregister",
]


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{where}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
