"""How often a service may be asked, to the moment at which each request goes out.

Requests go out in the order in which they asked, from whatever thread and event loop. One object
may be given to many models; those share it. Another process knows nothing of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Any, ClassVar, Self

from agentcell.adapters.events import Event, Usage, Waiting
from agentcell.errors import RateLimited, Timeout

_POLL = 1.0
"""Seconds between a waiting request's own looks at the queue. It is told when its turn comes; this
is for the one before it standing on an event loop that has stopped."""


class RateLimits:
    """How many requests and tokens may go out in a minute, and how many requests run at once.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute
        The most within any 60 seconds. Tokens are estimated before a request and corrected by the
        provider's own count after it; a request larger than the limit goes out alone.
    concurrent
        The most at once, each until its answer is whole.
    patience
        Seconds without any request going out or ending, after which a waiting one gives up.

    Raises
    ------
    TypeError, ValueError
        If a limit is no whole number of at least 1, or `patience` no number above 0.
    """

    window: ClassVar[float] = 60.0
    """Seconds in which the limits count."""

    def __init__(
        self,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        concurrent: int | None = None,
        patience: float = 1800.0,
    ) -> None:
        self.requests_per_minute = _checked("requests_per_minute", requests_per_minute)
        self.tokens_per_minute = _checked("tokens_per_minute", tokens_per_minute)
        self.concurrent = _checked("concurrent", concurrent)
        if isinstance(patience, bool) or not isinstance(patience, (int, float)):
            raise TypeError(f"patience is {patience!r}; a number of seconds was expected")
        if not patience > 0:
            raise ValueError(f"patience is {patience!r}; more than 0 seconds was expected")
        self.patience = patience
        self._line = _Line(self)

    def __repr__(self) -> str:
        names = ("requests_per_minute", "tokens_per_minute", "concurrent")
        given = [f"{name}={value}" for name in names if (value := getattr(self, name)) is not None]
        return f"RateLimits({', '.join(given)})"

    def __copy__(self) -> Self:
        return self  # a copied model asks the same service with the same key

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        limits = (self.requests_per_minute, self.tokens_per_minute, self.concurrent, self.patience)
        return (_rebuilt, (type(self), *limits))

    def ask(self, tokens: int = 0) -> Place:
        """Stand in line with a request; call on the event loop that is to send it.

        Parameters
        ----------
        tokens
            What it is thought to come to.

        Returns
        -------
        Place
            To be left in any case, also when it was never granted.
        """
        place = Place(self._line, tokens)
        self._line.join(place)
        return place


class Place:
    """One request's place: in line, then under way, then left. Made by `RateLimits.ask`."""

    def __init__(self, line: _Line, tokens: int) -> None:
        most = line.limits.tokens_per_minute
        self.tokens = max(0, tokens if most is None else min(tokens, most))
        self.loop = asyncio.get_running_loop()
        self.task = asyncio.current_task()
        self.granted = False
        self.counts = False
        """Whether it went out within the last minute."""
        self.went_out = 0.0
        self.told: asyncio.Future[None] | None = None
        self._line = line
        self._used: int | None = None

    def waiting(self) -> Waiting:
        """Return the event that tells of the wait."""
        return self._line.waiting(self)

    async def wait(self) -> None:
        """Wait until the request may go out.

        Raises
        ------
        RateLimited
            If it never could: the places are all held by answers that this very task reads.
        Timeout
            If nothing has gone out or ended for as long as `RateLimits.patience`.
        """
        while (look := self._line.look(self)) is not None:
            told, timeout = look
            await asyncio.wait((told,), timeout=timeout)

    async def counting(
        self, answer: AsyncGenerator[Iterable[Event]]
    ) -> AsyncGenerator[Iterable[Event]]:
        """Yield what `answer` yields, and keep the provider's count of it."""
        async with contextlib.aclosing(answer):
            async for some in answer:
                events = tuple(some)
                for event in events:
                    if isinstance(event, Usage):
                        self._used = (event.input_tokens or 0) + (event.output_tokens or 0)
                yield events

    def leave(self) -> None:
        """Give the place up; the next may go. More than once does nothing more."""
        self._line.leave(self, self._used)

    def tell(self) -> None:
        """Wake the request, if it waits; from any thread, with the line's lock held."""
        told, self.told = self.told, None
        if told is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed
                self.loop.call_soon_threadsafe(_settle, told)


class _Line:
    """Who waits, who is under way, and who went out within the last minute."""

    def __init__(self, limits: RateLimits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._queue: deque[Place] = deque()
        self._held: set[Place] = set()
        self._sent: deque[Place] = deque()
        self._tokens = 0
        self._progress = time.monotonic()

    def join(self, place: Place) -> None:
        """Put `place` at the end of the line."""
        with self._lock:
            if not self._queue:
                self._progress = time.monotonic()
            self._queue.append(place)
            self._grant()

    def look(self, place: Place) -> tuple[asyncio.Future[None], float] | None:
        """Return when `place` is to look again: once it is told, or after so many seconds.

        None once it may go out.
        """
        with self._lock:
            self._grant()
            if place.granted:
                return None
            now = time.monotonic()
            self._check(place, now)
            told = place.told = place.loop.create_future()
            return told, min(_POLL, max(0.001, self._delay(place, now)))

    def leave(self, place: Place, tokens: int | None) -> None:
        """Take `place` out, wherever it is."""
        with self._lock:
            if not place.granted:
                with contextlib.suppress(ValueError):
                    self._queue.remove(place)
            elif place in self._held:
                self._held.remove(place)
                self._progress = time.monotonic()
                if tokens is not None and place.counts:
                    self._tokens += tokens - place.tokens
                    place.tokens = tokens
            self._grant()

    def waiting(self, place: Place) -> Waiting:
        """Return what `place` waits for, and about how long."""
        limits = self.limits
        with self._lock:
            wait = self._delay(place, time.monotonic())
            if wait == math.inf:
                return Waiting(None, f"{limits.concurrent:,} at once is the limit")
            if self._queue and self._queue[0] is not place:
                return Waiting(None, "others are before it")
            requests = limits.requests_per_minute
            if requests is not None and len(self._sent) >= requests:
                many = "request" if requests == 1 else "requests"
                return Waiting(wait, f"{requests:,} {many} a minute is the limit")
            return Waiting(wait, f"{limits.tokens_per_minute or 0:,} tokens a minute is the limit")

    def _grant(self) -> None:
        """Let all go whose turn it is, and tell the next one that it is the next."""
        now = time.monotonic()
        for place in self._candidates():
            if self._delay(place, now) > 0:
                place.tell()
                return
            self._queue.remove(place)
            self._held.add(place)
            place.granted = True
            if self.limits.requests_per_minute or self.limits.tokens_per_minute:
                place.counts, place.went_out = True, now
                self._sent.append(place)
                self._tokens += place.tokens
            self._progress = now
            place.tell()

    def _candidates(self) -> Iterator[Place]:
        """Yield those in line whose loops still run, the first first."""
        for place in tuple(self._queue):
            if place.loop.is_closed():
                self._queue.remove(place)
            elif place.loop.is_running():
                yield place

    def _delay(self, place: Place, now: float) -> float:
        """Return the seconds until `place` may go out, infinite if others must end first."""
        limits, window = self.limits, self.limits.window
        while self._sent and self._sent[0].went_out <= now - window:
            over = self._sent.popleft()
            over.counts = False
            self._tokens -= over.tokens
        if limits.concurrent is not None and len(self._held) >= limits.concurrent:
            self._held = {one for one in self._held if not one.loop.is_closed()}
            if len(self._held) >= limits.concurrent:
                return math.inf
        freed = -math.inf  # when the last of those went out that must not count any more
        if limits.requests_per_minute and len(self._sent) >= limits.requests_per_minute:
            freed = self._sent[-limits.requests_per_minute].went_out
        if limits.tokens_per_minute:
            left = self._tokens
            for sent in self._sent:
                if left + place.tokens <= limits.tokens_per_minute:
                    break
                left -= sent.tokens
                freed = max(freed, sent.went_out)
        return max(0.0, freed + window - now)

    def _check(self, place: Place, now: float) -> None:
        """Refuse a wait that cannot end."""
        most, patience = self.limits.concurrent, self.limits.patience
        is_full = most is not None and len(self._held) >= most
        if is_full and {held.task for held in self._held} == {place.task} != {None}:
            raise RateLimited(
                f"concurrent={most} lets this request wait for answers that the same task is"
                " still reading: it could never go out.",
                fix="read the other answer to its end or close it, or allow more at once.",
            )
        if now - self._progress > patience:
            raise Timeout(
                f"No request went out or ended within {patience:g} seconds under {self.limits!r}.",
                fix="close answers that nobody reads, or give RateLimits a longer patience.",
            )


def _settle(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_result(None)


def _checked(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}; a whole number was expected")
    if value < 1:
        raise ValueError(f"{name} is {value}; 1 or more was expected")
    return value


def _rebuilt(
    kind: type[RateLimits], requests: Any, tokens: Any, at_once: Any, patience: Any
) -> Any:
    return kind(
        requests_per_minute=requests,
        tokens_per_minute=tokens,
        concurrent=at_once,
        patience=patience,
    )
