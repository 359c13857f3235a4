"""One reply, to bytes on a connection, with its faults."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

from agentcell.testing.replies import Reply, Request

if TYPE_CHECKING:
    from agentcell.testing.provider_server import ProviderServer

LOOK = 0.02
"""Seconds between looks for a client that hung up."""

_JSON = "application/json"


class LoopbackServer(ThreadingHTTPServer):
    """A thread for each connection, all joined at the end."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away; a bug in the server still shows."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _HungUp(OSError):
    """The client is gone, or the server is closing."""


class Handler(BaseHTTPRequestHandler):
    """One connection of a `ProviderServer`'s."""

    server_ref: ClassVar[ProviderServer]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Note that it is open."""
        super().setup()
        self.server_ref.track(self.connection, open_=True)

    def finish(self) -> None:
        """Note that it is closed."""
        self.server_ref.track(self.connection, open_=False)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name upstream)
        """Keep quiet."""

    def do_GET(self) -> None:
        """Answer a question for what there is."""
        self._answer(b"")

    def do_DELETE(self) -> None:
        """Answer the wish to delete a file."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Answer a question to the model, or take a file."""
        files = self.server_ref.files
        if files.concerns("POST", self.path):
            files.uploading.set()
            if files.hold:
                self.server_ref.closing.wait()
                raise _HungUp
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
        server = self.server_ref
        body: Any = None
        is_json = True
        about_files = server.files.concerns(self.command, self.path)
        form = headers.get("content-type", "").startswith("multipart/form-data")
        try:
            if form and server.takes_forms:
                body = server.form_of(headers["content-type"], data)
            else:
                body = json.loads(data) if data and not about_files else None
        except ValueError:
            is_json = False
        request = Request(self.command, self.path, headers, body, len(data))
        if about_files:
            reply = server.files.answer(request, data)
        elif is_json:
            reply = server.take(request)
        else:
            reply = server.refuse(request, "The body is no JSON.")
        try:
            self._play(reply, request)
        except OSError:
            self.close_connection = True
            if not server.closing.is_set():
                server.hung_up()

    def _play(self, reply: Reply, request: Request) -> None:
        if self._breaks(reply, -1):
            return
        server = self.server_ref
        model = server.model_of(request)
        if reply.raw is not None:
            self._wait(reply.delay)
            self._head(reply, "text/plain", length=len(reply.raw))
            self.wfile.write(reply.raw)
        elif reply.whole or not server.wants_stream(request):
            self._document(reply, model)
        else:
            self._head(reply, "text/event-stream; charset=utf-8", length=None)
            self._stream(reply, model)

    def _document(self, reply: Reply, model: str) -> None:
        """Send the whole answer at once; of a fault within it, half of it."""
        server = self.server_ref
        whole = server.document(reply, model)
        if reply.error is not None:
            whole = server.error_document(500, "", reply.error)
        data = json.dumps(whole).encode()
        half = data[: len(data) // 2]
        if reply.clean_cut is not None:
            data = half
        self._wait(reply.delay)
        self._head(reply, _JSON, length=len(data))
        faults = (reply.stall, reply.cut, reply.reset)
        if event := max((fault for fault in faults if fault is not None), default=None):
            self.wfile.write(half)
        if event is None or not self._breaks(reply, event):
            self.wfile.write(data)

    def _breaks(self, reply: Reply, event: int) -> bool:
        """Do what is to go wrong before that event; return whether the connection is gone."""
        if event == reply.stall:
            self._wait(None)
        if event == reply.cut:
            self.connection.shutdown(socket.SHUT_RDWR)
        elif event == reply.reset:
            self.server_ref.track(self.connection, open_=False)
            # Closed with an option to linger for no time: the other side sees RST, not an end.
            linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            socket.close(self.connection.detach())
        else:
            return False
        self.close_connection = True
        return True

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
            if self._breaks(reply, sent):
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
            left = LOOK if end is None else min(LOOK, max(0.0, end - time.monotonic()))
            readable, _, _ = select.select([self.connection], [], [], left)
            if self.server_ref.closing.is_set():
                raise _HungUp
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _HungUp
