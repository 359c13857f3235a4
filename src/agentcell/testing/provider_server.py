"""A script, to a real HTTP server on loopback that plays it; its protocol is a subclass's."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self

from agentcell.testing.replies import Reply, Request, Script, failure

_LOOK = 0.02
"""Seconds between looks for a client that hung up."""

_JSON = "application/json"


class ProviderServer:
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
    """

    path: ClassVar[str] = ""
    model: ClassVar[str] = "scripted-model"
    request_id_header: ClassVar[str] = "x-request-id"

    def __init__(self, *replies: Script, key: str = "") -> None:
        self._replies: list[Script] = list(replies) or [Reply("Hello.")]
        self._key = key
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.asked = threading.Event()
        self.disconnected = threading.Event()
        self.disconnects = 0
        self.closing = threading.Event()
        self.connections: set[socket.socket] = set()
        self.accepted = 0

    def __enter__(self) -> Self:
        provider = self

        class Handler(_Handler):
            server_ref: ClassVar[ProviderServer] = provider

        self._httpd = _Server(("127.0.0.1", 0), Handler)
        self.port = self._httpd.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(
            target=self._httpd.serve_forever, args=(_LOOK,), name="scripted-server"
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

    def then(self, *replies: Script) -> None:
        """Play `replies` for the next requests, instead of what was planned."""
        with self._lock:
            self._replies = list(replies)

    def take(self, request: Request) -> Reply:
        """Record `request` and return its reply."""
        with self._lock:
            self.requests.append(request)
            self.asked.set()
            if request.method == "GET" and request.path.endswith("/models"):
                models = {"object": "list", "data": [{"id": self.model, "object": "model"}]}
                return Reply(raw=json.dumps(models), headers={"content-type": "application/json"})
            if not request.path.split("?")[0].endswith(self.path):
                return failure(404, f"Invalid URL ({request.method} {request.path})")
            if self._key and self.key_of(request) != self._key:
                return failure(401, "Incorrect API key provided.", code="invalid_api_key")
            reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if callable(reply):
            reply = reply(request)
        return Reply(reply) if isinstance(reply, str) else reply

    def key_of(self, request: Request) -> str:
        """Return the key that came with `request`."""
        return request.headers.get("authorization", "").removeprefix("Bearer ")

    def model_of(self, request: Request) -> str:
        """Return the model that `request` asks."""
        body = request.body if isinstance(request.body, dict) else {}
        return str(body.get("model") or self.model)

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

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        """Yield a streamed answer, one event at a time."""
        raise NotImplementedError

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        """Return an answer as one document."""
        raise NotImplementedError

    def error_event(self, error: Mapping[str, Any], newline: str) -> bytes:
        """Return an error in the middle of a stream."""
        return server_event({"error": dict(error)}, newline)


class SilentPort:
    """A port whose connections never come about: its queue is full and nobody accepts."""

    def __enter__(self) -> Self:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
            self._fillers.append(filler)
        time.sleep(_LOOK)
        return self

    def __exit__(self, *_: object) -> None:
        for filler in self._fillers:
            filler.close()
        self._listener.close()


def unused_url() -> str:
    """Return an address on loopback at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away; a bug in the server still shows."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _HungUp(OSError):
    """The client is gone, or the server is closing."""


class _Handler(BaseHTTPRequestHandler):
    server_ref: ClassVar[ProviderServer]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server_ref.track(self.connection, open_=True)

    def finish(self) -> None:
        self.server_ref.track(self.connection, open_=False)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name upstream)
        """Keep quiet."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self._read_body())

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _answer(self, data: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(data) if data else None
        server = self.server_ref
        request = Request(self.command, self.path, headers, body, len(data))
        reply = server.take(request)
        try:
            self._play(reply, request)
        except OSError:
            self.close_connection = True
            if not server.closing.is_set():
                server.hung_up()

    def _play(self, reply: Reply, request: Request) -> None:
        if reply.stall == -1:
            self._wait(None)
        if reply.cut == -1:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        server = self.server_ref
        model = server.model_of(request)
        streamed = server.wants_stream(request) and not reply.whole
        if reply.raw is not None or not streamed:
            document = reply.raw
            kind = "text/plain"
            if document is None:
                document, kind = json.dumps(server.document(reply, model)).encode(), _JSON
            self._wait(reply.delay)
            self._head(reply, kind, length=len(document))
            self.wfile.write(document)
            return
        self._head(reply, "text/event-stream; charset=utf-8", length=None)
        self._stream(reply, model)

    def _head(self, reply: Reply, kind: str, *, length: int | None) -> None:
        self.send_response(reply.status)
        request_id = {self.server_ref.request_id_header: "req_1"}
        headers = {"content-type": kind, **request_id, **reply.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(length))
        self.end_headers()

    def _stream(self, reply: Reply, model: str) -> None:
        for sent, event in enumerate(self.server_ref.events(reply, model)):
            if sent == reply.stall:
                self._wait(None)
            if sent == reply.cut:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if sent == reply.clean_cut:
                break
            if reply.error is not None and sent == reply.error_after:
                self._send(self.server_ref.error_event(reply.error, reply.newline), reply)
                break
            self._wait(reply.delay)
            if reply.comments:
                self._send(f": keep-alive{reply.newline * 2}".encode(), reply)
            self._send(event, reply)
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, data: bytes, reply: Reply) -> None:
        size = reply.split_bytes or len(data)
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

    def _wait(self, seconds: float | None) -> None:
        """Wait, for ever if `seconds` is None, and see it if the client hangs up meanwhile."""
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            left = _LOOK if end is None else min(_LOOK, max(0.0, end - time.monotonic()))
            readable, _, _ = select.select([self.connection], [], [], left)
            if self.server_ref.closing.is_set():
                raise _HungUp
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _HungUp


def server_event(body: Mapping[str, Any], newline: str, name: str = "") -> bytes:
    """Return one event of a stream."""
    head = f"event: {name}{newline}" if name else ""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return f"{head}data: {text}{newline * 2}".encode()
