"""Ask multimodal models from notebook cells. Start with `%load_ext agentcell`, then `%%agent`.

Names are imported at their first use: `import agentcell` and `%load_ext agentcell` load no SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers: the same names as in `_WHERE`
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.adapters.anthropic import AnthropicModel
    from agentcell.adapters.events import ModelResponseType
    from agentcell.adapters.gemini import GeminiModel
    from agentcell.adapters.local import LocalModel
    from agentcell.adapters.model import Model, ModelCapabilities
    from agentcell.adapters.openai_chat import LegacyOpenAIModel
    from agentcell.adapters.openai_responses import OpenAIModel
    from agentcell.adapters.pricing import set_price
    from agentcell.adapters.rate_limits import RateLimits
    from agentcell.adapters.recording import RecordingModel
    from agentcell.agents.agent import Agent
    from agentcell.agents.mcp import McpServer
    from agentcell.agents.single import SingleAgent
    from agentcell.agents.tools import tool
    from agentcell.answer import Answer
    from agentcell.assets.asset import ImageAsset, PdfAsset
    from agentcell.budget import Budget
    from agentcell.errors import AgentcellError
    from agentcell.history.memory import HistoryMemory
    from agentcell.history.notebook import NotebookHistory
    from agentcell.history.provider import HistoryProvider
    from agentcell.messages import MediaMessageBlock, TextMessageBlock
    from agentcell.modality import FieldModality
    from agentcell.prompts.fields import FieldSpec
    from agentcell.prompts.skill import Skill, load_skill, load_skills
    from agentcell.session import Session

_WHERE = {
    "Agent": "agentcell.agents.agent",
    "AgentcellError": "agentcell.errors",
    "Answer": "agentcell.answer",
    "AnthropicModel": "agentcell.adapters.anthropic",
    "Budget": "agentcell.budget",
    "FieldModality": "agentcell.modality",
    "FieldSpec": "agentcell.prompts.fields",
    "GeminiModel": "agentcell.adapters.gemini",
    "HistoryMemory": "agentcell.history.memory",
    "HistoryProvider": "agentcell.history.provider",
    "ImageAsset": "agentcell.assets.asset",
    "LegacyOpenAIModel": "agentcell.adapters.openai_chat",
    "LocalModel": "agentcell.adapters.local",
    "McpServer": "agentcell.agents.mcp",
    "MediaMessageBlock": "agentcell.messages",
    "Model": "agentcell.adapters.model",
    "ModelCapabilities": "agentcell.adapters.model",
    "ModelResponseType": "agentcell.adapters.events",
    "NotebookHistory": "agentcell.history.notebook",
    "OpenAIModel": "agentcell.adapters.openai_responses",
    "PdfAsset": "agentcell.assets.asset",
    "RateLimits": "agentcell.adapters.rate_limits",
    "RecordingModel": "agentcell.adapters.recording",
    "Session": "agentcell.session",
    "SingleAgent": "agentcell.agents.single",
    "Skill": "agentcell.prompts.skill",
    "TextMessageBlock": "agentcell.messages",
    "load_skill": "agentcell.prompts.skill",
    "load_skills": "agentcell.prompts.skill",
    "set_price": "agentcell.adapters.pricing",
    "tool": "agentcell.agents.tools",
}

__all__ = [
    "Agent",
    "AgentcellError",
    "Answer",
    "AnthropicModel",
    "Budget",
    "FieldModality",
    "FieldSpec",
    "GeminiModel",
    "HistoryMemory",
    "HistoryProvider",
    "ImageAsset",
    "LegacyOpenAIModel",
    "LocalModel",
    "McpServer",
    "MediaMessageBlock",
    "Model",
    "ModelCapabilities",
    "ModelResponseType",
    "NotebookHistory",
    "OpenAIModel",
    "PdfAsset",
    "RateLimits",
    "RecordingModel",
    "Session",
    "SingleAgent",
    "Skill",
    "TextMessageBlock",
    "load_ipython_extension",
    "load_skill",
    "load_skills",
    "set_price",
    "tool",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'agentcell' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Run by `%load_ext agentcell`; IPython is imported only now, so scripts need not have it."""
    from agentcell.magics import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Run by `%unload_ext agentcell`."""
    from agentcell.magics import unload_ipython_extension as unload

    unload(shell)
