"""A prepared request, to the answer to it, as the vendor's own client would send it.

The vendor's client stands for its accounts, its files and its errors. A question takes a shorter
way: the same request on the connection that all models share. To import a client's package costs
0.4 to 1.1 s of CPU before a first answer, its machinery 0.5 ms for each call, and its typed
objects twenty times what it costs to read the lines (openai 3.57, anthropic 2.14; 2026-11-30). So
it is imported where it is needed: where the environment says more of an account than a key and an
address, for uploads, and to give a refusal the error that its users know.

OpenAI's and Anthropic's clients are made by one generator, and so have one shape.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from agentcell.adapters import addresses, failures
from agentcell.adapters.broken_connections import broken, broken_off
from agentcell.adapters.connection import shared_client
from agentcell.adapters.failures import Origin
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.remote import RemoteModel
from agentcell.adapters.transport import post, refusal
from agentcell.errors import ModelError

if TYPE_CHECKING:
    import httpx2


class SdkModel(RemoteModel):
    """One model that is asked as its vendor's client would ask it, and shares its accounts."""

    package: ClassVar[str] = ""
    """The name of the vendor's package."""
    headers_variable: ClassVar[str] = ""
    """The variable in which the client finds headers to send, a line each."""
    account_headers: ClassVar[tuple[str, ...]] = ()
    """Headers that the client fills from other variables."""
    account_variables: ClassVar[tuple[str, ...]] = ()
    """Those variables."""
    protocol_headers: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Headers that the protocol wants besides the key."""

    def sdk(self) -> Any:
        """Import the vendor's package and return it."""
        return import_module(self.package)

    def new_client(self, **options: Any) -> Any:
        """Return the vendor's asynchronous client."""
        raise NotImplementedError

    async def send(self, prepared: Prepared) -> httpx2.Response:
        """Send one request and return its answer, whose body is still to be read."""
        origin = prepared.origin
        headers = await self.service_headers(prepared)
        answer = await post(prepared, self.address_at(origin.address), headers)
        if answer.is_success:
            return answer
        failure, read = await refusal(answer, prepared)
        failure.__cause__ = await self._own_error(read, failure, origin)
        raise failure

    async def service_headers(self, prepared: Prepared) -> dict[str, str]:
        """Return the service's own headers of a request, the key among them."""
        if not prepared.origin.is_local and self._names_an_account():
            return await self._client_headers(prepared)
        return {"authorization": f"Bearer {prepared.origin.key}", **self.protocol_headers}

    def _names_an_account(self) -> bool:
        """Whether the environment has headers for the vendor that only its client knows."""
        return any(
            addresses.from_environment(name)
            for name in (self.headers_variable, *self.account_variables)
        )

    async def _client_headers(self, prepared: Prepared) -> dict[str, str]:
        """Return the headers that the vendor's client would send."""
        await self._loaded()
        client = await self._client(prepared)
        headers: dict[str, str] = {}
        for name, value in (*client.auth_headers.items(), *client.default_headers.items()):
            headers.pop(name.lower(), None)
            if isinstance(value, str):  # or else the mark of one that is to be left out
                headers[name.lower()] = value
        headers["accept"] = "text/event-stream"
        return headers

    async def _own_error(
        self, answer: httpx2.Response, failure: ModelError, origin: Origin
    ) -> Exception | None:
        """Return the error of the vendor's own kind for a refusal, without the key."""
        try:
            sdk = await self._loaded()
        except ImportError:
            return None
        status = answer.status_code
        name = _ERRORS.get(status, "InternalServerError" if status >= _SERVERS else "")
        kind = getattr(sdk, name, None) or sdk.APIStatusError
        problem = f"Error code: {status} - {failure.problem}"
        body = _error_in(failures.redacted(answer.text, *origin.hidden))
        error: Exception = kind(
            failures.redacted(problem, *origin.hidden), response=answer, body=body
        )
        return error

    @contextlib.asynccontextmanager
    async def using_client(self, prepared: Prepared) -> AsyncIterator[Any]:
        """Yield the vendor's client; its errors come out as ours, without the key.

        Raises
        ------
        ModelError
            For what went wrong with a request inside.
        """
        import httpx2

        sdk = await self._loaded()
        client = await self._client(prepared)
        try:
            yield client
        except sdk.APIStatusError as error:  # its fields hold what the service said, key and all
            failure, answer = _failure(error, prepared, sdk), error.response
        except (sdk.APIError, httpx2.HTTPError) as error:
            failure = _failure(error, prepared, sdk)
            _redact(error, prepared.origin)
            raise failure from error
        else:
            return
        raise failure from await self._own_error(answer, failure, prepared.origin)

    async def _loaded(self) -> Any:
        """Return the vendor's package. To import it takes a second, so the loop must not wait."""
        if self.package in sys.modules:
            return self.sdk()
        return await asyncio.to_thread(self.sdk)

    async def _client(self, prepared: Prepared) -> Any:
        """Return this model's client on the running loop."""
        loop = asyncio.get_running_loop()
        identity = (prepared.origin.key, prepared.origin.address)
        with _lock:
            of_model = _clients.setdefault(self, weakref.WeakKeyDictionary())
            known = of_model.get(loop)
        if known is not None and known[0] == identity and not known[1].is_closed():
            return known[1]
        client = self.new_client(
            api_key=prepared.origin.key,
            base_url=addresses.without_query(prepared.origin.address),
            default_query=dict(parse_qsl(urlsplit(prepared.origin.address).query)) or None,
            max_retries=0,
            http_client=await shared_client(),
            default_headers=self._own_headers(prepared),
        )
        with _lock:
            of_model[loop] = (identity, client)
        return client

    def _own_headers(self, prepared: Prepared) -> dict[str, Any]:
        """Return what keeps the vendor's headers in the environment from a local server."""
        if not prepared.origin.is_local:
            return {}
        sdk = self.sdk()
        own = set(self.account_headers)
        for line in os.environ.get(self.headers_variable, "").splitlines():
            name, colon, _ = line.partition(":")
            if colon and name.strip():
                own.add(name.strip())
        headers = {name: sdk.Omit() for name in own if name.lower() != "authorization"}
        return {**headers, "Authorization": f"Bearer {prepared.origin.key}"}


_ERRORS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
"""By status, the public class in each vendor's package."""

_SERVERS = 500

_lock = threading.Lock()
_Known = tuple[tuple[str, str], Any]
_clients: weakref.WeakKeyDictionary[
    RemoteModel, weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Known]
] = weakref.WeakKeyDictionary()
"""Each model's client on each loop. Kept here, so that a model stays a value that can be copied
and pickled."""


def _error_in(text: str) -> object:
    """Return the error in a refusal's body as OpenAI's client does, for its code and type."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return body.get("error", body) if isinstance(body, dict) else body


def _failure(error: Exception, prepared: Prepared, sdk: Any) -> ModelError:
    import httpx2

    origin = prepared.origin
    if isinstance(error, sdk.APIStatusError):
        answer = error.response
        return failures.from_answer(origin, answer.status_code, answer.headers, answer.content)
    cause = error.__cause__ if isinstance(error, sdk.APIConnectionError) else error
    if isinstance(cause, httpx2.HTTPError):
        timeouts = prepared.timeouts
        return broken(cause, origin, timeouts, timeouts.first_byte)
    return broken_off(origin, failures.redacted(str(error), *origin.hidden))


def _redact(error: BaseException, origin: Origin) -> None:
    """Take the key out of the client's own error, which goes along as the cause of ours."""
    error.args = tuple(
        failures.redacted(arg, *origin.hidden) if isinstance(arg, str) else arg
        for arg in error.args
    )
    for name in ("message", "body"):
        value = getattr(error, name, None)
        if isinstance(value, str):
            setattr(error, name, failures.redacted(value, *origin.hidden))
        elif isinstance(value, dict):
            setattr(error, name, None)
