"""The guard and the fixtures themselves: a guard that never bites guards nothing."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from kernels import Kernel
from offline.sitecustomize import LOG, LeftTheMachine

OUTSIDE = "192.0.2.1"  # kept for documentation by RFC 5737: nobody's


def forget_refusals() -> str:
    """Return what was refused, and take it off the record so that the test may pass."""
    log = Path(os.environ[LOG])
    lines = log.read_text(encoding="utf-8")
    log.unlink()
    return lines


def test_a_connection_off_loopback_is_refused_before_a_packet_leaves() -> None:
    with socket.socket() as sock, pytest.raises(LeftTheMachine, match=r"192\.0\.2\.1:80 refused"):
        sock.connect((OUTSIDE, 80))

    assert OUTSIDE in forget_refusals()


def test_connect_ex_and_datagrams_are_refused_too() -> None:
    with socket.socket() as sock, pytest.raises(LeftTheMachine):
        sock.connect_ex((OUTSIDE, 80))
    with socket.socket(type=socket.SOCK_DGRAM) as sock, pytest.raises(LeftTheMachine):
        sock.sendto(b"x", (OUTSIDE, 53))

    assert forget_refusals().count("\n") == 2


def test_a_name_is_not_even_looked_up() -> None:
    with pytest.raises(LeftTheMachine, match=r"look-up of api\.openai\.com"):
        urllib.request.urlopen("https://api.openai.com/v1/models", timeout=5)

    forget_refusals()


def test_asyncio_is_guarded() -> None:
    with pytest.raises(LeftTheMachine):
        asyncio.run(asyncio.wait_for(asyncio.open_connection(OUTSIDE, 80), 5))

    forget_refusals()


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = ("localhost", server.getsockname()[1])
        with socket.create_connection(address, timeout=5) as client:
            assert client.getpeername()[0] == "127.0.0.1"


def test_a_process_that_a_test_starts_is_guarded_and_its_swallowed_refusal_is_recorded() -> None:
    code = (
        "import socket\n"
        f"try: socket.create_connection(('{OUTSIDE}', 80), 3)\n"
        "except Exception as error: print(type(error).__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "LeftTheMachine"
    assert OUTSIDE in forget_refusals()


def test_a_kernel_is_guarded(kernel: Kernel) -> None:
    ran = kernel.run(f"import socket; socket.create_connection(('{OUTSIDE}', 80), 3)")

    assert (ran.status, ran.ename) == ("error", "LeftTheMachine")
    forget_refusals()


def test_no_key_of_the_person_who_runs_the_tests_is_in_reach() -> None:
    assert [name for name in os.environ if name.endswith("_API_KEY")] == []


def test_a_kernel_answers_is_interrupted_and_goes_on(kernel: Kernel) -> None:
    cell = kernel.start("import time\nprint('begun', flush=True)\ntime.sleep(30)")
    kernel.until_output(cell)
    kernel.interrupt()
    stopped = kernel.finish(cell, timeout=5)
    after = kernel.run(
        "from IPython.display import display\n"
        "h = display({'text/plain': 'one'}, raw=True, display_id=True)\n"
        "h.update({'text/plain': 'two'}, raw=True)\nprint('a'); print('b')\n6*7"
    )

    assert stopped.ename == "KeyboardInterrupt"
    assert after.text == "two\na\nb\n\n42"
    assert after.messages >= 3
    assert kernel.complete("time.sl") == ["sleep"]
