"""What `-a` names, to assets: a path is read, an address is passed on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset, asset_from_path
from agentcell.errors import CellError
from agentcell.modality import FieldModality
from agentcell.prompts.fields import parse_field_spec

_ADDRESS = re.compile(r"https?://|data:", re.IGNORECASE)


def attached(
    given: Iterable[tuple[str, str]], fields: Mapping[str, str], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the attachments by field name; a name given several times holds a list.

    Raises
    ------
    CellError, AttachmentError
        If a file cannot be used, or an address does not say what it leads to.
    """
    found: dict[str, list[MediaAsset]] = {}
    for name, place in given:
        field = name or field_name(place)
        spec = parse_field_spec(field, fields.get(field))
        found.setdefault(field, []).append(_asset(place, field, spec.modality, values))
    return {name: assets[0] if len(assets) == 1 else assets for name, assets in found.items()}


def field_name(place: str) -> str:
    """Return a field's name for a file that was given none: ``my receipt.png`` → ``my_receipt``."""
    stem = "attachment" if _ADDRESS.match(place) else Path(place).stem
    name = re.sub(r"\W+", "_", stem).strip("_")
    return name if name.isidentifier() else f"attachment_{name}".rstrip("_")


def _asset(
    place: str, field: str, modality: FieldModality, values: Mapping[str, Any]
) -> MediaAsset:
    if _ADDRESS.match(place):
        return _from_address(place, field, modality)
    path = Path(place).expanduser()
    if not path.exists() and place in values:
        raise CellError(
            f"-a {place}: there is no file of that name, but there is a variable.",
            fix=f"write {{{place}}} in the question instead.",
        )
    return asset_from_path(path)


def _from_address(place: str, field: str, modality: FieldModality) -> MediaAsset:
    if place[:5].lower() == "data:":
        return (PdfAsset if modality is FieldModality.PDF else ImageAsset).from_base64(place)
    if modality is FieldModality.IMAGE:
        return ImageAsset.from_url(place)
    if modality is FieldModality.PDF:
        return PdfAsset.from_url(place)
    raise CellError(
        f"-a {field}=…: an address does not say whether it leads to an image or a PDF.",
        fix=f'declare it: -i {field}="IMAGE:…" or -i {field}="PDF:…".',
    )
