"""Which image tools a model is offered → their specifications: names, schemas, what they may do.

Both gates are closed until a person opens them; see `ImageToolConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, NoReturn, Self

from agentcell.errors import GenerationError
from agentcell.safe_text import shown_value

GENERATION = "image_generation"
VIEW = "view_image"

IMAGE_TOOL_NAMES = (GENERATION, VIEW)
"""In the order in which they are offered."""

DELEGATIONS = ("delegate_create_image", "delegate_create_video")
"""The tools that hand a task to a specialist."""

MEDIA = ("media_generate_image", "media_generate_video", "media_list_models")
"""The tools of a hosted media service."""

OWN_TOOLS = (VIEW, GENERATION, *DELEGATIONS, *MEDIA)
"""All that a session has without anybody writing them."""


class _Choice(StrEnum):
    """One of a few words; any other is an error that names them."""

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise GenerationError(
            f"{shown_value(value)} is no {cls.__name__}; {', '.join(cls)} was expected.",
            fix=f"give for example {next(iter(cls)).value!r}.",
        )


class ImagePermission(_Choice):
    """What a tool does to the person's files."""

    READ_ONLY = "read_only"
    WRITE = "write"


class ImageDetail(_Choice):
    """How closely a model looks at an image."""

    AUTO = "auto"
    HIGH = "high"
    ORIGINAL = "original"


class ImageGenerationOutputFormat(_Choice):
    """How a generated image is stored."""

    PNG = "png"
    WEBP = "webp"
    JPEG = "jpeg"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageToolConfig:
    """Which image tools are offered, and what they may do.

    Parameters
    ----------
    image_generation_enabled, image_view_enabled
        The gates: closed, unless a person opens them.
    image_generation_output_format
        How pictures are stored where a call says nothing.
    local_image_reads_allowed
        Whether local images may be read at all; without it nothing is viewed.
    generated_image_writes_allowed
        Whether files may be written at all; without it nothing is generated.

    Raises
    ------
    GenerationError
        If one is something else than True or False, or there is no such format.
    """

    image_generation_enabled: bool = False
    image_view_enabled: bool = False
    image_generation_output_format: ImageGenerationOutputFormat = ImageGenerationOutputFormat.PNG
    local_image_reads_allowed: bool = True
    generated_image_writes_allowed: bool = True

    def __post_init__(self) -> None:
        form = ImageGenerationOutputFormat(self.image_generation_output_format)
        object.__setattr__(self, "image_generation_output_format", form)
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name != "image_generation_output_format" and not isinstance(value, bool):
                raise GenerationError(
                    f"{one.name} is {shown_value(value)}; True or False was expected.",
                    fix="change it.",
                )

    @property
    def offers_generation(self) -> bool:
        """Whether a model is offered `image_generation`."""
        return self.image_generation_enabled and self.generated_image_writes_allowed

    @property
    def offers_view(self) -> bool:
        """Whether a model is offered `view_image`."""
        return self.image_view_enabled and self.local_image_reads_allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageToolSpec:
    """One image tool, as a model and whoever guards it are told.

    Parameters
    ----------
    name, description
        For the model.
    parameters
        A JSON schema of its arguments.
    permission
        What it does to the person's files.
    model_visible_image_output
        Whether the model sees pixels of its result.
    writes_files
        Whether it leaves files behind.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(repr=False)
    permission: ImagePermission
    model_visible_image_output: bool
    writes_files: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**values, "parameters": dict(self.parameters), "permission": str(self.permission)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the specification of which `to_dict` made `values`.

        Parameters
        ----------
        values
            With all its keys and no others.

        Raises
        ------
        GenerationError
            If they are something else.
        """
        wanted = {one.name for one in fields(cls)}
        if not isinstance(values, Mapping) or set(values) != wanted:
            raise GenerationError(
                f"These are no values of an image tool: {str(values)[:60]!r}.",
                fix=f"give {', '.join(sorted(wanted))}.",
            )
        return cls(**{**values, "permission": ImagePermission(values["permission"])})


def image_specs(config: ImageToolConfig) -> list[ImageToolSpec]:
    """Return the tools that `config` offers, generation first.

    Parameters
    ----------
    config
        The gates.
    """
    specs = []
    if config.offers_generation:
        specs.append(_generation(config.image_generation_output_format))
    if config.offers_view:
        specs.append(_view())
    return specs


def is_image_tool_gated(name: str, config: ImageToolConfig) -> bool:
    """Whether a tool is hidden from the model; so is every one that is no image tool.

    Parameters
    ----------
    name
        The tool's.
    config
        The gates.
    """
    return all(spec.name != name for spec in image_specs(config))


def _generation(form: ImageGenerationOutputFormat) -> ImageToolSpec:
    return ImageToolSpec(
        name=GENERATION,
        description=(
            "Generate or edit raster images (photos, drawings, textures, mock-ups, …) and store"
            " them as local files. Returns the paths of the files that were saved; it does not"
            " show you the pictures."
        ),
        parameters={
            "type": "object",
            "properties": {
                "prompt": {
                    "type": "string",
                    "description": "What is to be seen, or what to change: subject, setting,"
                    " style, composition, light, and any text in the picture word for word.",
                },
                "output_path": {
                    "type": "string",
                    "description": "Where to store the picture: relative to the workspace, or an"
                    " absolute path in an approved folder. Left out: a path in the folder of"
                    " generated media.",
                },
                "size": {
                    "type": "string",
                    "description": "Width and height in pixels, for example 1024x1024 or"
                    " 1536x1024. Left out: the service's own.",
                },
                "input_image_path": {
                    "type": "string",
                    "description": "A local image to edit. It must lie in the workspace or an"
                    " approved folder, be made in this session, or be named by the user; that is"
                    " checked first.",
                },
                "output_format": {
                    "type": "string",
                    "enum": [one.value for one in ImageGenerationOutputFormat],
                    "default": form.value,
                    "description": "How the picture is stored.",
                },
            },
            "required": ["prompt"],
        },
        permission=ImagePermission.WRITE,
        model_visible_image_output=False,
        writes_files=True,
    )


def _view() -> ImageToolSpec:
    return ImageToolSpec(
        name=VIEW,
        description=(
            "Turn a local image file into model-visible image context: you then see its pixels."
            " For looking at a picture, not for its size, date or other facts about the file."
        ),
        parameters={
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The image's path, relative to the workspace or absolute.",
                },
                "detail": {
                    "type": "string",
                    "enum": [one.value for one in ImageDetail],
                    "default": ImageDetail.AUTO.value,
                    "description": "How closely to look. Use original only where full resolution"
                    " is really needed, for example to read small print.",
                },
            },
            "required": ["path"],
        },
        permission=ImagePermission.READ_ONLY,
        model_visible_image_output=True,
        writes_files=False,
    )
