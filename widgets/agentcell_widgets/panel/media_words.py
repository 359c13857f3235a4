"""An attachment -> what it is, as a person reads it in their language."""

from __future__ import annotations

import re
from typing import Final

from agentcell.assets.address import shown_url
from agentcell.assets.asset import MediaAsset
from agentcell.assets.sniff import NAMES
from agentcell.assets.wording import decimal_size, short
from agentcell.modality import FieldModality
from agentcell.safe_text import plain
from agentcell.wording import add_language, say, word

ZH: Final[dict[str, str]] = {
    ", ": "，",
    "{name}: {what}": "{name}：{what}",
    "{what} at {place}": "{what}，位于 {place}",
    "{what} with file id {name}": "{what}，文件 id 为 {name}",
    "page {page} of {pages}": "第 {page} 页，共 {pages} 页",
    "{count} page": "{count} 页",
    "{count} pages": "{count} 页",
    "PNG image": "PNG 图像",
    "JPEG image": "JPEG 图像",
    "GIF image": "GIF 图像",
    "WebP image": "WebP 图像",
    "TIFF image": "TIFF 图像",
    "BMP image": "BMP 图像",
    "AVIF image": "AVIF 图像",
    "HEIC image": "HEIC 图像",
    "HEIF image": "HEIF 图像",
    "SVG image": "SVG 图像",
    "image": "图像",
    "PDF": "PDF",
}

_LONGEST_ID = 40
_PAGES = re.compile(r"([\d,]+) page(s?)")

add_language("zh", ZH)


def media_facts(asset: MediaAsset) -> list[str]:
    """Return type, pixels, pages and size, one by one.

    Parameters
    ----------
    asset
        One attachment. Of an address or a file id nothing more is known than the type.
    """
    if asset.url:
        return [say("{what} at {place}", what=_kind(asset), place=plain(shown_url(asset.url)))]
    if asset.file_id:
        name = plain(short(asset.file_id, _LONGEST_ID))
        return [say("{what} with file id {name}", what=_kind(asset), name=name)]
    facts = [_kind(asset)]
    if asset.width and asset.height:
        facts.append(f"{asset.width} × {asset.height} px")
    if asset.pages:
        pages = "{count} page" if asset.pages == 1 else "{count} pages"
        facts.append(say(pages, count=f"{asset.pages:,}"))
    if asset.size_bytes is not None:
        facts.append(decimal_size(asset.size_bytes))
    return facts


def described(asset: MediaAsset) -> str:
    """Return type, pixels or pages, and size: ``PNG image, 600 × 900 px, 30 kB``.

    Parameters
    ----------
    asset
        One attachment.
    """
    return say(", ").join(media_facts(asset))


def alternative(asset: MediaAsset, page: int) -> str:
    """Return what a preview shows, for who cannot see it: ``a.png: PNG image, 600 × 900 px``.

    Parameters
    ----------
    asset
        One attachment.
    page
        The page of a document that is shown, counted from 1.
    """
    facts = [_kind(asset)]
    if (asset.pages or 0) > 1:
        facts.insert(0, say("page {page} of {pages}", page=page, pages=asset.pages))
    elif asset.width and asset.height:
        facts.append(f"{asset.width} × {asset.height} px")
    what = say(", ").join(facts)
    return say("{name}: {what}", name=plain(asset.filename), what=what) if asset.filename else what


def translated(facts: str) -> str:
    """Return facts of a medium in the person's language: ``PNG image, 60 × 90 px, 1 kB``.

    Parameters
    ----------
    facts
        In English, with commas between them.
    """
    return say(", ").join(_fact(one) for one in facts.split(", "))


def _fact(text: str) -> str:
    if found := _PAGES.fullmatch(text):
        return say("{count} pages", count=found[1]) if found[2] else say("{count} page", count=1)
    return word(text) if text in ZH else text


def _kind(asset: MediaAsset) -> str:
    is_pdf = asset.modality is FieldModality.PDF
    return word(NAMES.get(asset.mime_type, "PDF" if is_pdf else "image"))
