"""A chat request → the events of its answer, over HTTP to the child process on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentcell.adapters.events import Event, Finished, TextDelta, ThinkingDelta, Usage
from agentcell.adapters.sse import EventDecoder
from agentcell.errors import (
    BadRequest,
    ConnectionFailed,
    ModelError,
    ServiceError,
    StreamTruncated,
    TooLarge,
)

if TYPE_CHECKING:
    import httpx2

_SILENCE_SECONDS = 300.0
"""Reading 4096 tokens takes a minute on a busy machine; a longer silence is a fault."""

_OK = 200
_SERVER_FAULTS = 500


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the child listens, and the key that it asks for."""

    address: str
    key: str = field(repr=False)


class TooLong(TooLarge):
    """The messages are longer than the model can read. Both numbers are tokens."""

    tokens: int = 0
    limit: int = 0


async def exchange(endpoint: Endpoint, body: dict[str, Any]) -> AsyncGenerator[Event]:
    """Send one OpenAI-shaped chat request and yield what comes, `Finished` last.

    Raises
    ------
    httpx2.TransportError
        If the child cannot be reached, or goes away.
    TooLong, BadRequest, ServiceError
        If it refuses the request.
    StreamTruncated
        If the answer ends without its end marker.
    """
    alias = body["model"]
    body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")  # half characters: ?
    decoder = EventDecoder()
    finished: Finished | None = None
    async with (
        _client(endpoint) as client,
        client.stream("POST", "/v1/chat/completions", content=data) as response,
    ):
        if response.status_code != _OK:
            await response.aread()
            raise _refused(response, alias)
        async for piece in response.aiter_raw():
            for _, data in decoder.feed(piece):
                for event in _decode(data, alias):
                    if isinstance(event, Finished):
                        finished = event
                    else:
                        yield event
    if finished is None:
        raise StreamTruncated(
            "The built-in model's answer broke off before its end.",
            fix="run the cell again.",
            provider="local",
            model=alias,
        )
    yield finished


def _client(endpoint: Endpoint) -> httpx2.AsyncClient:
    """Return a client for one request.

    No connection is kept, so none can have gone stale, and none belongs to another event loop.
    On loopback that costs nothing; there is no TLS to verify.
    """
    import httpx2

    return httpx2.AsyncClient(
        base_url=endpoint.address,
        headers={"Authorization": f"Bearer {endpoint.key}", "Content-Type": "application/json"},
        timeout=httpx2.Timeout(_SILENCE_SECONDS, connect=5.0),
        trust_env=False,
        verify=False,
    )


async def slot(endpoint: Endpoint, action: str, file_name: str) -> dict[str, Any]:
    """Have the child ``save`` what it has read last to a file, or ``restore`` it from one.

    Returns
    -------
    dict
        ``{"n_saved": …}`` or ``{"n_restored": …}``, in tokens; empty if it could not.

    Raises
    ------
    httpx2.TransportError
        If the child cannot be reached, or goes away.
    """
    async with _client(endpoint) as client:
        response = await client.post(f"/slots/0?action={action}", json={"filename": file_name})
    done = response.json() if response.status_code == _OK else {}
    return done if isinstance(done, dict) else {}


def broken(alias: str, error: Exception, *, began: bool) -> ModelError:
    """Return what to tell when the connection to the child broke."""
    if began:
        return StreamTruncated(
            "The built-in model's process ended in the middle of its answer.",
            fix="run the cell again: a new process is started.",
            provider="local",
            model=alias,
        )
    return ConnectionFailed(
        f"The built-in model's process does not answer ({type(error).__name__}).",
        fix="run the cell again: a new process is started.",
        provider="local",
        model=alias,
    )


def _decode(data: bytes, alias: str) -> Iterator[Event]:
    if data == b"[DONE]":
        return
    chunk = json.loads(data)
    if error := chunk.get("error"):
        raise ServiceError(
            f"local/{alias} failed: {str(error.get('message', error))[:300]}",
            fix="run the cell again.",
            provider="local",
            model=alias,
        )
    for choice in chunk.get("choices") or ():
        delta = choice.get("delta") or {}
        if thought := delta.get("reasoning_content"):
            yield ThinkingDelta(thought)
        if text := delta.get("content"):
            yield TextDelta(text)
        if reason := choice.get("finish_reason"):
            yield Finished(reason=reason, model=f"local/{alias}")
    if usage := chunk.get("usage"):
        yield Usage(
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
            cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        )


def _refused(response: httpx2.Response, alias: str) -> ModelError:
    try:
        error = response.json().get("error") or {}
    except (ValueError, AttributeError):
        error = {}
    status = response.status_code
    if error.get("type") == "exceed_context_size_error":
        tokens, limit = int(error["n_prompt_tokens"]), int(error["n_ctx"])
        too_long = TooLong(
            f"The messages are {tokens:,} tokens; local/{alias} reads at most {limit:,}.",
            fix="ask with less text, or choose a larger model with `-m`.",
            provider="local",
            model=alias,
            status=status,
        )
        too_long.tokens, too_long.limit = tokens, limit
        return too_long
    kind = BadRequest if status < _SERVER_FAULTS else ServiceError
    return kind(
        f"local/{alias} answered {status}: {str(error.get('message') or response.text)[:300]}",
        fix="change what the message names, then try again.",
        provider="local",
        model=alias,
        status=status,
    )
