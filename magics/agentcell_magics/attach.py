"""What `-a` and `%view_image` name, to assets: a path is read, an address is passed on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from agentcell.assets.asset import MediaAsset, asset_from_path, asset_from_url
from agentcell.errors import CellError
from agentcell.modality import FieldModality
from agentcell.prompts.fields import parse_field_spec
from agentcell.prompts.place import field_name, is_address
from agentcell_magics.line import shown

__all__ = ["asset_at", "attached", "bare_name", "check_named", "field_name", "is_there"]

_OTHER_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_SLOT = re.compile(r"\{(\w+)\}")


def attached(
    given: Iterable[tuple[str, str]],
    fields: Mapping[str, str],
    values: Mapping[str, Any],
    mentioned: Iterable[tuple[str, MediaAsset]] = (),
) -> dict[str, Any]:
    """Return the attachments by field name; a name given several times holds a list.

    Parameters
    ----------
    given
        Names, which may be empty, and places.
    fields
        Declarations by name: they say what an address leads to.
    values
        The person's variables, to tell where one was meant.
    mentioned
        Files that the text names, with their fields: they are the value of a declared field that
        has no other.

    Raises
    ------
    CellError, AttachmentError
        If a file cannot be used, or an address does not say what it leads to.
    """
    found: dict[str, list[MediaAsset]] = {}
    for name, place in given:
        if name and not is_there(place) and is_there(whole := f"{name}={place}"):
            name, place = "", whole  # noqa: PLW2901 (a file whose name holds an =)
        field = name or field_name(place)
        spec = parse_field_spec(field, fields.get(field))
        asset = asset_at(place, spec.modality, values, option="-a ")
        found.setdefault(field, []).append(asset)
    for field, asset in mentioned:
        if field in fields and field not in values:
            found.setdefault(field, [asset])
    return {name: assets[0] if len(assets) == 1 else assets for name, assets in found.items()}


def asset_at(
    place: str,
    modality: FieldModality,
    values: Mapping[str, Any],
    *,
    option: str,
    read: Callable[[str], MediaAsset] = asset_from_path,
) -> MediaAsset:
    """Return what is at a path or an address.

    Parameters
    ----------
    option
        What was written before `place`, for errors.
    read
        Reads a file.

    Raises
    ------
    CellError, AttachmentError
        If there is nothing there that can be used.
    """
    if is_address(place):
        return asset_from_url(place, modality=modality)
    if is_there(place):
        return read(place)
    if other := _OTHER_SCHEME.match(place):
        path = unquote(urlsplit(place).path) if other[1].lower() == "file" else "receipt.png"
        raise CellError(
            f"{option}{shown(place)}: a path, or an address with https, was expected.",
            fix=f"write the path alone, for example {option}{shown(path)}.",
        )
    slot = _SLOT.fullmatch(place)
    name = slot[1] if slot else place
    if name in values:
        raise CellError(
            f"{option}{shown(place)}: there is no file of that name, but there is a variable.",
            fix=f"write {{{name}}} in the question instead.",
        )
    left, equals, right = place.partition("=")
    if equals and is_there(right):
        raise CellError(
            f"{option}{shown(place)}: {shown(left)!r} is no name for an attachment.",
            fix=f"write letters, digits and _, for example {option}receipt={shown(right)}.",
        )
    return read(place)  # which says what is wrong


def bare_name(place: str, values: Mapping[str, Any]) -> str:
    """Return the variable that ``{place}`` names, as in a question; anything else as it is."""
    inside = place[1:-1]
    return inside if inside in values and place == f"{{{inside}}}" else place


def check_named(place: str, option: str) -> None:
    """Refuse a word that can only be a variable's name, and is none.

    Parameters
    ----------
    place
        What no variable is called.
    option
        What was written before `place`, for the error.

    Raises
    ------
    CellError
        If there is no file of that name either.
    """
    if place.isidentifier() and not is_there(place):
        raise CellError(
            f"{option} {shown(place)}: there is neither a variable nor a file of that name.",
            fix="check the spelling, or run the cell that makes it first.",
        )


def is_there(place: str) -> bool:
    """Whether something is at that path; what cannot be a path is nowhere."""
    try:
        return Path(place).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False
