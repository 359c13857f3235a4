"""A wish → whether OpenAI's Images API takes it, its pictures as they are sent, its tokens.

Limits as in the openai SDK 3.57 (`ImageGenerateParams`, `ImageEditParams`), read 2026-11-30.
"""

from __future__ import annotations

from agentcell.adapters.events import Usage
from agentcell.assets.asset import ImageAsset
from agentcell.assets.convert import Target, converted
from agentcell.errors import GenerationError
from agentcell.imaging.backends.mask import check_mask
from agentcell.imaging.decoding import decoded
from agentcell.imaging.wish import GenerationWish

MOST_PROMPT, MOST_REFERENCES = 32_000, 16
MOST_REFERENCE_BYTES, MOST_MASK_BYTES = 50_000_000, 4_000_000

_TYPES = frozenset({"image/png", "image/webp", "image/jpeg"})
_STANDARD_SIZES = ("1024x1024", "1536x1024", "1024x1536")
_FREE_SIZES = ("gpt-image-2", "chatgpt-image")
"""How models begin that take sizes of one's own."""

_STEP, _LONGEST, _SHORTER_LIMIT, _STEEPEST = 16, 3840, 2160, 3

_TOKENS = {"low": 272, "medium": 1056, "high": 4160}
"""Of a picture of 1024 × 1024; others have them by their pixels, as the half more that pictures of
1536 × 1024 cost on OpenAI's pages (prices by the picture of gpt-image-1.5, read 2026-11-30)."""

_PARTIAL_TOKENS = 100
_SQUARE = 1024 * 1024


def check(wish: GenerationWish, model: str) -> None:
    """Refuse what the API does not take.

    Parameters
    ----------
    model
        Who is asked: which sizes there are depends on it.

    Raises
    ------
    GenerationError, AttachmentError
        What was asked, and what it takes.
    """
    _check_texts(wish)
    _check_size(wish.size, model)
    for asset in wish.references:
        if (asset.content.size_bytes or 0) > MOST_REFERENCE_BYTES:
            raise GenerationError(
                f"{asset.default_filename} has {asset.size_bytes:,} bytes; openai takes up to"
                f" {MOST_REFERENCE_BYTES:,}.",
                fix="give a smaller copy.",
            )
    if wish.mask is not None:
        check_mask(wish)
        as_mask(wish.mask)


def expected_usage(wish: GenerationWish, previews: int) -> Usage | None:
    """Return about how many tokens a wish will take; None where nobody knows.

    Parameters
    ----------
    wish
        With quality ``auto`` or none, that of ``high`` is taken.
    previews
        How many are shown of a single picture.
    """
    quality = wish.quality if wish.quality not in ("", "auto") else "high"
    if quality not in _TOKENS:
        return None
    tokens = _TOKENS[quality] * wish.count
    if wish.size not in ("", "auto"):
        width, height = map(int, wish.size.split("x"))
        tokens = round(_TOKENS[quality] * width * height / _SQUARE) * wish.count
    if wish.count == 1:
        tokens += previews * _PARTIAL_TOKENS
    read = len(wish.prompt) // 3 + 10 + sum(map(_reference_tokens, wish.references))
    return Usage(input_tokens=read, output_tokens=tokens, image_output_tokens=tokens)


def _check_texts(wish: GenerationWish) -> None:
    for name, given, way in (
        ("seed", wish.seed is not None, "leave --seed out"),
        ("negative prompt", bool(wish.negative), "say in the prompt what is not to be seen"),
    ):
        if given:
            raise GenerationError(f"openai takes no {name}.", fix=f"{way}.")
    if len(wish.prompt) > MOST_PROMPT:
        raise GenerationError(
            f"The prompt has {len(wish.prompt):,} characters; openai takes {MOST_PROMPT:,}.",
            fix="shorten it.",
        )
    if len(wish.references) > MOST_REFERENCES:
        raise GenerationError(
            f"{len(wish.references)} references were given; openai takes {MOST_REFERENCES}.",
            fix="leave some out.",
        )


def _check_size(size: str, model: str) -> None:
    if size in ("", "auto", *_STANDARD_SIZES):
        return
    if not model.startswith(_FREE_SIZES):
        raise GenerationError(
            f"size is {size}; {model} draws {', '.join(_STANDARD_SIZES)} or auto.",
            fix="give one of these.",
        )
    width, height = map(int, size.split("x"))
    short, long = sorted((width, height))
    if (
        width % _STEP
        or height % _STEP
        or long > short * _STEEPEST
        or long > _LONGEST
        or short > _SHORTER_LIMIT
    ):
        raise GenerationError(
            f"size is {size}; openai draws multiples of {_STEP} pixels, no side more than"
            f" {_STEEPEST} times the other, at most {_LONGEST}x{_SHORTER_LIMIT}.",
            fix=f"give for example {_near(width)}x{_near(height)}.",
        )


def _near(side: int) -> int:
    return max(_STEP, min(_SHORTER_LIMIT, round(side / _STEP) * _STEP))


def as_mask(mask: ImageAsset) -> ImageAsset:
    """Return a mask as the PNG that the API wants.

    Raises
    ------
    GenerationError
        If it is too large.
    AttachmentError
        If it cannot be decoded.
    """
    from agentcell.assets.pixels import as_png

    picture = decoded(mask)
    made = mask if mask.mime_type == "image/png" else ImageAsset.from_bytes(as_png(picture))
    if made.content.size_bytes >= MOST_MASK_BYTES:
        made = ImageAsset.from_bytes(as_png(picture))
    if made.content.size_bytes >= MOST_MASK_BYTES:
        raise GenerationError(
            f"The mask has {made.size_bytes:,} bytes; openai takes less than {MOST_MASK_BYTES:,}.",
            fix="give a plainer mask: one colour, and transparent parts.",
        )
    return made


def sendable(asset: ImageAsset) -> ImageAsset:
    """Return a reference as a type that the API takes; one that moves, as its first frame."""
    if asset.mime_type in _TYPES and not asset.animated:
        return asset
    return converted(asset, Target(max_bytes=MOST_REFERENCE_BYTES))


def _reference_tokens(asset: ImageAsset) -> int:
    """Return about how many tokens a reference is read as: one for each 32 pixels squared."""
    width, height = asset.width or 1024, asset.height or 1024
    return -(-width // 32) * -(-height // 32)
