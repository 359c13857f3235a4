"""An image -> upright, straight pictures of a size that a text recogniser reads well.

The angle is measured on the pixels: rows of text, seen from their side, alternate most sharply
between ink and paper when they lie level. That is exact where boxes round the words are not: on
a receipt of even lines, label one and price two line up as well as label one and price one.
"""

# ruff: noqa: PLR2004 (levels of grey out of 255, pixels and degrees)

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from agentcell.errors import AttachmentError

if TYPE_CHECKING:
    from PIL.Image import Image

    from agentcell.assets.asset import MediaAsset

LONGEST_SIDE = 3000
"""Pixels. A4 at 250 dpi; the recogniser gains nothing from more."""

SHORTEST_SIDE = 600
"""Pixels. Smaller pictures are enlarged, up to 3 times: letters under 10 pixels are misread."""

TALL = 2.4
"""Height over width from which a picture (a long till roll, a scrolled page) is read in pieces."""

WIDEST_ANGLE = 15.0
"""Degrees. A picture turned further than this is not straightened."""

SMALLEST = 12
"""Pixels. A picture with a shorter side holds no letters that can be read."""

_LOWEST_PIECE = 400  # pixels
_ROLL_WIDTH = 1200  # pixels
_SAMPLE_SIDE = 640
_FAINT = 2.0
"""Squared difference between neighbouring rows of pixels under which there is no text: it was 40
to 1,000 for documents, 0.06 for a plain picture."""


def opened(asset: MediaAsset) -> Image:
    """Return an image as RGB, upright, of a size to be read. Of several frames the first is taken.

    What is transparent becomes white, or black where the visible part is light.

    Raises
    ------
    AttachmentError
        If its content is not here, is damaged, or is of a kind that nothing installed decodes.
    """
    from agentcell.assets.header import Damaged
    from agentcell.assets.pixels import NotDrawable, upright

    name = asset.default_filename
    try:
        with asset.open() as stream:
            return _enlarged(_flat(upright(asset.facts, stream, max_side=_longest_side(asset))))
    except Damaged as problem:
        raise AttachmentError(
            f"{name} is damaged: {str(problem).rstrip('.')}.",
            fix="open it in a viewer and save it again, or get a whole copy.",
        ) from None
    except NotDrawable as problem:
        raise AttachmentError(
            f"{name} cannot be read: {problem}", fix="export it as PNG or JPEG, and attach that."
        ) from None


def _longest_side(asset: MediaAsset) -> int:
    """Return the pixels that the longer side may have; of a long roll only the width counts."""
    width, height = asset.width, asset.height
    if not width or not height or height <= TALL * width:
        return LONGEST_SIDE
    return max(LONGEST_SIDE, min(height, round(_ROLL_WIDTH * height / width)))


def _flat(image: Image) -> Image:
    from PIL import Image as ImageModule
    from PIL import ImageStat

    if image.mode not in ("RGBA", "LA"):
        return image.convert("RGB")
    image = image.convert("RGBA")
    mask = image.getchannel("A").point(_opaque)
    visible = ImageStat.Stat(image.convert("L"), mask=mask)
    is_light = visible.count[0] > 0 and visible.mean[0] > 160
    paper = ImageModule.new("RGBA", image.size, "black" if is_light else "white")
    return ImageModule.alpha_composite(paper, image).convert("RGB")


def _opaque(value: float) -> float:
    return 255 if value > 128 else 0


def _enlarged(image: Image) -> Image:
    from PIL.Image import Resampling

    longest = max(image.size)
    if min(image.size) >= SHORTEST_SIDE or longest >= 2 * SHORTEST_SIDE:
        return image
    scale = min(3.0, 2 * SHORTEST_SIDE / longest)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Resampling.BICUBIC)


_BOX = 4  # PIL.Image.Resampling.BOX, without importing PIL here


def skew(image: Image) -> float:
    """Return by how many degrees, counter-clockwise, `image` must be turned to lie level.

    0.0 where no angle is clearly better than none.
    """
    from PIL import Image as ImageModule
    from PIL import ImageFilter

    sample = image.convert("L")
    scale = _SAMPLE_SIDE / max(sample.size)
    if scale < 1:
        size = (max(1, round(sample.width * scale)), max(1, round(sample.height * scale)))
        sample = sample.resize(size, _BOX)
    if min(sample.size) < 32:
        return 0.0
    # Edges that run across: the upper and lower ends of letters, on light and dark ground alike.
    kernel = ImageFilter.Kernel((3, 3), [-1, -1, -1, 0, 0, 0, 1, 1, 1], scale=1, offset=128)
    edges = sample.filter(kernel).point([_edge_strength(value) for value in range(256)])

    def sharpness(angle: float) -> int:
        turned = edges.rotate(angle, ImageModule.Resampling.NEAREST, fillcolor=0)
        across, down = round(turned.width * 0.04), round(turned.height * 0.04)
        inner = turned.crop((across, down, turned.width - across, turned.height - down))
        side = inner.resize((1, inner.height), _BOX).tobytes()
        return sum((a - b) ** 2 for a, b in pairwise(side))

    level = sharpness(0.0)
    whole = int(WIDEST_ANGLE)
    coarse = max(range(-whole, whole + 1), key=sharpness)
    best = max((coarse + step / 5 for step in range(-4, 5)), key=sharpness)
    reached = sharpness(best)
    if abs(best) < 0.3 or reached < 1.25 * level or reached < _FAINT * sample.height:
        return 0.0
    return best


def _edge_strength(value: int) -> int:
    return min(255, 2 * abs(value - 128)) if abs(value - 128) > 12 else 0


def turned(image: Image, degrees: float) -> Image:
    """Return `image` turned counter-clockwise, grown to hold its corners."""
    from PIL import Image as ImageModule

    if degrees % 90 == 0:
        return image.rotate(degrees, expand=True)
    # The colour of the rim, so that the new corners add no edges.
    rim = image.resize((3, 3), _BOX)
    corner = rim.getpixel((0, 0))
    return image.rotate(degrees, ImageModule.Resampling.BICUBIC, expand=True, fillcolor=corner)


def pieces(image: Image) -> Iterator[tuple[Image, int]]:
    """Yield `image` in pieces, from the top, each with the pixels above it.

    A tall one is cut where the fewest edges are, so that no line of text is cut through.
    """
    width, height = image.size
    if height <= TALL * width:
        yield image, 0
        return
    edges = _edges_by_row(image)
    piece_height = max(round(1.6 * width), _LOWEST_PIECE)
    top = 0
    while height - top > 1.5 * piece_height:
        lowest, highest = top + round(0.7 * piece_height), top + piece_height
        cut = min(range(lowest, highest), key=lambda row: (edges[row], -row))
        yield image.crop((0, top, width, cut)), top
        top = cut
    yield image.crop((0, top, width, height)), top


def _edges_by_row(image: Image) -> list[int]:
    """Return how much ink each row of pixels crosses, summed over a few rows round it."""
    from PIL import ImageFilter

    kernel = ImageFilter.Kernel((3, 3), [-1, 0, 1, -1, 0, 1, -1, 0, 1], scale=1, offset=128)
    strengths = [_edge_strength(value) for value in range(256)]
    edges = image.convert("L").filter(kernel).point(strengths)
    side = edges.resize((1, image.height), _BOX).tobytes()
    return [sum(side[max(0, row - 3) : row + 4]) for row in range(len(side))]


def encoded(image: Image) -> bytes:
    """Return `image` as an uncompressed file: it goes no further than this process."""
    buffer = io.BytesIO()
    image.save(buffer, "BMP")
    return buffer.getvalue()
