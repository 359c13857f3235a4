"""Scripts, to real HTTP servers on loopback that play them in a provider's protocol.

A server records every request and answers with its replies in order; the last one repeats::

    with ChatServer(Reply("Hel", "lo"), Reply(status=429, headers={"Retry-After": "0"})) as server:
        model = LegacyOpenAIModel("m", api_key="sk-test", base_url=server.url)
        model.invoke([{"role": "user", "content": "Hi"}])
    assert server.requests[0].body["model"] == "m"

Faults are part of a reply: `stall`, `cut`, `error`, `status`, `raw`, `split_bytes`, `newline`.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self

_LOOK = 0.02
"""Seconds between looks for a client that hung up."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in a reply. `arguments` is JSON text; it is sent in `pieces` parts."""

    name: str
    arguments: str = "{}"
    id: str = "call_1"
    pieces: int = 2


@dataclass(frozen=True, slots=True, init=False)
class Reply:
    """One answer, and what goes wrong with it.

    Parameters
    ----------
    text
        The answer's pieces, one event each.
    calls, thinking, refusal
        Tool calls, pieces of reasoning, and a refusal in the place of text.
    finish
        The end, as Chat names it: ``stop``, ``length``, ``content_filter``, ``tool_calls``.
    usage
        ``(input, output)`` tokens, ``(input, output, cached, reasoning)``, or None for none.
    delay
        Seconds before each event.
    stall
        Say nothing more after so many events, until the client hangs up: 0 is silence after the
        headers, -1 is silence before them.
    cut, clean_cut
        Break the connection after so many events; `clean_cut` ends the body properly instead.
    error
        An error object to send as an event after `error_after` events.
    status, headers, raw
        Another status, more headers, and a body sent as it is (then nothing else is played).
    split_bytes
        Send the body in pieces of so many bytes, also inside a character; 0 is one per event.
    newline, comments
        The line ending, and whether comment lines come between events.
    done
        Chat: whether ``data: [DONE]`` ends the stream.
    whole
        Answer as one JSON document although a stream was asked for.
    """

    text: tuple[str, ...]
    calls: tuple[Call, ...]
    thinking: tuple[str, ...]
    refusal: str
    finish: str
    usage: tuple[int, ...] | None
    delay: float
    stall: int | None
    cut: int | None
    clean_cut: int | None
    error: Mapping[str, Any] | None
    error_after: int
    status: int
    headers: Mapping[str, str]
    raw: bytes | None
    split_bytes: int
    newline: str
    comments: bool
    done: bool
    whole: bool

    def __init__(  # noqa: PLR0913 (a script has many knobs; all but the text are named)
        self,
        *text: str,
        calls: Sequence[Call] = (),
        thinking: Sequence[str] = (),
        refusal: str = "",
        finish: str = "",
        usage: tuple[int, ...] | None = (11, 7),
        delay: float = 0.0,
        stall: int | None = None,
        cut: int | None = None,
        clean_cut: int | None = None,
        error: Mapping[str, Any] | None = None,
        error_after: int = 0,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        raw: bytes | str | None = None,
        split_bytes: int = 0,
        newline: str = "\n",
        comments: bool = False,
        done: bool = True,
        whole: bool = False,
    ) -> None:
        values = dict(locals(), text=text, calls=tuple(calls), thinking=tuple(thinking))
        values["headers"] = dict(headers or {})
        values["raw"] = raw.encode() if isinstance(raw, str) else raw
        values["finish"] = finish or ("tool_calls" if calls else "stop")
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, values[name])


def failure(status: int, message: str = "no", *, retry_after: str = "", **error: Any) -> Reply:
    """Return a reply with an error status and an OpenAI-shaped body."""
    headers = {"content-type": "application/json", "x-request-id": "req_fail"}
    if retry_after:
        headers["retry-after"] = retry_after
    body = json.dumps({"error": {"message": message, "type": "error", "code": None, **error}})
    return Reply(status=status, headers=headers, raw=body)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in: `body` is its parsed JSON, `headers` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    size: int
    at: float = field(default_factory=time.monotonic)


class ProviderServer:
    """Serves `replies` on a port of its own; a context manager that leaves nothing behind.

    Attributes
    ----------
    url
        The base address to give to a model, ``http://127.0.0.1:<port>/v1``.
    requests
        What came in, in order.
    disconnected
        Set when a client hung up before its answer was at an end; `disconnects` counts them.
    """

    path: ClassVar[str] = ""
    model: ClassVar[str] = "scripted-model"

    def __init__(self, *replies: Reply | str, key: str = "") -> None:
        self._replies = [self._reply(reply) for reply in replies] or [Reply("Hello.")]
        self._key = key
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.disconnected = threading.Event()
        self.disconnects = 0
        self.closing = threading.Event()
        self.connections: set[socket.socket] = set()
        self.accepted = 0

    @staticmethod
    def _reply(reply: Reply | str) -> Reply:
        return Reply(reply) if isinstance(reply, str) else reply

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

    def then(self, *replies: Reply | str) -> None:
        """Play `replies` for the next requests, instead of what was planned."""
        with self._lock:
            self._replies = [self._reply(reply) for reply in replies]

    def take(self, request: Request) -> Reply:
        """Record `request` and return its reply."""
        with self._lock:
            self.requests.append(request)
            if request.method == "GET" and request.path.endswith("/models"):
                models = {"object": "list", "data": [{"id": self.model, "object": "model"}]}
                return Reply(raw=json.dumps(models), headers={"content-type": "application/json"})
            if not request.path.split("?")[0].endswith(self.path):
                return failure(404, f"Invalid URL ({request.method} {request.path})")
            if self._key and request.headers.get("authorization") != f"Bearer {self._key}":
                return failure(401, "Incorrect API key provided.", code="invalid_api_key")
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

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
        return _event({"error": dict(error)}, newline)


class ChatServer(ProviderServer):
    """Speaks OpenAI's Chat Completions."""

    path = "/chat/completions"

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return _event({**_chat_head(model), "choices": [choice]}, reply.newline)

        yield chunk({"role": "assistant", "content": "", "refusal": None})
        for piece in reply.thinking:
            yield chunk({"reasoning_content": piece})
        for piece in reply.text:
            yield chunk({"content": piece})
        if reply.refusal:
            yield chunk({"refusal": reply.refusal})
        for index, call in enumerate(reply.calls):
            function = {"name": call.name, "arguments": ""}
            head = {"index": index, "id": call.id, "type": "function", "function": function}
            yield chunk({"tool_calls": [head]})
            for piece in _pieces(call.arguments, call.pieces):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, reply.finish)
        if reply.usage is not None:
            whole = {**_chat_head(model), "choices": [], "usage": _chat_usage(reply.usage)}
            yield _event(whole, reply.newline)
        if reply.done:
            yield f"data: [DONE]{reply.newline * 2}".encode()

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(reply.text) or None,
            "refusal": reply.refusal or None,
        }
        if reply.thinking:
            message["reasoning_content"] = "".join(reply.thinking)
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in reply.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": reply.finish}
        whole = {**_chat_head(model), "object": "chat.completion", "choices": [choice]}
        if reply.usage is not None:
            whole["usage"] = _chat_usage(reply.usage)
        return whole


class ResponsesServer(ProviderServer):
    """Speaks OpenAI's Responses."""

    path = "/responses"

    def events(self, reply: Reply, model: str) -> Iterator[bytes]:
        count = 0

        def event(kind: str, **values: Any) -> bytes:
            nonlocal count
            count += 1
            body = {"type": kind, "sequence_number": count - 1, **values}
            return _event(body, reply.newline, name=kind)

        yield event("response.created", response=self._response(reply, model, "in_progress"))
        yield event("response.in_progress", response=self._response(reply, model, "in_progress"))
        for index, item in enumerate(self._items(reply)):
            at = {"output_index": index, "item_id": item["id"]}
            begun = {**item, "status": "in_progress"}
            if item["type"] == "reasoning":
                begun = {**item, "summary": [], "encrypted_content": ""}
            elif item["type"] == "message":
                begun["content"] = []
            else:
                begun["arguments"] = ""
            yield event("response.output_item.added", output_index=index, item=begun)
            if item["type"] == "reasoning":
                for piece in reply.thinking:
                    yield event(
                        "response.reasoning_summary_text.delta", **at, summary_index=0, delta=piece
                    )
            elif item["type"] == "message":
                yield from self._message_events(event, reply, at)
            else:
                call = next(call for call in reply.calls if call.id == item["call_id"])
                for piece in _pieces(call.arguments, call.pieces):
                    yield event("response.function_call_arguments.delta", **at, delta=piece)
                yield event(
                    "response.function_call_arguments.done",
                    **at,
                    name=call.name,
                    arguments=call.arguments,
                )
            yield event("response.output_item.done", output_index=index, item=item)
        status = _responses_status(reply)
        yield event(f"response.{status}", response=self._response(reply, model, status))

    @staticmethod
    def _message_events(event: Any, reply: Reply, at: dict[str, Any]) -> Iterator[bytes]:
        at = {**at, "content_index": 0}
        kind = "refusal" if reply.refusal else "output_text"
        pieces = (reply.refusal,) if reply.refusal else reply.text
        yield event("response.content_part.added", **at, part=_part(kind, ""))
        for piece in pieces:
            yield event(f"response.{kind}.delta", **at, delta=piece, obfuscation="x1y2")
        whole = "".join(pieces)
        done = {"refusal": whole} if reply.refusal else {"text": whole, "logprobs": []}
        yield event(f"response.{kind}.done", **at, **done)
        yield event("response.content_part.done", **at, part=_part(kind, whole))

    def document(self, reply: Reply, model: str) -> dict[str, Any]:
        return self._response(reply, model, _responses_status(reply))

    def _response(self, reply: Reply, model: str, status: str) -> dict[str, Any]:
        at_end = status != "in_progress"
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason.get(reply.finish)}
            if status == "incomplete"
            else None,
            "model": model or self.model,
            "output": self._items(reply) if at_end else [],
            "usage": _responses_usage(reply.usage) if at_end and reply.usage else None,
        }

    @staticmethod
    def _items(reply: Reply) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if reply.thinking:
            summary = [{"type": "summary_text", "text": "".join(reply.thinking)}]
            items.append(
                {
                    "id": "rs_1",
                    "type": "reasoning",
                    "summary": summary,
                    "encrypted_content": "gAAAA-sealed",
                }
            )
        if reply.text or reply.refusal or not reply.calls:
            kind = "refusal" if reply.refusal else "output_text"
            items.append(
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "phase": "final_answer",
                    "content": [_part(kind, reply.refusal or "".join(reply.text))],
                }
            )
        items.extend(
            {
                "id": f"fc_{number}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
            for number, call in enumerate(reply.calls, 1)
        )
        return items

    def error_event(self, error: Mapping[str, Any], newline: str) -> bytes:
        return _event({"type": "error", "sequence_number": 9, **error}, newline, name="error")


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
        import sys

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
        reply = server.take(Request(self.command, self.path, headers, body, len(data)))
        try:
            self._play(reply, body if isinstance(body, dict) else {})
        except OSError:
            self.close_connection = True
            if not server.closing.is_set():
                server.hung_up()

    def _play(self, reply: Reply, body: dict[str, Any]) -> None:
        if reply.stall == -1:
            self._wait(None)
        server = self.server_ref
        model = str(body.get("model") or server.model)
        streamed = bool(body.get("stream")) and not reply.whole
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
        headers = {"content-type": kind, "x-request-id": "req_1", **reply.headers}
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


_JSON = "application/json"


def _event(body: dict[str, Any], newline: str, name: str = "") -> bytes:
    head = f"event: {name}{newline}" if name else ""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return f"{head}data: {text}{newline * 2}".encode()


def _pieces(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _chat_head(model: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": model,
    }


def _chat_usage(usage: tuple[int, ...]) -> dict[str, Any]:
    cached, reasoning = (*usage[2:], 0, 0)[:2]
    return {
        "prompt_tokens": usage[0],
        "completion_tokens": usage[1],
        "total_tokens": usage[0] + usage[1],
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def _responses_usage(usage: tuple[int, ...]) -> dict[str, Any]:
    cached, reasoning = (*usage[2:], 0, 0)[:2]
    return {
        "input_tokens": usage[0],
        "output_tokens": usage[1],
        "total_tokens": usage[0] + usage[1],
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": reasoning},
    }


def _responses_status(reply: Reply) -> str:
    return "incomplete" if reply.finish in {"length", "content_filter"} else "completed"


def _part(kind: str, text: str) -> dict[str, Any]:
    if kind == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
