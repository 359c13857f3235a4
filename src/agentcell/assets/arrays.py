"""An array of pixels or a PIL image -> an image asset."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from agentcell.assets.asset import ImageAsset
from agentcell.assets.facts import MAX_PIXELS
from agentcell.errors import FieldError

if TYPE_CHECKING:
    from PIL.Image import Image

LOSSLESS_PIXELS = 4_000_000
"""A larger picture without transparency becomes a JPEG: as PNG a photo would weigh 20 MB."""

_CHANNELS = {1, 3, 4}


def asset_of_picture(picture: Image, name: str) -> ImageAsset:
    """Return a PIL image as an asset: PNG, or JPEG if it is large.

    A picture just opened from a file is turned as its EXIF orientation says; one that was made or
    changed is taken as it is.

    Raises
    ------
    FieldError
        If it has no pixels, or its file is damaged.
    """
    from PIL import ImageOps
    from PIL.ImageFile import ImageFile

    from agentcell.assets.pixels import eight_bits, is_opaque

    if not picture.width or not picture.height or picture.width * picture.height > MAX_PIXELS:
        raise FieldError(
            f"'{name}' is an image of {picture.width:,} × {picture.height:,} pixels;"
            f" 1 to {MAX_PIXELS:,} were expected.",
            fix="give another one, or a smaller copy.",
        )
    try:
        upright = ImageOps.exif_transpose(picture) if isinstance(picture, ImageFile) else picture
        shown = eight_bits(upright)
    except Exception as error:  # the file behind it may be gone or damaged, or the image closed
        raise FieldError(
            f"'{name}' is an image whose pixels cannot be read: {str(error)[:100]}.",
            fix="open it again, or give the file's path.",
        ) from error
    if shown.mode == "CMYK":
        shown = shown.convert("RGB")
    if is_opaque(shown):
        shown = shown.convert("L" if shown.mode in {"L", "LA"} else "RGB")
    return _encoded(shown, picture.info.get("icc_profile"), name)


def asset_of_array(array: Any, name: str) -> ImageAsset:
    """Return a numpy array of pixels as an asset.

    Parameters
    ----------
    array : shape (height, width) or (height, width, channels), channels 1, 3 or 4
        Grey, RGB or RGBA; ``uint8`` (0 to 255), ``uint16`` (0 to 65,535), ``bool``, floats from
        0 to 1, or other whole numbers from 0 to 255.

    Raises
    ------
    FieldError
        If its shape or its values are no picture's; says which were expected.
    """
    from PIL import Image

    shape = tuple(int(length) for length in array.shape)
    if array.ndim not in {2, 3} or (array.ndim == 3 and shape[2] not in _CHANNELS):  # noqa: PLR2004 (height, width, channels)
        hint = "numpy.moveaxis(x, 0, -1)" if array.ndim == 3 and shape[0] in _CHANNELS else ""  # noqa: PLR2004 (as above)
        raise FieldError(
            f"'{name}' is an array of shape {shape}; (height, width), or (height, width, 3 or 4),"
            " was expected for an image.",
            fix=f"move its channels to the end: {hint}."
            if hint
            else f"give one picture, or {name}.tolist() for numbers.",
        )
    if 0 in shape or shape[0] * shape[1] > MAX_PIXELS:
        raise FieldError(
            f"'{name}' is an array of shape {shape}; an image has 1 to {MAX_PIXELS:,} pixels.",
            fix="give one that holds pixels, or a smaller copy.",
        )
    pixels = _bytes_of(array, name)
    if array.ndim == 3 and shape[2] == 1:  # noqa: PLR2004 (height, width, channels)
        pixels = pixels[:, :, 0]
    return _encoded(Image.fromarray(pixels), None, name)


def _bytes_of(array: Any, name: str) -> Any:
    """Return the array as ``uint8``."""
    kind = array.dtype.kind
    if array.dtype == "uint8":
        return array
    if kind == "b":
        return array.astype("uint8") * 255
    if kind not in "uif":
        raise FieldError(
            f"'{name}' is an array of {array.dtype}; numbers were expected for an image.",
            fix="convert it to uint8.",
        )
    low, high = array.min(), array.max()  # NaN, if there is one
    if array.dtype == "uint16":
        return (array // 257).astype("uint8")
    if kind == "f" and low >= 0 and high <= 1:
        return (array * 255 + 0.5).astype("uint8")
    if kind != "f" and low >= 0 and high <= 255:  # noqa: PLR2004 (a byte's range)
        return array.astype("uint8")
    wanted = "floats from 0 to 1" if kind == "f" else "whole numbers from 0 to 255"
    raise FieldError(
        f"'{name}' is an array of {array.dtype} from {low} to {high}; {wanted} were expected"
        " for an image.",
        fix="scale it to that range, or draw it with plt.imshow and give the figure.",
    )


def _encoded(picture: Image, profile: bytes | None, name: str) -> ImageAsset:
    sink = io.BytesIO()
    plain = picture.copy()
    plain.info = {}
    if picture.width * picture.height > LOSSLESS_PIXELS and picture.mode in {"L", "RGB"}:
        plain.save(sink, "JPEG", quality=92, icc_profile=profile)
        return ImageAsset.from_bytes(sink.getvalue(), filename=f"{name}.jpg")
    plain.save(sink, "PNG", icc_profile=profile)
    return ImageAsset.from_bytes(sink.getvalue(), filename=f"{name}.png")
