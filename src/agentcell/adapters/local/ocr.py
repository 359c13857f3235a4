"""A picture -> the pieces of text in it, by the recogniser that is installed.

`faster-paddle` (PP-OCR, English and Chinese, its weights in the wheel) first, else `rapidocr`.
Neither goes to the network: of faster-paddle's models only the medium one would be downloaded,
and it is never chosen.
"""

# ruff: noqa: PLR2004 (lengths of words, counts of pieces)

from __future__ import annotations

import os
import statistics
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentcell.adapters.local import picture
from agentcell.adapters.local.rows import Box
from agentcell.errors import LocalModelMissing

if TYPE_CHECKING:
    from PIL.Image import Image

SURE = 0.55
"""Confidence under which a piece is taken for a pattern, not for text. Printed text is over 0.9;
turned by a quarter or a half it is read at 0.58 to 0.72 on average."""

_UPRIGHT = 0.8
"""Mean confidence under which the picture may stand on its head."""

Recogniser = Callable[[bytes], list[Box]]

_lock = threading.Lock()
_recogniser: Recogniser | None = None


def read_image(image: Image, recognise: Recogniser) -> list[Box]:
    """Return the pieces of text in `image`, wherever its top is.

    Places are those of the straightened picture. A picture without text gives an empty list.
    """
    if min(image.size) < picture.SMALLEST:
        return []
    boxes = _read_straightened(image, recognise)
    for degrees in _other_turns(boxes):
        again = _read_straightened(picture.turned(image, degrees), recognise)
        if _sureness(again) > _sureness(boxes):
            boxes = again
    return [box for box in boxes if box.confidence >= SURE and _is_text(box.text)]


def _read_straightened(image: Image, recognise: Recogniser) -> list[Box]:
    angle = picture.skew(image)
    if angle:
        image = picture.turned(image, angle)
    boxes = []
    for piece, above in picture.pieces(image):
        boxes += [_lowered(box, above) for box in recognise(picture.encoded(piece))]
    return boxes


def _lowered(box: Box, pixels: int) -> Box:
    if not pixels:
        return box
    return Box(
        text=box.text,
        left=box.left,
        top=box.top + pixels,
        right=box.right,
        bottom=box.bottom + pixels,
        confidence=box.confidence,
    )


def _other_turns(boxes: Sequence[Box]) -> list[int]:
    """Return the turns, counter-clockwise, that may set the picture upright.

    Lines that stand on end tell of a quarter turn. A recogniser reads those from one side well
    and from the other badly, which tells which.
    """
    words = [box for box in boxes if len(box.text) >= 3]
    if len(words) < 3:
        return []
    sure = statistics.fmean(box.confidence for box in words)
    on_end = sum(box.height > 1.5 * (box.right - box.left) for box in words)
    if on_end > 0.6 * len(words):
        return [90] if sure > _UPRIGHT else [270]
    return [180] if sure < _UPRIGHT else []


def _sureness(boxes: Sequence[Box]) -> float:
    """Return how much was read, and how surely; text on end counts little."""
    total = 0.0
    for box in boxes:
        is_level = len(box.text) < 3 or box.height <= 1.5 * (box.right - box.left)
        total += len(box.text) * box.confidence**4 * (1.0 if is_level else 0.5)
    return total


def _is_text(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def recogniser() -> Recogniser:
    """Return the installed recogniser, opened once for the process.

    Raises
    ------
    LocalModelMissing
        If none is installed.
    """
    global _recogniser  # noqa: PLW0603 (one engine for the process: it holds 200 MB)
    with _lock:
        if _recogniser is None:
            _recogniser = _faster_paddle() or _rapidocr()
        if _recogniser is None:
            raise LocalModelMissing(
                "Reading a picture needs a text recogniser, and neither faster-paddle nor"
                " rapidocr is installed.",
                fix='run `pip install "agentcell[local]"`.',
                provider="local",
            )
        return _recogniser


def _threads() -> int:
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(4, available or 1))


def _faster_paddle() -> Recogniser | None:
    try:
        import faster_paddle
    except ImportError:
        return None
    engine = faster_paddle.OcrEngine("tiny", threads=_threads())

    def recognise(data: bytes) -> list[Box]:
        found: dict[str, dict[str, Any]] = engine.ocr(data)["bounds"]
        return [
            Box(
                text=str(piece["text"]),
                left=float(piece["topLeftCoord"][0]),
                top=float(piece["topLeftCoord"][1]),
                right=float(piece["bottomRightCoord"][0]),
                bottom=float(piece["bottomRightCoord"][1]),
                confidence=float(piece["confidence"]),
            )
            for piece in found.values()
        ]

    return recognise


def _rapidocr() -> Recogniser | None:
    try:
        import_module("onnxruntime")  # rapidocr runs on it, and does not bring it
        from rapidocr import RapidOCR
    except ImportError:
        return None
    engine = RapidOCR(params={"Global.log_level": "error"})  # else a notebook shows eight lines
    engine_lock = threading.Lock()

    def recognise(data: bytes) -> list[Box]:
        with engine_lock:
            found = engine(data)
        if found.boxes is None:
            return []
        boxes = []
        for corners, text, sure in zip(found.boxes, found.txts, found.scores, strict=True):
            across = [float(corner[0]) for corner in corners]
            down = [float(corner[1]) for corner in corners]
            boxes.append(
                Box(
                    text=str(text),
                    left=min(across),
                    top=min(down),
                    right=max(across),
                    bottom=max(down),
                    confidence=float(sure),
                )
            )
        return boxes

    return recognise
