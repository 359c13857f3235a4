"""What was given as ``images`` → parts of a message, each picture's type told by its content.

A picture is a path, a data URL, the bytes of a file, an `ImageAsset`, or what a notebook shows as
a picture (of PIL, an array, a figure). An address (https) is passed on as it is where that is
allowed, and never fetched here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import ImageAsset, MediaAsset
from agentcell.assets.encoded import decode_text
from agentcell.assets.intake import local_path, read_path
from agentcell.assets.sniff import HEAD_BYTES, SUFFIX_TYPES, sniff
from agentcell.assets.wording import a_type, short
from agentcell.errors import AttachmentError, FieldError, PromptWarning
from agentcell.modality import FieldModality
from agentcell.openai_shape import data_url, image_part
from agentcell.warned import warn

TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What goes out; all of OpenAI's (https://platform.openai.com/docs/guides/images-vision, read
2026-11-30). What a provider does not take of them is refused by its adapter."""

MAX_BYTES = 8 * 1024 * 1024
MAX_IMAGES = 16

_DATA = re.compile(r"data:", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_HEAD = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.IGNORECASE)
_SAME = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}
_WANTED = "a path, a data URL, bytes, an ImageAsset, or a list of these"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRules:
    """What may be given as a picture.

    Parameters
    ----------
    max_bytes
        Of one picture's file.
    max_images
        In one prompt.
    allow_urls
        Whether an address may be given as a text; the provider then fetches it.
    strict
        Whether a name or a data URL that claims another type than the content has is an error;
        else it is corrected, with a `PromptWarning`.
    access
        Where paths may lead, as for a model; None: to every file that the person can read.
    """

    max_bytes: int = MAX_BYTES
    max_images: int = MAX_IMAGES
    allow_urls: bool = False
    strict: bool = False
    access: AccessPolicy | None = None


def image_parts(images: Any, rules: ImageRules) -> list[dict[str, Any]]:
    """Return `images` as parts, in order.

    Parameters
    ----------
    images
        A picture, or a list of them; None and an empty list are none.

    Raises
    ------
    AttachmentError
        If one cannot be used; it is named by its number, from 1, and never by its content.
    """
    given = (
        [] if images is None else list(images) if isinstance(images, (list, tuple)) else [images]
    )
    _check_count(len(given), rules)
    parts: list[dict[str, Any]] = []
    for value in given:
        parts += _parts(value, len(parts) + 1, rules)
    _check_count(len(parts), rules)  # one value may show several
    return parts


def _check_count(count: int, rules: ImageRules) -> None:
    if count > rules.max_images:
        raise AttachmentError(
            f"{count} images were given; at most {rules.max_images} were expected.",
            fix="give fewer, or allow more: SimplePrompt(…, max_images=…).",
        )


def _parts(value: Any, number: int, rules: ImageRules) -> Iterator[dict[str, Any]]:
    if isinstance(value, str) and _ADDRESS.match(value.strip()):
        yield image_part(_allowed_address(value.strip(), number, rules))
        return
    try:
        for url in _urls(value, number, rules):
            yield image_part(url)
    except AttachmentError as error:
        if error.problem.startswith("Image "):
            raise
        raise AttachmentError(f"Image {number}: {error.problem}", fix=error.fix) from None


def _urls(value: Any, number: int, rules: ImageRules) -> Iterator[str]:
    """Yield the address of each picture in `value`, which is mostly one."""
    if isinstance(value, str) and _DATA.match(value.lstrip()):
        data, claimed = _decoded(value.strip(), number, rules)
        yield _checked(data, claimed, "its data URL", number, rules)
    elif isinstance(value, (str, os.PathLike)):
        data, claim = _read(value, number, rules)
        yield _checked(data, claim, "its name", number, rules)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        yield _checked(bytes(value), None, "", number, rules)
    else:
        for asset in _assets(value, number):
            if asset.url is not None and not asset.url.startswith("data:"):
                yield asset.url  # made by hand with from_url: that is meant
            else:
                yield _checked(_content(asset, number), None, "", number, rules)


def _allowed_address(address: str, number: int, rules: ImageRules) -> str:
    if not rules.allow_urls:
        raise AttachmentError(
            f"Image {number} is an address; a file, a data URL or bytes were expected.",
            fix="save it and give the file, or let the provider fetch it:"
            " SimplePrompt(…, allow_urls=True).",
        )
    return address


def _decoded(text: str, number: int, rules: ImageRules) -> tuple[bytes, str]:
    head = _HEAD.match(text)
    if head is None or ";base64" not in head[2].lower().replace(" ", ""):
        raise AttachmentError(
            f"Image {number} is a data URL without base64; data:image/png;base64,… was expected.",
            fix="encode it with base64.b64encode, or give the file's bytes.",
        )
    return decode_text(text, rules.max_bytes).data, head[1].strip().lower()


def _read(path: str | os.PathLike[str], number: int, rules: ImageRules) -> tuple[bytes, str | None]:
    """Return a file's bytes, and the type that its name claims."""
    if isinstance(path, str) and "\0" in path:
        raise AttachmentError(f"Image {number}: a path holds a NUL.", fix="check the path.")
    shown = repr(short(PurePath(path).name))
    if rules.access is None:
        content = read_path(local_path(path), shown, rules.max_bytes)
    else:
        found = rules.access.resolve(path, asked_by="model")
        content = read_path(found, shown, rules.max_bytes, follow_links=False)
    ending = PurePath(path).suffix[1:].lower()
    return content.read(), SUFFIX_TYPES.get(ending)


def _assets(value: Any, number: int) -> list[MediaAsset]:
    """Return what a notebook's value shows as pictures."""
    from agentcell.assets.coerce import coerce

    if isinstance(value, MediaAsset):
        made: Any = value
    elif value is None or isinstance(value, (bool, int, float, complex, dict, set)):
        made = None
    else:
        try:
            made = coerce(value, name="images", modality=FieldModality.IMAGE)
        except FieldError:  # nothing that a notebook shows as a picture
            made = None
    assets = made if isinstance(made, list) else [made]
    if not assets or not all(isinstance(one, ImageAsset) for one in assets):
        raise AttachmentError(
            f"Image {number} is {a_type(value)}; {_WANTED} was expected.",
            fix='write for example images="photo.png".',
        )
    return assets


def _content(asset: MediaAsset, number: int) -> bytes:
    if asset.file_id is not None:
        raise AttachmentError(
            f"Image {number} is a file that only its provider holds; a picture was expected.",
            fix="give the picture itself, so that every provider can be asked.",
        )
    return asset.load_bytes()


def _checked(
    data: bytes, claim: str | None, claimed_by: str, number: int, rules: ImageRules
) -> str:
    """Return a picture as a data URL; its content says what it is."""
    if not data:
        raise AttachmentError(f"Image {number} is empty.", fix="check the file.")
    if len(data) > rules.max_bytes:
        raise AttachmentError(
            f"Image {number} is {len(data):,} bytes; at most {rules.max_bytes:,} were expected.",
            fix="give a smaller copy, or allow more: SimplePrompt(…, max_image_bytes=…).",
        )
    seen = sniff(data[:HEAD_BYTES])
    if seen.mime_type not in TYPES:
        raise AttachmentError(
            f"Image {number} is {seen.noun}; a PNG, JPEG, GIF or WebP image was expected.",
            fix="save it as PNG, or give it as ImageAsset and send it with %%agent.",
        )
    if claim is not None and _SAME.get(claim, claim) != seen.mime_type:
        said = f"Image {number} is {seen.noun}, though {claimed_by} says {claim or 'nothing'}"
        if rules.strict:
            raise AttachmentError(f"{said}.", fix="correct the name or the data URL.")
        warn(f"{said}; it goes out as {seen.mime_type}.", PromptWarning)
    return data_url(data, seen.mime_type)
