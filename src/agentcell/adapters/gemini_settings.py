"""Common settings, to Gemini's generationConfig, or to what to do instead.

From the google-genai SDK 3.6 and https://ai.google.dev/gemini-api/docs (changelog, thinking,
media resolution), read 2026-11-29.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from agentcell.adapters.settings import Asked, Settings

_UNSAMPLED = re.compile(r"gemini-(3\.[5-9]|[4-9]|[1-9]\d|omni|(flash|flash-lite|pro)-latest)")
"""Models that ignore temperature and top_p, which are to be refused later."""

_BUDGETED = re.compile(r"gemini-[12][.-]")
"""Models that think up to a budget of tokens, and take one resolution for a whole request."""

_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
"""Tokens for each effort, as Google's own OpenAI-compatible endpoint has them."""

_LEVELS = {effort: effort.upper() for effort in ("minimal", "low", "medium", "high", "xhigh")}

_RESOLUTIONS = {"low": "LOW", "high": "HIGH", "original": "ULTRA_HIGH"}

_MOST_SEED = 2**31


def plain_name(model: str) -> str:
    """Return a model's id without the ``models/`` before it."""
    return model.removeprefix("models/")


def is_older(model: str) -> bool:
    """Return whether `model` is of Gemini 2.5 or before: other rules for thoughts and pictures."""
    return _BUDGETED.match(plain_name(model)) is not None


def instead_of(model: str) -> dict[str, str]:
    """Return the common settings that `model` does not take, each with what to do instead."""
    if not _UNSAMPLED.match(plain_name(model)):
        return {}
    fix = "leave it out; this model ignores it: set reasoning, or say in the prompt how to answer."
    return {"temperature": fix, "top_p": fix}


def generation_config(
    settings: Settings, asked: Asked, details: Iterable[str] = ()
) -> dict[str, Any]:
    """Return ``generationConfig``; empty if nothing is set.

    Parameters
    ----------
    settings, asked
        What is set, and for whom.
    details
        How closely single images are to be looked at. Models of Gemini 2.5 and before look at all
        of a request in one way: as closely as at the one that is to be seen best.
    """
    if settings.seed is not None and not -_MOST_SEED <= settings.seed < _MOST_SEED:
        asked.refuse(
            f"seed is {settings.seed}; a whole number of at most 32 bits was expected.",
            "set seed to a smaller number.",
        )
    values: dict[str, Any] = {
        "temperature": settings.temperature,
        "topP": settings.top_p,
        "maxOutputTokens": settings.max_tokens,
        "stopSequences": list(settings.stop) or None,
        "seed": settings.seed,
    }
    config = {name: value for name, value in values.items() if value is not None}
    if settings.schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = settings.schema.document
    if settings.reasoning is not None:
        config["thinkingConfig"] = _thinking(settings.reasoning, asked)
    if settings.detail and is_older(asked.model) and settings.detail != "auto":
        if settings.detail == "original":
            asked.refuse(
                f"{asked.name} sees no image in its original size.", "set detail to high, or auto."
            )
        config["mediaResolution"] = f"MEDIA_RESOLUTION_{_RESOLUTIONS[settings.detail]}"
    if is_older(asked.model) and {"high", "original"} & set(details):
        config["mediaResolution"] = f"MEDIA_RESOLUTION_{_RESOLUTIONS['high']}"
    return config


def resolution(detail: str, model: str) -> dict[str, Any]:
    """Return what stands beside an image that is to be seen at `detail`; often nothing."""
    if detail not in _RESOLUTIONS or is_older(model):
        return {}
    return {"mediaResolution": {"level": f"MEDIA_RESOLUTION_{_RESOLUTIONS[detail]}"}}


def _thinking(reasoning: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    """Return ``thinkingConfig``; what stands beside the effort goes into it as it is."""
    fields = dict(reasoning)
    effort = fields.pop("effort", None)
    config: dict[str, Any] = {"includeThoughts": effort != "none"}
    if effort is not None:
        if "thinkingBudget" in fields:
            asked.refuse(
                f"{asked.name} takes an effort or a thinkingBudget, not both.",
                "leave one of them out.",
            )
        known = _BUDGETS if is_older(asked.model) else _LEVELS
        if effort not in known:
            choices = ", ".join(known)
            asked.refuse(
                f"{asked.name} knows no effort {effort!r}; one of {choices} was expected.",
                f"set reasoning to one of {choices}.",
            )
        config["thinkingBudget" if is_older(asked.model) else "thinkingLevel"] = known[effort]
    return {**config, **fields}
