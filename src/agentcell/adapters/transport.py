"""A prepared request, to the answer to it, on the connection that all models share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from agentcell.adapters import failures
from agentcell.adapters.answer import broken
from agentcell.adapters.connection import shared_client
from agentcell.errors import ModelError

if TYPE_CHECKING:
    import httpx2

    from agentcell.adapters.remote import Prepared


async def post(
    prepared: Prepared,
    url: str,
    headers: Mapping[str, str],
    *,
    follow_redirects: bool = True,
) -> httpx2.Response:
    """Send one request and return its answer, whose body is still to be read.

    Parameters
    ----------
    headers
        Those of the service; the request's own go over them.
    follow_redirects
        Not where a header holds the key that another host would be sent, too: all but
        ``Authorization`` are.

    Raises
    ------
    ModelError
        If there is no answer; its status may be an error.
    AttachmentError
        If the copy that was made of an attachment is gone or was changed.
    """
    import httpx2

    prepared.body.check()
    client = await shared_client()
    timeouts, body = prepared.timeouts, prepared.body
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
    limits = {
        "connect": timeouts.connect,
        "pool": timeouts.connect,
        "read": timeouts.first_byte,
        "write": timeouts.first_byte,
    }
    try:
        request = httpx2.Request(
            "POST",
            _parsed(url),
            headers=all_headers,
            content=body.data() if body.is_plain else body,
            extensions={"timeout": limits},
        )
        return await client.send(request, stream=True, follow_redirects=follow_redirects)
    except httpx2.HTTPError as error:
        raise broken(error, prepared.origin, timeouts, timeouts.first_byte) from error


@lru_cache(maxsize=64)
def _parsed(url: str) -> httpx2.URL:
    import httpx2

    return httpx2.URL(url)


async def refusal(answer: httpx2.Response, prepared: Prepared) -> ModelError:
    """Read an answer whose status is an error, and return it as ours."""
    import httpx2

    origin, timeouts = prepared.origin, prepared.timeouts
    try:
        body = await answer.aread()
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        failure = broken(error, origin, timeouts, timeouts.first_byte)
        failure.__cause__ = error
        return failure
    finally:
        await answer.aclose()
    return failures.from_answer(origin, answer.status_code, answer.headers, body)
