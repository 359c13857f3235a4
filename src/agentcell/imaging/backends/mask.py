"""A mask and the picture that it lies on → the same, or an error where they do not fit."""

from __future__ import annotations

from agentcell.assets.asset import ImageAsset
from agentcell.errors import GenerationError
from agentcell.imaging.decoding import decoded
from agentcell.imaging.wish import GenerationWish


def check_mask(wish: GenerationWish) -> None:
    """Refuse a mask by which something else would change than was meant.

    Parameters
    ----------
    wish
        Its mask and its first reference are here, not at an address.

    Raises
    ------
    GenerationError
        If the mask is of another size, or nothing of it is transparent.
    AttachmentError
        If it cannot be decoded.
    """
    if wish.mask is None:
        return
    mask, picture = wish.mask, wish.references[0]
    if (mask.width, mask.height) != (picture.width, picture.height):
        raise GenerationError(
            f"The mask has {_size(mask)} pixels, and the picture to edit {_size(picture)}.",
            fix="give a mask of the picture's size: transparent where it may change.",
        )
    from agentcell.assets.pixels import is_opaque

    if is_opaque(decoded(mask)):
        raise GenerationError(
            "The mask has no transparent part, so nothing may change.",
            fix="make the part transparent that is to be painted anew.",
        )


def _size(picture: ImageAsset) -> str:
    return f"{picture.width}x{picture.height}"
