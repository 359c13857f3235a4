"""A session's gates → the image tools that its questions offer, and what is said of them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcell.adapters.model import Model
from agentcell.agents.tools import Tool
from agentcell.errors import GenerationError, NoBackend
from agentcell.imaging.contract import GENERATION, VIEW, ImageToolConfig
from agentcell.imaging.guidance import render_image_prompt_guidance
from agentcell.imaging.view import view_image_tool
from agentcell.imaging.wish import GenerationWish
from agentcell.session.making import Making

if TYPE_CHECKING:
    import os

    from agentcell.history.notebook import NotebookHistory


class ImageTools(Making):
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
        """Which image tools every question offers to its model: none, until it is set.

        Raises
        ------
        NoBackend
            If pictures are to be made, and nobody is set up who could; the gates stay as they are.
        """
        return self._image_tools

    @image_tools.setter
    def image_tools(self, config: ImageToolConfig) -> None:
        if not isinstance(config, ImageToolConfig):
            raise GenerationError(
                f"The image tools were set to {config!r:.60}; an ImageToolConfig was expected.",
                fix="write session.image_tools = ImageToolConfig(image_view_enabled=True).",
            )
        if config != self._image_tools:
            if config.offers_generation and not self._image_tools.offers_generation:
                self.generator.is_free(GenerationWish(prompt="anything"))  # is there anybody?
            self._image_tools = config
            self._changed()

    def _offered(self, model: Model, named: Mapping[str, Tool]) -> dict[str, Tool]:
        """Return the image tools that go with a question to `model`, beside those it names."""
        config, able = self.image_tools, model.capabilities
        if not able.tools:
            return {}
        offered: dict[str, Tool] = {}
        if config.offers_generation and GENERATION not in named:
            from agentcell.imaging.executor import image_generation_tool

            with contextlib.suppress(NoBackend):  # its key was taken away since
                offered[GENERATION] = image_generation_tool(self)
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
