"""What the two models that speak a protocol of OpenAI's have in common: its accounts."""

from __future__ import annotations

from typing import Any

from agentcell.adapters.addresses import host_of
from agentcell.adapters.sdk_client import SdkModel

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
"""What OpenAI reads (https://platform.openai.com/docs/guides/images, read 2026-11-29)."""


def is_openai(url: str) -> bool:
    """Return whether `url` is an address of OpenAI's own, or of OpenAI's models at Azure."""
    return f".{host_of(url)}".endswith((".openai.com", ".openai.azure.com"))


class OpenAIProtocolModel(SdkModel):
    """One model that is asked as OpenAI's client would ask it."""

    package = "openai"
    key_variable = "OPENAI_API_KEY"
    url_variable = "OPENAI_BASE_URL"
    default_url = "https://api.openai.com/v1"
    headers_variable = "OPENAI_CUSTOM_HEADERS"
    account_headers = ("OpenAI-Organization", "OpenAI-Project")
    account_variables = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")

    def new_client(self, **options: Any) -> Any:
        """Return OpenAI's asynchronous client."""
        import openai

        return openai.AsyncOpenAI(**options)
