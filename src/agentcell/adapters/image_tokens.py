"""An image's pixels and a model, to the tokens that its provider counts for it.

Formulas of OpenAI (https://developers.openai.com/api/docs/guides/images-vision), Anthropic
(https://platform.claude.com/docs/en/build-with-claude/vision) and Google
(https://ai.google.dev/gemini-api/docs/media-resolution), read 2026-11-29, with counts that others
measured where the pages are silent. The provider's own count after the answer is what is paid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from agentcell.adapters.gemini_settings import is_older


@dataclass(frozen=True, slots=True)
class Range:
    """A number of tokens: about how many, at the least, at the most."""

    tokens: int
    low: int
    high: int

    @classmethod
    def about(cls, tokens: float, low: float = 1.0, high: float = 1.0) -> Range:
        """Return `tokens` with bounds that are so many times as large."""
        return cls(round(tokens), math.floor(tokens * low), math.ceil(tokens * high))

    def __add__(self, other: Range) -> Range:
        return Range(self.tokens + other.tokens, self.low + other.low, self.high + other.high)

    def times(self, count: int) -> Range:
        """Return as many for each of `count`."""
        return Range(self.tokens * count, self.low * count, self.high * count)


NOTHING = Range(0, 0, 0)

Size = tuple[int, int]
"""Width and height in pixels."""

UNKNOWN_SIZE: tuple[Size, Size, Size] = ((1024, 1024), (64, 64), (6000, 6000))
"""About, at the least, at the most: of an image that only the provider sees."""


def image_tokens(provider: str, model: str, size: Size | None, detail: str = "") -> Range:
    """Return the tokens of one image.

    Parameters
    ----------
    provider
        ``openai``, ``openai-chat``, ``anthropic`` or ``gemini``; of others nothing is known.
    model
        The model's id.
    size
        Width and height in pixels as sent; None if they are not known.
    detail
        How closely it is looked at: ``auto``, ``low``, ``high``, ``original``, or empty.
    """
    formula = _FORMULAS.get(provider, _of_others)
    if size is None:
        about, least, most = (formula(model.lower(), one, detail) for one in UNKNOWN_SIZE)
        return Range(about.tokens, least.low, most.high)
    return formula(model.lower(), (max(1, size[0]), max(1, size[1])), detail)


# OpenAI

_BUDGET_HIGH, _BUDGET_ORIGINAL, _BUDGET_SMALL = 2_500, 10_000, 1_536
"""Patches of 32 pixels that an image may have before it is scaled down."""

_LOW_SIDE = 512
_UNCAPPED = 1_000_000


def _patches(size: Size) -> int:
    return math.ceil(size[0] / 32) * math.ceil(size[1] / 32)


def _by_patches(size: Size, budget: int, factor: float) -> Range:
    patches = _patches(size)
    tokens = math.ceil(min(patches, budget) * factor)
    # What is scaled down fills its budget to 95 % at the least (measured: 11,868 of 12,000).
    return Range.about(tokens, low=1.0 if patches <= budget else 0.95)


def _by_tiles(size: Size, base: int, tile: int, detail: str) -> Range:
    """Fit into 2,048 pixels, then the shorter side into 768; count tiles of 512."""
    if detail == "low":
        return Range.about(base)
    width, height = _fitted(size, 2048, 768)
    tiles = math.ceil(round(width) / 512) * math.ceil(round(height) / 512)
    return Range.about(base + tile * tiles)


def _fitted(size: Size, longer: int, shorter: int) -> tuple[float, float]:
    scale = min(1.0, longer / max(size))
    scale = min(scale, shorter / min(size))
    return size[0] * scale, size[1] * scale


_TILED = (
    (re.compile(r"gpt-4o-mini"), 2833, 5667),
    (re.compile(r"gpt-4o|gpt-4\.1(?!-mini|-nano)|gpt-4\.5|chatgpt-4o"), 85, 170),
    (re.compile(r"o1|o3"), 75, 150),
    (re.compile(r"gpt-5(\.1)?(?!\.?\d|-mini|-nano)"), 70, 140),
    (re.compile(r"computer-use"), 65, 129),
)
_SMALL = (
    (re.compile(r"gpt-(4\.1|5(\.\d)?)-mini"), 1.62),
    (re.compile(r"gpt-(4\.1|5(\.\d)?)-nano"), 2.46),
    (re.compile(r"o4-mini"), 1.72),
)
_RECENT = re.compile(r"gpt-(5\.[5-9]|[6-9]|\d\d)")
_BETWEEN = re.compile(r"gpt-5\.[234]")


def _of_openai(model: str, size: Size, detail: str) -> Range:
    for ids, base, tile in _TILED:
        if ids.match(model):
            return _by_tiles(size, base, tile, detail)
    if detail == "low":
        low_size = _fitted(size, _LOW_SIDE, _LOW_SIDE)
        size = (math.ceil(low_size[0]), math.ceil(low_size[1]))
    for ids, factor in _SMALL:
        if ids.match(model):
            return _by_patches(size, _BUDGET_SMALL, factor)
    if _BETWEEN.match(model):
        least = _by_patches(size, _BUDGET_SMALL, 1.0)
        most = _by_patches(size, _BUDGET_ORIGINAL, 1.2)
        return Range(_by_patches(size, _BUDGET_HIGH, 1.2).tokens, least.low, most.high)
    budget = _BUDGET_HIGH if detail == "high" else _UNCAPPED
    if model.startswith("gpt-5.5") and detail != "high":
        budget = _BUDGET_ORIGINAL
    found = _by_patches(size, budget, 1.2)
    if _RECENT.match(model):
        return found
    # Nothing is known of this model: it counts as one of those that are known, whichever.
    fewest = min(found.low, _by_tiles(size, 65, 129, detail).low)
    return Range(found.tokens, fewest, max(found.high, _by_patches(size, _BUDGET_SMALL, 2.46).high))


# Anthropic

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[-.](\d)(?!\d))?")
_OF_A_BLOCK = 4


def _of_anthropic(model: str, size: Size, _: str) -> Range:
    """Count patches of 28 pixels, after what is too large was scaled down."""
    found = _VERSION.search(model)
    version = (int(found[1]), int(found[2] or 0)) if found else (9, 0)
    side, most = (2576, 4784) if version >= (4, 7) else (1568, 1568)
    width, height = _fitted(size, side, side)
    patches = math.ceil(width / 28) * math.ceil(height / 28)
    tokens = min(patches, most) + _OF_A_BLOCK
    # Of large images, models of 5.5 were seen to count down to 0.6 of that.
    is_less = version >= (5, 5) and patches > 2_700  # noqa: PLR2004
    low = 0.6 if is_less else 0.9 if patches > most else 0.98
    return Range.about(tokens, low=low, high=1.02)


# Google

_BY_DETAIL = {"low": 280, "high": 1120, "original": 2240}
_USUAL = 1120
_TILE = 258


def _of_gemini(model: str, size: Size, detail: str) -> Range:
    if not is_older(model):
        return Range.about(_BY_DETAIL.get(detail, _USUAL), low=0.9)
    if detail == "low":
        return Range.about(64)
    if max(size) <= 384:  # noqa: PLR2004
        return Range.about(_TILE)
    # Tiles are of 256 to 768 pixels, by the shorter side; the page names 768 alone.
    unit = min(768, max(256, math.floor(min(size) / 1.5)))
    most = math.ceil(size[0] / unit) * math.ceil(size[1] / unit)
    least = math.ceil(size[0] / 768) * math.ceil(size[1] / 768)
    return Range(_TILE * most, _TILE * min(least, most), _TILE * max(least, most))


def _of_others(_: str, size: Size, __: str) -> Range:
    """Guess: patches of 28 pixels, as many open models have them."""
    patches = math.ceil(size[0] / 28) * math.ceil(size[1] / 28)
    return Range(max(64, min(patches, 4096)), 64, max(1500, min(2 * patches, 16_384)))


_FORMULAS: dict[str, Callable[[str, Size, str], Range]] = {
    "openai": _of_openai,
    "openai-chat": _of_openai,
    "anthropic": _of_anthropic,
    "gemini": _of_gemini,
}
