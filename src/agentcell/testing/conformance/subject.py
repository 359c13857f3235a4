"""An adapter under test, and what all checks of the conformance suite share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentcell.adapters.retry import RetryPolicy
from agentcell.errors import ConnectionFailed, ServiceError, StreamTruncated
from agentcell.testing import ProviderServer, Reply

KEY = "sk-conformance-0123456789abcdef"
HI = [{"role": "user", "content": "Hi"}]
TOOLS = [
    {
        "name": "weather",
        "description": "The weather in a town.",
        "parameters": {
            "type": "object",
            "properties": {"town": {"type": "string"}},
            "required": ["town"],
        },
    },
    {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}},
]
SOON = RetryPolicy(max_retries=2, first_wait=0.01, longest_wait=0.02)
TYPED = (StreamTruncated, ConnectionFailed, ServiceError)
"""What a broken answer may end in."""


@dataclass(frozen=True)
class Subject:
    """An adapter under test: how it is made, who answers it, and what its bodies must be."""

    model_class: Callable[..., Any]
    server: type[ProviderServer]
    check_body: Callable[[Mapping[str, Any]], None]
    model_name: str = "scripted-model"
    key_header: tuple[str, str] = ("authorization", f"Bearer {KEY}")
    """Where the key stands in a request."""
    ends: frozenset[str] = frozenset({"length", "content_filter", "refusal"})
    """The ways to end, but for the usual ones, that the protocol can say."""
    extras: tuple[dict[str, Any], dict[str, Any]] = ({"user": "me"}, {"metadata": {"a": "b"}})
    """Fields of a body that no setting stands for."""

    def model(self, server: ProviderServer | str, **options: Any) -> Any:
        """Return a model that talks to `server`."""
        url = server if isinstance(server, str) else server.url
        options = {"max_retries": SOON, "timeout": 5.0} | options
        return self.model_class(self.model_name, KEY, url, **options)

    @contextlib.contextmanager
    def talking(self, *replies: Any, **options: Any) -> Iterator[tuple[Any, ProviderServer]]:
        """Give a model and its server; at the end all bodies that were sent are checked."""
        with self.server(*replies) as server:
            yield self.model(server, **options), server
            for request in server.requests:
                if request.method == "POST":
                    self.check_body(request.body)


def event_of_piece(subject: Subject, piece: int) -> int:
    """Return the number of the event that holds the given piece of a text."""
    events = list(subject.server().events(Reply("P-1-P", "P-2-P"), "m"))
    return next(i for i, event in enumerate(events) if f"P-{piece}-P".encode() in event)
