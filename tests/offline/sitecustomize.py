"""Refuses every connection that would leave this machine.

`conftest.py` installs it in the test process; a process that a test starts finds this folder on
its PYTHONPATH, and Python imports a module of this name at start.
"""

import os
import socket
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Any

LOG = "OFFLINE_LOG"
"""Environment variable: the file that takes one line for each refusal, in whatever process."""


class LeftTheMachine(RuntimeError):
    """A test tried to reach beyond loopback. No OSError, so that no code takes it for a failure."""


def _is_here(host: object) -> bool:
    """Whether `host` is this machine and nothing else."""
    name = host.decode() if isinstance(host, bytes) else host
    if name is None or name == "":
        return True
    if not isinstance(name, str):
        return False
    try:
        return ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return name.lower() in {"localhost", "ip6-localhost", socket.gethostname().lower()}


def _is_address(host: object) -> bool:
    """Whether `host` is numeric, so that looking it up asks nobody."""
    try:
        ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    return True


def _refuse(what: str) -> None:
    line = f"{what} refused: tests may only use loopback"
    if path := os.environ.get(LOG):
        with Path(path).open("a", encoding="utf-8") as log:
            log.write(f"{line} (process {os.getpid()})\n")
    raise LeftTheMachine(line)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        sock, address = arguments
        is_network = sock.family in {socket.AF_INET, socket.AF_INET6} and address is not None
        if is_network and not _is_here(address[0]):
            _refuse(f"connection to {address[0]}:{address[1]}")
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        host = arguments[0]
        if not (_is_here(host) or _is_address(host)):
            _refuse(f"look-up of {host}")


sys.addaudithook(_audit)
