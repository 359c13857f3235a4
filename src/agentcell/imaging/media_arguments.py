"""What a model sent as a media tool's arguments → a wish, or an error; nothing is dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import ImageAsset
from agentcell.errors import ToolError
from agentcell.imaging.wish import MOST_IMAGES, MOST_SECONDS, GenerationWish
from agentcell.safe_text import shown_value

IMAGE_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "description": "What is to be seen, in detail."},
        "model": {
            "type": "string",
            "description": "A model of media_list_models; left out, the service chooses"
            " (seedream-4-0-250828 at the time of writing).",
        },
        "size": {"type": "string", "description": "Pixels, such as 1024x1024 or 1536x1024."},
        "n": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_IMAGES,
            "description": "How many images; each is paid for.",
        },
        "input_images": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Images to start from: https addresses, or paths of files in the"
            " workspace, made in this session or named by the user.",
        },
        "seed": {"type": "integer", "description": "The same seed gives a similar image."},
    },
    "required": ["prompt"],
}

VIDEO_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "description": "What is to be seen, and how it moves."},
        "model": {
            "type": "string",
            "description": "A model of media_list_models; left out, the service chooses"
            " (seedance-1-0-pro-fast-251015 at the time of writing).",
        },
        "input_image": {
            "type": "string",
            "description": "The first frame: an https address, or the path of a file in the"
            " workspace, made in this session or named by the user.",
        },
        "duration_seconds": {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS},
        "aspect_ratio": {"type": "string", "description": "Such as 16:9, 1:1 or 9:16."},
        "negative_prompt": {"type": "string", "description": "What is not to be seen."},
        "seed": {"type": "integer"},
    },
    "required": ["prompt"],
}

MODELS_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "include_upstream": {
            "type": "boolean",
            "description": "Whether to list also what the service's own providers have just now.",
        }
    },
}

_SEEDS = range(-(2**63), 2**63)


def image_wish(arguments: Mapping[str, Any], access: AccessPolicy) -> GenerationWish:
    """Return what is asked for with ``media_generate_image``.

    Parameters
    ----------
    arguments
        As the model sent them; one that is null counts as left out.
    access
        Says which local files it may name.

    Raises
    ------
    ToolError, GenerationError, AttachmentError
        If one of them is of another type, or cannot be used. Nothing was sent.
    """
    given = _given(arguments, IMAGE_PARAMETERS)
    pictures = given.get("input_images", [])
    if not isinstance(pictures, list):
        raise _wrong("input_images", pictures, "a list of texts")
    return GenerationWish(
        prompt=_prompt(given),
        model=_text(given, "model"),
        size=_text(given, "size"),
        count=_clamped(given, "n", MOST_IMAGES) or 1,
        references=_pictures(pictures, "input_images", access),
        seed=_seed(given),
    )


def video_wish(arguments: Mapping[str, Any], access: AccessPolicy) -> GenerationWish:
    """Return what is asked for with ``media_generate_video``; see `image_wish`."""
    given = _given(arguments, VIDEO_PARAMETERS)
    picture = [given["input_image"]] if "input_image" in given else []
    return GenerationWish(
        kind="video",
        prompt=_prompt(given),
        model=_text(given, "model"),
        references=_pictures(picture, "input_image", access),
        seconds=_clamped(given, "duration_seconds", MOST_SECONDS),
        aspect=_text(given, "aspect_ratio"),
        negative=_text(given, "negative_prompt"),
        seed=_seed(given),
    )


def includes_upstream(arguments: Mapping[str, Any]) -> bool:
    """Return the only argument of ``media_list_models``.

    Raises
    ------
    ToolError
        If it is no truth value.
    """
    given = _given(arguments, MODELS_PARAMETERS).get("include_upstream", False)
    if not isinstance(given, bool):
        raise _wrong("include_upstream", given, "true or false")
    return given


def _given(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    known = schema["properties"]
    for name in arguments:
        if name not in known:
            raise ToolError(
                f"There is no argument {shown_value(name)}.", fix=f"there are {', '.join(known)}."
            )
    return {name: value for name, value in arguments.items() if value is not None}


def _prompt(given: Mapping[str, Any]) -> str:
    prompt = given.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ToolError("prompt is required: a text that is not blank.", fix="say what to make.")
    return prompt


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise _wrong(name, value, "a text")
    return value.strip()


def _clamped(given: Mapping[str, Any], name: str, most: int) -> int | None:
    """Return a number as the service would take it: 0 counts as 1, too many as the most."""
    if name not in given:
        return None
    value = given[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(name, value, f"a whole number from 1 to {most}")
    return max(1, min(most, value))


def _seed(given: Mapping[str, Any]) -> int | None:
    if "seed" not in given:
        return None
    value = given["seed"]
    if isinstance(value, bool) or not isinstance(value, int) or value not in _SEEDS:
        raise _wrong("seed", value, "a whole number of 64 bits")
    return value


def _pictures(values: Iterable[Any], name: str, access: AccessPolicy) -> tuple[ImageAsset, ...]:
    found = []
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise _wrong(name, value, "an https address or the path of a file")
        text = value.strip()
        if text[:8].lower().startswith(("http://", "https://", "data:")):
            found.append(ImageAsset.from_url(text))
        else:
            found.append(access.image(text, asked_by="model"))
    return tuple(found)


def _wrong(name: str, given: object, expected: str) -> ToolError:
    return ToolError(f"{name} is {shown_value(given)}; {expected} was expected.", fix="change it.")
