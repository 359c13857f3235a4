"""One model of Google's, by generate_content: its key, its address, and how it is asked.

What goes out is made in `gemini_encoder`, what comes back is read in `gemini_decoder`.

The documented REST call is made on the connection that all models share, with the key in
``x-goog-api-key``. Google's own client is not used for it: made around a shared connection it
still costs 25 ms of CPU and more (a table of certificates for websockets) and half a second of
imports, has no time limits of its own, lets raw transport errors through, and its way to post
ready bytes is private (google-genai 3.6, 2026-11-30). Tests check every body against its types.

The version is ``v1beta``: the one whose documentation shows a resolution for each image, and the
only one that knows ``gemini-…-latest``. An address that ends in a version overrides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentcell.adapters import failures
from agentcell.adapters.addresses import joined, without_query
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.failures import Origin
from agentcell.adapters.gemini_address import versioned
from agentcell.adapters.gemini_decoder import GeminiDecoder
from agentcell.adapters.gemini_encoder import encode
from agentcell.adapters.gemini_settings import instead_of, is_older
from agentcell.adapters.gif import CHOICES, GifImages, without_gifs
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.request import read_request
from agentcell.adapters.transport import post, refusal
from agentcell.adapters.upload_gemini import GeminiUploads
from agentcell.assets.limits import GEMINI
from agentcell.messages import Message

if TYPE_CHECKING:
    import httpx2


class GeminiModel(GeminiUploads):
    """One model of Google's Gemini API.

    Parameters
    ----------
    model_name, api_key, base_url, and all others
        See `RemoteModel`, and `UploadsFiles` for ``upload``. The key comes from
        ``GOOGLE_API_KEY``, else from ``GEMINI_API_KEY``; the address, with or without a
        version, from ``GOOGLE_GEMINI_BASE_URL``.
    gif_images
        The service reads no GIF. ``first_frame``: that goes out as PNG, with an
        `AttachmentWarning`. ``refuse``: it is an error before any request.

    Notes
    -----
    A system message may hold no attachment: ``system_media="user"`` moves it into the first user
    message. Texts of all system messages go out together, before the conversation. The seals
    that the service puts on its thoughts and calls are sent again with the next question.
    """

    provider = "gemini"
    media_limits = GEMINI
    key_variable = "GEMINI_API_KEY"
    key_variables = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    url_variable = "GOOGLE_GEMINI_BASE_URL"
    default_url = "https://generativelanguage.googleapis.com"

    def __init__(
        self,
        model_name: str,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        gif_images: GifImages = "first_frame",
        **options: Any,
    ) -> None:
        super().__init__(model_name, api_key, base_url, **options)
        if gif_images not in CHOICES:
            raise ValueError(f"gif_images is {gif_images!r}; one of {CHOICES} was expected")
        self.gif_images = gif_images

    def default_capabilities(self) -> ModelCapabilities:
        """Images and PDFs from anywhere, with a question or in a tool's result.

        Older models follow a schema only without tools, so an agent does not count on it.
        """
        return ModelCapabilities(
            image_input=True,
            pdf_input=True,
            tool_result_media="sent",
            structured_output=not is_older(self.model_name),
            image_types=GEMINI.image_types,
        )

    def encode(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the body of the request. Nothing is sent."""
        messages = without_gifs(messages, self, self.media_limits, self.gif_images)
        request = read_request(self, messages, tools, settings, instead_of(self.model_name))
        return encode(request, files_at=without_query(versioned(self.base_url)))

    def ready(self, messages: list[Message], **options: Any) -> Outgoing:
        """Return `messages` with attachments as this model takes them. Nothing is sent.

        Parameters
        ----------
        messages, options
            See `Model.ready`.
        """
        if self.gif_images == "refuse":  # before they are converted with all others
            without_gifs(messages, self, self.media_limits, "refuse")
        return super().ready(messages, **options)

    def decoder(self, origin: Origin) -> GeminiDecoder:
        """Return a decoder for one answer."""
        return GeminiDecoder(origin)

    async def send(self, prepared: Prepared) -> httpx2.Response:
        """Send one request and return its answer, whose body is still to be read."""
        import httpx2

        origin = prepared.origin
        # No other host is to get the question: files that it names are only at this one.
        answer = await post(
            prepared,
            self.address_at(origin.address),
            await self.service_headers(prepared),
            may_leave=False,
        )
        if answer.is_success:
            return answer
        failure, read = await refusal(answer, prepared)
        try:
            read.raise_for_status()
        except httpx2.HTTPStatusError as error:
            error.args = (failures.redacted(str(error), *origin.hidden),)
            raise failure from error
        raise failure  # for httpx2 a 1xx is none

    async def service_headers(self, prepared: Prepared) -> dict[str, str]:
        """Return the header with the key."""
        return {"x-goog-api-key": prepared.origin.key}

    def address_at(self, base_url: str) -> str:
        """Return where requests go to.

        Parameters
        ----------
        base_url
            The service's, with or without a version.
        """
        name = self.model_name if "/" in self.model_name else f"models/{self.model_name}"
        return joined(versioned(base_url), f"/{quote(name)}:streamGenerateContent?alt=sse")
