"""A text with ``[IMAGE:path]`` in it → where it names images, and the images themselves.

A marker begins with ``[IMAGE:``, in capitals, and ends at the next ``]``; what stands between is a
path, a ``data:`` address or a web address. An empty or unclosed one is text. Code between backticks
stays as typed. Only a text that a person typed may be given to `marked_images`: in an answer, a
file or a tool's result a marker is text like any other.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import ImageAsset
from agentcell.assets.wording import short
from agentcell.errors import AttachmentError
from agentcell.messages import Block, Message, TextMessageBlock, content_text
from agentcell.prompts.mentions import in_prose

_MARKER = re.compile(r"\[IMAGE:([^\]]*)\]")
_START = re.compile(r"\[IMAGE:")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_DATA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp")

MEGABYTE = 1024 * 1024

MarkerFault: TypeAlias = Literal[
    "too_many_images",
    "image_too_large",
    "unsupported_mime",
    "remote_fetch_disabled",
    "image_source_not_found",
    "invalid_marker",
]


class MarkerError(AttachmentError):
    """An ``[IMAGE:…]`` cannot be used. Raised before anything is sent.

    Parameters
    ----------
    fault
        What is wrong, in one word.
    """

    def __init__(self, problem: str, *, fix: str, fault: MarkerFault) -> None:
        super().__init__(problem, fix=fix)
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerLimits:
    """How many images a text may name, how large, and whether by web address.

    Parameters
    ----------
    max_images
        1 to 16; what lies outside is taken as the nearer end.
    max_image_size_mb
        Of one file, in units of 1024 × 1024 bytes; 1 to 20, as above.
    allow_remote_fetch
        Whether a web address may stand there. The model's service fetches it, not this machine.
    """

    max_images: int = 4
    max_image_size_mb: int = 8
    allow_remote_fetch: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_images", min(16, max(1, self.max_images)))
        object.__setattr__(self, "max_image_size_mb", min(20, max(1, self.max_image_size_mb)))


@dataclass(frozen=True, slots=True)
class Marker:
    """One ``[IMAGE:…]``: its place in the text, brackets included, and what it refers to."""

    start: int
    end: int
    reference: str


def find_markers(text: str) -> list[Marker]:
    """Return every marker in `text` that does not stand in code, in order.

    Parameters
    ----------
    text
        As it was typed.
    """
    if "[IMAGE:" not in text:
        return []
    starts = set(in_prose(text, _START))
    return [marker for marker in _all(text) if marker.start in starts]


def split_markers(text: str) -> tuple[str, list[str]]:
    """Return `text` without its markers, and what they refer to.

    >>> split_markers("Check [IMAGE:a.png] and [IMAGE:https://example.org/b.jpg]")
    ('Check  and', ['a.png', 'https://example.org/b.jpg'])

    Parameters
    ----------
    text
        Code counts as any other text.
    """
    markers = _all(text)
    if not markers:
        return text, []
    ends = [0, *(marker.end for marker in markers)]
    begins = [*(marker.start for marker in markers), len(text)]
    rest = "".join(text[end:begin] for end, begin in zip(ends, begins, strict=True))
    return rest.strip(), [marker.reference for marker in markers]


def join_markers(text: str, references: Sequence[str]) -> str:
    r"""Return `text` with a marker for each of `references` below it.

    >>> join_markers("see", ["a.png", "b.png"])
    'see\n\n[IMAGE:a.png]\n[IMAGE:b.png]'

    Parameters
    ----------
    text
        May be empty.
    references
        Paths or addresses without a closing bracket.
    """
    markers = "\n".join(f"[IMAGE:{one}]" for one in references)
    return "\n\n".join(part for part in (text, markers) if part)


def marked_images(
    references: Iterable[str], access: AccessPolicy, limits: MarkerLimits | None = None
) -> list[ImageAsset]:
    """Return the images that markers refer to.

    Parameters
    ----------
    references
        As a person typed them.
    access
        The session's.
    limits
        None: the usual ones.

    Raises
    ------
    MarkerError
        If there are too many, one cannot be read, or may not be.
    """
    limits = limits or MarkerLimits()
    wanted = list(references)
    _check_count(len(wanted), limits)
    return [_image(one, access, limits) for one in wanted]


def attach_marked(
    messages: Iterable[Message], access: AccessPolicy, limits: MarkerLimits | None = None
) -> list[Message]:
    """Return messages in which the images that people's markers name are attached.

    Parameters
    ----------
    messages
        Only those of the role ``user`` are read and counted; they must be what a person typed.
    access, limits
        As for `marked_images`; so are the errors.
    """
    limits = limits or MarkerLimits()
    given = list(messages)
    found = [split_markers(_typed(message)) for message in given]
    _check_count(sum(len(references) for _, references in found), limits)
    made: list[Message] = []
    for message, (text, references) in zip(given, found, strict=True):
        if not references:
            made.append(message)
            continue
        content: list[Block | ImageAsset] = [TextMessageBlock(text)] if text else []
        content += [_image(one, access, limits) for one in references]
        made.append({**message, "content": content})
    return made


def data_of(reference: str) -> tuple[str, bytes]:
    """Return the type that a ``data:`` address claims, in small letters, and its bytes.

    Parameters
    ----------
    reference
        For example ``data:image/png;base64,iVBORw0KGgo=``.

    Raises
    ------
    MarkerError
        If it is not base64, or its type is none of png, jpeg, webp, gif and bmp.
    """
    header, comma, payload = reference[len("data:") :].partition(",")
    claim, *parameters = (part.strip().lower() for part in header.split(";"))
    if not comma or "base64" not in parameters:
        raise _invalid("has no base64 in it")
    if claim not in _DATA_TYPES:
        raise MarkerError(
            f"A data address in [IMAGE:…] holds {short(claim, 40) or 'nothing that it names'};"
            f" {', '.join(_DATA_TYPES)} was expected.",
            fix="give an image of one of these types.",
            fault="unsupported_mime",
        )
    try:
        return claim, b64decode(payload.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise _invalid("is no base64") from None


def _all(text: str) -> list[Marker]:
    return [
        Marker(found.start(), found.end(), found[1].strip())
        for found in _MARKER.finditer(text)
        if found[1].strip()
    ]


def _typed(message: Message) -> str:
    is_users = isinstance(message, dict) and message.get("role") == "user"
    content = message.get("content") if is_users else ""
    return content if isinstance(content, str) else content_text(content) if _plain(content) else ""


def _plain(content: object) -> bool:
    """Whether a message holds text blocks alone: what has attachments already, stays."""
    return isinstance(content, list) and all(isinstance(one, TextMessageBlock) for one in content)


def _check_count(count: int, limits: MarkerLimits) -> None:
    if count > limits.max_images:
        raise MarkerError(
            f"{count} images are named by [IMAGE:…]; at most {limits.max_images} are taken.",
            fix="name fewer, or attach them with -a.",
            fault="too_many_images",
        )


def _image(reference: str, access: AccessPolicy, limits: MarkerLimits) -> ImageAsset:
    if reference[:5].lower() == "data:":
        claim, data = data_of(reference)
        _check_size(len(data), "The image of a data address", limits)
        with _told("invalid_marker"):
            return ImageAsset.from_bytes(data, mime_type=claim)
    if _ADDRESS.match(reference):
        if not limits.allow_remote_fetch:
            raise MarkerError(
                "[IMAGE:…] holds a web address, and only local images are taken there.",
                fix="attach it below %%agent -a NAME=ADDRESS, or download it first.",
                fault="remote_fetch_disabled",
            )
        return ImageAsset.from_url(reference)
    try:
        path = access.resolve(reference, asked_by="person")
    except AttachmentError as error:
        raise MarkerError(
            f"[IMAGE:{short(reference)}]: {error.problem}",
            fix=error.fix,
            fault="image_source_not_found",
        ) from None
    _check_size(path.stat().st_size, short(reference), limits)
    with _told("unsupported_mime"):
        return access.image(reference, asked_by="person")


@contextmanager
def _told(fault: MarkerFault) -> Iterator[None]:
    """Say of a content that is no image, or a damaged one, that a marker names it."""
    try:
        yield
    except AttachmentError as error:
        raise MarkerError(error.problem, fix=error.fix, fault=fault) from None


def _check_size(size: int, shown: str, limits: MarkerLimits) -> None:
    most = limits.max_image_size_mb * MEGABYTE
    if size > most:
        raise MarkerError(
            f"{shown} is {size:,} bytes; at most {most:,} are taken in [IMAGE:…].",
            fix="attach it with -a, or save a smaller copy.",
            fault="image_too_large",
        )


def _invalid(what: str) -> MarkerError:
    return MarkerError(
        f"A data address in [IMAGE:…] {what}.",
        fix="write data:image/png;base64, and the file in base64.",
        fault="invalid_marker",
    )
