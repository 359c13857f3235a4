"""What a person typed -> the assets there: a path, an address, or what a variable holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from anywidget import AnyWidget

from agentcell.assets.asset import MediaAsset, asset_from_path, asset_from_url
from agentcell.assets.coerce import coerce
from agentcell.assets.foreign import is_foreign
from agentcell.assets.tables import is_frame
from agentcell.errors import AttachmentError, FieldError
from agentcell.modality import FieldModality
from agentcell.prompts.place import is_address
from agentcell.safe_text import plain

MOST_NAMES = 200
"""Variables that the panel offers."""

_SLOT = re.compile(r"\{(\w+)\}")
_KINDS = {"": FieldModality.ANY, "image": FieldModality.IMAGE, "pdf": FieldModality.PDF}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was meant.

    Parameters
    ----------
    assets
        One or several.
    name
        What its field's name is made of.
    label
        What to call it; empty: by its file's name, else by the field's.
    place
        Where it may be looked at again; empty if it may not.
    """

    assets: list[MediaAsset]
    name: str
    label: str
    place: str


def assets_at(place: str, kind: str, values: Mapping[str, Any]) -> Found:
    """Return what is at a path or an address, or what a variable holds.

    Parameters
    ----------
    place
        As a person typed it; ``{name}``, or the name alone, is a variable.
    kind
        What an address leads to, ``image`` or ``pdf``; empty: as its ending says.
    values
        The variables by name.

    Raises
    ------
    AttachmentError, FieldError
        If nothing is there that can be attached.
    """
    if not place:
        raise AttachmentError(
            "Nothing was named.", fix="type a path, an address or a variable's name."
        )
    slot = _SLOT.fullmatch(place)
    name = slot[1] if slot else place
    if name in values:
        assets = _of_value(values[name], name)
        label = name if len(assets) == 1 else ""
        return Found(assets=assets, name=name, label=label, place=name)
    if is_address(place):
        asset = _at_address(place, _KINDS[kind])
        is_data = place[:5].lower() == "data:"
        name = asset.filename or "address"
        return Found(assets=[asset], name=name, label="", place="" if is_data else place)
    if slot:
        raise AttachmentError(
            f"There is no variable {plain(name)[:80]!r}.",
            fix="run the cell that makes it first, or give a path.",
        )
    asset = asset_from_path(place)
    return Found(assets=[asset], name=place, label="", place=place)


def names_of_pictures(values: Mapping[str, Any]) -> list[str]:
    """Return the names of variables that look as if they could be attached, sorted.

    Parameters
    ----------
    values
        The variables by name; nothing is converted.
    """
    names = [
        name
        for name, value in values.items()
        if isinstance(name, str) and not name.startswith("_") and _could_be(value)
    ]
    return sorted(names)[:MOST_NAMES]


def _could_be(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and len(value) < MOST_NAMES and _could_be(value[0])
    if isinstance(value, AnyWidget):  # a panel itself
        return False
    return (
        isinstance(value, (MediaAsset, PurePath, bytes, bytearray))
        or is_foreign(value)
        or is_frame(value)
    )


def _of_value(value: object, name: str) -> list[MediaAsset]:
    found = coerce(value, name=name)
    if isinstance(found, str):  # a table may be a picture; another text is none
        found = coerce(value, name=name, modality=FieldModality.IMAGE)
    if isinstance(found, MediaAsset):
        return [found]
    if isinstance(found, list) and found:
        return list(found)
    raise FieldError(
        f"'{name}' holds text; an image or a PDF was expected.",
        fix=f"write {{{name}}} in a question, or attach a picture.",
    )


def _at_address(place: str, modality: FieldModality) -> MediaAsset:
    try:
        return asset_from_url(place, modality=modality)
    except AttachmentError as error:
        if "does not say whether" not in error.problem:
            raise
        raise AttachmentError(error.problem, fix="choose image or PDF beside it.") from error
