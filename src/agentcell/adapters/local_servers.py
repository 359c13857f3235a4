"""Servers of the OpenAI protocol on this machine, by name: Ollama, LM Studio, vLLM, llama.cpp."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import urlsplit

from agentcell.adapters import addresses
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.openai_chat import LegacyOpenAIModel


class LocalServerModel(LegacyOpenAIModel):
    """One model of a server on this machine.

    Its address comes from `base_url`, else from the server's own variable, else it is the
    server's usual one. ``OPENAI_API_KEY`` is never sent to it.
    """

    is_own_server = True
    start: ClassVar[str] = ""
    """How to start the server, for the message when it does not run."""

    @property
    def base_url(self) -> str:
        """The address that requests go to; ``/v1`` is added where it holds no path."""
        url = super().base_url
        return url if urlsplit(url).path else addresses.joined(url, "/v1")

    def fixes(self) -> dict[str, str]:
        """Return how to start this server."""
        return {"ConnectionFailed": f"{self.start}, or set {self.url_variable} to its address."}


class OllamaModel(LocalServerModel):
    """One model of Ollama's. It takes no images by address, only as data."""

    provider = "ollama"
    key_variable = "OLLAMA_API_KEY"
    url_variable = "OLLAMA_BASE_URL"
    default_url = "http://127.0.0.1:11434/v1"
    start = "start Ollama (`ollama serve`)"

    @property
    def base_url(self) -> str:
        """The address; Ollama's own OLLAMA_HOST counts too, ``host``, ``host:port`` or a URL."""
        host = addresses.from_environment("OLLAMA_HOST")
        if self._given_url or addresses.from_environment(self.url_variable) or not host:
            return super().base_url
        scheme, found, rest = host.rpartition("://")
        name, colon, port = rest.partition("/")[0].rpartition(":")
        if not (colon and port.isdigit()):
            name, port = rest.partition("/")[0], "" if found else "11434"
        name = "127.0.0.1" if name in {"", "0.0.0.0"} else name  # noqa: S104 (what a server listens on)
        url = f"{scheme or 'http'}://{name}{port and ':' + port}/v1"
        return addresses.checked_url(url, provider=self.provider, model=self.model_name)

    def default_capabilities(self) -> ModelCapabilities:
        """Images as data only (https://docs.ollama.com/openai, read 2026-11-29)."""
        data = frozenset({"path", "bytes", "base64"})
        return super().default_capabilities().with_overrides({"image_sources": data})

    def fixes(self) -> dict[str, str]:
        """Return how to start Ollama and how to bring a model."""
        return {**super().fixes(), "UnknownModel": f"run `ollama pull {self.model_name}`."}


class LMStudioModel(LocalServerModel):
    """One model of LM Studio's."""

    provider = "lmstudio"
    key_variable = "LMSTUDIO_API_KEY"
    url_variable = "LMSTUDIO_BASE_URL"
    default_url = "http://127.0.0.1:1234/v1"
    start = "start LM Studio's server (`lms server start`)"


class VLLMModel(LocalServerModel):
    """One model of vLLM's."""

    provider = "vllm"
    key_variable = "VLLM_API_KEY"
    url_variable = "VLLM_BASE_URL"
    default_url = "http://127.0.0.1:8000/v1"
    start = "start vLLM (`vllm serve MODEL`)"


class LlamaCppModel(LocalServerModel):
    """The model that a llama.cpp server holds, under any name."""

    provider = "llamacpp"
    key_variable = "LLAMACPP_API_KEY"
    url_variable = "LLAMACPP_BASE_URL"
    default_url = "http://127.0.0.1:8080/v1"
    start = "start llama.cpp (`llama-server -m MODEL.gguf`)"
