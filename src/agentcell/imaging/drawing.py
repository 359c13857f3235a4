"""A prompt's words and a seed → a picture, drawn by rule: shapes and colours, no understanding.

The same words, seed and size give the same pixels with the same version of Pillow. A strip at
the lower edge says how the picture came to be.
"""

from __future__ import annotations

import colorsys
import hashlib
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PIL.Image import Image

    Colour = tuple[int, int, int]

MOST_WORDS = 12
"""Words of a prompt that get a shape of their own."""

_HILLS = 4
_FINE = 2  # shapes are drawn so much larger and scaled down: smooth edges
_STRIP = 26  # of the picture's height
_LEAST_STRIP = 14  # pixels


@dataclass(frozen=True, slots=True)
class Plan:
    """What decides every pixel.

    Parameters
    ----------
    prompt, negative
        Their words; those of `negative` get no shape.
    seed
        Any whole number.
    size
        Pixels across and down.
    """

    prompt: str
    seed: int
    size: tuple[int, int]
    negative: str = ""


def drawn(plan: Plan) -> Image:
    """Return the picture of `plan`, without its strip, in mode ``RGB``."""
    from PIL import Image, ImageDraw

    chance = _numbers(f"{plan.prompt}\n{plan.seed}")
    words = _words(plan)
    colours = [_colour(word) for word in words] or [_colour(str(plan.seed))]
    width, height = (side * _FINE if side <= 1024 else side for side in plan.size)  # noqa: PLR2004
    picture = _sky((width, height), colours, chance)
    brush = ImageDraw.Draw(picture, "RGBA")
    _sun(brush, (width, height), colours[0], chance)
    for number in range(_HILLS):
        colour = _darker(colours[number % len(colours)], 0.35 + 0.5 * (1 - number / _HILLS))
        _hill(brush, (width, height), number, colour, chance)
    for word, colour in zip(words, colours, strict=False):
        _shape(brush, (width, height), word, colour, chance)
    return picture.resize(plan.size, Image.Resampling.LANCZOS)


def signed(picture: Image, words: str) -> Image:
    """Return a copy with `words`, of plain letters, on a strip at its lower edge."""
    from PIL import ImageDraw, ImageFont

    copy = picture.copy()
    width, height = copy.size
    tall = max(_LEAST_STRIP, height // _STRIP)
    if height < 2 * tall:
        return copy
    brush = ImageDraw.Draw(copy, "RGBA" if copy.mode == "RGB" else None)
    brush.rectangle((0, height - tall, width, height), fill=(0, 0, 0, 170))
    size = tall * 0.62
    while size > 6 and ImageFont.load_default(size).getlength(words) > width - tall:  # noqa: PLR2004
        size *= 0.9
    at = (tall * 0.4, height - tall / 2)
    font = ImageFont.load_default(size)
    brush.text(at, words, fill=(255, 255, 255, 255), font=font, anchor="lm")
    return copy


def _numbers(text: str) -> Iterator[float]:
    """Yield numbers from 0 to below 1 that depend on `text` alone, on every machine."""
    state = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    while True:
        for at in range(0, 32, 4):
            yield int.from_bytes(state[at : at + 4], "big") / 2**32
        state = hashlib.sha256(state).digest()


def _words(plan: Plan) -> list[str]:
    unwanted = {word.casefold() for word in re.findall(r"\w+", plan.negative)}
    found = (word.casefold() for word in re.findall(r"\w+", plan.prompt))
    unique = dict.fromkeys(word for word in found if word not in unwanted)
    return list(unique)[:MOST_WORDS]


def _colour(word: str) -> Colour:
    """Return the colour that a word names, else one that is always the same for it."""
    from PIL import ImageColor

    if word in ImageColor.colormap:
        named = ImageColor.getrgb(word)
        return named[0], named[1], named[2]
    digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
    red, green, blue = colorsys.hsv_to_rgb(digest[0] / 256, 0.45 + digest[1] / 640, 0.9)
    return round(red * 255), round(green * 255), round(blue * 255)


def _darker(colour: Colour, part: float) -> Colour:
    return round(colour[0] * part), round(colour[1] * part), round(colour[2] * part)


def _lighter(colour: Colour, part: float) -> Colour:
    red, green, blue = (round(channel + (255 - channel) * part) for channel in colour)
    return red, green, blue


def _sky(size: tuple[int, int], colours: Sequence[Colour], chance: Iterator[float]) -> Image:
    from PIL import Image

    top = _darker(colours[int(next(chance) * len(colours))], 0.75)
    bottom = _lighter(colours[-1], 0.7)
    ramp = Image.linear_gradient("L").resize(size, Image.Resampling.BICUBIC)
    return Image.composite(Image.new("RGB", size, bottom), Image.new("RGB", size, top), ramp)


def _sun(brush: object, size: tuple[int, int], colour: Colour, chance: Iterator[float]) -> None:
    width, height = size
    radius = min(size) * (0.08 + 0.1 * next(chance))
    x, y = width * (0.2 + 0.6 * next(chance)), height * (0.15 + 0.25 * next(chance))
    for ring in range(4, -1, -1):
        reach = radius * (1 + ring * 0.35)
        light = (*_lighter(colour, 0.85), 255 if ring == 0 else 36)
        brush.ellipse((x - reach, y - reach, x + reach, y + reach), fill=light)  # type: ignore[attr-defined]


def _hill(
    brush: object, size: tuple[int, int], number: int, colour: Colour, chance: Iterator[float]
) -> None:
    width, height = size
    base = height * (0.5 + 0.12 * number)
    rise, waves, shift = height * (0.04 + 0.08 * next(chance)), 1 + 2 * next(chance), next(chance)
    step = max(1, width // 160)
    ridge = [
        (x, base - rise * math.sin(math.tau * (waves * x / width + shift)))
        for x in range(0, width + step, step)
    ]
    brush.polygon([*ridge, (width, height), (0, height)], fill=(*colour, 215))  # type: ignore[attr-defined]


def _shape(
    brush: object, size: tuple[int, int], word: str, colour: Colour, chance: Iterator[float]
) -> None:
    width, height = size
    reach = min(size) * (0.03 + 0.06 * next(chance))
    x, y = width * (0.08 + 0.84 * next(chance)), height * (0.3 + 0.55 * next(chance))
    sides = 3 + hashlib.sha256(word.encode("utf-8", "replace")).digest()[2] % 6
    fill, edge = (*_lighter(colour, 0.25), 235), (*_darker(colour, 0.5), 255)
    line = max(1, round(min(size) / 400))
    if sides == 8:  # noqa: PLR2004 (as many are as good as a circle)
        box = (x - reach, y - reach, x + reach, y + reach)
        brush.ellipse(box, fill=fill, outline=edge, width=line)  # type: ignore[attr-defined]
        return
    turn = next(chance) * 360
    brush.regular_polygon((x, y, reach), sides, rotation=turn, fill=fill, outline=edge, width=line)  # type: ignore[attr-defined]
