"""A request about anything but a question → its whole answer, or the lines of a long one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from agentcell.adapters import failures
from agentcell.adapters.broken_connections import broken
from agentcell.adapters.connection import shared_client
from agentcell.adapters.prepared import Prepared

if TYPE_CHECKING:
    import httpx2

_MOST_OF_A_REFUSAL = 1024 * 1024


async def whole_answer(  # noqa: PLR0913 (each is a part of a request)
    prepared: Prepared,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    content: bytes | AsyncIterator[bytes] | None = None,
    files: Any = None,
    data: Mapping[str, Any] | None = None,
) -> httpx2.Response:
    """Send one request and return its whole answer. No redirect is followed.

    Parameters
    ----------
    prepared
        Whom it goes to, and how patiently.
    content
        The body as it is.
    files, data
        Or the parts of a form.

    Raises
    ------
    ModelError
        If there is no answer, or its status is an error.
    """
    import httpx2

    client = await shared_client()
    origin, timeouts = prepared.origin, prepared.timeouts
    try:
        answer = await client.request(
            method,
            url,
            headers=dict(headers),
            content=content,
            files=files,
            data=data,
            timeout=_limits(prepared),
            follow_redirects=False,
        )
    except httpx2.HTTPError as error:
        raise broken(error, origin, timeouts, timeouts.first_byte) from error
    if not answer.is_success:
        raise failures.from_answer(origin, answer.status_code, answer.headers, answer.content)
    return answer


async def answer_lines(
    prepared: Prepared, url: str, *, headers: Mapping[str, str]
) -> AsyncGenerator[bytes]:
    """Yield the lines of a long answer, without their ends; empty ones are left out.

    Raises
    ------
    ModelError
        If there is no answer, its status is an error, or it breaks off.
    """
    import httpx2

    client = await shared_client()
    origin, timeouts = prepared.origin, prepared.timeouts
    rest = b""
    try:
        async with client.stream(
            "GET", url, headers=dict(headers), timeout=_limits(prepared), follow_redirects=False
        ) as answer:
            if not answer.is_success:
                body = await answer.aread()
                raise failures.from_answer(
                    origin, answer.status_code, answer.headers, body[:_MOST_OF_A_REFUSAL]
                )
            async with contextlib.aclosing(answer.aiter_bytes()) as pieces:
                async for piece in pieces:
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in lines:
                        if line.strip():
                            yield line
    except httpx2.HTTPError as error:
        raise broken(error, origin, timeouts, timeouts.silence) from error
    if rest.strip():
        yield rest


def _limits(prepared: Prepared) -> httpx2.Timeout:
    import httpx2

    timeouts = prepared.timeouts
    return httpx2.Timeout(timeouts.first_byte, connect=timeouts.connect, pool=timeouts.connect)
