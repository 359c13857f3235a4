"""Options as people write them in Python → a wish: paths and other pictures become assets."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Mapping
from typing import Any

from agentcell.assets.asset import ImageAsset
from agentcell.assets.coerce import coerce
from agentcell.errors import GenerationError
from agentcell.imaging.generation import Generation
from agentcell.imaging.wish import GenerationWish
from agentcell.modality import FieldModality


def as_wish(prompt: str, options: Mapping[str, Any]) -> GenerationWish:
    """Return the wish that `prompt` and `options` make.

    Parameters
    ----------
    options
        The fields of a `GenerationWish`. `references` and `mask` may hold whatever is a picture:
        a path as text or `Path`, an asset, bytes, a PIL image, a figure, a `Generation`.

    Raises
    ------
    GenerationError
        If an option has another name, or a value is no picture.
    AttachmentError
        If a picture cannot be used.
    """
    known = [one.name for one in dataclasses.fields(GenerationWish) if one.name != "prompt"]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise GenerationError(
                f"A generation has no option {name!r}; it has {', '.join(known)}.",
                fix=f"did you mean {near[0]}?" if near else "leave it out.",
            )
    given = {name: value for name, value in options.items() if value is not None}
    parents = given.pop("parents", ())
    for value in _each(given.get("references", ())):
        if isinstance(value, Generation) and isinstance(parents, (list, tuple)):
            parents = (*parents, *(f"sha256:{one.digest}" for one in value.artifacts))
    if "references" in given:
        given["references"] = tuple(
            one for value in _each(given["references"]) for one in images(value, "references")
        )
    if "mask" in given:
        found = images(given["mask"], "mask")
        if len(found) != 1:
            raise GenerationError(f"{len(found)} masks were given.", fix="give one.")
        given["mask"] = found[0]
    return GenerationWish(prompt=prompt, parents=parents, **given)


def images(value: object, name: str) -> tuple[ImageAsset, ...]:
    """Return the pictures that a value is.

    Parameters
    ----------
    name
        Where it was given, for an error.

    Raises
    ------
    GenerationError
        If it is none.
    AttachmentError
        If one cannot be used.
    """
    if isinstance(value, str):
        value = ImageAsset.from_path(value)
    found = coerce(value, name=name, modality=FieldModality.IMAGE)
    listed = found if isinstance(found, list) else [found]
    pictures = tuple(one for one in listed if isinstance(one, ImageAsset))
    if not pictures or len(pictures) != len(listed):
        raise GenerationError(
            f"{name} holds a {type(value).__name__} that is no picture.",
            fix="give a path, an ImageAsset, bytes, a PIL image or a Generation.",
        )
    return pictures


def _each(value: Any) -> tuple[Any, ...]:
    one = isinstance(value, (str, bytes, os.PathLike, Generation)) or not isinstance(
        value, (list, tuple)
    )
    return (value,) if one else tuple(value)
