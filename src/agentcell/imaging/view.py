"""A path that a model asks for → the image that it sees: the tool `view_image`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Protocol

from agentcell.agents.signature import Arguments
from agentcell.agents.tools import Tool
from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import ImageAsset
from agentcell.assets.prepare import at_detail
from agentcell.errors import ToolError
from agentcell.imaging.contract import GENERATION, VIEW, ImageToolConfig, image_specs

_ADDRESS = re.compile(r"\s*(https?|ftp|data):", re.IGNORECASE)

OPEN_THE_GATE = {
    VIEW: "run `%agent images view`, or set session.image_tools ="
    " ImageToolConfig(image_view_enabled=True).",
    GENERATION: "run `%agent images generate`, or set session.image_tools ="
    " ImageToolConfig(image_generation_enabled=True).",
}
"""How a person opens each gate."""


class HasImageTools(Protocol):
    """A session, as far as its image tools are concerned."""

    access: AccessPolicy

    @property
    def image_tools(self) -> ImageToolConfig:
        """The gates as they are now."""
        ...


def view_image_tool(
    source: HasImageTools | AccessPolicy, config: ImageToolConfig | None = None
) -> Tool:
    """Return the tool by which a model looks at a local image.

    Parameters
    ----------
    source
        A session, or the policy that says which files may be read.
    config
        The gates. None: the session's own, as they are at each call.

    Returns
    -------
    Tool
        Its result is an `ImageAsset`, no larger than `detail` asks for. A model that takes no
        media in tools' results is shown it in the next user turn.

    Raises
    ------
    ToolError
        If the gate is closed; says how it is opened.
    """
    policy = source if isinstance(source, AccessPolicy) else source.access
    gates = _gates(source, config)
    spec = next((one for one in image_specs(gates()) if one.name == VIEW), None)
    if spec is None:
        raise gate_closed(VIEW, gates())

    def view_image(path: str, detail: Literal["auto", "high", "original"] = "auto") -> ImageAsset:
        if not gates().offers_view:
            raise gate_closed(VIEW, gates())
        if _ADDRESS.match(path):
            raise ToolError(
                "view_image sees local files alone, and a web address was given.",
                fix="ask the user to attach it, or to save it as a file.",
            )
        image = policy.media(path, asked_by="model")
        if not isinstance(image, ImageAsset):
            raise ToolError(
                f"{image.default_filename} is a PDF, and view_image shows images.",
                fix="ask the user to attach it.",
            )
        if image.mime_type == "image/svg+xml":  # found out later, it would fail the whole question
            raise ToolError(
                f"{image.default_filename} is an SVG drawing: it has no pixels.",
                fix="ask for a PNG of it, or read its text.",
            )
        return seen_at(image, detail)

    return Tool(
        name=spec.name,
        description=spec.description,
        parameters=spec.parameters,
        function=view_image,
        arguments=Arguments(view_image, []),
        shows_images=True,
    )


def seen_at(asset: ImageAsset, detail: str) -> ImageAsset:
    """Return `asset` as it is sent to be looked at that closely.

    Parameters
    ----------
    asset
        Not changed.
    detail
        ``auto`` and ``high`` scale a large image down here; ``high`` and ``original`` are also
        told to providers that have such a choice: OpenAI's ``detail``, Gemini's resolution.
    """
    return replace(at_detail(asset, detail), detail="" if detail == "auto" else detail)


def gate_closed(name: str, config: ImageToolConfig) -> ToolError:
    """Return what to say of an image tool that is not offered, and how to open its gate.

    Parameters
    ----------
    name
        The tool's.
    config
        The gates.
    """
    allowed = {
        VIEW: ("local_image_reads_allowed", config.local_image_reads_allowed),
        GENERATION: (
            "generated_image_writes_allowed",
            config.generated_image_writes_allowed,
        ),
    }
    field, is_allowed = allowed[name]
    if not is_allowed:
        return ToolError(
            f"The tool '{name}' is closed: {field} is False.",
            fix=f"set session.image_tools with {field}=True.",
        )
    return ToolError(
        f"The tool '{name}' is closed: nobody opened its gate.", fix=OPEN_THE_GATE[name]
    )


def _gates(
    source: HasImageTools | AccessPolicy, config: ImageToolConfig | None
) -> Callable[[], ImageToolConfig]:
    if config is not None:
        return lambda: config
    if isinstance(source, AccessPolicy):
        return ImageToolConfig  # closed
    return lambda: source.image_tools
