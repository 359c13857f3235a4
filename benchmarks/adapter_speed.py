"""Each adapter beside the vendor's own SDK: warm calls, long streams, and a fresh process.

Run it: ``python benchmarks/adapter_speed.py [CHUNKS]``. Both talk to one scripted server, in a
process of its own, and take turns. Times are CPU of this process, medians in the quietest part of
the run; of a fresh process, CPU and seconds from its first line to its first answer, medians. The
exit code is 1 if a limit is passed.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import Any

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
LONG_CALLS = 3
PARTS = 5
STARTS = 5
WARMUPS = 2
"""Runs that are not counted."""
WORDS = 20
HI: list[Any] = [{"role": "user", "content": "Hi"}]
MANY: list[Any] = [{"role": "user", "content": "MANY"}]
LIMIT_MS = 0.3
"""Milliseconds of CPU that a warm call may take more than the SDK's."""
LIMITS = {"chat": 0.12, "responses": 0.12, "gemini": 0.12, "anthropic": 0.4}
"""How much of the SDK's CPU a chunk may take."""
START_LIMIT = 1.05
"""How much of the SDK's time a fresh process may take to its first answer."""
SERVERS: dict[str, type[ProviderServer]] = {
    "chat": ChatServer,
    "responses": ResponsesServer,
    "anthropic": AnthropicServer,
    "gemini": GeminiServer,
}

_ANTHROPIC = (
    "import anthropic; c = anthropic.Anthropic(api_key='k', base_url=base, max_retries=0)\n"
)
_GOOGLE = (
    "from google import genai; c = genai.Client(api_key='k', http_options={'base_url': base})\n"
)
_OPENAI = "import openai; c = openai.OpenAI(api_key='k', base_url=base + '/v1', max_retries=0)\n"
STARTS_OF = {
    "chat": (
        "from agentcell import LegacyOpenAIModel as Model; base += '/v1'",
        f"{_OPENAI}c.chat.completions.create(model='m', messages=hi)",
    ),
    "responses": (
        "from agentcell import OpenAIModel as Model; base += '/v1'",
        f"{_OPENAI}c.responses.create(model='m', input=hi)",
    ),
    "anthropic": (
        "from agentcell import AnthropicModel as Model",
        f"{_ANTHROPIC}c.messages.create(model='m', max_tokens=99, messages=hi)",
    ),
    "gemini": (
        "from agentcell import GeminiModel as Model",
        f"{_GOOGLE}c.models.generate_content(model='m', contents='Hi')",
    ),
}
"""What a fresh process runs to its first answer: ours, and the SDK's."""


def serve(kind: str, chunks: int, port: Any) -> None:
    """Answer on keep-alive connections: whole if no stream is asked for, and with many chunks if
    the question says so. The answers are made once, so that the server keeps up."""
    server = SERVERS[kind]()
    answers = (
        whole_answer(server, WORDS),
        streamed_answer(server, WORDS),
        streamed_answer(server, chunks),
    )
    listener = socket.create_server(("127.0.0.1", 0))
    port.put(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        _converse(connection, answers)


def whole_answer(server: ProviderServer, words: int) -> bytes:
    """Return an answer of so many words as one document."""
    document = server.document(Reply(*["word "] * words), "m")
    return _answer(json.dumps(document).encode(), "application/json")


def streamed_answer(server: ProviderServer, words: int) -> bytes:
    """Return an answer of so many words as so many chunks and more."""
    pieces = b"".join(server.events(Reply(*["word "] * words), "m"))
    return _answer(pieces, "text/event-stream")


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


Work = Callable[[], Any]
AsyncWork = Callable[[], Awaitable[Any]]


class Sdk:
    """How a vendor's SDK is asked: for a whole answer and for its pieces, both ways."""

    def __init__(self, kind: str, base: str) -> None:
        self.whole: Callable[[str], Any]
        self.pieces: Callable[[str], Iterable[Any]]
        self.awhole: Callable[[str], Awaitable[Any]]
        self.apieces: Callable[[str], Awaitable[AsyncIterable[Any]]]
        if kind == "gemini":
            from google import genai

            google = genai.Client(api_key="k", http_options={"base_url": base})
            now, later = google.models, google.aio.models
            self.whole = lambda text: now.generate_content(model="m", contents=text)
            self.pieces = lambda text: now.generate_content_stream(model="m", contents=text)
            self.awhole = lambda text: later.generate_content(model="m", contents=text)
            self.apieces = lambda text: later.generate_content_stream(model="m", contents=text)
            self.close = google.aio.aclose
            self._kept: Any = google  # a client that is let go closes itself
            return
        if kind == "anthropic":
            import anthropic

            options: Any = {"api_key": "k", "base_url": base, "max_retries": 0}
            blocking: Any = anthropic.Anthropic(**options)
            waiting: Any = anthropic.AsyncAnthropic(**options)
            calls = (blocking.messages.create, waiting.messages.create)
            more: dict[str, Any] = {"max_tokens": 99}
        else:
            import openai

            options = {"api_key": "k", "base_url": f"{base}/v1", "max_retries": 0}
            blocking, waiting = openai.OpenAI(**options), openai.AsyncOpenAI(**options)
            is_chat = kind == "chat"
            calls = (
                (blocking.chat.completions.create, waiting.chat.completions.create)
                if is_chat
                else (blocking.responses.create, waiting.responses.create)
            )
            more = {}
        field = "input" if kind == "responses" else "messages"

        def asked(text: str) -> dict[str, Any]:
            said = text if field == "input" else [{"role": "user", "content": text}]
            return {"model": "m", field: said, **more}

        self.whole = lambda text: calls[0](**asked(text))
        self.pieces = lambda text: calls[0](**asked(text), stream=True)
        self.awhole = lambda text: calls[1](**asked(text))
        self.apieces = lambda text: calls[1](**asked(text), stream=True)
        self.close = waiting.close
        self._kept = blocking


async def aread(pieces: AsyncIterable[Any]) -> None:
    async for _ in pieces:
        pass


def read(pieces: Iterable[Any]) -> None:
    for _ in pieces:
        pass


def cpu_ms(ours: Work, theirs: Work, count: int) -> tuple[float, float]:
    """Return the CPU of a run of each, in milliseconds; they take turns, see `typical`."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(count + WARMUPS):
        for work, spent in zip((ours, theirs), times, strict=True):
            before = time.process_time()
            work()
            if turn >= WARMUPS:
                spent.append((time.process_time() - before) * 1000)
    return typical(times)


async def acpu_ms(ours: AsyncWork, theirs: AsyncWork, count: int) -> tuple[float, float]:
    """Like `cpu_ms`, on the running loop."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(count + WARMUPS):
        for work, spent in zip((ours, theirs), times, strict=True):
            before = time.process_time()
            await work()
            if turn >= WARMUPS:
                spent.append((time.process_time() - before) * 1000)
    return typical(times)


def typical(times: tuple[list[float], list[float]]) -> tuple[float, float]:
    """Return the medians of both in the quietest of the run's parts.

    While another program works, its cache misses and switches count as ours and as the SDK's.
    """
    length = max(1, len(times[0]) // PARTS)
    parts = [
        (statistics.median(ours), statistics.median(theirs))
        for ours, theirs in zip(*(_split(spent, length) for spent in times), strict=True)
    ]
    return min(parts, key=sum)


def _split(spent: list[float], length: int) -> list[list[float]]:
    return [spent[start : start + length] for start in range(0, len(spent), length)]


def verdict(kind: str, what: str, figures: str, *, holds: bool) -> bool:
    print(f"{kind:10} {what:22} {figures:58} {'ok' if holds else 'PASSED'}", flush=True)
    return holds


def warm(kind: str, what: str, times: tuple[float, float]) -> bool:
    more = times[0] - times[1]
    figures = f"{times[0]:7.2f} / {times[1]:7.2f} ms = {more:+.2f} (limit +{LIMIT_MS})"
    return verdict(kind, what, figures, holds=more <= LIMIT_MS)


def called(kind: str, base: str) -> list[bool]:
    """Measure what a person does in a cell: calls that wait for their answer."""
    model, sdk = models(base)[kind], Sdk(kind, base)
    whole = cpu_ms(lambda: model.invoke(HI), lambda: sdk.whole("Hi"), CALLS)
    streamed = cpu_ms(lambda: read(model.stream(HI)), lambda: read(sdk.pieces("Hi")), CALLS)
    return [warm(kind, "call, whole", whole), warm(kind, "call, streamed", streamed)]


async def awaited(kind: str, base: str, chunks: int) -> list[bool]:
    """Measure calls on an event loop, and a long stream."""
    model, sdk = models(base)[kind], Sdk(kind, base)

    async def streamed(text: str) -> None:
        await aread(await sdk.apieces(text))

    calls = await acpu_ms(lambda: model.ainvoke(HI), lambda: sdk.awhole("Hi"), CALLS)
    streams = await acpu_ms(lambda: aread(model.astream(HI)), lambda: streamed("Hi"), CALLS)
    long = await acpu_ms(lambda: aread(model.astream(MANY)), lambda: streamed("MANY"), LONG_CALLS)
    await sdk.close()
    ratio, thousands = long[0] / long[1], chunks / 1000
    figures = (
        f"{long[0] / thousands:7.2f} / {long[1] / thousands:7.2f} ms ="
        f" {ratio:.3f} (limit {LIMITS[kind]})"
    )
    return [
        warm(kind, "awaited, whole", calls),
        warm(kind, "awaited, streamed", streams),
        verdict(kind, "1,000 chunks", figures, holds=ratio <= LIMITS[kind]),
    ]


def started(kind: str, base: str) -> bool:
    """Measure fresh processes up to their first answer."""
    head = f"import time; wall = time.perf_counter(); base = {base!r}\n"
    head += "hi = [{'role': 'user', 'content': 'Hi'}]\n"
    ours, theirs = STARTS_OF[kind]
    tail = "\nprint(time.process_time(), time.perf_counter() - wall)"
    codes = (f"{head}{ours}\nModel('m', 'k', base).invoke(hi){tail}", f"{head}{theirs}{tail}")
    runs: tuple[list[list[float]], list[list[float]]] = ([], [])
    for _ in range(STARTS):
        for code, figures in zip(codes, runs, strict=True):
            command = [sys.executable, "-W", "ignore", "-c", code]
            done = subprocess.run(command, check=True, capture_output=True, timeout=120)
            figures.append([float(figure) for figure in done.stdout.split()])
    (cpu, wall), (sdk_cpu, sdk_wall) = (
        [statistics.median(column) for column in zip(*figures, strict=True)] for figures in runs
    )
    ratio = max(cpu / sdk_cpu, wall / sdk_wall)
    figures_shown = (
        f"{cpu * 1000:7.0f} / {sdk_cpu * 1000:7.0f} ms, {wall:.2f} / {sdk_wall:.2f} s ="
        f" {ratio:.2f} (limit {START_LIMIT})"
    )
    return verdict(kind, "fresh process", figures_shown, holds=ratio <= START_LIMIT)


def measured(kind: str, chunks: int) -> list[bool]:
    port: Any = multiprocessing.Queue()
    process = multiprocessing.Process(target=serve, args=(kind, chunks, port), daemon=True)
    process.start()
    try:
        base = f"http://127.0.0.1:{port.get(timeout=30)}"
        held = [*called(kind, base), *asyncio.run(awaited(kind, base, chunks))]
        return [*held, started(kind, base)]
    finally:
        process.terminate()


def main() -> int:
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    warnings.simplefilter("ignore")  # what an SDK says of a model called "m"
    print(
        f"ours / the SDK's: a warm call with {WORDS} pieces, each 1,000 of {chunks:,} chunks, and"
        f" a fresh process; load {os.getloadavg()[0]:.1f}"
    )
    held = [one for kind in SERVERS for one in measured(kind, chunks)]
    return int(not all(held))


if __name__ == "__main__":
    raise SystemExit(main())
