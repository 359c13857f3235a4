"""A prepared request, to the answer to it, through OpenAI's own client.

The client holds the connection, the credentials and the addresses, and its retries are off. The
request is posted as ready bytes and the answer taken as raw bytes: building the client's typed
objects costs about twenty times as much as reading the lines.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

from agentcell.adapters import failures
from agentcell.adapters.addresses import host_of
from agentcell.adapters.answer import broken
from agentcell.adapters.connection import shared_client
from agentcell.adapters.remote import Prepared, RemoteModel
from agentcell.errors import ModelError

if TYPE_CHECKING:
    import httpx2
    import openai


IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
"""What OpenAI reads (https://platform.openai.com/docs/guides/images, read 2026-11-29)."""


def is_openai(url: str) -> bool:
    """Return whether `url` is an address of OpenAI's own, or of OpenAI's models at Azure."""
    return f".{host_of(url)}".endswith((".openai.com", ".openai.azure.com"))


class OpenAIProtocolModel(RemoteModel):
    """What the two models that speak a protocol of OpenAI's have in common."""

    key_variable = "OPENAI_API_KEY"
    url_variable = "OPENAI_BASE_URL"
    default_url = "https://api.openai.com/v1"

    async def send(self, prepared: Prepared) -> httpx2.Response:
        """Send one request and return its answer, whose body is still to be read."""
        import httpx2
        import openai

        client = await self._client(prepared)
        timeouts = prepared.timeouts
        limits = httpx2.Timeout(
            timeouts.first_byte, connect=timeouts.connect, pool=timeouts.connect
        )
        try:
            answer: Any = await client.post(
                self.path,
                cast_to=httpx2.Response,
                content=prepared.data,
                options={"headers": {**_STREAM, **prepared.headers}, "timeout": limits},
                stream=True,
                stream_cls=openai.AsyncStream[Any],
            )
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            failure = _failure(error, prepared)
            _redact(error, prepared.origin.key)
            raise failure from error
        return answer  # type: ignore[no-any-return]

    async def _client(self, prepared: Prepared) -> openai.AsyncOpenAI:
        """Return this model's client on the running loop."""
        loop = asyncio.get_running_loop()
        identity = (prepared.origin.key, prepared.origin.address)
        with _lock:
            of_model = _clients.setdefault(self, weakref.WeakKeyDictionary())
            known = of_model.get(loop)
        if known is not None and known[0] == identity and not known[1].is_closed():
            return known[1]
        client = _new_client(prepared, await shared_client())
        with _lock:
            of_model[loop] = (identity, client)
        return client


_STREAM = {"Accept": "text/event-stream"}

_lock = threading.Lock()
_Known = tuple[tuple[str, str], "openai.AsyncOpenAI"]
_clients: weakref.WeakKeyDictionary[
    RemoteModel, weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Known]
] = weakref.WeakKeyDictionary()
"""Each model's client on each loop. Kept here, so that a model stays a value that can be copied
and pickled."""


def _new_client(prepared: Prepared, shared: httpx2.AsyncClient) -> openai.AsyncOpenAI:
    import openai

    headers: dict[str, Any] = {}
    if prepared.origin.is_local:
        # What the environment holds for OpenAI is not for a server on this machine or network.
        own = {"OpenAI-Organization", "OpenAI-Project"}
        for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines():
            name, colon, _ = line.partition(":")
            if colon and name.strip():
                own.add(name.strip())
        headers = {name: openai.Omit() for name in own if name.lower() != "authorization"}
        headers["Authorization"] = f"Bearer {prepared.origin.key}"
    return openai.AsyncOpenAI(
        api_key=prepared.origin.key,
        base_url=prepared.origin.address,
        max_retries=0,
        http_client=shared,
        default_headers=headers,
    )


def _failure(error: Exception, prepared: Prepared) -> ModelError:
    import httpx2
    import openai

    origin = prepared.origin
    if isinstance(error, openai.APIStatusError):
        answer = error.response
        return failures.from_answer(origin, answer.status_code, answer.headers, answer.content)
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, httpx2.HTTPError):
        timeouts = prepared.timeouts
        return broken(cause, origin, timeouts, timeouts.first_byte)
    return failures.broken_off(origin, failures.redacted(str(error), origin.key))


def _redact(error: BaseException, key: str) -> None:
    """Take the key out of the client's own error, which goes along as the cause of ours."""
    error.args = tuple(
        failures.redacted(arg, key) if isinstance(arg, str) else arg for arg in error.args
    )
    for name in ("message", "body"):
        value = getattr(error, name, None)
        if isinstance(value, str):
            setattr(error, name, failures.redacted(value, key))
        elif isinstance(value, dict):
            setattr(error, name, None)
