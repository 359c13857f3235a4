"""Messages with GIF images, for a service that takes none → first frames as PNG, or a refusal.

Attachments that a session sends are converted before (`agentcell.assets.prepare`); here stand
OpenAI-shaped parts, and what is given to an adapter directly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agentcell.assets.asset import ImageAsset
from agentcell.assets.limits import MediaLimits
from agentcell.assets.prepare import prepare
from agentcell.errors import AttachmentError, AttachmentWarning, Unsupported
from agentcell.messages import MediaMessageBlock, Message
from agentcell.openai_shape import media_part
from agentcell.warned import warn

if TYPE_CHECKING:
    from agentcell.adapters.model import Model

GifImages: TypeAlias = Literal["first_frame", "refuse"]
"""What becomes of a GIF: its first frame goes out as PNG, with a warning; or it is refused."""

CHOICES = ("first_frame", "refuse")

_URL = "data:image/gif;base64,"


def without_gifs(
    messages: Sequence[Message], model: Model, limits: MediaLimits, choice: GifImages
) -> list[Message]:
    """Return `messages` without GIF images; they themselves are not changed.

    Parameters
    ----------
    model
        Who is asked, for errors.
    limits
        What it takes.
    choice
        What becomes of them.

    Raises
    ------
    Unsupported
        If there is one, and it is to be refused.
    AttachmentError
        If one cannot be read.

    Warns
    -----
    AttachmentWarning
        For each that goes out as its first frame.
    """

    def changed(block: Any) -> Any:
        asset = _gif_in(block)
        if asset is None:
            return block
        if choice == "refuse":
            raise Unsupported(
                f"{model.name} does not read image/gif, the type of an image in the messages.",
                fix='save it as PNG, or make the model with gif_images="first_frame".',
                provider=model.provider,
                model=model.model_name,
            )
        frame = prepare([asset], limits)[0].assets[0]
        warn(
            f"{model.name} reads no GIF: the first frame goes out, as {frame.mime_type}.",
            AttachmentWarning,
        )
        if isinstance(block, MediaMessageBlock):
            return replace(block, asset=frame)
        part = media_part(frame)
        if isinstance(block, Mapping) and isinstance(old := block.get("image_url"), Mapping):
            part["image_url"] = {**old, **part["image_url"]}
        return part

    return [
        {**message, "content": [changed(block) for block in content]}
        if isinstance(message, Mapping)
        and isinstance(content := message.get("content"), (list, tuple))
        else message
        for message in messages
    ]


def _gif_in(block: Any) -> ImageAsset | None:
    """Return the GIF that a part is, if it is one whose content is here."""
    if isinstance(block, MediaMessageBlock):
        asset = block.asset
        is_here = isinstance(asset, ImageAsset) and asset.source_kind not in {"url", "file_id"}
        return asset if is_here and asset.mime_type == "image/gif" else None  # type: ignore[return-value]
    if not isinstance(block, Mapping) or block.get("type") not in {"image_url", "input_image"}:
        return None
    image = block.get("image_url")
    url = image.get("url") if isinstance(image, Mapping) else image
    if not isinstance(url, str):
        return None
    head = url[: len(_URL) + 8].lower()
    # By what it claims or by its content: "R0lGOD" is how base64 writes GIF8.
    if not (head.startswith("data:image/gif") or ";base64,r0lgod" in head):
        return None
    try:
        asset = ImageAsset.from_base64(url.strip())
    except AttachmentError as error:
        raise AttachmentError(
            f"A GIF image in the messages cannot be read: {error.problem}", fix=error.fix
        ) from None
    return asset if asset.mime_type == "image/gif" else None
