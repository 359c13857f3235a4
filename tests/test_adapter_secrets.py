"""Secrets that stand elsewhere than in the key: in headers, addresses and proxies."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import socket
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.extras import secrets_of
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.logs import request_as_sent
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.remote import RemoteModel
from agentcell.assets.asset import ImageAsset
from agentcell.errors import BadRequest, ConnectionFailed, ServiceError
from agentcell.testing import (
    AnthropicServer,
    ChatServer,
    GeminiServer,
    ProviderServer,
    Reply,
    ResponsesServer,
)

HI: list[Any] = [{"role": "user", "content": "Hi"}]
KEY = "sk-qwertzuiop123456"
HEADERS = {
    "api-key": "wolf-and-7-kids",
    "Cookie": "session=three-little-pigs",
    "Proxy-Authorization": "Basic hansel-gretel",
}
SECRETS = ["wolf-and-7-kids", "three-little-pigs", "hansel-gretel", "rumpelstilzchen", KEY]

every = pytest.mark.parametrize(
    ("model", "server"),
    [
        (LegacyOpenAIModel, ChatServer),
        (OpenAIModel, ResponsesServer),
        (AnthropicModel, AnthropicServer),
        (GeminiModel, GeminiServer),
    ],
)


def echoed() -> Reply:
    """Return a refusal that gives back all that it was sent, also as the request's name."""
    said = json.dumps({"error": {"message": f"not: {' '.join(SECRETS)}", "code": "no"}})
    name = {"x-request-id": f"req-{SECRETS[0]}", "request-id": f"req-{SECRETS[0]}"}
    return Reply(status=400, raw=said, headers={"content-type": "application/json", **name})


@every
def test_no_secret_of_a_header_or_an_address_stands_in_an_error_its_cause_or_the_log(
    model: type[RemoteModel], server: type[ProviderServer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "agentcell")
    with server(echoed()) as service:
        url = f"{service.url}?subscription-key=rumpelstilzchen"
        asked = model("m", KEY, url, extra_headers=HEADERS)
        with pytest.raises(BadRequest) as caught:
            asked.invoke(HI)

    error = caught.value
    shown = "".join(traceback.format_exception(error))
    everything = f"{error!r} {shown} {error.__dict__} {caplog.text}"
    assert error.__cause__ is not None
    assert "[key removed]" in str(error)
    assert [secret for secret in SECRETS if secret in everything] == []


@every
def test_the_request_that_is_shown_holds_no_secret(
    model: type[RemoteModel],
    server: type[ProviderServer],  # noqa: ARG001 (one list for all tests)
) -> None:
    url = "https://host.example/v1?subscription-key=rumpelstilzchen"
    said = [{"role": "user", "content": " ".join(SECRETS)}]
    shown = request_as_sent(model("m", KEY, url, extra_headers=HEADERS), said)

    assert [secret for secret in SECRETS if secret in shown] == []


def test_headers_that_say_how_to_talk_are_no_secrets() -> None:
    plain = {"anthropic-version": "2023-06-01", "OpenAI-Beta": "assistants=v2", "User-Agent": "me"}

    assert secrets_of(plain, "https://host.example/v1?api-version=2026-10-21") == ()
    assert set(secrets_of({"X-Auth": "Bearer 0123456789"}, "https://me:passw0rd@h/")) == {
        "Bearer 0123456789",
        "0123456789",
        "passw0rd",
    }


@pytest.mark.parametrize(("status", "again"), [(407, False), (403, False), (502, True)])
def test_a_proxy_that_refuses_is_named_as_what_it_is(
    monkeypatch: pytest.MonkeyPatch, status: int, *, again: bool
) -> None:
    with refusing_proxy(status) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:rumpelstilzchen@127.0.0.1:{port}")
        model = OpenAIModel("m", KEY, "https://host.example/v1", max_retries=0)
        with pytest.raises(ConnectionFailed, match="The proxy on the way") as caught:
            asyncio.run(model.ainvoke(HI))

    assert caught.value.retryable is again
    assert "HTTPS_PROXY" in caught.value.fix
    assert "rumpel" not in "".join(traceback.format_exception(caught.value))


@contextlib.contextmanager
def refusing_proxy(status: int, *headers: str) -> Iterator[int]:
    """Serve one request, with a refusal; yield the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                while connection.recv(65536):
                    pass
            lines = [f"HTTP/1.1 {status} No", *headers, "content-length: 0", "", ""]
            connection.sendall("\r\n".join(lines).encode())

    thread = threading.Thread(target=refuse)
    thread.start()
    with listener:
        yield listener.getsockname()[1]
        thread.join(5)


def test_where_a_proxy_is_set_it_may_be_what_is_not_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:rumpelstilzchen@127.0.0.1:9")
    model = OpenAIModel("m", KEY, "https://host.example/v1", max_retries=0)
    with pytest.raises(ConnectionFailed) as caught:
        asyncio.run(model.ainvoke(HI))

    assert "the proxy in HTTPS_PROXY" in caught.value.fix
    assert "rumpel" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "nonsense://me:rumpelstilzchen@127.0.0.1:9"),
        ("SSL_CERT_FILE", "/no/such/file.pem"),
    ],
)
def test_an_environment_that_allows_no_connection_is_an_error_of_the_model_that_was_asked(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    model = OpenAIModel("m", KEY, "https://host.example/v1", max_retries=0)
    with pytest.raises(ConnectionFailed, match="settings") as caught:
        asyncio.run(model.ainvoke(HI))

    assert (caught.value.provider, caught.value.model) == ("openai", "m")
    assert variable in caught.value.fix
    assert "rumpel" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("model", [OpenAIModel, AnthropicModel, GeminiModel])
def test_an_upload_is_not_sent_on_to_another_host(model: type[RemoteModel]) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (9, 9), "teal").save(picture, "PNG")
    question = [{"role": "user", "content": ImageAsset.from_bytes(picture.getvalue())}]
    with refusing_proxy(307, "location: http://127.0.0.1:9/elsewhere") as port:
        asked = model("m", KEY, f"http://127.0.0.1:{port}/v1", upload="always", max_retries=0)
        with pytest.raises(ServiceError, match=r"sends on to http://127\.0\.0\.1:9") as caught:
            asked.invoke(question)

    assert caught.value.status == 307
