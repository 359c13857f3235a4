"""What a test says will happen, to replies: one for each request; the last one repeats."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Self

from agentcell.testing.replies import Call, Reply, Script

_TEXT = ("The answer ", "is 42.")
"""What is begun before a fault, where a test does not say."""


class Scripted(ABC):
    """The plan of a server, and how its protocol writes an answer and an error.

    Each method plans one more reply and returns the server, so that they can be chained::

        server.fail(429, retry_after=2).reply("There ", "it is.")
    """

    def __init__(self, *replies: Script) -> None:
        self._lock = threading.Lock()
        self._planned: list[Script] = list(replies)
        self._last: Script = Reply("Hello.")

    # -- the protocol -------------------------------------------------------------------------

    @abstractmethod
    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """Yield a streamed answer, one event at a time.

        Parameters
        ----------
        reply
            What to say; its faults are somebody else's.
        model
            The model that was asked.
        """

    @abstractmethod
    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return an answer as one document.

        Parameters
        ----------
        reply, model
            As for `events`.
        """

    @abstractmethod
    def error_event(self, error: Mapping[str, Any], newline: str) -> bytes:
        """Return an error in the middle of a stream.

        Parameters
        ----------
        error
            As the service writes it.
        newline
            The line ending.
        """

    @abstractmethod
    def error_document(self, status: int, message: str, error: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a refusal.

        Parameters
        ----------
        status
            The HTTP status.
        message
            What the service says.
        error
            More fields, over the usual ones.
        """

    # -- the plan -----------------------------------------------------------------------------

    def then(self, *replies: Script) -> Self:
        """Play `replies` for the next requests, instead of what was planned.

        Parameters
        ----------
        replies
            A `Reply`, a text, or a function that makes one of the request.
        """
        with self._lock:
            self._planned = list(replies)
        return self

    def plan(self, reply: Script) -> Self:
        """Play `reply` after what is planned already.

        Parameters
        ----------
        reply
            As for `then`.
        """
        with self._lock:
            self._planned.append(reply)
        return self

    def reply(self, *text: str, **facts: Any) -> Self:
        """Answer in these pieces.

        Parameters
        ----------
        text
            One event each; none is an empty answer.
        facts
            All that a `Reply` takes: ``thinking``, ``usage``, ``split_bytes``, ``newline``, …
        """
        return self.plan(Reply(*text, **facts))

    def reply_tool_call(
        self, name: str, arguments: Mapping[str, Any] | str = "{}", *, call_id: str = "call_1"
    ) -> Self:
        """Ask for one tool; several at once are ``reply(calls=[Call(…), Call(…)])``.

        Parameters
        ----------
        name
            The tool's.
        arguments
            A text is sent as it is, and need be no JSON.
        call_id
            What the tool's result refers to.
        """
        text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
        return self.plan(Reply(calls=[Call(name, text, call_id)]))

    def fail(
        self,
        status: int,
        message: str = "no",
        *,
        retry_after: float | str | None = None,
        html: bool = False,
        **error: Any,
    ) -> Self:
        """Refuse with a status and the error that the service would send.

        Parameters
        ----------
        status
            For example 401, 429, 500.
        message
            What the service says.
        retry_after
            Seconds, or a date, for the header of that name.
        html
            Send a page instead, as a proxy does.
        error
            More fields of the error, for example ``code="insufficient_quota"``.
        """
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        if html:
            page = f"<html><head><title>{status}</title></head><body>{message}</body></html>"
            headers["content-type"] = "text/html"
            return self.plan(Reply(status=status, headers=headers, raw=page))
        headers["content-type"] = "application/json"
        body = json.dumps(self.error_document(status, message, error))
        return self.plan(Reply(status=status, headers=headers, raw=body))

    def fail_midway(
        self, status: int, message: str = "no", *text: str, after: int = 1, **error: Any
    ) -> Self:
        """Begin an answer, then send an error in its place.

        Parameters
        ----------
        status, message, error
            As for `fail`: the error is the one that the service has for that status.
        text, after
            As for `stall`, but never before the headers.
        """
        text = text or _TEXT
        fields = self.error_document(status, message, error)["error"]
        return self.plan(Reply(*text, error=fields, error_after=self._events(text, after)))

    def stall(self, *text: str, after: int | None = 0) -> Self:
        """Say nothing more, until the client hangs up.

        Parameters
        ----------
        text
            The pieces of an answer; where there are none, any.
        after
            So many pieces; 0 is right after the headers, None before them.
        """
        text = text or _TEXT
        return self.plan(Reply(*text, stall=self._events(text, after)))

    def cut(self, *text: str, after: int | None = 1) -> Self:
        """Break the connection off, as a server that ends.

        Parameters
        ----------
        text, after
            As for `stall`.
        """
        text = text or _TEXT
        return self.plan(Reply(*text, cut=self._events(text, after)))

    def reset(self, *text: str, after: int | None = 1) -> Self:
        """Abort the connection (TCP's RST), as a proxy that gives up.

        Parameters
        ----------
        text, after
            As for `stall`.
        """
        text = text or _TEXT
        return self.plan(Reply(*text, reset=self._events(text, after)))

    def end_early(self, *text: str, after: int = 1) -> Self:
        """End the body properly, but without the protocol's end of an answer.

        Parameters
        ----------
        text, after
            As for `stall`, but never before the headers.
        """
        text = text or _TEXT
        return self.plan(Reply(*text, clean_cut=self._events(text, after)))

    def next_reply(self) -> Script:
        """Return what is to be played now."""
        with self._lock:
            if self._planned:
                self._last = self._planned.pop(0)
            return self._last

    def event_of_piece(self, piece: int) -> int:
        """Return which event, counted from 0, holds a piece of a text, counted from 1.

        Parameters
        ----------
        piece
            1 or more.
        """
        marks = [f"P-{number}-P" for number in range(1, piece + 1)]
        events = list(self.events(Reply(*marks), "m"))
        return next(n for n, event in enumerate(events) if marks[-1].encode() in event)

    def _events(self, text: tuple[str, ...], after: int | None) -> int:
        """Return how many events hold `after` pieces of `text`; -1 is before the headers."""
        if after is None:
            return -1
        if not 0 <= after <= len(text):
            raise ValueError(f"after is {after}; 0 to {len(text)} pieces, or None, were expected")
        return self.event_of_piece(after) + 1 if after else 0
