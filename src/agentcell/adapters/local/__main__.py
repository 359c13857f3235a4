"""``python -m agentcell.adapters.local fetch | where | check | remove``: the built-in reader."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from types import FrameType

from agentcell.adapters.local.status import local_status
from agentcell.adapters.local.weights import (
    FETCH_COMMAND,
    SMOLLM2,
    fetch,
    installed_weights,
    remove,
    verify,
    weights_path,
)
from agentcell.errors import AgentcellError

_PROGRAM = "python -m agentcell.adapters.local"


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks; return the exit code: 0, 1 if it cannot, 130 if stopped."""
    parser = argparse.ArgumentParser(
        prog=_PROGRAM, description="The files of agentcell's built-in reader of documents."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command, (_, text) in _COMMANDS.items():
        commands.add_parser(command, help=text, description=text)
    chosen = parser.parse_args(arguments).command
    try:
        return _COMMANDS[chosen][0]()
    except AgentcellError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; nothing half is left behind.\n")
        return 130


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _fetch() -> int:
    fetch(_say)
    return 0


def _where() -> int:
    path = installed_weights()
    _say(str(path or weights_path()))
    if path is None:
        sys.stderr.write(f"It is not there yet. Fix: run `{FETCH_COMMAND}`.\n")
    return 0 if path else 1


def _check() -> int:
    status = local_status()
    fixes = list(status.fixes)
    _say(f"reads pictures:  {status.ocr or 'missing'}")
    broken = _import_error("xllamacpp") if status.runtime else ""
    _say(
        f"runs the model:  {status.runtime or 'missing'}{f' (broken: {broken})' if broken else ''}"
    )
    if "libgomp" in broken:
        fixes.append("apt-get install -y libgomp1")
    elif broken:
        fixes.append('pip install --force-reinstall "agentcell[local]"')
    damaged = status.weights is not None and not verify(status.weights)
    _say(f"the model:       {status.weights or 'missing'}{' (damaged)' if damaged else ''}")
    if damaged:
        fixes.append(FETCH_COMMAND)
    for fix in fixes:
        _say(f"Fix: run `{fix}`.")
    return 1 if fixes else 0


def _import_error(module: str) -> str:
    """Import `module` in a process of its own; return what went wrong, or nothing."""
    done = subprocess.run(  # noqa: S603 (our own command, no shell)
        [sys.executable, "-P", "-c", f"import {module}"],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return "" if done.returncode == 0 else lines[-1]


def _remove() -> int:
    _say(f"{weights_path()} {'is removed' if remove() else 'was not there'}.")
    return 0


_COMMANDS = {
    "fetch": (_fetch, f"download the model ({SMOLLM2.download_bytes / 1e6:.0f} MB) and check it"),
    "where": (_where, "print where the model's file lies"),
    "check": (_check, "check that the reader, the runtime and the model are whole"),
    "remove": (_remove, "delete the model's file"),
}


def _terminated(signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (signal's)
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminated)  # so that the download is cleaned up
    raise SystemExit(main())
