"""A script, to a real HTTP server on loopback that plays it; its protocol is a subclass's."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

from agentcell.testing.file_server import FileShelf
from agentcell.testing.playing import LOOK, Handler, LoopbackServer
from agentcell.testing.replies import Reply, Request, Script, server_event
from agentcell.testing.script import Scripted


class ProviderServer(Scripted):
    """Serves `replies` on a port of its own; a context manager that leaves nothing behind.

    A reply is a `Reply`, a text, or a function that makes one of the request.

    Attributes
    ----------
    url
        The base address to give to a model, ``http://127.0.0.1:<port>/v1``.
    requests
        What came in, in order.
    asked
        Set when the first request came in.
    disconnected
        Set when a client hung up before its answer was at an end; `disconnects` counts them.
    files
        The service's Files API; see `FileShelf`.
    """

    handler: ClassVar[type[Handler]] = Handler
    """What carries one connection."""

    path: ClassVar[str] = ""
    files_as: ClassVar[str] = ""
    """Whose Files API it has: ``openai``, ``anthropic``, ``gemini``, or none."""
    takes_forms: ClassVar[bool] = False
    """Whether bodies may be forms (multipart/form-data): they are then a list of their parts."""
    model: ClassVar[str] = "scripted-model"
    request_id_header: ClassVar[str] = "x-request-id"
    ends: ClassVar[frozenset[str]] = frozenset({"length", "content_filter", "refusal"})
    """The ways to end, but for the usual ones, that the protocol can say."""
    extras: ClassVar[tuple[dict[str, Any], dict[str, Any]]] = (
        {"user": "me"},
        {"metadata": {"a": "b"}},
    )
    """Fields of a body that no setting stands for."""

    def __init__(self, *replies: Script, key: str = "") -> None:
        super().__init__(*replies)
        self._key = key
        self.requests: list[Request] = []
        self.asked = threading.Event()
        self.disconnected = threading.Event()
        self.disconnects = 0
        self.closing = threading.Event()
        self.connections: set[socket.socket] = set()
        self.accepted = 0
        self.files = FileShelf(self, self.files_as)

    def __enter__(self) -> Self:
        provider = self

        class Own(self.handler):  # type: ignore[name-defined,misc]  # its protocol's own
            server_ref: ClassVar[ProviderServer] = provider

        self._httpd = LoopbackServer(("127.0.0.1", 0), Own)
        self.port = self._httpd.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(
            target=self._httpd.serve_forever, args=(LOOK,), name="scripted-server"
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._httpd.shutdown()
        self._thread.join()
        with self._lock:
            for connection in list(self.connections):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._httpd.server_close()  # joins the handlers' threads

    @property
    def bodies(self) -> list[Any]:
        """The parsed bodies of the requests, in order."""
        return [request.body for request in self.requests]

    def take(self, request: Request) -> Reply:
        """Record `request` and return its reply.

        Parameters
        ----------
        request
            As it came in.
        """
        self._record(request)
        if request.method == "GET" and request.path.endswith("/models"):
            models = {"object": "list", "data": [{"id": self.model, "object": "model"}]}
            return Reply(raw=json.dumps(models), headers={"content-type": "application/json"})
        if not self.serves(request.path.split("?")[0]):
            return self._refusal(404, f"Invalid URL ({request.method} {request.path})")
        if not self.takes_key(request):
            return self._refusal(401, "Incorrect API key provided.", code="invalid_api_key")
        if (lost := self.files.lost(request)) is not None:
            return lost
        reply = self.next_reply()
        if callable(reply):
            reply = reply(request)
        return Reply(reply) if isinstance(reply, str) else reply

    def refuse(self, request: Request, reason: str) -> Reply:
        """Record `request` and return the refusal of one that cannot be read.

        Parameters
        ----------
        request
            As it came in, without a body.
        reason
            What is wrong with it.
        """
        self._record(request)
        return self._refusal(400, reason)

    def _record(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)
        self.asked.set()

    def _refusal(self, status: int, message: str, **error: Any) -> Reply:
        body = json.dumps(self.error_document(status, message, error))
        return Reply(status=status, headers={"content-type": "application/json"}, raw=body)

    def serves(self, path: str) -> bool:
        """Return whether questions to the model go there.

        Parameters
        ----------
        path
            Of an address, without the query.
        """
        return path.endswith(self.path)

    def takes_key(self, request: Request) -> bool:
        """Return whether the key of `request` is right."""
        return not self._key or self.key_of(request) == self._key

    def key_of(self, request: Request) -> str:
        """Return the key that came with `request`."""
        return request.headers.get("authorization", "").removeprefix("Bearer ")

    def model_of(self, request: Request) -> str:
        """Return the model that `request` asks."""
        body = request.body if isinstance(request.body, dict) else {}
        return str(body.get("model") or self.model)

    def form_of(self, content_type: str, data: bytes) -> Any:
        """Return the parts of a form, where `takes_forms`.

        Parameters
        ----------
        content_type, data
            Of the request.
        """
        raise NotImplementedError

    def wants_stream(self, request: Request) -> bool:
        """Return whether `request` asks for a stream of events."""
        return isinstance(request.body, dict) and bool(request.body.get("stream"))

    def hung_up(self) -> None:
        """Note that a client went away early."""
        with self._lock:
            self.disconnects += 1
        self.disconnected.set()

    def track(self, connection: socket.socket, *, open_: bool) -> None:
        """Keep the open connections, to close them at the end."""
        with self._lock:
            if open_:
                self.accepted += 1
                self.connections.add(connection)
            else:
                self.connections.discard(connection)

    def error_event(self, error: Mapping[str, Any], newline: str) -> bytes:
        """Return an error in the middle of a stream: an event with it under ``error``."""
        return server_event({"error": dict(error)}, newline)

    def error_document(self, status: int, message: str, error: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 (others name the error by it)
        """Return the body of a refusal, as OpenAI and most of its like write it."""
        return {"error": {"message": message, "type": "error", "code": None, **error}}
