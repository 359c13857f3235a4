"""What the log says of requests and answers, and what stands in it nowhere: keys and media."""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

import media
from agentcell import AnthropicModel, GeminiModel, LegacyOpenAIModel, LocalModel, Model, OpenAIModel
from agentcell.adapters.digests import for_people, text_for_people
from agentcell.adapters.logs import request_as_sent
from agentcell.adapters.redaction import REMOVED, redacted
from agentcell.assets.asset import ImageAsset
from agentcell.errors import ModelError
from agentcell.messages import ToolCall
from agentcell.testing import AnthropicServer, ChatServer, GeminiServer, Reply, ResponsesServer

KEY = "qk7Zp2WvX9mRt4Ls8Yb3"
HI = [{"role": "user", "content": "Hi"}]
FOUR = [
    (OpenAIModel, ResponsesServer),
    (LegacyOpenAIModel, ChatServer),
    (AnthropicModel, AnthropicServer),
    (GeminiModel, GeminiServer),
]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG, "agentcell"):
        yield caplog


def lines(log: pytest.LogCaptureFixture, level: int = 0) -> list[str]:
    mine = [one for one in log.records if one.name == "agentcell.requests"]
    return [one.getMessage() for one in mine if level in {0, one.levelno}]


def noisy(side: int) -> bytes:
    """Return a picture that does not pack: its file is about as large as its pixels."""

    picture = Image.frombytes("RGB", (side, side), os.urandom(side * side * 3))
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(("kind", "server"), FOUR)
@pytest.mark.parametrize("side", [8, 400])
def test_a_request_is_told_with_its_media_as_digests(
    kind: type[Any], server: type[Any], side: int, log: pytest.LogCaptureFixture
) -> None:
    picture = ImageAsset.from_bytes(noisy(side), filename="a.png")
    content = [media.block(picture), "What is this?"]
    tool = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    with server(Reply("A cat.", usage=(3, 5))) as service:
        model = kind("m", KEY, service.url)
        model.invoke([{"role": "user", "content": content}], [tool], {"max_tokens": 9})
        sent = json.dumps(service.requests[0].body)

    (told,) = lines(log, logging.DEBUG)
    data = base64.b64encode(picture.load_bytes()).decode()
    assert data in sent
    assert data[20:80] not in told
    assert f"sha256:{picture.fingerprint()[7:19]}…>" in told
    assert "<image/png" in told
    assert "What is this?" in told
    assert "look" in told
    assert told.startswith(f"POST {service.url.removesuffix('/v1')}")
    assert KEY not in told
    assert "authorization" not in told.lower()


@pytest.mark.parametrize(("kind", "server"), FOUR)
def test_the_end_of_an_answer_is_told_with_its_count(
    kind: type[Any], server: type[Any], log: pytest.LogCaptureFixture
) -> None:
    with server(Reply("Hi", usage=(3, 5, 2, 1))) as service:
        model = kind("m", KEY, service.url)
        model.invoke(HI)

    (told,) = lines(log, logging.INFO)
    assert told.startswith(f"{model.name} answered 200, stop; request req_1, 0.")
    assert "input_tokens=3, output_tokens=5, cached_tokens=2, reasoning_tokens=1" in told


def test_retries_and_the_last_failure_are_told_without_the_key(
    log: pytest.LogCaptureFixture,
) -> None:
    with ChatServer() as server:
        server.fail(429, f"slow down, {KEY}", retry_after=0).fail(401, f"Wrong key: {KEY}")
        with pytest.raises(ModelError):
            LegacyOpenAIModel("m", KEY, server.url).invoke(HI)

    (again,) = lines(log, logging.WARNING)
    assert again.startswith("openai-chat/m: attempt 2 in 0.")
    assert "answered 429" in again
    first, last = lines(log, logging.INFO)
    assert "failed with status 429" in first
    assert "failed with status 401" in last
    assert KEY not in log.text
    assert KEY[4:12] not in log.text


def test_an_answer_that_is_stopped_is_told(log: pytest.LogCaptureFixture) -> None:
    with ChatServer(Reply("a", "b", "c", delay=0.05)) as server:
        answer: Any = LegacyOpenAIModel("m", KEY, server.url).stream(HI)
        next(answer)
        answer.close()

    (told,) = lines(log, logging.INFO)
    assert told.startswith("openai-chat/m stopped; request -, ")


def test_nothing_is_told_where_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer(Reply("Hi")) as server:
        LegacyOpenAIModel("m", KEY, server.url).invoke(HI)

    assert lines(caplog) == []


def test_a_library_that_nobody_listens_to_prints_nothing_into_a_cell() -> None:
    code = (
        "from agentcell import LegacyOpenAIModel\n"
        "from agentcell.testing import ChatServer\n"
        "with ChatServer() as server:\n"
        "    server.fail(429, retry_after=0).reply('Hello')\n"
        "    model = LegacyOpenAIModel('m', 'k', server.url)\n"
        "    print(model.invoke([{'role': 'user', 'content': 'Hi'}])['content'])\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (ran.stdout, ran.stderr) == ("Hello\n", "")


def test_a_key_is_taken_out_wherever_it_stands(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "Zw8Kd5Nq1Hc7Tf2Gs6Ju"
    monkeypatch.setenv("SOME_OTHER_API_KEY", other)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"Say nothing of {KEY}."},
        {"role": "user", "content": f"Is {KEY} or {other} or sk-abcdefghijkl a key?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [ToolCall(id="c", name="f", arguments={KEY: [KEY, {"x": other}]})],
        },
        {"role": "tool", "tool_call_id": "c", "content": f'{{"k": "{KEY}"}}'},
    ]
    address = f"https://a.example/p.png?size=2&token={other}&x=1"
    messages.append(
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": address}}]}
    )
    extra = {"metadata": {"api_key": "hidden-value-1", "note": KEY}, "max_tokens": 5}
    with ChatServer(Reply("Hi")) as server:
        model = LegacyOpenAIModel("m", KEY, server.url, extra_body=extra)
        model.invoke(messages, settings={"stop": KEY})

        shown = request_as_sent(model, messages, None, {"stop": KEY})

    for text in (log.text, shown):
        for secret in (KEY, other, "hidden-value-1", "sk-abcdefghijkl"):
            assert secret not in text
        assert "size=2&token=[key removed]&x=1" in text
        assert REMOVED in text
        assert '"max_tokens": 5' in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://user:pa55@host.example/v1", "http://[key removed]@host.example/v1"),
        ("https://tok%40en@h/v1?x=1", "https://[key removed]@h/v1?x=1"),
        ("at https://u:p@ss@h.example:8/x.", "at https://[key removed]@h.example:8/x."),
        ("https://h/v1?key=abcd&alt=sse", "https://h/v1?key=[key removed]&alt=sse"),
        ("https://h?a=1&X-Amz-Signature=ab12#f", "https://h?a=1&X-Amz-Signature=[key removed]#f"),
        (
            "https://h?api_key=x&access_token=y",
            "https://h?api_key=[key removed]&access_token=[key removed]",
        ),
        ("https://h/v1?model=key&top=2", "https://h/v1?model=key&top=2"),
        (
            "write to a@b.example, see https://b.example/a@b",
            "write to a@b.example, see https://b.example/a@b",
        ),
        ("a = b; monkey=1", "a = b; monkey=1"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [key removed]"),
    ],
)
def test_passwords_and_keys_in_addresses_are_taken_out(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_a_key_is_found_in_its_other_spellings() -> None:
    key = 'a/b+c"d=e f'

    for form in (key, "a%2Fb%2Bc%22d%3De%20f", json.dumps(key)[1:-1]):
        assert redacted(f"<{form}>", key) == f"<{REMOVED}>"
    assert redacted("Bearer abcd", "abcd") == f"Bearer {REMOVED}"
    assert redacted("abc", "abc") == "abc"  # too short to be one


def test_the_address_of_a_service_is_told_without_its_password(
    log: pytest.LogCaptureFixture,
) -> None:
    with ChatServer(Reply("Hi")) as server:
        address = server.url.replace("http://", "http://me:secret-word@")
        model = LegacyOpenAIModel("m", KEY, address)
        model.invoke(HI)
        shown = request_as_sent(model, HI)

    assert "secret-word" not in log.text + shown
    assert f"http://{REMOVED}@127.0.0.1" in log.text
    assert f"http://{REMOVED}@127.0.0.1" in shown
    gone = LegacyOpenAIModel("m", KEY, "http://me:secret-word@127.0.0.1:9/v1", max_retries=0)
    with pytest.raises(ModelError) as caught:
        gone.invoke(HI)
    assert "secret-word" not in str(caught.value) + log.text


@pytest.mark.parametrize(("kind", "server"), FOUR)
def test_the_request_as_sent_is_what_the_server_gets(kind: type[Any], server: type[Any]) -> None:
    picture = ImageAsset.from_bytes(media.png(), filename="a.png")
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [media.block(picture), "What is this?"]},
    ]
    settings = {"max_tokens": 7}
    with server(Reply("Hi")) as service:
        model = kind("m", KEY, service.url, extra_body={"metadata": {"a": "b"}})
        shown = json.loads(request_as_sent(model, messages, None, settings))
        assert service.requests == []
        model.invoke(messages, None, settings)
        sent = service.requests[0].body

    assert shown["model"] == model.name
    assert shown["POST"].startswith(service.url.removesuffix("/v1"))
    assert shown["body"] == for_people(sent)
    assert "sha256:" in json.dumps(shown)


def test_the_request_as_sent_needs_no_key_and_asks_for_none() -> None:
    assert '"input"' in request_as_sent(OpenAIModel("gpt-6-luna"), HI)


def test_a_model_that_sends_nothing_shows_what_it_is_given() -> None:
    class Mine(Model):
        def invoke(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {}

    picture = ImageAsset.from_bytes(media.png(), filename="a.png")
    messages = [{"role": "user", "content": [media.block(picture), "Hi"]}]

    shown = json.loads(request_as_sent(LocalModel(), messages, None, {"max_tokens": 3}))
    own = json.loads(request_as_sent(Mine("m"), HI, [{"name": "f"}], {"x": KEY}))

    assert f"sha256:{picture.fingerprint()[7:19]}…" in shown["messages"][0]["content"][0]
    assert shown["settings"]["max_tokens"] == 3
    assert own["messages"] == HI
    assert own["tools"] == [{"name": "f"}]


def test_long_texts_and_media_in_texts_are_cut() -> None:
    data = base64.b64encode(media.png() * 9).decode()
    text = f"![a](data:image/png;base64,{data}) " + "many words " * 2_000

    shown = text_for_people(text)

    assert data[:50] not in shown
    assert shown.startswith("![a](<image/png ")
    assert len(shown) < 4_200
    assert shown.endswith("characters more)")


def test_half_a_key_is_no_remainder_of_a_cut() -> None:
    text = "x" * 50 + " " + "word " * 788 + KEY + " tail" * 100

    shown = text_for_people(text, KEY)

    assert all(KEY[:length] not in shown for length in range(6, len(KEY)))


def test_headers_of_a_tools_server_are_not_shown() -> None:
    tool = {
        "type": "mcp",
        "server_url": "https://mcp.example?key=zzz",
        "headers": {"X-Custom": "hidden-1"},
        "authorization": "hidden-2",
    }

    shown = json.dumps(for_people({"tools": [tool], "max_tokens": 3, "token_count": "5"}))

    assert "hidden" not in shown
    assert "zzz" not in shown
    assert "X-Custom" in shown
    assert '"max_tokens": 3, "token_count": "5"' in shown
