"""Pictures for tests: made here, small, each with its own colour."""

from __future__ import annotations

import io

from PIL import Image


def picture(
    colour: str | tuple[int, ...] = "red",
    size: tuple[int, int] = (40, 30),
    kind: str = "PNG",
) -> bytes:
    """Return a picture's file of one colour; one with four parts has an alpha channel."""
    mode = "RGBA" if isinstance(colour, tuple) and len(colour) == 4 else "RGB"
    sink = io.BytesIO()
    Image.new(mode, size, colour).save(sink, kind)
    return sink.getvalue()


def noise(size: tuple[int, int], kind: str = "PNG") -> bytes:
    """Return a picture that does not become smaller when it is packed."""
    sink = io.BytesIO()
    Image.effect_noise(size, 80).convert("RGB").save(sink, kind)
    return sink.getvalue()


def mask(size: tuple[int, int] = (40, 30)) -> bytes:
    """Return a mask: its left half is transparent, so that it may change."""
    whole = Image.new("RGBA", size, (0, 0, 0, 255))
    whole.paste((0, 0, 0, 0), (0, 0, size[0] // 2, size[1]))
    sink = io.BytesIO()
    whole.save(sink, "PNG")
    return sink.getvalue()
