"""A name → the tool of the session's own that a question may name: image tools, specialists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.adapters.model import Model
from agentcell.errors import NoBackend
from agentcell.imaging.contract import DELEGATIONS, GENERATION, MEDIA, VIEW, ImageToolConfig
from agentcell.session.preparing import Preparing

if TYPE_CHECKING:
    from agentcell.agents.tools import Tool
    from agentcell.imaging.specialists import Specialist


class OwnTools(Preparing):
    """Tools that a session has without anybody writing them; see `Session`."""

    def own_tool(self, name: str, model: Model | str | None = None) -> Tool | None:
        """Return a tool of the session's own; None if there is none of that name.

        Parameters
        ----------
        name
            ``view_image`` and ``image_generation``, if their gates are open;
            ``delegate_create_image`` and ``delegate_create_video``; the tools of a media service.
            The latter have no gate: who names one wants it, and is asked before each call that
            costs money.
        model
            Who answers for a specialist; None: the session's own.

        Raises
        ------
        ToolError
            If its gate is closed; says how it is opened.
        NoBackend
            If nobody is set up who makes pictures or clips.
        AgentError
            If `model` calls no tools, and a specialist must.
        """
        from agentcell.imaging.executor import image_generation_tool
        from agentcell.imaging.view import view_image_tool

        if name == VIEW:
            return view_image_tool(self)
        if name == GENERATION:
            return image_generation_tool(self)
        if name in MEDIA:
            return next(one for one in _needed(self._media(), name) if one.name == name)
        return self._specialist(name, model) if name in DELEGATIONS else None

    def _specialist(self, name: str, model: Model | str | None) -> Tool:
        from agentcell.imaging.clip_tool import clip_tool
        from agentcell.imaging.executor import image_generation_tool
        from agentcell.imaging.specialists import SPECIALISTS, VIDEO_SPECIALIST, delegation_tools
        from agentcell.imaging.view import view_image_tool
        from agentcell.session.metered import MeteredModel

        one: Specialist = next(one for one in SPECIALISTS if one.tool_name == name)
        makers = self._media() if self._has_media() else []
        if not makers and one is VIDEO_SPECIALIST:
            makers = [clip_tool(self)]
        elif not makers:
            opened = ImageToolConfig(image_generation_enabled=True)
            makers = [image_generation_tool(self, opened)]
        views = view_image_tool(self, ImageToolConfig(image_view_enabled=True))
        asked = MeteredModel(self._asked_model(model), self._ledger, budget=lambda: self.budget)
        return delegation_tools(asked, [*makers, views], specialists=[one])[0]

    def _has_media(self) -> bool:
        """Whether specialists work with a media service, or did so when they were recorded."""
        recording = self.recorder.recording
        if recording is None or not self.generator.is_replaying:
            return True  # where one is set up
        return recording.offered(MEDIA[0])

    def _media(self) -> list[Tool]:
        """Return the tools of the media service; none where none is set up."""
        from agentcell.imaging.media_tools import build_media_tools

        return build_media_tools(generator=self.generator, access=self.access)


def _needed(tools: list[Tool], name: str) -> list[Tool]:
    if tools:
        return tools
    raise NoBackend(
        f"'{name}' needs a media service, and none is set up.",
        fix="set AGENTCELL_MEDIA_URL and AGENTCELL_MEDIA_TOKEN.",
    )
