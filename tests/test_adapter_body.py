"""Bodies with large attachments: what goes over the wire is what `encode` says, byte for byte."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pytest
from PIL import Image

import wire
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.body import INLINE_BYTES, READ_BYTES, Body, written
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.remote import RemoteModel
from agentcell.assets.asset import ImageAsset
from agentcell.assets.content import MEMORY_BYTES, Content
from agentcell.errors import AttachmentError, ModelError, Timeout, TooLarge
from agentcell.messages import MediaMessageBlock, TextMessageBlock
from agentcell.testing import (
    AnthropicServer,
    ChatServer,
    GeminiServer,
    ProviderServer,
    Reply,
    Request,
    ResponsesServer,
)
from promptly import PROMPTLY

ADAPTERS: dict[str, tuple[type[RemoteModel], type[ProviderServer]]] = {
    "chat": (LegacyOpenAIModel, ChatServer),
    "responses": (OpenAIModel, ResponsesServer),
    "anthropic": (AnthropicModel, AnthropicServer),
    "gemini": (GeminiModel, GeminiServer),
}
every_adapter = pytest.mark.parametrize("kind", ADAPTERS)


def noise(seed: int, side: int = 320) -> bytes:
    """A PNG that cannot be compressed: three bytes a pixel, 307 kB by default."""
    pixels = hashlib.shake_128(b"%d" % seed).digest(side * side * 3)
    out = io.BytesIO()
    Image.frombytes("RGB", (side, side), pixels).save(out, "PNG", compress_level=0)
    return out.getvalue()


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    path.write_bytes(noise(1))
    return path


@pytest.fixture
def large_photo(tmp_path: Path) -> Path:
    """One that is kept in a file of its own."""
    path = tmp_path / "large.png"
    path.write_bytes(noise(2, 1700))
    assert path.stat().st_size > MEMORY_BYTES
    return path


def question(*assets: Any, text: str = "Hi") -> list[dict[str, Any]]:
    return [{"role": "user", "content": [TextMessageBlock(text), *assets]}]


def model_at(kind: str, server: ProviderServer, **options: Any) -> RemoteModel:
    url = server.url if kind in {"chat", "responses"} else server.url.removesuffix("/v1")
    return ADAPTERS[kind][0]("m", "sk-test", url, **options)


def as_encoded(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a body is once it is JSON, and whose attachments are base64."""
    parsed: Mapping[str, Any] = json.loads(json.dumps(body))
    return parsed


def body_of(messages: list[dict[str, Any]], model: RemoteModel) -> Body:
    return written(messages, model.encode)


# What is sent.


@every_adapter
def test_what_is_sent_is_what_encode_says(kind: str, photo: Path) -> None:
    asset = ImageAsset.from_path(photo)
    block = MediaMessageBlock(asset, "receipt", '[receipt_image_1 "É\u2028"]')
    answer = {"role": "assistant", "content": "Ich sehe „Rauschen“ \\ \n \U0001f600 \x00"}
    messages = [*question(block, asset, text="Grüße \"'\\/ 你好"), answer, *question(asset)]
    with ADAPTERS[kind][1]("fine") as server:
        model = model_at(kind, server)
        expected = model.encode(messages)

        assert model.invoke(messages)["content"] == "fine"

    assert server.bodies == [as_encoded(expected)]
    wire.check(kind, dict(server.bodies[0]))
    size = int(server.requests[0].headers["content-length"])
    assert size > 3 * asset.size_bytes * 4 / 3  # type: ignore[operator]
    assert size == body_of(messages, model).size_bytes


@every_adapter
def test_a_photo_kept_in_a_file_goes_out_whole(kind: str, large_photo: Path) -> None:
    with ADAPTERS[kind][1]() as server:
        model = model_at(kind, server)
        if kind == "anthropic":  # takes no image of that size: it is made smaller first
            messages = question(ImageAsset.from_bytes(noise(3, 1500)))
        else:
            messages = question(ImageAsset.from_path(large_photo))
        model.invoke(messages)

    assert server.bodies == [as_encoded(model.encode(messages))]


def test_media_in_instructions_and_in_results_are_sent_too(photo: Path) -> None:
    asset = ImageAsset.from_path(photo)
    call = {"id": "c1", "name": "look", "arguments": {}}
    messages = [
        {"role": "system", "content": [TextMessageBlock("See:"), asset]},
        *question(),
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": (asset,)},
        {"role": "user", "content": asset},
    ]
    with ResponsesServer() as server:
        model = model_at("responses", server)
        model.invoke(messages)

    assert server.bodies == [as_encoded(model.encode(messages))]
    assert str(server.bodies[0]).count(base64.b64encode(photo.read_bytes()).decode()) == 3


@every_adapter
def test_extra_fields_are_merged_beside_a_large_attachment(kind: str, photo: Path) -> None:
    first, second = ADAPTERS[kind][1].extras
    messages = question(ImageAsset.from_path(photo))
    with ADAPTERS[kind][1]() as server:
        model = model_at(kind, server, extra_body=first)
        model.invoke(messages, extra_body=second)

    assert server.bodies == [as_encoded({**model.encode(messages), **first, **second})]


def test_a_field_that_replaces_the_messages_leaves_no_trace_of_the_attachment(photo: Path) -> None:
    instead = {"messages": [{"role": "user", "content": "instead"}]}
    with ChatServer() as server:
        model_at("chat", server).invoke(question(ImageAsset.from_path(photo)), extra_body=instead)

    assert server.bodies[0]["messages"] == instead["messages"]
    assert server.requests[0].headers["content-length"] < "200"


def test_a_text_that_held_a_stand_in_once_stays_a_text(photo: Path) -> None:
    asset = ImageAsset.from_path(photo)
    model = OpenAIModel("m", "sk-test")
    seen: list[str] = []

    def encode(ready: list[dict[str, Any]]) -> Mapping[str, Any]:
        body = model.encode(ready)
        seen.append(body["input"][0]["content"][1]["image_url"].partition(",")[2])
        return body

    written(question(asset), encode)
    token = seen[0]
    assert len(token) < 100
    messages = question(asset, text=f"{token} and {token}")

    assert json.loads(written(messages, encode).data()) == model.encode(messages)
    assert seen[1] != token


def test_an_encoder_that_writes_no_base64_gets_the_attachments_themselves(photo: Path) -> None:
    asset = ImageAsset.from_path(photo)

    def in_hex(ready: list[dict[str, Any]]) -> dict[str, Any]:
        return {"image": ready[0]["content"][1].load_bytes().hex()}

    def without(ready: list[dict[str, Any]]) -> dict[str, Any]:
        return {"size": len(ready[0]["content"][1].load_bytes())}

    assert json.loads(written(question(asset), in_hex).data()) == {
        "image": photo.read_bytes().hex()
    }
    assert json.loads(written(question(asset), without).data()) == {"size": asset.size_bytes}


def test_small_attachments_and_texts_go_out_in_one_piece() -> None:
    small = ImageAsset.from_bytes(noise(4, 100))
    assert small.size_bytes is not None
    assert small.size_bytes < INLINE_BYTES
    model = OpenAIModel("m", "sk-test")

    body = body_of(question(small), model)

    assert body.is_plain
    assert json.loads(body.data()) == model.encode(question(small))


def test_half_a_character_becomes_a_question_mark_beside_a_photo_as_alone(photo: Path) -> None:
    messages = question(ImageAsset.from_path(photo), text="a\ud83d")

    body = json.loads(body_of(messages, OpenAIModel("m", "sk-test")).data())

    assert body["input"][0]["content"][0]["text"] == "a?"


def test_messages_and_assets_stay_as_they_are(photo: Path) -> None:
    asset = ImageAsset.from_path(photo)
    messages = question(asset)

    body_of(messages, OpenAIModel("m", "sk-test"))

    assert messages == question(asset)
    assert messages[0]["content"][1] is asset
    assert asset.load_bytes() == photo.read_bytes()


@pytest.mark.parametrize("more", [-1, 0, 1, 2, 3])
@pytest.mark.parametrize("times", [1, 2])
def test_pieces_of_any_length_join_to_the_base64_of_the_whole(more: int, times: int) -> None:
    data = hashlib.shake_128(b"5").digest(READ_BYTES * times + more)

    body = Body((b"<", Content.of_bytes(data), b">"))

    assert body.data() == b"<" + base64.b64encode(data) + b">"
    assert body.size_bytes == len(body.data())
    assert max(map(len, body.chunks())) <= READ_BYTES * 4 // 3


def test_where_pybase64_is_missing_python_encodes() -> None:
    code = (
        "import sys, base64; sys.modules['pybase64'] = None\n"
        "from agentcell.adapters.body import Body, Content\n"
        "data = bytes(range(256)) * 2000\n"
        "print(Body((Content.of_bytes(data),)).data() == base64.b64encode(data))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "True\n"


def test_a_large_body_is_never_whole_in_memory(large_photo: Path) -> None:
    messages = question(ImageAsset.from_path(large_photo))
    model = OpenAIModel("m", "sk-test")
    body_of(messages, model)  # imports
    digest, size = hashlib.sha256(), 0
    tracemalloc.start()
    try:
        body = body_of(messages, model)
        for chunk in body.chunks():
            digest.update(chunk)
            size += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert size == body.size_bytes > large_photo.stat().st_size * 4 / 3
    assert peak < large_photo.stat().st_size * 0.3
    assert digest.digest() == hashlib.sha256(body.data()).digest()


def test_an_attempt_that_failed_is_made_again_with_the_same_body(large_photo: Path) -> None:
    messages = question(ImageAsset.from_path(large_photo))
    busy = Reply(status=503, headers={"retry-after": "0"}, raw="busy")
    with ChatServer(busy, busy, "fine") as server:
        model = model_at("chat", server)

        assert model.invoke(messages)["content"] == "fine"

    assert server.bodies == [as_encoded(model.encode(messages))] * 3


# The file is what it was when it was attached.


@every_adapter
def test_a_file_changed_since_is_sent_as_it_was(kind: str, photo: Path) -> None:
    before = photo.read_bytes()
    asset = ImageAsset.from_path(photo)
    photo.write_bytes(noise(6))
    with ADAPTERS[kind][1]() as server:
        model_at(kind, server).invoke(question(asset))

    assert base64.b64encode(before).decode() in json.dumps(server.bodies[0])


@pytest.mark.parametrize("harm", ["written", "cut", "removed"])
def test_a_snapshot_that_was_tampered_with_is_not_sent(harm: str, large_photo: Path) -> None:
    asset = ImageAsset.from_path(large_photo)
    snapshot = Path(asset.content.file)
    if harm == "written":
        snapshot.write_bytes(noise(7, 1700))
    elif harm == "cut":
        os.truncate(snapshot, READ_BYTES)
    else:
        snapshot.unlink()
    with ChatServer("fine") as server:
        model = model_at("chat", server)
        with pytest.raises(AttachmentError, match="copy of an attachment"):
            model.invoke(question(asset))
        assert server.requests == []

        assert model.invoke(question())["content"] == "fine"


@pytest.mark.parametrize("harm", ["written", "cut"])
def test_a_snapshot_changed_while_it_is_sent_ends_the_request(harm: str, large_photo: Path) -> None:
    asset = ImageAsset.from_path(large_photo)
    snapshot = Path(asset.content.file)
    chunks = body_of(question(asset), OpenAIModel("m", "sk-test")).chunks()
    next(chunks)
    next(chunks)
    if harm == "written":
        with snapshot.open("r+b") as file:
            file.seek(-10, os.SEEK_END)
            file.write(b"0123456789")
    else:
        os.truncate(snapshot, READ_BYTES * 3 - 1)

    with pytest.raises(AttachmentError, match="was changed while it was sent"):
        list(chunks)


# Waiting, stopping, and many at once.


class DeafPort:
    """A server on loopback that accepts one connection and does not read from it."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def was_left(self) -> bool:
        """Whether the client has hung up: what it sent ends, short of what it announced."""
        self._listener.settimeout(3)
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(3)
            try:
                while connection.recv(1 << 20):
                    pass
            except TimeoutError:
                return False
            except OSError:
                pass
            return True


@every_adapter
def test_a_server_that_does_not_read_can_be_left_within_a_second(
    kind: str, large_photo: Path
) -> None:
    asset = ImageAsset.from_bytes(noise(8, 1550)) if kind == "anthropic" else None
    messages = question(asset or ImageAsset.from_path(large_photo))

    async def left(url: str) -> float:
        model = ADAPTERS[kind][0]("m", "sk-test", url)
        task = asyncio.create_task(model.ainvoke(messages))
        await asyncio.sleep(0.5)
        assert not task.done()
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    with DeafPort() as port:
        assert asyncio.run(left(port.url)) < PROMPTLY
        assert port.was_left()


def test_an_interrupt_stops_the_sending_within_a_second(large_photo: Path) -> None:
    messages = question(ImageAsset.from_path(large_photo))
    with DeafPort() as port:
        model = LegacyOpenAIModel("m", "sk-test", port.url)
        struck: list[float] = []

        def strike() -> None:
            struck.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.5, strike)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.invoke(messages)
        assert time.monotonic() - struck[0] < PROMPTLY
        timer.join()
        assert port.was_left()


def test_a_server_that_does_not_read_has_a_limit(large_photo: Path) -> None:
    messages = question(ImageAsset.from_path(large_photo))
    with DeafPort() as port, pytest.raises(Timeout, match=r"said nothing for 0\.5 seconds"):
        LegacyOpenAIModel("m", "sk-test", port.url, timeout=0.5, max_retries=0).invoke(messages)


def test_a_server_that_refuses_before_it_has_read_all_is_understood(large_photo: Path) -> None:
    """As gateways do: they answer 413 after the headers and close the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(
                    b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 9\r\n"
                    b"connection: close\r\n\r\ntoo large"
                )
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 20):  # so that the answer is not lost to a reset
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ModelError) as caught:
            LegacyOpenAIModel("m", "sk-test", url, max_retries=0).invoke(
                question(ImageAsset.from_path(large_photo))
            )
        thread.join()

    assert isinstance(caught.value, TooLarge)


@every_adapter
def test_many_large_questions_at_once_do_not_mix(kind: str) -> None:
    photos = {number: noise(100 + number) for number in range(16)}
    texts = {base64.b64encode(data).decode(): str(number) for number, data in photos.items()}

    def which(request: Request) -> Reply:
        said = json.dumps(request.body)
        return Reply(*[next((n for text, n in texts.items() if text in said), "none")])

    def ask(number: int) -> str:
        asset = ImageAsset.from_bytes(photos[number % 16])
        return str(model.invoke(question(asset, text=f"{number}"))["content"])

    with ADAPTERS[kind][1](*[which] * 64) as server:
        model = model_at(kind, server)
        with ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(ask, range(64)))
        assert server.accepted <= 64

    assert answers == [str(number % 16) for number in range(64)]
