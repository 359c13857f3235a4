"""A session's gates → the image tools that its questions offer, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcell.adapters.model import Model
from agentcell.agents.tools import Tool
from agentcell.errors import GenerationError
from agentcell.imaging.contract import GENERATION, VIEW, ImageToolConfig
from agentcell.imaging.guidance import render_image_prompt_guidance
from agentcell.imaging.view import view_image_tool
from agentcell.session.past import Past

if TYPE_CHECKING:
    import os

    from agentcell.history.notebook import NotebookHistory


class ImageTools(Past):
    """What a session lets models do with images; see `Session`."""

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        history: NotebookHistory | str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(model, history=history)
        self._image_tools = ImageToolConfig()

    @property
    def image_tools(self) -> ImageToolConfig:
        """Which image tools every question offers to its model: none, until it is set."""
        return self._image_tools

    @image_tools.setter
    def image_tools(self, config: ImageToolConfig) -> None:
        if not isinstance(config, ImageToolConfig):
            raise GenerationError(
                f"The image tools were set to {config!r:.60}; an ImageToolConfig was expected.",
                fix="write session.image_tools = ImageToolConfig(image_view_enabled=True).",
            )
        if config != self._image_tools:
            self._image_tools = config
            self._changed()

    def own_tool(self, name: str) -> Tool | None:
        """Return a tool of the session's own, if its gate is open; None if there is none so named.

        Parameters
        ----------
        name
            ``view_image`` and the like.

        Raises
        ------
        ToolError
            If its gate is closed; says how it is opened.
        """
        return view_image_tool(self) if name == VIEW else None

    def _offered(self, model: Model, named: Mapping[str, Tool]) -> dict[str, Tool]:
        """Return the image tools that go with a question to `model`, beside those it names."""
        config, able = self.image_tools, model.capabilities
        if not able.tools:
            return {}
        offered = {}
        if config.offers_view and able.image_input and VIEW not in named:
            offered[VIEW] = view_image_tool(self)
        return offered

    def _with_guidance(self, rules: str, tools: Mapping[str, Tool]) -> str:
        """Return instructions with what they say of the image tools among `tools`."""
        config = self.image_tools
        shown = replace(
            config,
            image_view_enabled=config.image_view_enabled and VIEW in tools,
            image_generation_enabled=config.image_generation_enabled and GENERATION in tools,
        )
        guidance = render_image_prompt_guidance(shown)
        return "\n\n".join(part for part in (rules, guidance) if part)
