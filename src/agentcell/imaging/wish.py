"""What a person or a model wants made → one checked value that every backend reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentcell.assets.asset import ImageAsset
from agentcell.errors import GenerationError
from agentcell.safe_text import shown_value, unsendable

Kind: TypeAlias = Literal["image", "video"]
ImageFormat: TypeAlias = Literal["png", "webp", "jpeg"]

MOST_IMAGES = 8
MOST_SECONDS = 60

QUALITIES = ("low", "medium", "high", "xhigh", "max", "auto")

_SIZE = re.compile(r"[1-9]\d{0,4}x[1-9]\d{0,4}|auto")
_ASPECT = re.compile(r"[1-9]\d{0,2}:[1-9]\d{0,2}")
_SEEDS = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationWish:
    """One request for pictures or a clip, before it is known who makes them.

    Parameters
    ----------
    prompt
        What is to be seen. Not blank.
    kind
        ``image`` or ``video``.
    model
        The backend's own name for a model; empty lets the backend decide.
    count
        How many pictures, 1 to `MOST_IMAGES`; a clip is one.
    size
        ``WIDTHxHEIGHT`` in pixels, ``auto``, or empty: the backend decides.
    format
        How pictures are stored.
    quality
        One of `QUALITIES`, or empty: the backend decides. More costs more.
    references
        Pictures to start from, or to edit; for a clip its first frame.
    mask
        What may change in the first reference: where it is transparent. Of the same size.
    seed
        A whole number of 64 bits; None lets the backend choose.
    seconds
        How long a clip is, 1 to `MOST_SECONDS`; None lets the backend decide.
    aspect
        ``WIDTH:HEIGHT`` of a clip, for example ``16:9``; empty: the backend decides.
    negative
        What is not to be seen.
    parents
        Digests of the pictures among `references` that were made here.

    Raises
    ------
    GenerationError
        If one of them is something else; nothing has been sent then.
    """

    prompt: str
    kind: Kind = "image"
    model: str = ""
    count: int = 1
    size: str = ""
    format: ImageFormat = "png"
    quality: str = ""
    references: tuple[ImageAsset, ...] = ()
    mask: ImageAsset | None = None
    seed: int | None = None
    seconds: int | None = None
    aspect: str = ""
    negative: str = ""
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.prompt, str) or not self.prompt.strip():
            raise GenerationError("A prompt is required.", fix="say what is to be seen.")
        self._check_types()
        if self.kind not in ("image", "video"):
            raise _wrong("kind", self.kind, "image or video")
        if self.format not in ("png", "webp", "jpeg"):
            raise _wrong("format", self.format, "png, webp or jpeg")
        if self.quality and self.quality not in QUALITIES:
            raise _wrong("quality", self.quality, f"one of {', '.join(QUALITIES)}")
        if not _is_whole(self.count) or not 1 <= self.count <= MOST_IMAGES:
            raise _wrong("count", self.count, f"a whole number from 1 to {MOST_IMAGES}")
        if self.seed is not None and (not _is_whole(self.seed) or self.seed not in _SEEDS):
            raise _wrong("seed", self.seed, "a whole number of 64 bits")
        if self.size and not _SIZE.fullmatch(self.size):
            raise _wrong("size", self.size, "WIDTHxHEIGHT such as 1024x1024, or auto")
        if self.aspect and not _ASPECT.fullmatch(self.aspect):
            raise _wrong("aspect", self.aspect, "WIDTH:HEIGHT such as 16:9")
        if self.seconds is not None and (
            not _is_whole(self.seconds) or not 1 <= self.seconds <= MOST_SECONDS
        ):
            raise _wrong("duration", self.seconds, f"1 to {MOST_SECONDS} whole seconds")
        self._check_together()

    def _check_types(self) -> None:
        for name in ("model", "size", "quality", "aspect", "negative"):
            if not isinstance(getattr(self, name), str):
                raise _wrong(name, getattr(self, name), "a text")
        said = {"prompt": self.prompt, "negative prompt": self.negative, "model": self.model}
        for name, text in said.items():
            if fault := unsendable(text):
                raise GenerationError(f"The {name} holds {fault}.", fix="type it anew.")
        if not isinstance(self.parents, (tuple, list)):
            raise _wrong("parents", self.parents, "a tuple of digests")
        object.__setattr__(self, "parents", tuple(self.parents))
        if not isinstance(self.references, (tuple, list)):
            raise _wrong("references", self.references, "a tuple of pictures")
        object.__setattr__(self, "references", tuple(self.references))
        for one in (*self.references, *(() if self.mask is None else (self.mask,))):
            if not isinstance(one, ImageAsset):
                raise _wrong("a reference or the mask", one, "an ImageAsset")

    def _check_together(self) -> None:
        if self.kind == "image" and (self.seconds is not None or self.aspect):
            raise GenerationError(
                "A duration and an aspect are a clip's, and a picture was asked for.",
                fix="leave them out, or ask for a video.",
            )
        if self.kind == "video" and self.count != 1:
            raise _wrong("count", self.count, "1 for a video")
        if self.mask is not None and not self.references:
            raise GenerationError(
                "A mask was given without a picture to edit.", fix="give the picture too."
            )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(what: str, given: object, expected: str) -> GenerationError:
    return GenerationError(
        f"{what} is {shown_value(given)}; {expected} was expected.", fix="change it."
    )
