"""A request's images → the same, to be looked at no closer than the model or the server knows."""

from __future__ import annotations

import re
from dataclasses import replace

from agentcell.adapters.parts import Media, Turn
from agentcell.adapters.request import Request

_OLDER = re.compile(r"(ft:)?(gpt-[34]|gpt-5(\.[0-3])?(?![.\d])|o\d|chatgpt-|codex|computer-use)")
"""OpenAI's models to which ``original`` is unknown: it came with GPT-5.4 (openai SDK 2.25, and
UKGovernmentBEIS/inspect_ai#3415). ``high`` is the most that they see."""


def knows_original(model: str) -> bool:
    """Whether a model of OpenAI's can be told to look at an image in its original size."""
    return _OLDER.match(model) is None


def without_original(request: Request) -> Request:
    """Return `request` with ``high`` in the place of ``original`` beside its images.

    Parameters
    ----------
    request
        To a model, or to a server, that refuses the newer word. A setting goes as it was set.
    """
    return replace(request, turns=tuple(map(_older, request.turns)))


def _older(turn: Turn) -> Turn:
    if all(media.detail != "original" for media in turn.media):
        return turn
    parts = (
        replace(part, detail="high")
        if isinstance(part, Media) and part.detail == "original"
        else part
        for part in turn.parts
    )
    return replace(turn, parts=tuple(parts))
