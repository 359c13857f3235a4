"""A section's text with ``%name%`` in it → what it names, and the text with values in their places.

One pass from left to right: ``%%`` is a percent sign; ``%name%`` (ASCII letters, digits and ``_``,
no digit first) is a slot; ``%images%`` and ``%image:2%`` are places of images. Every other ``%`` is
itself, and a value that was put in is never looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

IMAGES = "images"

_TOKEN = re.compile(r"%%|%image:([0-9]{1,9})%|%([A-Za-z_][A-Za-z0-9_]*)%")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a value."""

    name: str


@dataclass(frozen=True, slots=True)
class ImagePlace:
    """A place for the image of this number, from 1; 0: for all that have no place of their own."""

    number: int = 0


Piece: TypeAlias = str | Slot | ImagePlace


def pieces(text: str) -> Iterator[Piece]:
    """Yield a section's text in its pieces, in order; texts are as they are to be sent."""
    at = 0
    for token in _TOKEN.finditer(text):
        if token.start() > at:
            yield text[at : token.start()]
        at = token.end()
        if token[1] is not None:
            # %image:0% is no image's place; as a number of none it is told to be out of range.
            yield ImagePlace(int(token[1]) or -1)
        elif token[2] is None:
            yield "%"
        else:
            yield ImagePlace() if token[2] == IMAGES else Slot(token[2])
    if at < len(text):
        yield text[at:]


def slots(texts: Iterable[str]) -> list[str]:
    """Return the names of all slots in `texts`, each once, in order."""
    found = (piece.name for text in texts for piece in pieces(text) if isinstance(piece, Slot))
    return list(dict.fromkeys(found))


def filled(text: str, values: Mapping[str, str]) -> list[str | ImagePlace]:
    """Return `text` with values in its slots: texts joined, images' places between them.

    Parameters
    ----------
    values
        By name; a slot without one stays as it stands.
    """
    done: list[str | ImagePlace] = []
    texts: list[str] = []  # joined once: a text of many pieces would be copied for each of them
    for piece in pieces(text):
        if isinstance(piece, ImagePlace):
            done += ["".join(texts), piece] if texts else [piece]
            texts = []
        elif isinstance(piece, Slot):
            texts.append(values.get(piece.name, f"%{piece.name}%"))
        else:
            texts.append(piece)
    return [*done, "".join(texts)] if texts else done
