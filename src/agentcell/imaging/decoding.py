"""A picture → its pixels, upright, or an error that a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.assets.asset import ImageAsset
from agentcell.assets.header import Damaged
from agentcell.assets.pixels import NotDrawable, upright
from agentcell.errors import AttachmentError

if TYPE_CHECKING:
    from PIL.Image import Image


def decoded(asset: ImageAsset, *, max_side: int | None = None) -> Image:
    """Return the pixels of a picture's first frame.

    Parameters
    ----------
    asset
        Its content is here.
    max_side
        Pixels that the longer side may have; a larger picture is scaled down.

    Raises
    ------
    AttachmentError
        If it cannot be decoded here: damaged, too large, or of a type that nothing here draws.
    """
    try:
        with asset.open() as stream:
            return upright(asset.facts, stream, max_side=max_side)
    except Damaged as problem:
        raise AttachmentError(
            f"{asset.default_filename} is damaged: {problem}.",
            fix="open it in a viewer and save it again, or get a whole copy.",
        ) from None
    except NotDrawable as problem:
        raise AttachmentError(
            f"{asset.default_filename} cannot be drawn here: {problem}",
            fix="give it as a PNG or a JPEG.",
        ) from None
