"""What was generated → one small picture of all of it, and words, for a notebook's output."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING

from agentcell.adapters.price_table import shown
from agentcell.assets.asset import ImageAsset
from agentcell.assets.pixels import light_jpeg
from agentcell.assets.preview import preview
from agentcell.errors import AttachmentError

if TYPE_CHECKING:
    from agentcell.imaging.generation import Artifact, Generation

MOST_BYTES = 100_000
"""What the picture weighs at most: 133 kB as base64, however many there are."""

_CELL, _GAP, _COLUMNS = 256, 8, 4
_QUALITIES = (80, 65, 50, 35)


def display_bundle(generation: Generation) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return what Jupyter shows: a thumbnail, or several on one sheet, and words.

    Parameters
    ----------
    generation
        Its files need not be there any more.
    """
    data = {"text/plain": words(generation)}
    pictures = [found for one in generation.artifacts if (found := _asset(one)) is not None]
    alt = generation.artifacts[0].alt if generation.artifacts else ""
    if len(pictures) == 1:
        thumbnail = preview(pictures[0])
        if thumbnail is not None:
            data[thumbnail.mime_type] = base64.b64encode(thumbnail.data).decode("ascii")
            return data, {thumbnail.mime_type: {"alt": alt}}
    if len(pictures) > 1 and (sheet := contact_sheet(pictures)):
        data["image/jpeg"] = base64.b64encode(sheet).decode("ascii")
        return data, {"image/jpeg": {"alt": f"{len(pictures)} pictures: {alt}"}}
    return data, {}


def contact_sheet(pictures: list[ImageAsset]) -> bytes:
    """Return small copies of `pictures` side by side, as a JPEG; empty if none can be drawn."""
    import io

    from PIL import Image

    cells = []
    for asset in pictures:
        thumbnail = preview(asset, max_side=_CELL)
        if thumbnail is not None:
            with Image.open(io.BytesIO(thumbnail.data)) as opened:
                cells.append(opened.convert("RGB"))
    if not cells:
        return b""
    columns = min(_COLUMNS, len(cells))
    step = _CELL + _GAP
    size = (columns * step - _GAP, math.ceil(len(cells) / columns) * step - _GAP)
    sheet = Image.new("RGB", size, "white")
    for number, cell in enumerate(cells):
        row, column = divmod(number, columns)
        left = column * step + (_CELL - cell.width) // 2
        sheet.paste(cell, (left, row * step + (_CELL - cell.height) // 2))
    return light_jpeg(sheet, MOST_BYTES, _QUALITIES)


def words(generation: Generation) -> str:
    """Return what was made, in a line for each file."""
    kind = generation.artifacts[0].kind if generation.artifacts else "image"
    count = len(generation.artifacts)
    facts = [f"{count} {kind}{'' if count == 1 else 's'} by {generation.maker}"]
    facts += [f"seed {generation.seed}"] if generation.seed is not None else []
    facts += [shown(generation.cost)] if generation.cost else []
    lines = [", ".join(facts)]
    lines += [f"{one.path} ({_measure(one)})" for one in generation.artifacts]
    return "\n".join([*lines, *generation.missing])


def _measure(one: Artifact) -> str:
    size = f"{one.size_bytes / 1000:,.0f} kB"
    return f"{one.width} × {one.height} px, {size}" if one.width else size


def _asset(one: Artifact) -> ImageAsset | None:
    path = one.path if one.kind == "image" else one.poster
    try:
        return None if path is None else ImageAsset.from_path(path)
    except AttachmentError:
        return None
