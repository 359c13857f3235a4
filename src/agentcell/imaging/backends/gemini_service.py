"""Google's account and address, to requests about pictures and clips and the answers to them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentcell.adapters import failures
from agentcell.adapters.addresses import joined
from agentcell.adapters.body import Body
from agentcell.adapters.broken_connections import broken
from agentcell.adapters.connection import Timeouts, shared_client
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.gemini_address import versioned
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.transport import post
from agentcell.assets.asset import ImageAsset
from agentcell.assets.convert import Target, converted
from agentcell.errors import GenerationError
from agentcell.imaging.backends.wire import Answer, answered, prepared
from agentcell.imaging.wish import GenerationWish

if TYPE_CHECKING:
    import httpx2

MOST_REFERENCES = 14
"""https://ai.google.dev/gemini-api/docs/image-generation: up to 14 pictures to start from."""

MOST_REFERENCE_BYTES = 20_000_000
"""Of one of them; a larger one is scaled down."""

_TYPES = frozenset({"image/png", "image/jpeg", "image/webp"})


class GeminiService(GeminiModel):
    """One model of Google's, asked for what is no conversation."""

    def ready_request(self, body: Mapping[str, Any], timeouts: Timeouts) -> Prepared:
        """Return a request that is sent once.

        Parameters
        ----------
        body
            JSON values.

        Raises
        ------
        KeyMissing
            If there is no key.
        """
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        origin = self._origin()
        headers = {"accept": "application/json"}
        return prepared(Body((data.encode("utf-8", "replace"),)), origin, headers, timeouts)

    async def asked(self, request: Prepared, path: str) -> Answer:
        """Send one request and return its answer.

        Parameters
        ----------
        path
            Below the version, for example ``/interactions``.

        Raises
        ------
        ModelError
            If there is no answer, or its status is an error; it says whether it was paid for.
        """
        origin = request.origin
        url = joined(versioned(origin.address), path)
        headers = {"x-goog-api-key": origin.key}
        return await answered(post(request, url, headers, may_leave=False), request)

    async def looked_up(self, method: str, path: str, timeouts: Timeouts) -> dict[str, Any]:
        """Ask after what is there already: nothing is paid for it.

        Parameters
        ----------
        method
            ``GET`` or ``POST``.
        path
            As for `asked`.

        Raises
        ------
        ModelError
            If there is no answer, or its status is an error.
        """
        import httpx2

        origin = self._origin()
        client = await shared_client()
        seconds = timeouts.first_byte
        try:
            answer = await client.request(
                method,
                joined(versioned(origin.address), path),
                headers={"x-goog-api-key": origin.key, "user-agent": "agentcell"},
                timeout=httpx2.Timeout(seconds, connect=timeouts.connect, pool=timeouts.connect),
                follow_redirects=False,
            )
        except httpx2.HTTPError as error:
            raise broken(error, origin, timeouts, seconds) from error
        if not answer.is_success:
            raise failures.from_answer(origin, answer.status_code, answer.headers, answer.content)
        return _object(answer, self)

    def model_path(self, action: str) -> str:
        """Return the path of what the model does."""
        name = self.model_name if "/" in self.model_name else f"models/{self.model_name}"
        return f"/{quote(name)}:{action}"


def _object(answer: httpx2.Response, service: GeminiService) -> dict[str, Any]:
    try:
        value = json.loads(answer.content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise failures.no_answer(service._origin(), "what is no answer")  # noqa: SLF001
    return value


def check_words(wish: GenerationWish, what: str) -> None:
    """Refuse what neither of Gemini's two ways has a word for.

    Parameters
    ----------
    what
        What is asked for, in an error: ``pictures`` or ``clips``.

    Raises
    ------
    GenerationError
        What it is, and what to do.
    """
    for name, given, way in (
        ("mask", wish.mask is not None, "say in the prompt what is to change"),
        ("quality", wish.quality not in ("", "auto"), "ask for a larger size instead"),
        ("negative prompt", bool(wish.negative), "say in the prompt what is not to be seen"),
    ):
        if given:
            raise GenerationError(f"gemini takes no {name} for {what}.", fix=f"{way}.")


def check_references(references: tuple[ImageAsset, ...]) -> None:
    """Refuse references that cannot be sent; nothing is fetched.

    Raises
    ------
    GenerationError, AttachmentError
        If there are too many, or one is elsewhere.
    """
    if len(references) > MOST_REFERENCES:
        raise GenerationError(
            f"{len(references)} references were given; gemini takes {MOST_REFERENCES}.",
            fix="leave some out.",
        )
    for asset in references:
        _ = asset.content


def encoded_picture(asset: ImageAsset) -> tuple[str, str]:
    """Return a reference's type, and its bytes as base64."""
    sent = asset
    if asset.mime_type not in _TYPES or (asset.size_bytes or 0) > MOST_REFERENCE_BYTES:
        sent = converted(asset, Target(max_bytes=MOST_REFERENCE_BYTES))
    return sent.mime_type, base64.b64encode(sent.load_bytes()).decode("ascii")
