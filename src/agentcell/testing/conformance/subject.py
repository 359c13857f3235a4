"""An adapter under test: how it is made, who answers it, and what it can do."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.model import Model
from agentcell.adapters.retry import RetryPolicy
from agentcell.errors import ConnectionFailed, ServiceError, StreamTruncated
from agentcell.testing.provider_server import ProviderServer

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
NOWHERE = "http://127.0.0.1:9/v1"
"""An address for a model that is asked nothing."""


@dataclass(frozen=True)
class Subject:
    """An adapter under test.

    Parameters
    ----------
    make
        ``make(server_url)`` returns a new model that talks to the server at that address; its key
        is `key`. One that has no server may take no argument. One that also takes ``**options``
        hands them to the model, which takes all that `RemoteModel` takes: then how it waits,
        retries and sends extras is checked, too.
    server
        The class of the server that speaks the adapter's protocol, or None.
    check_body
        Called with the body of each request; raises if the service would not take it.
    key
        What stands for an API key.
    """

    make: Callable[..., Model]
    server: type[ProviderServer] | None = None
    check_body: Callable[[Mapping[str, Any]], None] | None = None
    key: str = KEY

    def model(self, server: ProviderServer | str = NOWHERE, **options: Any) -> Any:
        """Return a model that talks to `server`.

        Parameters
        ----------
        server
            One that runs, or an address.
        options
            For the model's constructor, if `make` takes any.
        """
        url = server if isinstance(server, str) else server.url
        arguments = (url,) if self._takes_url else ()
        if self.takes_options:
            options = {"max_retries": SOON, "timeout": 5.0} | options
        model = self.make(*arguments, **options)
        if not isinstance(model, Model):
            raise TypeError(f"make() returned {model!r:.80}; a Model was expected")
        return model

    @contextlib.contextmanager
    def talking(self, *replies: Any, **options: Any) -> Iterator[tuple[Any, ProviderServer]]:
        """Give a model and its server; at the end all bodies that were sent are checked.

        Parameters
        ----------
        replies
            For the server.
        options
            For the model.
        """
        assert self.server is not None, "this check needs a server"
        with self.server(*replies) as server:
            yield self.model(server, **options), server
            for request in server.requests:
                if request.method == "POST" and self.check_body is not None:
                    self.check_body(request.body)

    @contextlib.contextmanager
    def asked(self) -> Iterator[Any]:
        """Give a model that has something to answer with, be it served or not."""
        if self.server is None:
            yield self.model()
        else:
            with self.talking("It is ", "well.") as (model, _):
                yield model

    @cached_property
    def takes_options(self) -> bool:
        """Whether `make` takes any keyword."""
        kinds = {parameter.kind for parameter in self._parameters}
        return inspect.Parameter.VAR_KEYWORD in kinds

    @property
    def _takes_url(self) -> bool:
        places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return any(parameter.kind in places for parameter in self._parameters)

    @property
    def _parameters(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.make).parameters.values())

    @cached_property
    def able(self) -> ModelCapabilities:
        """What the model declares to take."""
        return self._sample.capabilities

    @cached_property
    def streams(self) -> bool:
        """Whether it declares to stream, and does more than to give `invoke`'s answer in one."""
        kind = type(self._sample)
        own = kind.stream is not Model.stream or kind.astream is not Model.astream
        return own and self.able.streaming

    @cached_property
    def streams_on_loops(self) -> bool:
        """Whether it streams, and on an event loop without a thread."""
        return self.streams and type(self._sample).astream is not Model.astream

    @cached_property
    def _sample(self) -> Model:
        model: Model = self.model()
        return model


def event_of_piece(subject: Subject, piece: int) -> int:
    """Return the number of the event that holds the given piece of a text.

    Parameters
    ----------
    subject
        Whose protocol.
    piece
        Counted from 1.
    """
    assert subject.server is not None
    return subject.server().event_of_piece(piece)
