"""Attachments: images and PDFs from anywhere, checked, previewed, and prepared for a model."""

from agentcell.assets.asset import (
    ImageAsset,
    MediaAsset,
    PdfAsset,
    asset_from_bytes,
    asset_from_path,
    asset_from_url,
)
from agentcell.assets.coerce import coerce, register, unregister

__all__ = [
    "ImageAsset",
    "MediaAsset",
    "PdfAsset",
    "asset_from_bytes",
    "asset_from_path",
    "asset_from_url",
    "coerce",
    "register",
    "unregister",
]
