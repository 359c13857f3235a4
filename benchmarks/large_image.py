"""A large photo from a path, sent by each adapter and by the vendor's own SDK: CPU and memory.

Run it: ``python benchmarks/large_image.py [MEGABYTES]``. Each figure is that of a fresh process,
which first sends a small picture, so that imports and connections are not counted, and then the
photo, once. Ours makes the asset too: reading, hashing and checking the file are counted. The
processes take turns; medians. The server reads and answers, nothing more.

Anthropic itself takes images of at most 10 MB as base64. The whole photo is sent by its adapter as
to another server that speaks its protocol, without that limit ("anthropic"), and one of 7 MB with
it ("anthropic-7"): contents of up to 8 MiB stay in memory, so there the limit is the file itself.
The exit code is 1 if a limit is passed.
"""

from __future__ import annotations

import base64
import io
import json
import multiprocessing
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adapter_speed import SERVERS, models, streamed_answer, whole_answer

ROUNDS = 5
CPU_LIMIT = 0.25
MEMORY_LIMIT = 0.1
WAVERING_MB = 2.0
"""Megabytes by which the peak of two equal processes differs (allocator, page cache of code)."""
SMALL_MB = 7
ROWS = ("chat", "responses", "anthropic", "anthropic-7", "gemini")


def photo(megabytes: float, path: Path) -> None:
    """Write a JPEG of about that size: noise, as hard to compress as a photo at best quality."""
    from PIL import Image

    per_pixel = 0.916  # bytes, at this quality
    side = int((megabytes * 1e6 / per_pixel) ** 0.5)
    with Image.effect_noise((side, side), 90) as grey:
        picture = Image.merge("RGB", [grey, grey.rotate(90), grey.rotate(180)])
    data = io.BytesIO()
    picture.save(data, "JPEG", quality=90)
    path.write_bytes(data.getvalue())


def serve(kind: str, port: Any) -> None:
    """Read each request to its end and answer it."""
    server = SERVERS[kind]()
    streamed, whole = streamed_answer(server, 3), whole_answer(server, 3)
    listener = socket.create_server(("127.0.0.1", 0))
    port.put(listener.getsockname()[1])
    buffer = memoryview(bytearray(1 << 20))

    def converse(connection: socket.socket) -> None:
        with connection:
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    if not (piece := connection.recv(65536)):
                        return
                    head += piece
                head, _, body = head.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                left, end = length - len(body), body[-40:]
                while left > 0:
                    count = connection.recv_into(buffer)
                    if not count:
                        return
                    left -= count
                    end = (end + bytes(buffer[max(0, count - 200) : count]))[-200:]
                # The flag stands at either end of the body, where the adapters and SDKs put it.
                asked = b'"stream":true' in body[:4096] + end or b"alt=sse" in head
                connection.sendall(streamed if asked else whole)

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=converse, args=(connection,), daemon=True).start()


def protocol(row: str) -> str:
    return row.partition("-")[0]


def ours(kind: str, base: str) -> Callable[[Path], None]:
    from dataclasses import replace

    from agentcell import AnthropicModel, ImageAsset

    class Unlimited(AnthropicModel):
        media_limits = replace(
            AnthropicModel.media_limits,
            image_bytes=10**9,
            image_side=None,
            request_bytes=10**9,
        )

    model = Unlimited("m", "k", base) if kind == "anthropic" else models(base)[protocol(kind)]

    def ask(path: Path) -> None:
        asset = ImageAsset.from_path(path)
        model.invoke([{"role": "user", "content": [{"type": "text", "text": "Hi"}, asset]}])

    return ask


def text_of(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def theirs(kind: str, base: str) -> Callable[[Path], None]:
    """Return how a person asks with the vendor's SDK, after its own documentation."""
    by = {"anthropic": by_anthropic, "gemini": by_google}.get(protocol(kind), by_openai)
    return by(kind, base)


def by_anthropic(_: str, base: str) -> Callable[[Path], None]:
    import anthropic

    client = anthropic.Anthropic(api_key="k", base_url=base, max_retries=0)

    def ask(path: Path) -> None:
        source = {"type": "base64", "media_type": "image/jpeg", "data": text_of(path)}
        image = {"type": "image", "source": source}
        content = [{"type": "text", "text": "Hi"}, image]
        messages: Any = [{"role": "user", "content": content}]
        client.messages.create(model="m", max_tokens=99, messages=messages)

    return ask


def by_google(_: str, base: str) -> Callable[[Path], None]:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options={"base_url": base})

    def ask(path: Path) -> None:
        part = types.Part.from_bytes(data=path.read_bytes(), mime_type="image/jpeg")
        contents: Any = ["Hi", part]
        client.models.generate_content(model="m", contents=contents)

    return ask


def by_openai(kind: str, base: str) -> Callable[[Path], None]:
    import openai

    client = openai.OpenAI(api_key="k", base_url=f"{base}/v1", max_retries=0)
    is_chat = kind == "chat"

    def ask(path: Path) -> None:
        url = f"data:image/jpeg;base64,{text_of(path)}"
        chat_part = {"type": "image_url", "image_url": {"url": url}}
        part = {"type": "input_image", "detail": "auto", "image_url": url}
        text = {"type": "text" if is_chat else "input_text", "text": "Hi"}
        content = [text, chat_part if is_chat else part]
        messages: Any = [{"role": "user", "content": content}]
        if is_chat:
            client.chat.completions.create(model="m", messages=messages)
        else:
            client.responses.create(model="m", input=messages)

    return ask


def peak_mb() -> float:
    """Return the most memory that this process, not the one that started it, has had in use."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def child(who: str, kind: str, base: str, tiny: str, path: str) -> None:
    """Print the CPU in milliseconds and the added peak memory in MB of sending the photo."""
    warnings.simplefilter("ignore")
    ask = (ours if who == "ours" else theirs)(kind, base)
    ask(Path(tiny))
    ask(Path(tiny))
    memory, cpu = peak_mb(), time.process_time()
    ask(Path(path))
    print(json.dumps([(time.process_time() - cpu) * 1000, peak_mb() - memory]))


def measured(kind: str, tiny: Path, path: Path) -> bool:
    port: Any = multiprocessing.Queue()
    process = multiprocessing.Process(target=serve, args=(protocol(kind), port), daemon=True)
    process.start()
    base = f"http://127.0.0.1:{port.get(timeout=30)}"
    runs: dict[str, list[list[float]]] = {"ours": [], "theirs": []}
    try:
        for _ in range(ROUNDS):
            for who, figures in runs.items():
                command = [sys.executable, __file__, who, kind, base, str(tiny), str(path)]
                done = subprocess.run(command, check=True, capture_output=True, timeout=120)
                figures.append(json.loads(done.stdout))
    finally:
        process.terminate()
    (cpu, memory), (sdk_cpu, sdk_memory) = (
        [statistics.median(column) for column in zip(*figures, strict=True)]
        for figures in runs.values()
    )
    size = path.stat().st_size / 1e6
    most = MEMORY_LIMIT * sdk_memory if size > SMALL_MB + 1 else size + WAVERING_MB
    holds = cpu <= CPU_LIMIT * sdk_cpu and memory <= most
    print(
        f"{kind:11} {size:5.1f} MB   CPU {cpu:6.1f} / {sdk_cpu:6.1f} ms ="
        f" {cpu / sdk_cpu:.2f} (limit {CPU_LIMIT})   added peak {memory:6.1f} / {sdk_memory:6.1f}"
        f" MB = {memory / sdk_memory:.2f} (limit {most / sdk_memory:.2f})"
        f"   {'ok' if holds else 'PASSED'}",
        flush=True,
    )
    return bool(holds)


def main() -> int:
    if len(sys.argv) > 2:
        child(*sys.argv[1:])
        return 0
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder, "large.jpg"), Path(folder, "small.jpg")
        tiny = Path(folder, "tiny.jpg")
        photo(megabytes, large)
        photo(SMALL_MB, small)
        print(f"ours / the SDK's; load {os.getloadavg()[0]:.1f}", flush=True)
        photo(0.3, tiny)
        held = [measured(row, tiny, small if row == "anthropic-7" else large) for row in ROWS]
    return int(not all(held))


if __name__ == "__main__":
    raise SystemExit(main())
