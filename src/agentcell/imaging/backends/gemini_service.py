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
from agentcell.adapters.failures import Origin
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.gemini_address import versioned
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.transport import post, refusal
from agentcell.assets.asset import ImageAsset
from agentcell.assets.convert import Target, converted
from agentcell.errors import GenerationError, GenerationFailed
from agentcell.imaging.backends.account import MakersAccount
from agentcell.imaging.backends.wire import MOST_BYTES, Answer, answered, prepared
from agentcell.imaging.wish import GenerationWish

if TYPE_CHECKING:
    import httpx2

MOST_REFERENCES = 14
"""https://ai.google.dev/gemini-api/docs/image-generation: up to 14 pictures to start from."""

MOST_REFERENCE_BYTES = 20_000_000
"""Of one of them; a larger one is scaled down."""

_TYPES = frozenset({"image/png", "image/jpeg", "image/webp"})


class GeminiService(MakersAccount, GeminiModel):
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
        GenerationFailed
            If the answer is larger than `MOST_BYTES`.
        ModelError
            If there is no answer, or its status is an error.
        """
        import httpx2

        asked = prepared(Body(()), self._origin(), {}, timeouts)
        origin, seconds = asked.origin, timeouts.first_byte
        limits = {"connect": timeouts.connect, "pool": timeouts.connect}
        limits |= {"read": seconds, "write": seconds}
        request = httpx2.Request(
            method,
            joined(versioned(origin.address), path),
            headers={"x-goog-api-key": origin.key, "user-agent": "agentcell"},
            extensions={"timeout": limits},
        )
        client = await shared_client()
        try:
            answer = await client.send(request, stream=True, follow_redirects=False)
            if not answer.is_success:
                failure, _ = await refusal(answer, asked)
                raise failure
            return _object(await _body(answer, origin), origin)
        except httpx2.HTTPError as error:
            raise broken(error, origin, timeouts, seconds) from error

    def model_path(self, action: str) -> str:
        """Return the path of what the model does."""
        name = self.model_name if "/" in self.model_name else f"models/{self.model_name}"
        return f"/{quote(name)}:{action}"


async def _body(answer: httpx2.Response, origin: Origin) -> bytearray:
    """Return the body of an answer, which is given up once it is too large."""
    body = bytearray()
    try:
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > MOST_BYTES:
                raise origin.error(
                    GenerationFailed,
                    f"{origin.name} sent more than {MOST_BYTES:,} bytes about what it was asked"
                    " for earlier; nothing of it is kept.",
                    "look at your account there; `%generate resume` asks again.",
                    is_billed=True,
                    is_over=False,
                )
    finally:
        await answer.aclose()
    return body


def _object(body: bytearray, origin: Origin) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise failures.no_answer(origin, "what is no answer")
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
