"""A model and its tools → the same model, shown what a tool returns that is for looking at images.

Chat Completions has no place for media in a tool's result. Of most tools a model then reads in
words what they returned; one whose whole purpose is to show an image (`Tool.shows_images`) has the
image moved into the next user turn, after a line that says whose result it is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agentcell.adapters.model import Model
from agentcell.agents.tools import Tool


def showing_results(model: Any, tools: Iterable[Tool]) -> Any:
    """Return `model`, or a copy that takes what tools return in the next user turn.

    Parameters
    ----------
    model
        Not changed. One that takes media in tools' results, or sees no images, is returned as it
        is.
    tools
        What it may call.
    """
    if not isinstance(model, Model) or not any(tool.shows_images for tool in tools):
        return model
    return _moving(model)


def _moving(model: Model) -> Model:
    able, is_own = model.capabilities, model.provider == "custom"
    if is_own or able.tool_result_media != "refused" or not able.image_input:
        return model  # an adapter of one's own is handed what tools return, whatever it says
    made = copy.copy(model)
    made.capabilities = replace(able, tool_result_media="user")
    inner = getattr(model, "model", None)
    if isinstance(inner, Model):  # a recording stands around it
        made.model = _moving(inner)  # type: ignore[attr-defined]
    return made
