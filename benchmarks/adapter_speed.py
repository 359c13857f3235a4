"""Each adapter beside the vendor's own SDK: CPU of a warm call, and of 20,000 streamed chunks.

Run it: ``python benchmarks/adapter_speed.py [CHUNKS]``. Both are called on an event loop and talk
to one scripted server, in a process of its own. Times are CPU of this process, medians. The exit
code is 1 if a limit is passed.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import statistics
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterable, Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.remote import RemoteModel
from agentcell.testing import (
    AnthropicServer,
    ChatServer,
    GeminiServer,
    ProviderServer,
    Reply,
    ResponsesServer,
)

CALLS = 200
WORDS = 20
HI: list[Any] = [{"role": "user", "content": "Hi"}]
LIMIT_MS = 0.3
"""Milliseconds of CPU that a warm call may take more than the SDK's."""
LIMITS = {"chat": 0.12, "responses": 0.12, "gemini": 0.12, "anthropic": 0.4}
"""How much of the SDK's CPU a chunk may take."""
SERVERS: dict[str, type[ProviderServer]] = {
    "chat": ChatServer,
    "responses": ResponsesServer,
    "anthropic": AnthropicServer,
    "gemini": GeminiServer,
}


def serve(kind: str, chunks: int, port: Any) -> None:
    """Answer on keep-alive connections: whole if no stream is asked for, and with many chunks if
    the question says so. The answers are made once, so that the server keeps up."""
    server = SERVERS[kind]()

    def streamed(count: int) -> bytes:
        pieces = b"".join(server.events(Reply(*["word "] * count), "m"))
        return _answer(pieces, "text/event-stream")

    whole = json.dumps(server.document(Reply(*["word "] * WORDS), "m")).encode()
    answers = (_answer(whole, "application/json"), streamed(WORDS), streamed(chunks))
    listener = socket.create_server(("127.0.0.1", 0))
    port.put(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        _converse(connection, answers)


def _answer(body: bytes, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _converse(connection: socket.socket, answers: tuple[bytes, bytes, bytes]) -> None:
    def work() -> None:
        with connection:
            data = b""
            while piece := connection.recv(65536):
                data += piece
                head, gap, body = data.partition(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                if not gap or len(body) < int(length or 0):
                    continue
                asked = b'"stream":true' in body or b"alt=sse" in head
                connection.sendall(answers[2 if b"MANY" in body else 1 if asked else 0])
                data = b""

    threading.Thread(target=work, daemon=True).start()


def models(base: str) -> dict[str, RemoteModel]:
    return {
        "chat": LegacyOpenAIModel("m", "k", f"{base}/v1"),
        "responses": OpenAIModel("m", "k", f"{base}/v1"),
        "anthropic": AnthropicModel("m", "k", base),
        "gemini": GeminiModel("m", "k", base),
    }


Whole = Callable[[str], Awaitable[Any]]
Pieces = Callable[[str], Awaitable[AsyncIterable[Any]]]
Work = Callable[[], Awaitable[Any]]


def sdk(kind: str, base: str) -> tuple[Whole, Pieces, Work]:
    """Return how the vendor's SDK asks for a whole answer, for its pieces, and is closed."""
    if kind == "anthropic":
        import anthropic

        client = anthropic.AsyncAnthropic(api_key="k", base_url=base, max_retries=0)

        async def message(text: str, **more: Any) -> Any:
            messages: Any = [{"role": "user", "content": text}]
            return await client.messages.create(model="m", max_tokens=99, messages=messages, **more)

        return message, lambda text: message(text, stream=True), client.close
    if kind == "gemini":
        from google import genai

        google = genai.Client(api_key="k", http_options={"base_url": base}).aio
        return (
            lambda text: google.models.generate_content(model="m", contents=text),
            lambda text: google.models.generate_content_stream(model="m", contents=text),
            google.aclose,
        )
    import openai

    own = openai.AsyncOpenAI(api_key="k", base_url=f"{base}/v1", max_retries=0)

    async def chat(text: str, **more: Any) -> Any:
        messages: Any = [{"role": "user", "content": text}]
        return await own.chat.completions.create(model="m", messages=messages, **more)

    async def response(text: str, **more: Any) -> Any:
        return await own.responses.create(model="m", input=text, **more)

    create = chat if kind == "chat" else response
    return create, lambda text: create(text, stream=True), own.close


async def read(pieces: AsyncIterable[Any]) -> None:
    async for _ in pieces:
        pass


async def cpu_ms(ours: Work, theirs: Work, count: int) -> tuple[float, float]:
    """Return the median CPU of `count` runs of each, in milliseconds; they take turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(count + 3):
        for work, spent in zip((ours, theirs), times, strict=True):
            before = time.process_time()
            await work()
            if turn >= 3:  # the first ones warm up
                spent.append((time.process_time() - before) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])


async def measure(kind: str, base: str, chunks: int) -> bool:
    """Print one protocol's numbers; return whether they hold."""
    model, (whole, pieces, close) = models(base)[kind], sdk(kind, base)
    many: list[Any] = [{"role": "user", "content": "MANY"}]

    async def streamed(text: str) -> None:
        await read(await pieces(text))

    calls = await cpu_ms(lambda: model.ainvoke(HI), lambda: whole("Hi"), CALLS)
    streams = await cpu_ms(lambda: read(model.astream(HI)), lambda: streamed("Hi"), CALLS)
    long = await cpu_ms(lambda: read(model.astream(many)), lambda: streamed("MANY"), 5)
    await close()
    ratio = long[0] / long[1]
    print(
        f"{kind:10} whole {calls[0]:5.2f} / {calls[1]:5.2f} ms   streamed {streams[0]:5.2f} /"
        f" {streams[1]:5.2f} ms   1,000 chunks {long[0] / chunks * 1000:6.2f} /"
        f" {long[1] / chunks * 1000:6.2f} ms = {ratio:.3f} (limit {LIMITS[kind]})"
    )
    overhead = max(calls[0] - calls[1], streams[0] - streams[1])
    return overhead <= LIMIT_MS and ratio <= LIMITS[kind]


def measured(kind: str, chunks: int) -> bool:
    port: Any = multiprocessing.Queue()
    process = multiprocessing.Process(target=serve, args=(kind, chunks, port), daemon=True)
    process.start()
    try:
        return asyncio.run(measure(kind, f"http://127.0.0.1:{port.get(timeout=30)}", chunks))
    finally:
        process.terminate()


def main() -> int:
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    warnings.simplefilter("ignore")  # what an SDK says of a model called "m"
    print(f"CPU, ours / the SDK's: a warm call with {WORDS} pieces, and each 1,000 of {chunks:,}")
    held = [measured(kind, chunks) for kind in SERVERS]
    return int(not all(held))


if __name__ == "__main__":
    raise SystemExit(main())
