"""A service's answer about pictures, as bytes → its documents and events, or an error.

Every error says whether what was asked for may have been paid for: that is not the case where
nothing was sent or the service refused; it is where an answer had begun; else nobody knows.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.adapters import failures
from agentcell.adapters.broken_connections import broken, never_left
from agentcell.adapters.connection import Timeouts
from agentcell.adapters.failures import Origin
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.redaction import without_data
from agentcell.adapters.retry import RetryPolicy
from agentcell.adapters.sse import EventDecoder, ServerEvent, event_json
from agentcell.adapters.transport import refusal
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ConnectionFailed,
    GenerationFailed,
    KeyMissing,
    ModelError,
    Unsupported,
)
from agentcell.imaging.web_text import without_queries

if TYPE_CHECKING:
    import httpx2

    from agentcell.adapters.body import Body

MOST_BYTES = 512 * 1024 * 1024
"""Of one answer: eight large pictures as base64 are a fifth of it."""

LOOK = "look at your account there, it may have been charged; then ask anew."
"""What to do where nobody knows whether it was paid for."""

_CLIENT_FAULTS = range(300, 500)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that has begun with a good status; its body is still to be read."""

    response: httpx2.Response
    prepared: Prepared

    @property
    def is_stream(self) -> bool:
        """Whether events come, one by one."""
        return "text/event-stream" in self.response.headers.get("content-type", "")

    async def events(self) -> AsyncGenerator[ServerEvent]:
        """Yield its events; closing this closes the connection.

        Raises
        ------
        ModelError
            If it breaks off.
        """
        decoder = EventDecoder()
        async for piece in self._pieces():
            for event in self._decoded(decoder, piece):
                yield event
        for event in decoder.flush():
            yield event

    async def document(self) -> dict[str, Any]:
        """Return its JSON object.

        Raises
        ------
        ModelError
            If it breaks off, or is none.
        """
        body = bytearray()
        async for piece in self._pieces():
            body += piece
            if len(body) > MOST_BYTES:
                raise self.wrong(f"more than {MOST_BYTES:,} bytes")
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            said = without_queries(bytes(body[:200]).decode("utf-8", "replace"))
            shown = failures.one_line(without_data(said), 60)
            raise self.wrong(f"what is no answer, {shown!r}" if body else "nothing")
        return value

    def wrong(self, what: str) -> ModelError:
        """Return the error of an answer that is none: it was paid for, for all that is known."""
        origin = self.prepared.origin
        return origin.error(
            GenerationFailed,
            f"{origin.name} sent {what}; pictures were expected. It has very likely been charged.",
            "look at your account there, then ask anew.",
            is_billed=True,
        )

    def refused(self, error: Any) -> ModelError:
        """Return the error that came within the answer."""
        return told(failures.from_event(self.prepared.origin, error), has_begun=True)

    def cut(self) -> ModelError:
        """Return the error of an answer that ends before its end."""
        origin = self.prepared.origin
        return origin.error(
            GenerationFailed,
            f"The answer of {origin.name} broke off before the picture was there. Whether it is"
            " charged is not known.",
            LOOK,
            is_billed=None,
        )

    def _decoded(self, decoder: EventDecoder, piece: bytes) -> list[ServerEvent]:
        try:
            return decoder.feed(piece)
        except ValueError as error:
            raise self.wrong(str(error)) from None

    async def _pieces(self) -> AsyncGenerator[bytes]:
        import httpx2

        prepared = self.prepared
        try:
            async for piece in self.response.aiter_bytes():
                yield piece
        except (httpx2.ReadTimeout, httpx2.WriteTimeout) as error:
            limit = prepared.timeouts.first_byte
            silent = broken(error, prepared.origin, prepared.timeouts, limit)
            raise told(silent, has_begun=True) from error
        except httpx2.HTTPError as error:
            raise self.cut() from error
        finally:
            await self.response.aclose()


def prepared(body: Body, origin: Origin, headers: dict[str, str], timeouts: Timeouts) -> Prepared:
    """Return a request that is sent once: what may be paid for is never sent again by itself."""
    return Prepared(
        body=body, headers=headers, timeouts=timeouts, policy=RetryPolicy.of(0), origin=origin
    )


async def answered(sending: Awaitable[httpx2.Response], request: Prepared) -> Answer:
    """Return the answer that a service gives; an error says whether it may have been paid for.

    Parameters
    ----------
    sending
        What sends `request`, and raises our errors.

    Raises
    ------
    ModelError
        If there is no answer, or its status is an error.
    """
    try:
        response = await sending
    except ModelError as error:
        raise told(error) from error.__cause__
    if not response.is_success:
        failure, _ = await refusal(response, request)
        raise told(failure)
    return Answer(response, request)


def told(error: ModelError, *, has_begun: bool = False) -> ModelError:
    """Return `error`, which then says whether what was asked for may have been paid for.

    Parameters
    ----------
    has_begun
        Whether an answer with a good status had begun.
    """
    if isinstance(error, GenerationFailed):
        return error
    was_refused = error.status is not None and error.status in _CLIENT_FAULTS
    if not has_begun and (was_refused or not _was_sent(error)):
        error.is_billed = False
        return error
    error.is_billed = None
    error.retryable = False
    error.fix = LOOK
    return error


def _was_sent(error: ModelError) -> bool:
    if not isinstance(error, ConnectionFailed) or error.status is not None:
        return error.status is not None or not isinstance(error, _BEFORE_SENDING)
    return not never_left(error.__cause__)


_BEFORE_SENDING = (AuthenticationError, BadRequest, KeyMissing, Unsupported)
"""Errors without a status that are raised before a request."""


def event_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object of an event; an empty one where it is none."""
    try:
        value = event_json(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def picture_of(answer: Answer, text: object) -> bytes:
    """Return the bytes of a picture in base64.

    Raises
    ------
    GenerationFailed
        If it is none.
    """
    if not isinstance(text, str) or not text:
        raise answer.wrong("an answer without a picture")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise answer.wrong("a picture that is no base64") from None
