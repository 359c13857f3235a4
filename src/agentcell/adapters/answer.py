"""The body of an HTTP answer, to what each of its events says; errors for all that is none."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from agentcell.adapters import failures
from agentcell.adapters.broken_connections import broken
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.events import Event
from agentcell.adapters.failures import Origin
from agentcell.adapters.sse import MAX_EVENT_BYTES, EventDecoder, ServerEvent
from agentcell.errors import ModelError, StreamTruncated

if TYPE_CHECKING:
    import httpx2

_DRAIN_SECONDS = 0.25
"""How long to wait, after an answer's end marker, for the end of the body: a connection whose
body was read to its end can be used again."""

_KEPT = 4 * 1024 * 1024
"""Bytes kept of an answer that has not shown yet whether it is a stream of events."""


class Decoder(Protocol):
    """Takes one answer's events as they come, and gives ours."""

    finished: bool
    """Whether `Finished` was given out."""

    characters: int
    """How much of the answer came so far."""

    def feed(self, event: ServerEvent) -> Iterable[Event]:
        """Return what one event of the stream says; `ValueError` if it is no JSON."""
        ...

    def document(self, document: Any) -> Iterable[Event]:
        """Return what an answer says that came as one document."""
        ...

    def finish(self) -> Iterable[Event]:
        """Return what is left to say at the body's end, or raise `StreamTruncated`."""
        ...


def decode_lines(lines: Iterable[str | bytes], decoder: Decoder) -> Iterator[Event]:
    """Yield what the lines of a recorded stream say. Lines come with or without their ends."""
    stream = EventDecoder()
    for line in lines:
        data = line.encode() if isinstance(line, str) else line
        for event in stream.feed(data if data.endswith((b"\n", b"\r")) else data + b"\n"):
            yield from decoder.feed(event)
    for event in stream.flush():
        yield from decoder.feed(event)
    yield from decoder.finish()


async def read_answer(
    response: httpx2.Response, decoder: Decoder, origin: Origin, timeouts: Timeouts
) -> AsyncGenerator[Iterable[Event]]:
    """Yield what the events of `response` say, up to the provider's end marker.

    Raises
    ------
    ModelError
        `StreamTruncated` without an end marker; `ServiceError` for what is no answer;
        `Timeout` for silence; `ConnectionFailed` if it broke before it said anything.
    """
    import httpx2

    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    answer = _whole(response, decoder, origin) if "json" in kind or "html" in kind else None
    answer = answer or _streamed(response, decoder, origin)
    began = False
    try:
        async with contextlib.aclosing(answer):
            async for events in answer:
                began = began or bool(events)
                yield events
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        try:
            events = decoder.finish()
        except StreamTruncated:
            said = decoder.characters if began else None
            raise broken(error, origin, timeouts, timeouts.silence, said) from error
        yield events  # all was said; only the end of the body is missing


async def _streamed(
    response: httpx2.Response, decoder: Decoder, origin: Origin
) -> AsyncGenerator[Iterable[Event]]:
    stream = EventDecoder()
    seen = False
    kept = bytearray()
    async with contextlib.aclosing(_pieces(response)) as pieces:
        async for piece in pieces:
            if not seen and len(kept) < _KEPT:
                kept += piece
            events = _fed(stream, piece, origin)
            seen = seen or bool(events)
            said, failure = _said(decoder, events, origin)
            if said:
                yield said
            if failure is not None:
                raise failure
            if decoder.finished:
                await _drain(pieces)
                return
    for event in stream.flush():
        seen = True
        with contextlib.suppress(ValueError):  # half an event: the end below says so
            yield decoder.feed(event)
    if not seen and kept.strip():
        yield read_document(bytes(kept), decoder, origin)
    elif not decoder.finished:
        yield decoder.finish()


async def _whole(
    response: httpx2.Response, decoder: Decoder, origin: Origin
) -> AsyncGenerator[Iterable[Event]]:
    """Read an answer that came as one document although a stream was asked for."""
    data = bytearray()
    async with contextlib.aclosing(_pieces(response)) as pieces:
        async for piece in pieces:
            data += piece
            if len(data) > MAX_EVENT_BYTES:
                raise failures.no_answer(origin, f"more than {MAX_EVENT_BYTES:,} bytes")
    yield read_document(bytes(data), decoder, origin)


def read_document(data: bytes, decoder: Decoder, origin: Origin) -> Iterable[Event]:
    """Return what an answer says that came as one document.

    Raises
    ------
    ModelError
        If it is none, or tells of a failure.
    """
    if not data.strip():
        raise failures.truncated(origin, 0)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        if data.lstrip().startswith((b"data:", b"event:", b":")):  # a stream under a wrong name
            return list(decode_lines(data.splitlines(), decoder))
        raise failures.no_answer(origin, _shown(data)) from None
    if isinstance(document, dict) and document.get("error"):
        raise failures.from_event(origin, document["error"])
    try:
        return decoder.document(document)
    except (ValueError, TypeError, LookupError, AttributeError) as problem:
        raise failures.no_answer(origin, _shown(data)) from problem


def _pieces(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """Return the body as it comes, unpacked if it was packed."""
    is_packed = "content-encoding" in response.headers
    return response.aiter_bytes() if is_packed else response.aiter_raw()


def _fed(stream: EventDecoder, piece: bytes, origin: Origin) -> list[ServerEvent]:
    try:
        return stream.feed(piece)
    except ValueError:
        raise failures.no_answer(origin, f"an event of over {MAX_EVENT_BYTES:,} bytes") from None


def _said(
    decoder: Decoder, events: list[ServerEvent], origin: Origin
) -> tuple[list[Event], ModelError | None]:
    """Return what events that came together say up to the end, or to one that is a failure."""
    said: list[Event] = []
    for event in events:
        try:
            said += decoder.feed(event)
        except ModelError as failure:
            return said, failure
        except (ValueError, TypeError, LookupError, AttributeError) as problem:
            name, data = event
            if name == "error":  # in plain words
                wrong = failures.from_event(origin, data.decode("utf-8", "replace"))
            else:
                wrong = failures.no_answer(origin, _shown(data))
            wrong.__cause__ = problem
            return said, wrong
        if decoder.finished:
            break
    return said, None


async def _drain(pieces: AsyncGenerator[bytes]) -> None:
    with contextlib.suppress(TimeoutError, Exception):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass


def _shown(data: bytes) -> str:
    text = failures.one_line(data[:2000].decode("utf-8", "replace"), 80)
    return f"what is no answer, {text!r}"
