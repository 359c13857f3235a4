"""A wish → the path and the body that a hosted media service takes; nothing is sent here."""

from __future__ import annotations

import base64
from typing import Any

from agentcell.adapters.body import Body, written
from agentcell.assets.asset import ImageAsset
from agentcell.errors import GenerationError
from agentcell.imaging.wish import GenerationWish

PREFIX = "/agent-integrations/media-generation"
PATHS = {"image": f"{PREFIX}/images", "video": f"{PREFIX}/videos"}


def check(wish: GenerationWish) -> None:
    """Refuse what the protocol has no word for.

    Raises
    ------
    GenerationError
        What it is, and what to do.
    """
    fix = "leave it out, or choose another maker with --model."
    refused: dict[str, object] = {"mask": wish.mask, "quality": wish.quality not in ("", "auto")}
    if wish.kind == "image":
        refused["negative prompt for images"] = wish.negative
    else:
        refused["size for videos"] = wish.size not in ("", "auto")
        refused["second picture for a video"] = wish.references[1:]
    for what, value in refused.items():
        if value:
            raise GenerationError(
                f"The hosted media service takes no {what}.",
                fix="say --aspect instead, for example 16:9." if "size" in what else fix,
            )
    for picture in wish.references:
        if picture.file_id is not None:
            raise GenerationError(
                "A picture was given by the id of a file at another service.",
                fix="give its path or its https address.",
            )


def body_of(wish: GenerationWish) -> Body:
    """Return what is sent. Large pictures are read and encoded on the way.

    Raises
    ------
    GenerationError
        As for `check`.
    """
    check(wish)
    pictures: list[Any] = list(wish.references)
    return written(
        [{"role": "user", "content": pictures}],
        lambda lent: _fields(wish, list(lent[0]["content"])),
    )


def _fields(wish: GenerationWish, pictures: list[ImageAsset]) -> dict[str, Any]:
    fields: dict[str, Any] = {"prompt": wish.prompt, "wait": False}
    if wish.model:
        fields["model"] = wish.model
    if wish.kind == "image":
        fields["n"] = wish.count
        if wish.size:
            fields["size"] = wish.size
        if pictures:
            fields["inputImages"] = [_address(one) for one in pictures]
    else:
        if pictures:
            fields["inputImage"] = _address(pictures[0])
        if wish.seconds is not None:
            fields["durationSeconds"] = wish.seconds
        if wish.aspect:
            fields["aspectRatio"] = wish.aspect
        if wish.negative:
            fields["negativePrompt"] = wish.negative
    if wish.seed is not None:
        fields["seed"] = wish.seed
    return fields


def _address(picture: ImageAsset) -> str:
    if picture.url is not None:
        return picture.url
    data = base64.b64encode(picture.load_bytes()).decode("ascii")
    return f"data:{picture.mime_type};base64,{data}"
