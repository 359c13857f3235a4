"""A question's ``@path`` and ``[IMAGE:path]``, to the files that go with it, and hints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import MediaAsset, asset_from_path
from agentcell.assets.sniff import suffix_type
from agentcell.errors import AttachmentError
from agentcell.prompts.image_markers import find_markers, marked_images
from agentcell.prompts.mentions import find_mentions, missing_files, written
from agentcell.prompts.template import near_miss
from agentcell_magics.attach import field_name
from agentcell_magics.line import shown

_MOST_HINTS = 3
_MOST_LOOKED_AT = 2_000
"""As many names in a folder are compared with one that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentioned:
    """What the mentions in a question come to.

    Parameters
    ----------
    files
        A field's name and the file, by path as written.
    hints
        Why a mention stays as typed, one sentence each.
    """

    files: dict[str, tuple[str, MediaAsset]]
    hints: tuple[str, ...]


def mentioned(
    text: str, is_typed: Callable[[str], bool], access: AccessPolicy | None = None
) -> Mentioned:
    """Return what `text` mentions.

    Parameters
    ----------
    text
        A question.
    is_typed
        Whether a person typed the part of it that it is called with: what a program put there
        attaches nothing.
    access
        The session's; without it ``[IMAGE:…]`` is text.

    Raises
    ------
    AttachmentError
        If an image or a PDF, by its name, cannot be used, or an ``[IMAGE:…]`` cannot.
    """
    files: dict[str, tuple[str, MediaAsset]] = {}
    hints: list[str] = []
    if access is not None:
        _take_markers(text, is_typed, access, files, hints)
    for mention in find_mentions(text, _is_file):
        path, said = mention.path, shown(text[mention.start : mention.end])
        if path in files:
            continue
        if not is_typed(text[mention.start : mention.end]):
            hints.append(f"{said} stays as text: nobody typed it in this cell. -a attaches a file.")
            continue
        try:
            files[path] = field_name(path), asset_from_path(Path(path).expanduser())
        except AttachmentError:
            if suffix_type(path):
                raise
            hints.append(f"{said} stays as typed: only images and PDFs can be attached.")
    hints += map(_about_missing, missing_files(text, _is_file))
    return Mentioned(files=files, hints=tuple(dict.fromkeys(hints))[:_MOST_HINTS])


def _take_markers(
    text: str,
    is_typed: Callable[[str], bool],
    access: AccessPolicy,
    files: dict[str, tuple[str, MediaAsset]],
    hints: list[str],
) -> None:
    """Put what ``[IMAGE:…]`` names into `files`, by the marker as written; or say why not."""
    typed: dict[str, str] = {}
    for marker in find_markers(text):
        whole = text[marker.start : marker.end]
        if is_typed(whole):
            typed[whole] = marker.reference
        else:
            hints.append(
                f"{shown(whole)} stays as text: nobody typed it in this cell. -a attaches a file."
            )
    images = marked_images(typed.values(), access)
    for (whole, reference), image in zip(typed.items(), images, strict=True):
        files[whole] = field_name(reference), image


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):
        return False


def _about_missing(path: str) -> str:
    said = f"@{shown(path)} stays as typed: there is no such file"
    place = Path(path)
    try:
        beside = sorted(
            one.name
            for one, _ in zip(
                place.parent.expanduser().iterdir(), range(_MOST_LOOKED_AT), strict=False
            )
            if suffix_type(one.name)
        )
    except (OSError, RuntimeError, ValueError):
        beside = []
    near = near_miss(place.name, beside)
    if near is None:
        return f"{said}."
    return f"{said}: did you mean {shown(written(path[: len(path) - len(place.name)] + near))}?"
