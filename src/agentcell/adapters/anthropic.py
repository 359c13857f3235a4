"""One model of Anthropic's, by Messages: its key, its address, and what it takes.

What goes out is made in `anthropic_encoder`, what comes back is read in `anthropic_decoder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agentcell.adapters.addresses import host_of, without_end
from agentcell.adapters.anthropic_decoder import MessagesDecoder
from agentcell.adapters.anthropic_encoder import encode
from agentcell.adapters.anthropic_settings import instead_of
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.failures import Origin
from agentcell.adapters.request import read_request
from agentcell.adapters.upload_sdk import AnthropicUploads
from agentcell.assets.limits import ANTHROPIC
from agentcell.messages import Message

VERSION = "2026-10-21"
"""Of the API, as `anthropic_encoder` writes for it."""


class AnthropicModel(AnthropicUploads):
    """One model of Anthropic's, or of a server that speaks its Messages.

    Parameters
    ----------
    model_name, api_key, base_url, and all others
        See `RemoteModel`, and `UploadsFiles` for ``upload``. The key comes from
        ``ANTHROPIC_API_KEY``, else from ``ANTHROPIC_AUTH_TOKEN``; the address, without
        ``/v1``, from ``ANTHROPIC_BASE_URL``.
    citations
        Whether the answer says which sentences of an attached PDF it rests on.

    Notes
    -----
    A system message may hold no attachment: ``system_media="user"`` moves it into the first user
    message. Texts of all system messages go out together, before the conversation. Thinking
    comes back with its signature and is sent again with the next question. An OpenAI-shaped
    image's own ``detail`` says nothing here: the service has no such choice.
    """

    provider = "anthropic"
    media_limits = ANTHROPIC
    package = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    key_variables = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    url_variable = "ANTHROPIC_BASE_URL"
    default_url = "https://api.anthropic.com"
    headers_variable = "ANTHROPIC_CUSTOM_HEADERS"
    path = "/v1/messages"
    protocol_headers = MappingProxyType({"anthropic-version": VERSION})

    def __init__(
        self,
        model_name: str,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        citations: bool = False,
        **options: Any,
    ) -> None:
        self._citations = citations
        super().__init__(model_name, api_key, base_url, **options)

    def default_capabilities(self) -> ModelCapabilities:
        """Images and PDFs from anywhere, with a question or in a tool's result.

        Of other servers none is known to answer by a schema, and none cites and does so.
        """
        return ModelCapabilities(
            image_input=True,
            pdf_input=True,
            tool_result_media="sent",
            structured_output=_is_anthropic(self.base_url) and not self._citations,
            image_types=ANTHROPIC.image_types,
        )

    @property
    def base_url(self) -> str:
        """The address that requests go to; a ``/v1`` at its end is the path's, not its own."""
        return without_end(super().base_url, "/v1")

    def new_client(self, **options: Any) -> Any:
        """Return Anthropic's asynchronous client."""
        import anthropic

        return anthropic.AsyncAnthropic(**options)

    def encode(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the body of the request. Nothing is sent."""
        instead = instead_of(is_own=_is_anthropic(self.base_url))
        request = read_request(self, messages, tools, settings, instead)
        return encode(request, citations=self._citations)

    def decoder(self, origin: Origin) -> MessagesDecoder:
        """Return a decoder for one answer."""
        return MessagesDecoder(origin)


def _is_anthropic(url: str) -> bool:
    return f".{host_of(url)}".endswith((".anthropic.com", ".claude.com"))
