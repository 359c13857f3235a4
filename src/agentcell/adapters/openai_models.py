"""An OpenAI model's id, to what its family takes. An id that is not known takes everything."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REASONING = re.compile(r"o\d|gpt-([5-9]|\d\d)|codex|computer-use")
"""How ids of models that think begin."""

_NEVER_SAMPLED = re.compile(
    r"o\d|gpt-5(-mini|-nano|-pro)?(-\d{4}.*)?$|gpt-6(\.\d)?-astra|gpt-6\.1-sol"
)
"""Models that take no temperature and no top_p at all."""

_SAMPLED_WITHOUT_THOUGHT = re.compile(r"gpt-[6-9]")
"""Models that take them only with reasoning "none" (the guide to the latest models, read
2026-11-29)."""

_NEVER_STOPPED = re.compile(
    r"o[34](-mini|-pro)?(-\d{4}.*)?$|gpt-5(\.[12])?(-mini|-nano|-pro|-codex(-\w+)*)?(-\d{4}.*)?$"
)
"""Models that answer 400 to `stop` in Chat Completions: o3 and o4-mini by the openai SDK's own word
(3.57, read 2026-11-29), the others as seen by people (huggingface/smolagents#1662, #1868, #1893).
Later models are sent it; of GPT-5.5 it is known that it takes it (BerriAI/litellm#28650)."""


def thinks(model: str) -> bool:
    """Return whether `model` reasons: it may be asked for its sealed reasoning; others may not."""
    return _REASONING.match(model) is not None


def sampling_instead(model: str, reasoning: object) -> dict[str, str]:
    """Return the sampling settings that `model` cannot take, each with what to do instead.

    Parameters
    ----------
    reasoning
        The setting of that name: an effort, or a mapping that holds one.
    """
    effort = reasoning.get("effort") if isinstance(reasoning, Mapping) else reasoning
    if _NEVER_SAMPLED.match(model):
        fix = "leave it out; set reasoning or max_tokens instead."
    elif _SAMPLED_WITHOUT_THOUGHT.match(model) and effort != "none":
        fix = "leave it out, or set reasoning='none' with it; this model samples only unthinking."
    else:
        return {}
    return {"temperature": fix, "top_p": fix}


def stop_instead(model: str) -> dict[str, str]:
    """Return ``stop`` with what to do instead, where `model` takes none even by Chat."""
    if not _NEVER_STOPPED.match(model):
        return {}
    return {"stop": "leave it out; set max_tokens, or say in the prompt where the answer ends."}
