"""Attachments: images and PDFs from anywhere, checked, previewed, and prepared for a model."""

from agentcell.assets.asset import (
    ImageAsset,
    MediaAsset,
    PdfAsset,
    asset_from_bytes,
    asset_from_path,
    asset_from_url,
)

__all__ = [
    "ImageAsset",
    "MediaAsset",
    "PdfAsset",
    "asset_from_bytes",
    "asset_from_path",
    "asset_from_url",
]
