"""A wish → pictures that are drawn here by rule: no model, no key, no network, no cost.

It stands in where nobody who paints is set up: to try things out, in lessons, in tests. It does
not understand the prompt, and says so on each picture and in the picture's metadata.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from agentcell.assets.asset import ImageAsset
from agentcell.errors import GenerationError
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.backends.mask import check_mask
from agentcell.imaging.decoding import decoded
from agentcell.imaging.drawing import Plan, drawn, signed
from agentcell.imaging.events import BackendEvent, Ended, Made, Progressed
from agentcell.imaging.wish import GenerationWish

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_SIDE, LEAST_SIDE = 4096, 64
"""Pixels that a side may have."""

_USUAL = (1024, 1024)
_INSET = 5  # further references: a fifth of the picture's width each
_SEEDS = 2**31


class ProceduralBackend(ImageBackend):
    """Draws by rule. The same prompt, seed, size and references give the same picture.

    With a reference the first one is painted over: where the mask is transparent, or thinly all
    over it where there is no mask. Further references are laid along the upper edge.
    """

    name = "procedural"
    is_free = True

    def check(self, wish: GenerationWish) -> None:
        """Refuse what it cannot draw.

        Parameters
        ----------
        wish
            See `ImageBackend.check`.

        Raises
        ------
        GenerationError
            If it is a clip, names a model, has a size beyond the limits, or a mask that does not
            fit.
        """
        super().check(wish)
        if wish.model not in ("", "rules"):
            raise GenerationError(
                f"procedural has no model {wish.model[:60]!r}: it draws by rule.",
                fix="write --model procedural.",
            )
        if wish.size not in ("", "auto"):
            for side in _pixels(wish.size):
                if not LEAST_SIDE <= side <= MOST_SIDE:
                    raise GenerationError(
                        f"size is {wish.size}; procedural draws {LEAST_SIDE} to {MOST_SIDE} pixels"
                        " across and down.",
                        fix="give another size, for example 1024x1024.",
                    )
        for asset in (*wish.references, *([wish.mask] if wish.mask else [])):
            _ = asset.content  # an address is refused here: nothing is fetched
        check_mask(wish)

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncIterator[BackendEvent]:
        """Draw in a thread, one picture after another.

        Parameters
        ----------
        wish, key
            See `ImageBackend.run`.
        """
        del key
        seed = _seed(wish)
        for number in range(wish.count):
            yield Progressed("drawing", number / wish.count)
            data = await asyncio.to_thread(_picture, wish, seed + number)
            yield Made(kind="image", data=data, model="rules", seed=seed + number)
        yield Ended(model="rules", seed=seed)


def _seed(wish: GenerationWish) -> int:
    """Return the seed, which follows from the prompt where none is given."""
    if wish.seed is not None:
        return wish.seed
    digest = hashlib.sha256(wish.prompt.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:4], "big") % _SEEDS


def _picture(wish: GenerationWish, seed: int) -> bytes:
    base = _upright(wish.references[0]) if wish.references else None
    size = _size(wish, base)
    painted = drawn(Plan(wish.prompt, seed, size, wish.negative))
    what = "drawn"
    if base is not None:
        painted, what = _over(base, painted, wish.mask), "painted over"
    for place, asset in enumerate(wish.references[1 : _INSET + 1]):
        inset = _upright(asset)
        inset.thumbnail((max(1, size[0] // _INSET), max(1, size[1] // _INSET)))
        painted.paste(inset, (place * (size[0] // _INSET), 0))
    done = signed(painted, f"{what} by rule, by no model - seed {seed}")
    sink = io.BytesIO()
    done.save(sink, "PNG")
    return sink.getvalue()


def _size(wish: GenerationWish, base: Image | None) -> tuple[int, int]:
    if wish.size not in ("", "auto"):
        return _pixels(wish.size)
    if base is None:
        return _USUAL
    part = min(1.0, MOST_SIDE / max(base.size))
    return max(1, round(base.width * part)), max(1, round(base.height * part))


def _pixels(size: str) -> tuple[int, int]:
    width, _, height = size.partition("x")
    return int(width), int(height)


def _upright(asset: ImageAsset) -> Image:
    from agentcell.assets.pixels import on_white

    return on_white(decoded(asset, max_side=MOST_SIDE)).convert("RGB")


def _over(base: Image, painted: Image, mask: ImageAsset | None) -> Image:
    """Return `base` with `painted` over it, where the mask lets it."""
    from PIL import Image, ImageChops

    base = base.resize(painted.size, Image.Resampling.LANCZOS)
    if mask is None:
        return Image.blend(base, painted, 0.45)
    alpha = decoded(mask).convert("RGBA").getchannel("A")
    may_change = ImageChops.invert(alpha).resize(painted.size, Image.Resampling.NEAREST)
    return Image.composite(painted, base, may_change)
