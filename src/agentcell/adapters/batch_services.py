"""A model → the batch service of its provider, or why there is none."""

from __future__ import annotations

from typing import Any

from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.batch_anthropic import AnthropicBatches
from agentcell.adapters.batch_gemini import GeminiBatches
from agentcell.adapters.batch_jobs import BatchService
from agentcell.adapters.batch_openai import OpenAIBatches
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.errors import Unsupported


def batch_service(model: Any) -> BatchService:
    """Return the batch service behind a model.

    Raises
    ------
    Unsupported
        If there is none.
    """
    if getattr(model, "upload", "never") != "never":
        raise Unsupported(
            f"{model.name} is to upload attachments (upload={model.upload!r}); a batch carries them"
            " in its own file.",
            fix="make the model without upload.",
            provider=model.provider,
            model=model.model_name,
        )
    if isinstance(model, AnthropicModel):
        return AnthropicBatches(model)
    if isinstance(model, GeminiModel):
        return GeminiBatches(model)
    if isinstance(model, (OpenAIModel, LegacyOpenAIModel)):
        return OpenAIBatches(model)
    name = getattr(model, "name", type(model).__name__)
    raise Unsupported(
        f"{name} has no batch service; the models of OpenAI, Anthropic and Gemini have.",
        fix="leave executor out: then threads ask about the rows.",
        provider=getattr(model, "provider", ""),
        model=getattr(model, "model_name", ""),
    )
