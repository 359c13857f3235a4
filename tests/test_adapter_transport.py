"""What goes out and what comes back at the edge: addresses, redirects, refusals, odd options."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import pytest

from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.local_servers import VLLMModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.remote import RemoteModel
from agentcell.adapters.retry import RetryPolicy
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ConnectionFailed,
    RateLimited,
    ServiceError,
    StreamTruncated,
    Unsupported,
)
from agentcell.testing import (
    AnthropicServer,
    ChatServer,
    GeminiServer,
    ProviderServer,
    Reply,
    ResponsesServer,
)
from promptly import PROMPTLY

HI: list[Any] = [{"role": "user", "content": "Hi"}]
KEY = "sk-a-secret-of-mine-12345"

Kind = tuple[type[RemoteModel], type[ProviderServer]]
EVERY: list[Kind] = [
    (LegacyOpenAIModel, ChatServer),
    (OpenAIModel, ResponsesServer),
    (AnthropicModel, AnthropicServer),
    (GeminiModel, GeminiServer),
]
every = pytest.mark.parametrize(("model", "server"), EVERY, ids=["chat", "responses", "a", "g"])
every_model = pytest.mark.parametrize("model", [kind[0] for kind in EVERY])


class RawServer:
    """Answers each request with bytes as they are, and keeps what was asked."""

    def __init__(self, *answers: bytes | Callable[[], Iterable[bytes]]) -> None:
        self._answers = answers
        self.heads: list[str] = []

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.root = f"http://127.0.0.1:{self.port}"
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._listener.close()
        with socket.socket() as knock:
            knock.connect_ex(("127.0.0.1", self.port))
        self._thread.join()

    def _serve(self) -> None:
        self._listener.settimeout(0.05)
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                continue
            with connection:
                connection.settimeout(5)
                try:
                    self._answer(connection)
                except OSError:
                    continue

    def _answer(self, connection: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        text = head.decode("latin-1")
        length = next(
            int(line.partition(":")[2])
            for line in text.splitlines()
            if line.lower().startswith("content-length:")
        )
        while len(body) < length:
            body += connection.recv(65536)
        answer = self._answers[min(len(self.heads), len(self._answers) - 1)]
        self.heads.append(text)
        for piece in [answer] if isinstance(answer, bytes) else answer():
            if self._closing.is_set():
                return
            connection.sendall(piece)


def answered(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"content-length: {len(body)}", "connection: close"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def streamed(server: type[ProviderServer], text: str = "Hello.") -> bytes:
    body = b"".join(server().events(Reply(text), "m"))
    return answered("200 OK", "content-type: text/event-stream", body=body)


def made(model: type[RemoteModel], url: str, **options: Any) -> RemoteModel:
    return model("m", KEY, url, **{"max_retries": 0, "timeout": 5, **options})


@every
@pytest.mark.parametrize(
    "end", ["?version=1&x=y", "/?version=1&x=y", "?version=1&x=y#top"], ids=["bare", "slash", "top"]
)
def test_a_query_in_the_address_stays_at_its_end(
    model: type[RemoteModel], server: type[ProviderServer], end: str
) -> None:
    with RawServer(streamed(server)) as raw:
        said = made(model, f"{raw.root}/v1{end}").invoke(HI)

    assert said["content"] == "Hello."
    target = raw.heads[0].split()[1]
    path, _, query = target.partition("?")
    assert path.endswith((server.path, ":streamGenerateContent"))
    assert query in {"version=1&x=y", "alt=sse&version=1&x=y"}


@pytest.mark.parametrize(
    ("model", "server"), [kind for kind in EVERY if kind[0] is not GeminiModel]
)
def test_the_whole_address_of_the_path_is_taken_as_the_base(
    model: type[RemoteModel], server: type[ProviderServer]
) -> None:
    with server("Hello.") as service:
        path = f"/v1{model.path.removeprefix('/v1')}"
        address = f"http://127.0.0.1:{service.port}{path}"

        assert made(model, address).invoke(HI)["content"] == "Hello."

    assert service.requests[0].path == path


def test_a_server_of_ones_own_gets_its_v1_before_the_query() -> None:
    with ChatServer("Hello.") as server:
        VLLMModel("m", base_url=f"http://127.0.0.1:{server.port}?a=b").invoke(HI)

    assert server.requests[0].path == "/v1/chat/completions?a=b"


@pytest.mark.parametrize(
    "url",
    [
        KEY,
        "AbCdEfGhIjKlMnOp0123456789",
        "localhost:8000",
        "http://",
        "http://h:99999/v1",
        "http://h:abc/v1",
        "http://exa mple/v1",
        "http://a\nb/v1",
        "http://h/v1?a=\x1b[31m",
        "https://[::1",
        f"ftp://me:{KEY}@h/",
        "x" * 10_000,
        5,
        b"http://h/v1",
    ],
)
def test_what_is_no_address_is_refused_in_two_short_lines_and_shows_no_key(url: Any) -> None:
    with pytest.raises(BadRequest) as caught:
        made(LegacyOpenAIModel, url).invoke(HI)

    text = str(caught.value)
    assert "is no http or https address" in text
    assert len(text) < 300
    assert len(text.splitlines()) == 2
    assert KEY not in text
    assert "AbCdEf" not in text
    assert (caught.value.provider, caught.value.model) == ("openai-chat", "m")


@every
@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_at_the_same_host_is_followed_with_the_key(
    model: type[RemoteModel], server: type[ProviderServer], status: int
) -> None:
    away = answered(f"{status} Moved", "location: /elsewhere")
    with RawServer(away, streamed(server)) as raw:
        said = made(model, raw.root).invoke(HI)

    assert said["content"] == "Hello."
    assert raw.heads[1].startswith("POST /elsewhere ")
    assert KEY in raw.heads[1]


@pytest.mark.parametrize(
    ("model", "server"), [kind for kind in EVERY if kind[0] is not GeminiModel]
)
def test_no_header_that_may_hold_a_secret_follows_to_another_host(
    model: type[RemoteModel], server: type[ProviderServer]
) -> None:
    secrets = {"x-api-key": "secret-1", "Cookie": "secret-2", "X-Mine": "secret-3"}
    with RawServer(streamed(server)) as other:
        away = answered("307 Moved", f"location: http://localhost:{other.port}/there")
        with RawServer(away) as raw:
            said = made(model, raw.root, extra_headers=secrets).invoke(HI)

    assert said["content"] == "Hello."
    assert "secret-3" in raw.heads[0]
    assert "secret" not in other.heads[0]


@every_model
@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_make_a_page_of_the_question_is_an_error_that_tells_where_to(
    model: type[RemoteModel], status: int
) -> None:
    away = answered(f"{status} Moved", "location: https://host.example/v2?token=secret-1")
    with RawServer(away) as raw, pytest.raises(ServiceError) as caught:
        made(model, raw.root).invoke(HI)

    assert caught.value.status == status
    assert not caught.value.retryable
    assert caught.value.__cause__ is not None
    assert "https://host.example/v2" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(raw.heads) == 1


@every_model
def test_redirects_in_a_circle_end(model: type[RemoteModel]) -> None:
    with (
        RawServer(answered("307 Moved", "location: /again")) as raw,
        pytest.raises(ServiceError) as caught,
    ):
        made(model, raw.root).invoke(HI)

    assert caught.value.status == 307
    assert len(raw.heads) == 5


def test_a_redirect_to_where_nobody_listens_names_that_place() -> None:
    with (
        RawServer(answered("307 Moved", "location: http://127.0.0.1:9/x")) as raw,
        pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1:9/x"),
    ):
        made(OpenAIModel, raw.root).invoke(HI)


@every_model
def test_a_refusal_that_never_ends_is_told_by_its_status(model: type[RemoteModel]) -> None:
    def endless() -> Iterator[bytes]:
        yield b"HTTP/1.1 500 Oh\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
        while True:
            yield b"no " * 30_000

    began = time.monotonic()
    with RawServer(endless) as raw, pytest.raises(ServiceError) as caught:
        made(model, raw.root).invoke(HI)

    assert caught.value.status == 500
    assert len(str(caught.value)) < 500
    assert time.monotonic() - began < PROMPTLY


@every_model
def test_a_refusal_whose_text_stays_away_is_told_by_its_status(model: type[RemoteModel]) -> None:
    def half() -> Iterator[bytes]:
        yield b"HTTP/1.1 429 Oh\r\nretry-after: 7\r\ncontent-length: 500\r\n\r\nslow"
        time.sleep(0.6)

    with RawServer(half) as raw, pytest.raises(RateLimited, match="slow") as caught:
        made(model, raw.root, timeout=0.3).invoke(HI)

    assert (caught.value.status, caught.value.retry_after) == (429, 7)


_DEEP = b"[" * 100_000


@every_model
@pytest.mark.parametrize(
    "answer",
    [
        answered("200 OK", "content-type: application/json", body=_DEEP),
        answered("200 OK", "content-type: text/event-stream", body=b"data: " + _DEEP + b"\n\n"),
        answered("400 No", "content-type: application/json", body=_DEEP),
        answered("400 No", "content-type: application/json", body=b'{"error":' * 50_000),
    ],
    ids=["document", "event", "refusal", "objects"],
)
def test_json_that_is_nested_without_end_is_an_error_like_any_other(
    model: type[RemoteModel], answer: bytes
) -> None:
    with RawServer(answer) as raw, pytest.raises((ServiceError, BadRequest)) as caught:
        made(model, raw.root).invoke(HI)

    assert caught.value.provider == model.provider
    assert len(str(caught.value)) < 600


@every_model
def test_an_error_event_in_plain_words_is_told(model: type[RemoteModel]) -> None:
    body = b"event: error\ndata: all engines are busy\n\n"
    with (
        RawServer(answered("200 OK", "content-type: text/event-stream", body=body)) as raw,
        pytest.raises(ServiceError, match="broke off its answer: all engines are busy"),
    ):
        made(model, raw.root).invoke(HI)


@every_model
def test_a_proxys_error_in_a_stream_is_told_whatever_its_protocol(model: type[RemoteModel]) -> None:
    body = b'data: {"error": {"message": "too fast", "code": 429}}\n\n'
    with (
        RawServer(answered("200 OK", "content-type: text/event-stream", body=body)) as raw,
        pytest.raises(RateLimited, match="too fast"),
    ):
        made(model, raw.root).invoke(HI)


def test_an_end_without_a_beginning_is_no_answer() -> None:
    body = b"data: [DONE]\n\n"
    with (
        RawServer(answered("200 OK", "content-type: text/event-stream", body=body)) as raw,
        pytest.raises(StreamTruncated),
    ):
        made(LegacyOpenAIModel, raw.root).invoke(HI)


@every_model
def test_what_would_colour_or_turn_the_text_is_taken_out_of_a_services_words(
    model: type[RemoteModel],
) -> None:
    said = json.dumps({"error": {"message": "a\x1b[31mred\x07\u202ebad\u200b \ue000end"}}).encode()
    with (
        RawServer(answered("500 No", "content-type: application/json", body=said)) as raw,
        pytest.raises(ServiceError) as caught,
    ):
        made(model, raw.root).invoke(HI)

    assert "a [31mred bad end" in str(caught.value)
    assert all(character.isprintable() for character in str(caught.value).replace("\n", ""))


def test_a_proxy_that_wants_a_password_is_told_of() -> None:
    with RawServer(answered("407 No")) as raw, pytest.raises(AuthenticationError, match="proxy"):
        made(OpenAIModel, raw.root).invoke(HI)


@every
@pytest.mark.parametrize(
    "options",
    [
        {"timeout": -1},
        {"timeout": "x"},
        {"timeout": float("nan")},
        {"timeout": (1, 2)},
        {"max_retries": -1},
        {"max_retries": "2"},
        {"extra_headers": "abc"},
        {"extra_headers": [("a", "b")]},
        {"extra_headers": {"a": None}},
        {"extra_headers": {"a b": "c"}},
        {"extra_headers": {"a": "b\r\nc: d"}},
        {"extra_headers": {"Content-Length": "3"}},
        {"extra_headers": {"transfer-encoding": "chunked"}},
        {"extra_headers": {"connection": "close"}},
        {"extra_body": "abc"},
        {"extra_body": [1]},
        {"extra_body": {"a": object()}},
        {"extra_body": {"a": float("inf")}},
    ],
    ids=str,
)
def test_an_option_of_a_call_that_cannot_be_is_our_error_before_any_request(
    model: type[RemoteModel], server: type[ProviderServer], options: dict[str, Any]
) -> None:
    with server("Hello.") as service, pytest.raises(BadRequest) as caught:
        made(model, service.url).invoke(HI, **options)

    assert service.requests == []
    assert (caught.value.provider, caught.value.model) == (model.provider, "m")
    assert caught.value.fix


@pytest.mark.parametrize("name", ["extra_headers", "extra_body"])
def test_what_is_added_to_every_request_must_be_a_mapping(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} is a str"):
        made(OpenAIModel, "http://127.0.0.1:9", **{name: "abc"})


@pytest.mark.parametrize("value", [-1, float("nan"), "1", True, None])
def test_a_policy_of_retries_that_cannot_be_is_refused(value: Any) -> None:
    for name in ("first_wait", "longest_wait", "longest_asked", "budget"):
        with pytest.raises((TypeError, ValueError), match=name):
            RetryPolicy(**{name: value})


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan")])
def test_a_number_without_measure_is_refused(value: Any) -> None:
    with ChatServer("Hello.") as server, pytest.raises(Unsupported, match="temperature is"):
        made(LegacyOpenAIModel, server.url).invoke(HI, None, {"temperature": value})


def test_arguments_of_a_call_that_are_nested_without_end_are_kept_as_they_came() -> None:
    with ChatServer() as server:
        server.reply_tool_call("look", "[" * 100_000)
        said = made(LegacyOpenAIModel, server.url).invoke(HI, [{"name": "look"}])

    call = said["content"][0]
    assert call["arguments"] == {}
    assert said["assistant_message"]["tool_calls"][0].raw_arguments == "[" * 100_000
