"""An image's content -> its pixels, upright and in colours that every screen shows; by Pillow."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from agentcell.assets.header import Damaged

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

MAX_DECODED_PIXELS = 89_478_485
"""Where Pillow begins to warn: 0.36 GB. A JPEG counts at the smaller scale it is decoded at."""

MAX_DECODED_PIXELS_BUFFERED = 40_000_000
"""For WebP, AVIF and HEIC, whose decoders hold several copies (0.64 GB seen for a WebP)."""

_BUFFERED = {"image/webp", "image/avif", "image/heic", "image/heif"}
_MAX_PROFILE = 4 << 20
_NEAR_ENOUGH = 0.95


class NotDrawable(Exception):
    """There is no way to decode the image here. The text says why, as a whole sentence."""


class _Decodable(Protocol):
    """What is needed of `agentcell.assets.facts.Facts`."""

    @property
    def mime_type(self) -> str: ...
    @property
    def orientation(self) -> int: ...


def open_picture(kind: str, stream: BinaryIO) -> ImageFile:
    """Open an image of the MIME type `kind`, reading little more than its header.

    The class for the type is called directly: Pillow's ``Image.open`` would try every format it
    knows, and warn of large images that are decoded at a smaller scale here.

    Raises
    ------
    Damaged
        If Pillow cannot read its header.
    NotDrawable
        If nothing that is installed decodes the type.
    """
    stream.seek(0)
    try:
        picture: ImageFile = _plugin(kind)(stream)
    except ImportError:
        raise NotDrawable(
            f"{kind.removeprefix('image/').upper()} images are read by pillow-heif,"
            " which is not installed."
        ) from None
    except NotDrawable:
        raise
    except Exception as error:  # the plug-ins raise almost anything on spoilt data
        if unknown_kind(error):
            raise NotDrawable(f"Pillow does not read this kind of file ({error}).") from error
        raise Damaged(str(error)[:100] or type(error).__name__) from error
    return picture


_UNKNOWN = r"unknown (pixel mode|data organization)|unsupported|cannot handle \d+-"


def unknown_kind(error: Exception) -> bool:
    """Whether Pillow says of a file that it is of a kind it does not read, not that it is spoilt.

    TIFF, BMP and JPEG have kinds that few programs read: 64-bit floats, five channels, 12 bits.
    """
    return re.search(_UNKNOWN, str(error), re.IGNORECASE) is not None


def _plugin(kind: str) -> Any:  # noqa: C901, PLR0911 (one branch for each type)
    match kind:
        case "image/png":
            from PIL.PngImagePlugin import PngImageFile

            return PngImageFile
        case "image/jpeg":
            from PIL.JpegImagePlugin import JpegImageFile

            return JpegImageFile
        case "image/gif":
            from PIL.GifImagePlugin import GifImageFile

            return GifImageFile
        case "image/webp":
            from PIL.WebPImagePlugin import WebPImageFile

            return WebPImageFile
        case "image/bmp":
            from PIL.BmpImagePlugin import BmpImageFile

            return BmpImageFile
        case "image/tiff":
            from PIL.TiffImagePlugin import TiffImageFile

            return TiffImageFile
        case "image/avif":
            try:
                from PIL.AvifImagePlugin import SUPPORTED, AvifImageFile
            except ImportError:
                SUPPORTED = False  # noqa: N806 (the plug-in's own name)
            if not SUPPORTED:
                raise NotDrawable("AVIF images are read by Pillow 11.3 or newer.")
            return AvifImageFile
        case "image/heic" | "image/heif":
            from pillow_heif import HeifImageFile

            return HeifImageFile
    raise NotDrawable("SVG images are drawings, and nothing here draws them.")


def upright(
    facts: _Decodable, stream: BinaryIO, *, max_side: int | None = None, quick: bool = False
) -> Image:
    """Decode an image's first frame: upright, 8 bits a channel, sRGB.

    Parameters
    ----------
    facts
        Its type and orientation.
    max_side
        Pixels that the longer side may have; a larger image is scaled down.
    quick
        Whether the longer side may have up to 5 % less, where a JPEG is then decoded faster: a
        photo of 4032 pixels has 504 at 1/8, near enough to 512.

    Returns
    -------
    Image
        In mode ``L``, ``RGB``, ``LA`` or ``RGBA``; without metadata.

    Raises
    ------
    Damaged
        If the pixels cannot be decoded.
    NotDrawable
        If nothing installed decodes the type, or there are too many pixels.
    """
    kind = facts.mime_type
    picture: Image = open_picture(kind, stream)
    box = _box(picture.size, max_side)
    if kind == "image/jpeg" and box != picture.size:
        least = _NEAR_ENOUGH if quick else 1
        picture.draft(None, (int(box[0] * least), int(box[1] * least)))  # to 1/2, 1/4 or 1/8
    limit = MAX_DECODED_PIXELS_BUFFERED if kind in _BUFFERED else MAX_DECODED_PIXELS
    if picture.width * picture.height > limit:
        raise NotDrawable(
            f"It has {picture.width * picture.height:,} pixels; at most {limit:,} are decoded here."
        )
    try:
        picture.load()
        profile = picture.info.get("icc_profile")
        turn = facts.orientation
        if kind == "image/avif":
            turn = picture.getexif().get(274, 1)  # made by Pillow from the file's own turns
        picture = _turned(_scaled(eight_bits(picture), _box(picture.size, max_side)), turn)
        return _in_srgb(picture, profile)
    except Exception as error:  # Pillow's decoders raise almost anything on spoilt data
        raise Damaged(str(error)[:100] or type(error).__name__) from error


def bare(picture: Image) -> Image:
    """Return a copy that holds pixels and nothing else: no EXIF, no comment, no profile."""
    copy = picture.copy()
    copy.info = {}
    return copy


def is_opaque(picture: Image) -> bool:
    """Tell whether no pixel lets anything shine through."""
    if picture.mode not in {"RGBA", "LA"}:
        return True
    lowest = picture.getchannel("A").getextrema()[0]
    return lowest == 255  # noqa: PLR2004 (opaque)


def on_white(picture: Image) -> Image:
    """Return the picture without transparency, as it looks on white paper."""
    if picture.mode not in {"RGBA", "LA"}:
        return picture
    from PIL import Image

    colours = "RGB" if picture.mode == "RGBA" else "L"
    paper = Image.new(colours, picture.size, "white")
    paper.paste(picture.convert(colours), mask=picture.getchannel("A"))
    return paper


def as_png(picture: Image) -> bytes:
    """Return the picture as a PNG file, without metadata."""
    sink = io.BytesIO()
    bare(picture).save(sink, "PNG")
    return sink.getvalue()


def as_jpeg(picture: Image, quality: int, *, optimize: bool = False) -> bytes:
    """Return the picture, which must be in mode ``L`` or ``RGB``, as a JPEG file."""
    sink = io.BytesIO()
    bare(picture).save(sink, "JPEG", quality=quality, optimize=optimize)
    return sink.getvalue()


def light_jpeg(
    picture: Image, most_bytes: int, qualities: Iterable[int], *, optimize: bool = False
) -> bytes:
    """Return a JPEG file at the first of the qualities that is light enough, or at the last.

    Parameters
    ----------
    picture, optimize
        As for `as_jpeg`.
    qualities
        The best first.
    """
    data = b""
    for quality in qualities:
        data = as_jpeg(picture, quality, optimize=optimize)
        if len(data) <= most_bytes:
            break
    return data


def _box(size: tuple[int, int], max_side: int | None) -> tuple[int, int]:
    longest = max(size)
    if max_side is None or longest <= max_side:
        return size
    return (
        max(1, round(size[0] * max_side / longest)),
        max(1, round(size[1] * max_side / longest)),
    )


def eight_bits(picture: Image) -> Image:  # noqa: PLR0911 (one for each kind of mode)
    """Bring a picture to mode ``L``, ``LA``, ``RGB``, ``RGBA`` or ``CMYK``, which can be scaled."""
    mode = picture.mode
    if mode in {"P", "PA"}:
        has_alpha = mode == "PA" or "transparency" in picture.info
        return picture.convert("RGBA" if has_alpha else "RGB")
    if mode == "1":
        return picture.convert("L")
    if mode.startswith("I;16"):
        return picture.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    if mode in {"I", "F"}:
        return _stretched(picture)
    if mode in {"L", "RGB"} and "transparency" in picture.info:
        return picture.convert("LA" if mode == "L" else "RGBA")
    if mode in {"La", "RGBa"}:
        return picture.convert({"La": "LA", "RGBa": "RGBA"}[mode])
    if mode in {"L", "LA", "RGB", "RGBA", "CMYK"}:
        return picture
    return picture.convert("RGB")  # YCbCr, LAB, HSV, RGBX


def _stretched(picture: Image) -> Image:
    """Bring numbers without a fixed black and white to 0 (the lowest) to 255 (the highest)."""
    if picture.mode == "I":
        picture = picture.convert("F")
    low, high = (float(value) for value in picture.getextrema())  # type: ignore[arg-type]
    scale = 255 / (high - low) if high > low else 0.0
    return picture.point(lambda value: value * scale - low * scale).convert("L")


def _scaled(picture: Image, size: tuple[int, int]) -> Image:
    if picture.size == size:
        return picture
    from PIL.Image import Resampling

    return picture.resize(size, Resampling.BICUBIC, reducing_gap=1.5)


def _turned(picture: Image, orientation: int) -> Image:
    from PIL.Image import Transpose

    turn = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }.get(orientation)
    return picture if turn is None else picture.transpose(turn)


def _in_srgb(picture: Image, profile: object) -> Image:
    """Apply the file's colour profile; a profile that cannot be used is passed over."""
    if isinstance(profile, bytes) and 0 < len(profile) <= _MAX_PROFILE and b"sRGB" not in profile:
        from PIL import ImageCms

        alpha = picture.getchannel("A") if picture.mode in {"RGBA", "LA"} else None
        colours = picture if alpha is None else picture.convert(picture.mode[:-1])
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            shown = ImageCms.profileToProfile(
                colours, source, ImageCms.createProfile("sRGB"), outputMode="RGB"
            )
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            shown = None
        if shown is not None:
            if alpha is not None:
                shown.putalpha(alpha)
            return shown
    return picture.convert("RGB") if picture.mode == "CMYK" else picture
