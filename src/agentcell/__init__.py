"""Ask multimodal models from notebook cells. Start with `%load_ext agentcell`, then `%%agent`.

Names are imported at their first use: `import agentcell` and `%load_ext agentcell` load no SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers: the same names as in `_WHERE`
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.adapters.anthropic import AnthropicModel
    from agentcell.adapters.capabilities import ModelCapabilities
    from agentcell.adapters.events import ModelResponseType
    from agentcell.adapters.gemini import GeminiModel
    from agentcell.adapters.local import LocalModel
    from agentcell.adapters.model import Model
    from agentcell.adapters.openai_chat import LegacyOpenAIModel
    from agentcell.adapters.openai_responses import OpenAIModel
    from agentcell.adapters.pricing import set_price
    from agentcell.adapters.rate_limits import RateLimits
    from agentcell.adapters.recording import RecordingModel
    from agentcell.agents.agent import Agent
    from agentcell.agents.graph.root import RootGraph
    from agentcell.agents.graph.template import Factory, NodeTemplate, Shared
    from agentcell.agents.mapping import ask_each
    from agentcell.agents.mcp import McpServer
    from agentcell.agents.single import SingleAgent
    from agentcell.agents.tools import tool
    from agentcell.answer import Answer
    from agentcell.assets.asset import ImageAsset, PdfAsset
    from agentcell.batch.result import BatchResult, RowError
    from agentcell.budget import Budget
    from agentcell.errors import AgentcellError
    from agentcell.history.memory import HistoryMemory
    from agentcell.history.notebook import NotebookHistory
    from agentcell.history.provider import HistoryProvider
    from agentcell.imaging.backend import ImageBackend
    from agentcell.imaging.contract import (
        IMAGE_TOOL_NAMES,
        ImageDetail,
        ImageGenerationOutputFormat,
        ImagePermission,
        ImageToolConfig,
        ImageToolSpec,
        image_specs,
        is_image_tool_gated,
    )
    from agentcell.imaging.generation import Generation
    from agentcell.imaging.guidance import ImagePromptOptions, render_image_prompt_guidance
    from agentcell.imaging.hosted.service import MediaService
    from agentcell.imaging.media_tools import build_media_tools, media_resume
    from agentcell.imaging.wish import GenerationWish
    from agentcell.messages import MediaMessageBlock, TextMessageBlock
    from agentcell.modality import FieldModality
    from agentcell.prompts.fields import FieldSpec
    from agentcell.prompts.simple_prompt import SimplePrompt
    from agentcell.prompts.skill import Skill, load_skill, load_skills
    from agentcell.runner.llm_call import (
        create_anthropic_llm_call,
        create_gemini_llm_call,
        create_local_llm_call,
        create_openai_llm_call,
    )
    from agentcell.runner.runner import AgentRunner
    from agentcell.runner.trace import FileSystemTraceStore
    from agentcell.session import Session

_WHERE = {
    "Agent": "agentcell.agents.agent",
    "AgentRunner": "agentcell.runner.runner",
    "AgentcellError": "agentcell.errors",
    "Answer": "agentcell.answer",
    "AnthropicModel": "agentcell.adapters.anthropic",
    "BatchResult": "agentcell.batch.result",
    "Budget": "agentcell.budget",
    "Factory": "agentcell.agents.graph.template",
    "FieldModality": "agentcell.modality",
    "FieldSpec": "agentcell.prompts.fields",
    "FileSystemTraceStore": "agentcell.runner.trace",
    "GeminiModel": "agentcell.adapters.gemini",
    "Generation": "agentcell.imaging.generation",
    "GenerationWish": "agentcell.imaging.wish",
    "HistoryMemory": "agentcell.history.memory",
    "HistoryProvider": "agentcell.history.provider",
    "IMAGE_TOOL_NAMES": "agentcell.imaging.contract",
    "ImageAsset": "agentcell.assets.asset",
    "ImageBackend": "agentcell.imaging.backend",
    "ImageDetail": "agentcell.imaging.contract",
    "ImageGenerationOutputFormat": "agentcell.imaging.contract",
    "ImagePermission": "agentcell.imaging.contract",
    "ImagePromptOptions": "agentcell.imaging.guidance",
    "ImageToolConfig": "agentcell.imaging.contract",
    "ImageToolSpec": "agentcell.imaging.contract",
    "LegacyOpenAIModel": "agentcell.adapters.openai_chat",
    "LocalModel": "agentcell.adapters.local",
    "McpServer": "agentcell.agents.mcp",
    "MediaMessageBlock": "agentcell.messages",
    "MediaService": "agentcell.imaging.hosted.service",
    "Model": "agentcell.adapters.model",
    "ModelCapabilities": "agentcell.adapters.capabilities",
    "ModelResponseType": "agentcell.adapters.events",
    "NodeTemplate": "agentcell.agents.graph.template",
    "NotebookHistory": "agentcell.history.notebook",
    "OpenAIModel": "agentcell.adapters.openai_responses",
    "PdfAsset": "agentcell.assets.asset",
    "RateLimits": "agentcell.adapters.rate_limits",
    "RecordingModel": "agentcell.adapters.recording",
    "RootGraph": "agentcell.agents.graph.root",
    "RowError": "agentcell.batch.result",
    "Session": "agentcell.session",
    "Shared": "agentcell.agents.graph.template",
    "SimplePrompt": "agentcell.prompts.simple_prompt",
    "SingleAgent": "agentcell.agents.single",
    "Skill": "agentcell.prompts.skill",
    "TextMessageBlock": "agentcell.messages",
    "ask_each": "agentcell.agents.mapping",
    "build_media_tools": "agentcell.imaging.media_tools",
    "create_anthropic_llm_call": "agentcell.runner.llm_call",
    "create_gemini_llm_call": "agentcell.runner.llm_call",
    "create_local_llm_call": "agentcell.runner.llm_call",
    "create_openai_llm_call": "agentcell.runner.llm_call",
    "image_specs": "agentcell.imaging.contract",
    "is_image_tool_gated": "agentcell.imaging.contract",
    "load_skill": "agentcell.prompts.skill",
    "load_skills": "agentcell.prompts.skill",
    "media_resume": "agentcell.imaging.media_tools",
    "render_image_prompt_guidance": "agentcell.imaging.guidance",
    "set_price": "agentcell.adapters.pricing",
    "tool": "agentcell.agents.tools",
}

__all__ = [
    "IMAGE_TOOL_NAMES",
    "Agent",
    "AgentRunner",
    "AgentcellError",
    "Answer",
    "AnthropicModel",
    "BatchResult",
    "Budget",
    "Factory",
    "FieldModality",
    "FieldSpec",
    "FileSystemTraceStore",
    "GeminiModel",
    "Generation",
    "GenerationWish",
    "HistoryMemory",
    "HistoryProvider",
    "ImageAsset",
    "ImageBackend",
    "ImageDetail",
    "ImageGenerationOutputFormat",
    "ImagePermission",
    "ImagePromptOptions",
    "ImageToolConfig",
    "ImageToolSpec",
    "LegacyOpenAIModel",
    "LocalModel",
    "McpServer",
    "MediaMessageBlock",
    "MediaService",
    "Model",
    "ModelCapabilities",
    "ModelResponseType",
    "NodeTemplate",
    "NotebookHistory",
    "OpenAIModel",
    "PdfAsset",
    "RateLimits",
    "RecordingModel",
    "RootGraph",
    "RowError",
    "Session",
    "Shared",
    "SimplePrompt",
    "SingleAgent",
    "Skill",
    "TextMessageBlock",
    "ask_each",
    "build_media_tools",
    "create_anthropic_llm_call",
    "create_gemini_llm_call",
    "create_local_llm_call",
    "create_openai_llm_call",
    "image_specs",
    "is_image_tool_gated",
    "load_ipython_extension",
    "load_skill",
    "load_skills",
    "media_resume",
    "render_image_prompt_guidance",
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
