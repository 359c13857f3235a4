"""Generated files, beside a bare client that writes to a file: ``python benchmarks/downloads.py``.

Both fetch the same files from one server, in a process of its own, and take turns. Ours also looks
at the address and the content, hashes it, and has it on disk before it says so. Times are CPU of
this process, the least of some runs; memory is what the peak rises by over that after one small
file. The exit code is 1 if a limit is passed.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path

import httpx2

from agentcell.imaging.download import Downloader
from agentcell.testing import MediaServer
from agentcell.testing.media_files import PIXEL

FILES, SIZE = 8, 4 << 20
RUNS = 7
MOST_TIMES = 2.0
"""How much of the bare client's CPU ours may take."""
MOST_BYTES = 16 << 20
"""How much the peak may rise by."""


def serve(pipe: Connection) -> None:
    """Serve the files until told to stop."""
    with MediaServer() as server:
        server.file("small", PIXEL)
        for number in range(FILES):
            server.file(str(number), PIXEL + os.urandom(SIZE))
        pipe.send(server.url)
        pipe.recv()


async def bare(url: str, folder: Path) -> None:
    """Fetch all files with a client and nothing else."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        for number in range(FILES):
            async with client.stream("GET", f"{url}/files/{number}") as answer:
                with (folder / f"{number}.png").open("wb") as file:
                    async for piece in answer.aiter_raw():
                        file.write(piece)


async def ours(url: str, folder: Path) -> None:
    """Fetch all files as a job's are."""
    loader = Downloader(loopback=True)
    for number in range(FILES):
        part = await loader.fetch(f"{url}/files/{number}", folder)
        part.put(f"job-{number}")


def peak() -> int:
    """Return the most memory that this process has had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def spent(work: Callable[[str, Path], Awaitable[None]], url: str, folder: Path) -> float:
    """Return the seconds of CPU that `work` takes."""

    async def run() -> None:
        await work(url, folder)

    folder.mkdir()
    began = time.process_time()
    asyncio.run(run())
    took = time.process_time() - began
    shutil.rmtree(folder)
    return took


def main() -> int:
    """Measure, print, and return 1 if a limit is passed."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    server = spawn.Process(target=serve, args=(there,))
    server.start()
    url = here.recv()
    try:
        with tempfile.TemporaryDirectory() as base:
            folder = Path(base) / "media"
            loader = Downloader(loopback=True)
            asyncio.run(loader.fetch(f"{url}/files/small", folder))
            shutil.rmtree(folder)
            before = peak()
            times = [spent(ours, url, folder)]
            risen = peak() - before
            others = [spent(bare, url, folder)]
            for _ in range(RUNS - 1):
                times.append(spent(ours, url, folder))
                others.append(spent(bare, url, folder))
    finally:
        here.send("stop")
        server.join()
    ratio = min(times) / min(others)
    print(f"{FILES} files of {SIZE >> 20} MB: {min(times) * 1e3:.0f} ms of CPU")
    print(f"a bare client: {min(others) * 1e3:.0f} ms; ratio {ratio:.2f} (limit {MOST_TIMES})")
    print(f"memory over the start: {risen / 1e6:.1f} MB (limit {MOST_BYTES / 1e6:.1f} MB)")
    return 0 if ratio <= MOST_TIMES and risen <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
