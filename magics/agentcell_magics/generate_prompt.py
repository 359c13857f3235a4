"""A prompt with what it names, and the options' pictures → a wish that a maker can read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import ImageAsset, MediaAsset
from agentcell.assets.coerce import coerce
from agentcell.errors import CellError
from agentcell.imaging.wish import GenerationWish
from agentcell.messages import MediaMessageBlock
from agentcell.modality import FieldModality
from agentcell.session import Session
from agentcell_magics.attach import asset_at, bare_name, check_named, field_name
from agentcell_magics.generate_options import GenerateOptions
from agentcell_magics.line import shown
from agentcell_magics.mentioned import mentioned


@dataclass(frozen=True, slots=True, kw_only=True)
class Wished:
    """What a cell asks for.

    Parameters
    ----------
    wish
        What goes out.
    blocks
        Its pictures by the tags that stand for them in the prompt.
    remarks
        What looks like a slip, and what was done to a picture, one sentence each.
    """

    wish: GenerationWish
    blocks: tuple[MediaMessageBlock, ...] = ()
    remarks: tuple[str, ...] = ()


def wished(
    session: Session,
    prompt: str,
    options: GenerateOptions,
    values: Mapping[str, Any],
    is_typed: Callable[[str], bool],
) -> Wished:
    """Return what a cell asks for. Pictures that the prompt names become references.

    Parameters
    ----------
    prompt
        As typed; ``{name}`` stands for a variable, ``@path`` for a picture.
    values
        The person's variables.
    is_typed
        Whether a person typed a text in the cell.

    Raises
    ------
    CellError, FieldError, AttachmentError, GenerationError
        If something that is named cannot be used.
    """
    named = mentioned(prompt, is_typed, session.access)
    attach: dict[str, Any] = {}
    for place in options.edit:
        name, pictures = _pictures("--edit", place, values, session.access)
        attach.setdefault(name, []).extend(pictures)
    question = session.compose(
        prompt,
        values=values,
        attach={name: one[0] if len(one) == 1 else one for name, one in attach.items()},
        mentions=named.files,
    )
    references = [_image(block) for block in question.blocks]
    wish = GenerationWish(
        prompt=_with_order(question.text, question.blocks),
        references=tuple(references),
        mask=_mask(options.mask, values, session.access) if options.mask else None,
        **options.wish,
    )
    remarks = (*question.notes, *question.hints, *named.hints)
    return Wished(wish=wish, blocks=question.blocks, remarks=remarks)


def _with_order(text: str, blocks: Iterable[MediaMessageBlock]) -> str:
    """Say which picture is which: makers take several as a mere row."""
    tags = [block.tag for block in blocks]
    if len(tags) < 2 or not any(tag in text for tag in tags):  # noqa: PLR2004 (one is no row)
        return text
    return f"{text}\n\nThe pictures, in this order: {', '.join(tags)}."


def _image(block: MediaMessageBlock) -> ImageAsset:
    if isinstance(block.asset, ImageAsset):
        return block.asset
    raise CellError(
        f"{block.tag} is a PDF; a picture can only be made from pictures.",
        fix="save the page as an image, and name that.",
    )


def _mask(place: str, values: Mapping[str, Any], access: AccessPolicy) -> ImageAsset:
    _, found = _pictures("--mask", place, values, access)
    if len(found) == 1:
        return found[0]
    raise CellError(
        f"--mask {shown(place)}: one picture was expected, but it holds {len(found)}.",
        fix="put that one into a variable of its own.",
    )


def _pictures(
    flag: str, place: str, values: Mapping[str, Any], access: AccessPolicy
) -> tuple[str, list[ImageAsset]]:
    """Return what an option names: a variable's pictures, or the one at a path or an address."""
    place = bare_name(place, values)
    if place in values:
        found = coerce(values[place], name=place, modality=FieldModality.IMAGE)
        many = found if isinstance(found, list) else [found]
        return place, [_checked(flag, place, one) for one in many]
    check_named(place, flag)
    read = partial(access.media, asked_by="person")
    asset = asset_at(place, FieldModality.IMAGE, values, option=f"{flag} ", read=read)
    return field_name(place), [_checked(flag, place, asset)]


def _checked(flag: str, place: str, found: MediaAsset | str) -> ImageAsset:
    if isinstance(found, ImageAsset):
        return found
    what = "text" if isinstance(found, str) else "a PDF"
    raise CellError(
        f"{flag} {shown(place)}: a picture was expected, but it holds {what}.",
        fix="name an image's path, or a variable that holds one.",
    )
