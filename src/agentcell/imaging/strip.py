"""Several attachments, to one picture in which their previews stand side by side.

A host puts pictures below each other, and HTML with pictures in it would be Base64 in a text: so
the strip is one picture. A host scales it down where its column is narrow.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agentcell.assets.pixels import light_jpeg
from agentcell.assets.preview import MAX_PREVIEW_BYTES, Preview, preview
from agentcell.messages import MediaMessageBlock
from agentcell.safe_text import plain

if TYPE_CHECKING:
    from PIL.Image import Image

SHOWN_WIDTH = 360
"""The widest that a preview is shown, in CSS pixels: it fits a phone."""

_SIDE = 256
"""Pixels of each preview's longer side."""

_WIDTH = 2 * SHOWN_WIDTH
"""Pixels of a whole row: two for each that is shown, so that it is sharp on a fine screen."""

_TALLEST = 320
_SMALLEST = 64
_GAP = 12
_IN_A_ROW = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}
_MOST_IN_A_ROW = 4
_QUALITIES = (80, 70, 60, 50, 40, 30)


def strip(
    blocks: Iterable[MediaMessageBlock], *, most_bytes: int = MAX_PREVIEW_BYTES
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the picture's data and metadata; None where nothing can be shown of any attachment.

    Parameters
    ----------
    blocks
        In the order in which they are shown: row by row, from the left.
    most_bytes
        What the picture may weigh.
    """
    shown = [
        (one, f"{plain(block.tag)} {plain(one.alt)}")
        for block in blocks
        if (one := preview(block.asset, max_side=_SIDE)) is not None
    ]
    if not shown:
        return None
    each = _IN_A_ROW.get(len(shown), _MOST_IN_A_ROW)
    rows = [shown[start : start + each] for start in range(0, len(shown), each)]
    sheet = _below([_row([one for one, _ in row]) for row in rows])
    alt = "; ".join(words for _, words in shown)
    size = {"width": round(sheet.width / 2), "height": round(sheet.height / 2)}
    encoded = base64.b64encode(_encoded(sheet, most_bytes)).decode("ascii")
    data = {"image/jpeg": encoded, "text/plain": alt}
    return data, {"image/jpeg": {"alt": alt, **size}}


def _row(previews: list[Preview]) -> Image:
    """Return previews of one height beside each other, as wide as a row where they can be."""
    from PIL import Image

    shapes = sum(one.width / one.height for one in previews)
    room = _WIDTH - _GAP * (len(previews) - 1)
    height = max(1, int(min(room / shapes, _TALLEST, max(one.height for one in previews))))
    widths = [max(1, min(room, int(height * one.width / one.height))) for one in previews]
    row = Image.new("RGB", (sum(widths) + _GAP * (len(previews) - 1), height), "white")
    left = 0
    for one, width in zip(previews, widths, strict=True):
        with Image.open(io.BytesIO(one.data)) as image:
            scaled = image.convert("RGBA").resize((width, height), Image.Resampling.LANCZOS)
        row.paste(scaled, (left, 0), scaled)
        left += width + _GAP
    return row


def _below(rows: list[Image]) -> Image:
    from PIL import Image

    height = sum(row.height for row in rows) + _GAP * (len(rows) - 1)
    sheet = Image.new("RGB", (max(row.width for row in rows), height), "white")
    top = 0
    for row in rows:
        sheet.paste(row, (0, top))
        top += row.height + _GAP
    return sheet


def _encoded(sheet: Image, most_bytes: int) -> bytes:
    """Return a JPEG that weighs no more than that: a coarser one, then one of fewer pixels."""
    while True:
        data = light_jpeg(sheet, most_bytes, _QUALITIES, optimize=True)
        if len(data) <= most_bytes or max(sheet.size) < _SMALLEST:
            return data
        sheet = sheet.resize((max(1, sheet.width * 3 // 4), max(1, sheet.height * 3 // 4)))
