"""What a specialist wants filmed → a clip in the workspace, and its path as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.agents.signature import Arguments
from agentcell.agents.tools import Tool
from agentcell.imaging.events import made_of
from agentcell.imaging.executor import told
from agentcell.imaging.job import place_record
from agentcell.imaging.media_arguments import VIDEO_PARAMETERS
from agentcell.imaging.wish import GenerationWish

if TYPE_CHECKING:
    from agentcell.assets.asset import ImageAsset
    from agentcell.imaging.executor import HasGenerator

NAME = "video_generation"

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": VIDEO_PARAMETERS["properties"]["prompt"],
        "input_image_path": {
            "type": "string",
            "description": "The first frame: a local image that lies in the workspace or an"
            " approved folder, was made in this session, or is named by the user.",
        },
        "duration_seconds": VIDEO_PARAMETERS["properties"]["duration_seconds"],
        "aspect_ratio": VIDEO_PARAMETERS["properties"]["aspect_ratio"],
    },
    "required": ["prompt"],
}


def clip_tool(session: HasGenerator) -> Tool:
    """Return the tool by which a specialist makes a clip, whoever is set up to make it.

    Parameters
    ----------
    session
        Whose ledger, budget and rules about files hold.

    Returns
    -------
    Tool
        A person must allow each call, unless what makes the clip costs nothing, or a recording is
        replayed.

    Raises
    ------
    NoBackend
        If nobody is set up who makes clips.
    """
    is_free = session.generator.is_free(GenerationWish(prompt="anything", kind="video"))

    async def video_generation(
        prompt: str,
        input_image_path: str = "",
        duration_seconds: int | None = None,
        aspect_ratio: str = "",
    ) -> str:
        reference: tuple[ImageAsset, ...] = ()
        if input_image_path:
            reference = (session.access.image(input_image_path, asked_by="model"),)
        wish = GenerationWish(
            kind="video",
            prompt=prompt,
            references=reference,
            seconds=duration_seconds,
            aspect=aspect_ratio,
        )
        made = await made_of(session.generator.stream(wish, asked_by="model"))
        root = session.access.root
        posters = [one.poster for one in made.artifacts if one.poster]
        shown = [f"a still picture of it: {place_record(one, root)}" for one in posters]
        return "\n".join([told(made, root), *shown])

    return Tool(
        name=NAME,
        description="Make a short video clip from a description, or from its first frame, and"
        " save it; returns its path. It takes minutes and costs money: call it once, and never"
        " again by yourself after an error.",
        parameters=_PARAMETERS,
        function=video_generation,
        arguments=Arguments(video_generation, []),
        needs_approval=not is_free,
    )
