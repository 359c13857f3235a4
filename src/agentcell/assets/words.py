"""An asset -> the words for it: its name, its facts, its place in a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.assets.address import shown_url
from agentcell.assets.sniff import (
    EXTENSIONS,
    NAMES,
    normal_mime_type,
    suffix_type,
    with_article,
)
from agentcell.assets.wording import binary_size, decimal_size, short
from agentcell.modality import FieldModality

if TYPE_CHECKING:
    from agentcell.assets.media import MediaAsset

_MAX_LABEL = 60


def default_filename(asset: MediaAsset) -> str:
    """Return the filename, or one made of the type: ``image.png``, ``document.pdf``."""
    if asset.filename:
        return asset.filename
    if _is_pdf(asset):
        return "document.pdf"
    return f"image.{EXTENSIONS.get(asset.mime_type, 'png')}"


def summary(asset: MediaAsset) -> str:
    """Return an asset as it reads within a prompt: ``[IMAGE: a.png, 69B]``."""
    size = "" if asset.size_bytes is None else f", {binary_size(asset.size_bytes)}"
    return f"[{asset.modality}: {default_filename(asset)}{size}]"


def description(asset: MediaAsset) -> str:
    """Return type, pixels or pages, and size: ``PNG image, 600 × 900 px, 30 kB``."""
    if asset.url:
        return f"{_noun(asset)} at {shown_url(asset.url)}"
    if asset.file_id:
        return f"{_noun(asset)} with file id {short(asset.file_id, 40)}"
    measures = _measures(asset)
    return ", ".join([_noun(asset), *measures])


def alternative(asset: MediaAsset, page: int) -> str:
    """Return what a preview shows, for who cannot see it: ``a.png: PNG image, 600 × 900 px``."""
    what = _noun(asset)
    if (asset.pages or 0) > 1:
        what = f"page {page} of {asset.pages}, PDF"
    elif asset.width and asset.height:
        what = f"{what}, {asset.width} × {asset.height} px"
    return f"{asset.filename}: {what}" if asset.filename else what


def label(asset: MediaAsset) -> str:
    """Return the shortest name for an asset, or ""."""
    if asset.url:
        return shown_url(asset.url)
    return short(asset.filename or asset.file_id or "", _MAX_LABEL)


def representation(asset: MediaAsset) -> str:
    """Return ``ImageAsset('receipt.png', image/png, 600×900, 30 kB)``."""
    facts = [repr(label(asset))] if label(asset) else []
    if asset.source_kind in {"url", "file_id"}:
        facts.append(asset.source_kind)
    facts += [asset.mime_type] if asset.mime_type else []
    facts += [measure.replace(" × ", "×").removesuffix(" px") for measure in _measures(asset)]
    return f"{type(asset).__name__}({', '.join(facts)})"


def _is_pdf(asset: MediaAsset) -> bool:
    return asset.modality is FieldModality.PDF


def _noun(asset: MediaAsset) -> str:
    return NAMES.get(asset.mime_type) or ("PDF" if _is_pdf(asset) else "image")


def _measures(asset: MediaAsset) -> list[str]:
    measures = []
    if asset.width and asset.height:
        measures.append(f"{asset.width} × {asset.height} px")
    if asset.pages:
        measures.append(f"{asset.pages} page{'s' if asset.pages > 1 else ''}")
    if asset.size_bytes is not None:
        measures.append(decimal_size(asset.size_bytes))
    return measures


def type_notes(name: str | None, claim: str | None, mime_type: str) -> tuple[str, ...]:
    """Return a sentence for each name and declared type that the content does not bear out."""
    notes = []
    noun = with_article(NAMES[mime_type])
    by_name = suffix_type(name or "")
    if name and by_name and _family(by_name) != _family(mime_type):
        notes.append(f"{short(name)} holds {noun}; it is sent as {mime_type}.")
    declared = normal_mime_type(claim) if claim else ""
    if declared and _family(declared) != _family(mime_type):
        shown = short(declared, 60)
        notes.append(f"It was declared as {shown}, but holds {noun}; it is sent as {mime_type}.")
    return tuple(notes)


def _family(mime_type: str) -> str:
    return "image/heif" if mime_type == "image/heic" else mime_type
