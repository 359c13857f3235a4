"""Servers that nobody here wrote, started on loopback: aimock and llmock.

`make peers` installs them. A server that is not installed skips its tests with the reason; in CI
it fails them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentcell.testing import unused_url

ROOT = Path(__file__).parent.parent
FOLDER = Path(os.environ.get("AGENTCELL_PEERS") or ROOT / ".venv" / "peers")
KEY = "peer-key-1"


@dataclass(frozen=True)
class Peer:
    """A server that runs; `url` has no path."""

    url: str

    def call(self, path: str, body: object = None, method: str = "POST") -> Any:
        """Return what the server's own interface answers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 (loopback)
            text = answer.read()
        return json.loads(text) if text else None


@contextlib.contextmanager
def aimock() -> Iterator[Peer]:
    """Run aimock (https://www.npmjs.com/package/@copilotkit/aimock) with our fixtures."""
    script = FOLDER / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    node = shutil.which("node")
    if node is None or not script.exists():
        _missing("node" if node is None else "aimock")
    fixtures = Path(__file__).parent / "data" / "aimock.json"
    command = [str(node), str(script), "-f", str(fixtures), "--log-level", "silent"]
    with _running(command, "/health", {"AIMOCK_API_KEYS": KEY}) as peer:
        yield peer


@contextlib.contextmanager
def llmock() -> Iterator[Peer]:
    """Run llmock (https://pypi.org/project/llmock)."""
    program = FOLDER / "llmock" / "bin" / "llmock"
    if not program.exists():
        _missing("llmock")
    with _running([str(program), "serve"], "/health", {}) as peer:
        yield peer


def _missing(what: str) -> None:
    reason = f"{what} is not installed; `make peers` brings it"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@contextlib.contextmanager
def _running(command: list[str], path: str, variables: Mapping[str, str]) -> Iterator[Peer]:
    url = unused_url().removesuffix("/v1")
    port = url.rpartition(":")[2]
    option = "-p" if "cli.js" in command[1] else "--port"
    with subprocess.Popen(
        [*command, option, port],
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait(f"{url}{path}", process)
            yield Peer(url)
        finally:
            process.terminate()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended at once"
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1):  # noqa: S310
            return
        time.sleep(0.05)
    pytest.fail("the server did not start within a minute")
