"""A prepared request, to the events of its answer: it waits its turn, is sent, and sent again.

All retries are here, and none follows after any of an answer was given out.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from agentcell import keys
from agentcell.adapters import failures, logs
from agentcell.adapters.answer import Decoder, read_answer
from agentcell.adapters.events import Event, Retrying
from agentcell.adapters.failures import Origin
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.rate_limits import Place
from agentcell.errors import AuthenticationError, ModelError

if TYPE_CHECKING:
    import httpx2

_FORBIDDEN = 403
"""The status of a key that is right, but not for this."""


class Service(Protocol):
    """What an attempt needs of a model; see `agentcell.adapters.remote.RemoteModel`."""

    async def send(self, prepared: Prepared) -> httpx2.Response:
        """Send one request and return its answer, whose body is still to be read."""
        ...

    def decoder(self, origin: Origin) -> Decoder:
        """Return a decoder for one answer."""
        ...

    def address_at(self, base_url: str) -> str:
        """Return where requests go to."""
        ...


async def answered(
    service: Service, prepare: Callable[[], Prepared], stand_in_line: Callable[[], Place | None]
) -> AsyncGenerator[Event]:
    """Yield the answer as it comes.

    Parameters
    ----------
    prepare
        Checks and returns the request; called once, with the first step.
    stand_in_line
        Returns the place of an attempt among those that limits let go; None without limits.

    Raises
    ------
    ModelError
        If the last attempt failed.
    """
    prepared = prepare()
    began = False
    retries, waited = 0, 0.0
    while True:
        place = stand_in_line()
        try:
            if place is not None and not place.granted:
                held = place.waiting()
                logs.tell_wait(prepared, held.wait, held.reason)
                yield held
                await _turn(place, prepared.origin)
            answer = _watched(service, prepared, retries + 1, place)
            async with contextlib.aclosing(answer) as attempt:
                async for events in attempt:
                    for event in events:
                        began = True
                        yield event
        except ModelError as error:
            if isinstance(error, AuthenticationError) and error.status != _FORBIDDEN:
                keys.refused(prepared.origin.key)  # another may be there by now
            wait = None if began else prepared.policy.wait(error, retries, waited)
            if wait is None:
                raise
            reason = error.problem
        else:
            return
        finally:
            if place is not None:
                place.leave()
        retries, waited = retries + 1, waited + wait
        logs.tell_retry(prepared, retries + 1, wait, reason)
        yield Retrying(retries + 1, wait, reason)
        await asyncio.sleep(wait)


async def _turn(place: Place, origin: Origin) -> None:
    """Wait for one's turn; limits, which many models may share, do not know who is asked."""
    try:
        await place.wait()
    except ModelError as error:
        error.provider, error.model = origin.provider, origin.model
        raise


def _watched(
    service: Service, prepared: Prepared, number: int, place: Place | None
) -> AsyncGenerator[Iterable[Event]]:
    """Return an attempt, told in the log and counted by the limits where there are any."""
    attempt = _attempt(service, prepared)
    if place is not None:
        attempt = place.counting(attempt)
    if logs.LOGGER.isEnabledFor(logs.INFO):
        logs.tell_request(prepared, service.address_at(prepared.origin.address), number)
        attempt = logs.told(attempt, prepared)
    return attempt


async def _attempt(service: Service, prepared: Prepared) -> AsyncGenerator[Iterable[Event]]:
    """Send once; yield what each event of the answer says."""
    response = await service.send(prepared)
    try:
        # The client reads this for each piece of the body, so from here on it means silence.
        response.request.extensions["timeout"]["read"] = prepared.timeouts.silence
        request_id = failures.request_id_of(response.headers)
        origin = prepared.origin.with_request_id(request_id)
        async with contextlib.aclosing(
            read_answer(response, service.decoder(origin), origin, prepared.timeouts)
        ) as answer:
            async for events in answer:
                yield events
    finally:
        await response.aclose()
