"""How long a stopped cell takes to end: a silent service, a stream, a tool, a picture on its way.

Run it: ``python benchmarks/interrupts.py``. A real kernel, servers on loopback; from the interrupt
to the cell's end. The exit code is 1 if the median of one case is over a second.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import kernels
from agentcell.testing import Call, ChatServer, MediaServer, Reply, SilentPort

LIMIT = 1.0
"""Seconds: a person who stops a cell does not wait longer."""

TIMES = 9

SETUP = """%load_ext agentcell
import time
from agentcell import LegacyOpenAIModel
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell_magics import current_session
silent = LegacyOpenAIModel('m', api_key='k', base_url={silent!r})
stream = LegacyOpenAIModel('m', api_key='k', base_url={chat!r})
caller = LegacyOpenAIModel('m', api_key='k', base_url={calls!r})
backend = HostedMediaBackend({media!r}, {token!r})
current_session().generator.backends.add(backend)
def nap() -> str:
    "Sleep for a minute."
    time.sleep(60)
    return 'awake'
"""

CASES = {
    "a silent service": ("current_session().model = silent", "%%agent --fresh\nHi"),
    "a stream": ("current_session().model = stream", "%%agent --fresh\nHi"),
    "a tool that sleeps": ("current_session().model = caller", "%%agent --fresh -T nap\nHi"),
    "a picture on its way": ("", "%generate a fox -m hosted"),
}


def main() -> int:
    failed = False
    token = "5d1f9c27e84b"  # noqa: S105 (it opens nothing)
    with (
        tempfile.TemporaryDirectory() as folder,
        SilentPort() as silent,
        ChatServer(Reply(*["word "] * 4_000, delay=0.02)) as chat,
        ChatServer(Reply(calls=[Call("nap", "{}")])) as calls,
        MediaServer(token=token) as media,
        kernels.running(Path(folder)) as kernel,
    ):
        for _ in range(TIMES):
            media.job("queued", "running")
        urls = {"silent": silent.url, "chat": chat.url, "calls": calls.url, "media": media.url}
        kernel.run(SETUP.format(**urls, token=token))
        for name, (before, cell) in CASES.items():
            kernel.run(before)
            seconds = sorted(_stopped(kernel, cell) for _ in range(TIMES))
            median = statistics.median(seconds)
            failed |= median > LIMIT
            print(
                f"{name:24} median {median:5.2f} s, slowest {seconds[-1]:5.2f} s"
                + ("  FAILED" if median > LIMIT else "")
            )
    return int(failed)


def _stopped(kernel: kernels.Kernel, cell: str) -> float:
    """Return the seconds from the interrupt to the cell's end."""
    started = kernel.start(cell)
    time.sleep(1.5)
    began = time.perf_counter()
    kernel.interrupt()
    ran = kernel.finish(started)
    seconds = time.perf_counter() - began
    if "Stopped" not in ran.text:
        raise SystemExit(f"The cell was not stopped:\n{ran.text}")
    return seconds


if __name__ == "__main__":
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    sys.exit(main())
