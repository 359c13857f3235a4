"""A table of text cells -> a picture of it, for a field that wants an image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentcell.assets.tables import Table
from agentcell.errors import FieldError

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

MAX_CELL_CHARACTERS = 40
FONT_PIXELS = 26
"""As tall as a model, or a reader of text, reads with ease; hosts show the picture smaller."""

_PADDING = 22
_ROW = 44
_ABOVE = 6
PLAIN_FONT = Path(__file__).parent / "fonts" / "plain.ttf"
"""Our own: the same table is the same picture on every machine, so that a recording knows it."""

# Fonts that hold Chinese, Japanese and Korean, by the names that systems give them.
_WIDE_FONTS = (
    "NotoSansCJK-Regular.ttc",
    "NotoSansSC-Regular.otf",
    "wqy-zenhei.ttc",
    "wqy-microhei.ttc",
    "DroidSansFallbackFull.ttf",
    "msyh.ttc",
    "PingFang.ttc",
    "Arial Unicode.ttf",
    "DejaVuSans.ttf",
)


def draw_table(table: Table, name: str) -> bytes:
    """Return a PNG of the table, black on white.

    Raises
    ------
    FieldError
        If no font at hand holds the table's characters. `name` is what the error calls it.
    """
    from PIL import Image, ImageDraw

    from agentcell.assets.pixels import as_png

    cells = [[_cut(text) for text in row] for row in (table.header, *table.rows)]
    foot = f"({table.left_out} not shown)" if table.left_out else ""
    font = _font("".join([*(text for row in cells for text in row), foot]), name)
    widths = [
        max(int(font.getlength(row[at])) for row in cells) + 2 * _PADDING
        for at in range(len(table.header))
    ]
    width = max(sum(widths), int(font.getlength(foot)) + 2 * _PADDING)
    picture = Image.new("RGB", (width, _ROW * (len(cells) + bool(foot))), "white")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, width, _ROW), fill="#e8ecf4")
    for down, row in enumerate(cells):
        left = 0
        for at, text in enumerate(row):
            right = left + widths[at]
            indent = widths[at] - _PADDING - font.getlength(text) if table.numeric[at] else _PADDING
            draw.text((left + indent, down * _ROW + _ABOVE), text, fill="black", font=font)
            left = right
        draw.line((0, (down + 1) * _ROW, width, (down + 1) * _ROW), fill="#c8c8c8")
    if foot:
        draw.text((_PADDING, len(cells) * _ROW + _ABOVE), foot, fill="#404040", font=font)
    return as_png(picture)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= MAX_CELL_CHARACTERS:
        return line
    return line[: MAX_CELL_CHARACTERS - 1] + "…"


def _font(text: str, name: str) -> FreeTypeFont:
    from PIL import ImageFont

    wanted = {character for character in text if not character.isspace()}
    # BASIC: the other way of setting letters is a library that not every Pillow has.
    plain = ImageFont.truetype(PLAIN_FONT, FONT_PIXELS, layout_engine=ImageFont.Layout.BASIC)
    fonts: list[Any] = [plain]
    for file in _WIDE_FONTS:
        try:
            fonts.append(ImageFont.truetype(file, FONT_PIXELS))
        except OSError:
            continue
    missing = wanted
    for font in fonts:
        missing = {character for character in wanted if not _has(font, character)}
        if not missing:
            return cast("FreeTypeFont", font)
    raise FieldError(
        f"'{name}' cannot be drawn as an image: no font here holds {min(missing)!r}.",
        fix="declare the field as TEXT, or give a picture of the table.",
    )


def _has(font: Any, character: str) -> bool:
    """Tell whether a font holds a character: what it lacks is all drawn as the same box."""
    unknown = font.getmask("\U0010fffe")
    mask = font.getmask(character)
    return (mask.size, bytes(mask)) != (unknown.size, bytes(unknown))
