"""What a model wants drawn or edited → files in the workspace, and their paths as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from agentcell.adapters.price_table import shown
from agentcell.agents.signature import Arguments
from agentcell.agents.tools import Tool
from agentcell.assets.asset import ImageAsset
from agentcell.imaging.contract import GENERATION, ImageToolConfig, image_specs
from agentcell.imaging.events import made_of
from agentcell.imaging.generation import Generation
from agentcell.imaging.job import place_record
from agentcell.imaging.view import HasImageTools, gate_closed
from agentcell.imaging.wish import GenerationWish

if TYPE_CHECKING:
    from pathlib import Path

    from agentcell.imaging.generating import Generator


class HasGenerator(HasImageTools, Protocol):
    """A session, as far as it lets a model make pictures."""

    @property
    def generator(self) -> Generator:
        """What makes them."""
        ...


def image_generation_tool(session: HasGenerator, config: ImageToolConfig | None = None) -> Tool:
    """Return the tool by which a model makes or edits a picture.

    Each call takes four steps: the picture to edit is checked, the maker is asked, the files are
    stored in the folder of generated media or where `output_path` may lead, and their paths are
    returned.

    Parameters
    ----------
    session
        Whose gates, ledger, budget and rules about files hold.
    config
        The gates. None: the session's own, as they are at each call.

    Returns
    -------
    Tool
        A person must allow each call, unless what makes the pictures costs nothing, or a
        recording is replayed.

    Raises
    ------
    ToolError
        If the gate is closed; says how it is opened.
    NoBackend
        If nobody is set up who makes pictures: then no model is offered the tool.
    """

    def gates() -> ImageToolConfig:
        return session.image_tools if config is None else config

    spec = next((one for one in image_specs(gates()) if one.name == GENERATION), None)
    if spec is None:
        raise gate_closed(GENERATION, gates())
    is_free = session.generator.is_free(GenerationWish(prompt="anything"))

    async def image_generation(
        prompt: str,
        output_path: str = "",
        size: str = "",
        input_image_path: str = "",
        output_format: Literal["png", "webp", "jpeg", ""] = "",
    ) -> str:
        if not gates().offers_generation:
            raise gate_closed(GENERATION, gates())
        reference: tuple[ImageAsset, ...] = ()
        if input_image_path:
            reference = (session.access.image(input_image_path, asked_by="model"),)
        wish = GenerationWish(
            prompt=prompt,
            size=size,
            references=reference,
            format=output_format or gates().image_generation_output_format.value,
        )
        events = session.generator.stream(wish, output=output_path or None, asked_by="model")
        return told(await made_of(events), session.access.root)

    return Tool(
        name=spec.name,
        description=spec.description,
        parameters=spec.parameters,
        function=image_generation,
        arguments=Arguments(image_generation, []),
        needs_approval=not is_free,
    )


def told(generation: Generation, root: Path) -> str:
    """Return what a model is told of files that were made: paths from the workspace on.

    Parameters
    ----------
    root
        The workspace.
    """
    lines = []
    for one in generation.artifacts:
        place = place_record(one.path, root)
        size = f", {one.width}x{one.height} pixels" if one.width else ""
        lines.append(f"saved: {place} ({one.mime_type}{size})")
    cost = "not known" if generation.cost is None else shown(generation.cost)
    lines.append(f"made by: {generation.maker}; cost: {cost}")
    lines += [f"missing: {one}" for one in generation.missing]
    return "\n".join(lines)
