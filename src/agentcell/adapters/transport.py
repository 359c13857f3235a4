"""A prepared request, to the answer to it, on the connection that all models share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from agentcell.adapters import failures
from agentcell.adapters.broken_connections import broken
from agentcell.adapters.connection import shared_client
from agentcell.errors import ConnectionFailed, ModelError

if TYPE_CHECKING:
    import httpx2

    from agentcell.adapters.prepared import Prepared


MOST_REDIRECTS = 5
"""How often a question is sent on before that is an error."""

_KEPT_BYTES = 1024 * 1024
_READ_SECONDS = 10.0
"""How much is read of the body of a refusal, and for how long: an error's text is short."""

_NO_SECRETS = (
    "accept",
    "accept-encoding",
    "anthropic-version",
    "content-length",
    "content-type",
    "user-agent",
)
"""The headers that another host may be sent: all others may hold a key."""


async def post(
    prepared: Prepared,
    url: str,
    headers: Mapping[str, str],
    *,
    may_leave: bool = True,
) -> httpx2.Response:
    """Send one request and return its answer, whose body is still to be read.

    A redirect that keeps the method (307, 308) is followed; any other would turn the question
    into a request for a page, and is returned as the answer that it is.

    Parameters
    ----------
    headers
        Those of the service; the request's own go over them.
    may_leave
        Whether a redirect may lead to another host; that gets none of the headers that may hold
        a key.

    Raises
    ------
    ModelError
        If there is no answer; its status may be an error.
    AttachmentError
        If the copy that was made of an attachment is gone or was changed.
    """
    import httpx2

    prepared.body.check()
    timeouts, body, origin = prepared.timeouts, prepared.body, prepared.origin
    try:
        client = await shared_client()
        # Made here and not by the client, which takes twice as long over it.
        all_headers = httpx2.Headers(
            {
                "accept": "text/event-stream",
                "accept-encoding": client.headers.get("accept-encoding", "identity"),
                "user-agent": "agentcell",
                "content-type": "application/json",
                "content-length": str(body.size_bytes),
                **headers,
            }
        )
        if prepared.headers:
            all_headers.update(prepared.headers)
        address = _parsed(url)
        for _ in range(MOST_REDIRECTS):
            answer = await client.send(
                _request(prepared, address, all_headers), stream=True, follow_redirects=False
            )
            if answer.status_code not in _SAME_AGAIN:
                return answer
            target = _target(address, answer.headers.get("location", ""))
            if target is None or not (may_leave or _is_same(address, target)):
                return answer
            if not _is_same(address, target):
                kept = {name: all_headers[name] for name in _NO_SECRETS if name in all_headers}
                all_headers = httpx2.Headers(kept)
            await answer.aclose()
            address = target
            origin = replace(origin, address=str(target))
    except ConnectionFailed as failure:  # the client itself could not be made
        raise origin.error(type(failure), failure.problem, failure.fix) from failure
    except httpx2.InvalidURL as error:
        raise failures.not_sendable(origin, f"its address is none: {error}") from error
    except httpx2.HTTPError as error:
        raise broken(error, origin, timeouts, timeouts.first_byte) from error
    return answer


def _request(prepared: Prepared, url: httpx2.URL, headers: httpx2.Headers) -> httpx2.Request:
    import httpx2

    timeouts, body = prepared.timeouts, prepared.body
    limits = {
        "connect": timeouts.connect,
        "pool": timeouts.connect,
        "read": timeouts.first_byte,
        "write": timeouts.first_byte,
    }
    return httpx2.Request(
        "POST",
        url,
        headers=headers,
        content=body.data() if body.is_plain else body,
        extensions={"timeout": limits},
    )


def _target(url: httpx2.URL, location: str) -> httpx2.URL | None:
    """Return where a redirect leads to; None if that is no place for a question."""
    import httpx2

    try:
        target = url.join(location)
    except httpx2.InvalidURL:
        return None
    is_less = url.scheme == "https" and target.scheme != "https"  # never back to the open
    return (
        target if location and target.host and target.scheme in _SCHEMES and not is_less else None
    )


def _is_same(url: httpx2.URL, target: httpx2.URL) -> bool:
    """Whether both are of one host: the same, or the same by https and the usual ports."""
    if url.host != target.host:
        return False
    ports = (url.port, target.port)
    return (url.scheme == target.scheme and ports[0] == ports[1]) or (
        url.scheme == "http" and target.scheme == "https" and ports == (None, None)
    )


_SAME_AGAIN = (307, 308)
_SCHEMES = ("http", "https")


@lru_cache(maxsize=64)
def _parsed(url: str) -> httpx2.URL:
    import httpx2

    return httpx2.URL(url)


async def refusal(
    answer: httpx2.Response, prepared: Prepared
) -> tuple[ModelError, httpx2.Response]:
    """Read an answer whose status is an error; return our error, and the answer as it was read.

    Its body is read as far as an error's text may reach; what goes wrong with it meanwhile
    changes nothing of the status.
    """
    import httpx2

    body = bytearray()
    try:
        with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError, TimeoutError):
            async with asyncio.timeout(_READ_SECONDS):
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) >= _KEPT_BYTES:
                        break
    finally:
        await answer.aclose()
    text = bytes(body[:_KEPT_BYTES])
    unpacked = {
        name: value
        for name, value in answer.headers.items()
        if name not in {"content-encoding", "content-length", "transfer-encoding"}
    }
    read = httpx2.Response(
        answer.status_code, headers=unpacked, content=text, request=answer.request
    )
    return failures.from_answer(prepared.origin, read.status_code, read.headers, text), read
