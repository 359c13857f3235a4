"""The providers that come with this package, and what is known of each without asking it.

Ids are for completion and for finding a provider by a model's name alone; they are sent as they
are, also those that nobody here has heard of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from agentcell import keys
from agentcell.adapters.model import Model

Factory: TypeAlias = Callable[..., Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """One provider: how its models are made, and what is known of them.

    Parameters
    ----------
    name
        What stands before the slash.
    factory
        Called as ``factory(model_name, **arguments)``; or ``"package.module:name"`` of one,
        imported at first use.
    default_model
        The model of the provider's name alone; None if one must be named.
    key_variable
        The environment variable that holds its key; None if it needs none.
    other_key_variables
        Others that may hold it.
    key_order
        The order in which they are looked at, where it is not this one.
    known_models
        Some of its models, for completion.
    prefixes
        How ids of its models begin, so that they are found without the provider's name.
    source
        ``built-in``, ``registered``, or the package that brought it.
    """

    name: str
    factory: Factory | str
    default_model: str | None = None
    key_variable: str | None = None
    other_key_variables: tuple[str, ...] = ()
    key_order: tuple[str, ...] = ()
    known_models: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    source: str = "built-in"

    @property
    def is_foreign(self) -> bool:
        """Whether another package named it in its entry points."""
        return self.source not in {"built-in", "registered"}

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that may hold its key, the one to tell people of first."""
        return tuple(filter(None, (self.key_variable, *self.other_key_variables)))

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The same in the order in which they are looked at: the first that is set counts."""
        return self.key_order or self.variables

    @property
    def has_key(self) -> bool:
        """Whether its key is at hand: see `agentcell.keys.is_at_hand`. keyring is not asked."""
        return keys.is_at_hand(self.variables)


# Ids from the openai SDK 3.57's own list, read 2026-11-29; without those about to be shut off.
_OPENAI_MODELS = (
    "gpt-6.2-astra",
    "gpt-6-astra",
    "gpt-6.2-sol",
    "gpt-6.1-sol",
    "gpt-6-sol",
    "gpt-6.1-terra",
    "gpt-6-luna",
    "gpt-5.6-sol",
    "gpt-5.6-terra",
    "gpt-5.6-luna",
    "gpt-5.5",
    "gpt-5.4",
    "gpt-5.4-mini",
    "gpt-4.1",
    "gpt-4.1-mini",
    "gpt-4o",
    "gpt-4o-mini",
)
# From the anthropic SDK 2.14's own list, read 2026-11-29; without those about to be shut off.
_ANTHROPIC_MODELS = (
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-1",
    "claude-mythos-5-1",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
)
# From the google-genai SDK 3.6's own list, read 2026-11-29: those that answer in text.
_GEMINI_MODELS = (
    "gemini-4-argon",
    "gemini-4-carbon",
    "gemini-4-hydrogen",
    "gemini-4-neon",
    "gemini-3.8-flash",
    "gemini-3.7-flash",
    "gemini-3.6-flash",
    "gemini-3.5-flash",
    "gemini-3.5-flash-lite",
    "gemini-3.1-pro-preview",
    "gemini-3.1-flash-lite",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-pro-latest",
    "gemini-flash-latest",
    "gemini-flash-lite-latest",
)
_SERVERS = "agentcell.adapters.local_servers"

BUILT_IN = (
    ProviderInfo(
        name="local",
        factory="agentcell.adapters.local:LocalModel",
        default_model="smollm2-135m",
        known_models=("smollm2-135m",),
    ),
    ProviderInfo(
        name="openai",
        factory="agentcell.adapters.openai_responses:OpenAIModel",
        default_model="gpt-6-luna",
        key_variable="OPENAI_API_KEY",
        known_models=_OPENAI_MODELS,
        prefixes=("gpt-", "chatgpt-", "o1", "o3", "o4-"),
    ),
    ProviderInfo(
        name="openai-chat",
        factory="agentcell.adapters.openai_chat:LegacyOpenAIModel",
        default_model="gpt-6-luna",
        key_variable="OPENAI_API_KEY",
        known_models=_OPENAI_MODELS,
    ),
    ProviderInfo(
        name="anthropic",
        factory="agentcell.adapters.anthropic:AnthropicModel",
        default_model="claude-haiku-5-5",
        key_variable="ANTHROPIC_API_KEY",
        other_key_variables=("ANTHROPIC_AUTH_TOKEN",),
        known_models=_ANTHROPIC_MODELS,
        prefixes=("claude-",),
    ),
    ProviderInfo(
        name="gemini",
        factory="agentcell.adapters.gemini:GeminiModel",
        default_model="gemini-3.8-flash",
        key_variable="GEMINI_API_KEY",
        other_key_variables=("GOOGLE_API_KEY",),
        key_order=("GOOGLE_API_KEY", "GEMINI_API_KEY"),  # as Google's own libraries do
        known_models=_GEMINI_MODELS,
        prefixes=("gemini-",),
    ),
    ProviderInfo(name="ollama", factory=f"{_SERVERS}:OllamaModel"),
    ProviderInfo(name="lmstudio", factory=f"{_SERVERS}:LMStudioModel"),
    ProviderInfo(name="vllm", factory=f"{_SERVERS}:VLLMModel"),
    ProviderInfo(name="llamacpp", factory=f"{_SERVERS}:LlamaCppModel", default_model="default"),
)
"""In the order in which a provider whose key is set is chosen."""
