"""Each answer and fault, as it arrives: read with the standard library, not with an adapter."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.request
from typing import Any

import pytest

from agentcell.testing import (
    AnthropicServer,
    Call,
    ChatServer,
    GeminiServer,
    ProviderServer,
    Reply,
    Request,
    ResponsesServer,
    SilentPort,
    unused_url,
)

SERVERS = [ChatServer, ResponsesServer, AnthropicServer, GeminiServer]

PATHS = {
    ChatServer: ("/v1/chat/completions", "/v1/chat/completions"),
    ResponsesServer: ("/v1/responses", "/v1/responses"),
    AnthropicServer: ("/v1/messages", "/v1/messages"),
    GeminiServer: (
        "/v1/models/m:streamGenerateContent?alt=sse",
        "/v1/models/m:generateContent",
    ),
}
ENDS = {
    ChatServer: "data: [DONE]",
    ResponsesServer: "response.completed",
    AnthropicServer: "message_stop",
    GeminiServer: '"finishReason":"STOP"',
}


def connect(server: ProviderServer, *, streamed: bool = True) -> http.client.HTTPConnection:
    """Send a question; its answer is still to be read."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=2)
    path = PATHS[type(server)][0 if streamed else 1]
    body = json.dumps({"model": "m", "stream": streamed})
    connection.request("POST", path, body, {"content-type": "application/json"})
    return connection


def ask(server: ProviderServer, *, streamed: bool = True) -> tuple[int, dict[str, str], str]:
    """Return status, headers and body of an answer."""
    connection = connect(server, streamed=streamed)
    try:
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, headers, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture(params=SERVERS, ids=lambda kind: str(kind.__name__))
def server(request: pytest.FixtureRequest) -> Any:
    with request.param() as running:
        yield running


def test_answers_come_in_order_and_the_last_one_again_and_again(server: ProviderServer) -> None:
    server.reply("first ", "piece").reply("second")

    told = [ask(server)[2] for _ in range(3)]

    assert "first " in told[0]
    assert ["second" in text for text in told] == [False, True, True]
    server.reply("third")
    assert "third" in ask(server)[2]
    server.then("instead")
    assert "instead" in ask(server)[2]
    assert [request.body["model"] for request in server.requests] == ["m"] * 5


def test_an_answer_ends_as_its_protocol_says_and_one_that_ends_early_does_not(
    server: ProviderServer,
) -> None:
    server.reply("whole").end_early("one", "two", after=1).end_early("one", "two", after=2)

    whole, half, nearly = (ask(server)[2] for _ in range(3))

    end = ENDS[type(server)]
    assert end in whole
    assert "one" in half
    assert "two" not in half
    assert "two" in nearly
    assert end not in half + nearly


def test_a_tool_call_comes_streamed_and_whole(server: ProviderServer) -> None:
    server.reply_tool_call("weather", {"town": "Oslo"})

    for streamed in (True, False):
        text = ask(server, streamed=streamed)[2]
        assert "weather" in text
        assert "call_1" in text


def test_a_refusal_is_in_the_services_own_words(server: ProviderServer) -> None:
    server.fail(429, "slow down", retry_after=2)

    status, headers, text = ask(server)

    assert (status, headers["retry-after"]) == (429, "2")
    error = json.loads(text)["error"]
    assert error["message"] == "slow down"
    if isinstance(server, AnthropicServer):
        assert (json.loads(text)["type"], error["type"]) == ("error", "rate_limit_error")
    if isinstance(server, GeminiServer):
        assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")


def test_a_refusal_can_be_a_page(server: ProviderServer) -> None:
    server.fail(502, "Bad gateway", html=True)

    status, headers, text = ask(server)

    assert (status, headers["content-type"]) == (502, "text/html")
    assert text.startswith("<html>")


def test_an_error_comes_in_the_middle(server: ProviderServer) -> None:
    server.fail_midway(503, "busy", "one", "two", after=1)

    status, _, text = ask(server)

    assert status == 200
    assert text.index("one") < text.index("busy")
    assert "two" not in text


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("after", [None, 0, 1])
def test_a_stall_ends_when_the_client_hangs_up(
    server: ProviderServer, after: int | None, streamed: bool
) -> None:
    server.stall("one", "two", after=after)
    connection = connect(server, streamed=streamed)
    connection.sock.settimeout(0.3)

    with pytest.raises(TimeoutError):
        connection.getresponse().read()

    assert not server.disconnected.is_set()
    connection.close()
    assert server.disconnected.wait(2)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("after", [0, 1])
def test_a_cut_is_a_body_that_is_too_short(
    server: ProviderServer, after: int, streamed: bool
) -> None:
    server.cut("one", "two", after=after)

    with pytest.raises(http.client.IncompleteRead):
        ask(server, streamed=streamed)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("after", [0, 1])
def test_a_reset_is_an_aborted_connection(
    server: ProviderServer, after: int, streamed: bool
) -> None:
    server.reset("one", "two", after=after)

    with pytest.raises(ConnectionResetError):
        ask(server, streamed=streamed)


def test_before_the_headers_a_cut_and_a_reset_differ(server: ProviderServer) -> None:
    server.cut(after=None).reset(after=None)

    with pytest.raises(http.client.RemoteDisconnected):
        ask(server)
    with pytest.raises(ConnectionResetError):
        ask(server)


def test_bytes_are_split_inside_characters(server: ProviderServer) -> None:
    server.reply("票据", split_bytes=1, newline="\r\n", comments=True)
    connection = connect(server)
    raw = b""
    while not raw.endswith(b"\r\n0\r\n\r\n"):
        raw += connection.sock.recv(65536)
    connection.close()

    assert b"1\r\n\xe7\r\n1\r\n\xa5\r\n" in raw  # one byte of a character in each chunk


def test_a_function_answers_what_was_asked(server: ProviderServer) -> None:
    def echo(request: Request) -> Reply:
        return Reply(f"{request.method} {request.body['model']}", calls=[Call("clock")])

    server.plan(echo)

    assert "POST m" in ask(server, streamed=False)[2]


def test_what_is_no_json_or_no_address_of_its_is_refused(server: ProviderServer) -> None:
    for path, body, status in ((PATHS[type(server)][0], b"{no", 400), ("/v1/nothing", b"{}", 404)):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=2)
        connection.request("POST", path, body)
        answer = connection.getresponse()
        assert (answer.status, bool(json.loads(answer.read())["error"])) == (status, True)
        connection.close()
    assert len(server.requests) == 2


def test_it_lists_its_model(server: ProviderServer) -> None:
    with urllib.request.urlopen(f"{server.url}/models", timeout=2) as answer:  # noqa: S310
        assert json.loads(answer.read())["data"][0]["id"] == "scripted-model"


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-goog-api-key"])
def test_a_key_can_be_asked_for(header: str) -> None:
    kind = {"x-api-key": AnthropicServer, "x-goog-api-key": GeminiServer}.get(header, ChatServer)
    with kind(key="sk-right") as server:
        for key, status in (("sk-wrong", 401), ("sk-right", 200)):
            value = f"Bearer {key}" if header == "authorization" else key
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=2)
            connection.request("POST", PATHS[kind][1], b"{}", {header: value})
            assert connection.getresponse().status == status
            connection.close()


def test_more_pieces_than_there_are_cannot_come_first() -> None:
    with pytest.raises(ValueError, match="0 to 2 pieces"):
        ChatServer().cut("one", "two", after=3)


def test_nothing_is_left_behind() -> None:
    before = threading.active_count()
    with ChatServer() as server:
        server.stall()
        connection = connect(server)
        assert server.asked.wait(2)
    connection.close()

    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        connect(server)


def test_there_are_ports_where_nobody_answers() -> None:
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(unused_url(), timeout=2)  # noqa: S310
    with SilentPort() as port:
        connection = http.client.HTTPConnection("127.0.0.1", port.port, timeout=0.2)
        with pytest.raises(TimeoutError):
            connection.connect()
        connection.close()
