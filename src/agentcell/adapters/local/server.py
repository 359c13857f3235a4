"""One line of JSON on stdin → the small model, served over HTTP on loopback. A child process.

It is run as a file, and imports nothing of agentcell. What it takes on stdin is
``{"gguf", "alias", "key", "threads", "context_tokens", "kept_folder", "sys_path"}``; what it prints
is one line: ``{"address": "http://127.0.0.1:…"}``, or ``{"error": …}`` if it cannot start. It ends
when its stdin ends, or when the process that started it is gone, however that came about.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from typing import Any

_LOOK_SECONDS = 1.0
"""How often to look whether the parent still lives."""

_BATCH_TOKENS = 64
"""Tokens of the prompt read at a time; 64 are read as fast as 512. Between batches the server sees
that nobody waits any more: after an interrupt the next request is served in 0.8 s, not in 4."""


_SMALL_BYTES = 1 << 30


def serve(config: dict[str, Any]) -> Any:
    """Load the model and open its HTTP port; return the running server."""
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = config["gguf"]
    params.model_alias = {config["alias"]}
    params.n_ctx = config["context_tokens"]
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.n_parallel = 1
    # Fitting a model into what memory there is takes as long as loading a small one.
    params.fit_params = os.path.getsize(config["gguf"]) > _SMALL_BYTES  # noqa: PTH202 (a str)
    params.cpuparams.n_threads = config["threads"]
    params.cpuparams_batch.n_threads = config["threads"]
    params.verbosity = 0  # 3, the default, fills the notebook's log
    params.cache_ram_mib = 16  # 8192 is the default
    params.ui = False
    params.slot_save_path = os.path.join(config["kept_folder"], "")  # noqa: PTH118 (ends in a slash)
    # Without these the port is open to every process and page on this machine.
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [config["key"]]
    return xllamacpp.Server(params)


def _say(fact: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(fact) + "\n")
    sys.stdout.flush()


def _end_with_stdin() -> None:
    """End this process, at once and whatever it is doing, when the parent's end of stdin closes."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def _end_with_parent(parent: int) -> None:
    """Look now and then: a fork of the parent may hold stdin open after the parent's death."""
    while os.name != "posix" or os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(0)


def main() -> None:
    """Serve until stdin ends."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the kernel's affair
    line = b""
    while not line.endswith(b"\n"):  # no buffer, for the watcher reads the same pipe
        if not (byte := os.read(0, 1)):
            return
        line += byte
    config = json.loads(line)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    # The same modules as in the kernel, which may have added folders of its own.
    sys.path[:] = [*config["sys_path"], *(p for p in sys.path if p not in config["sys_path"])]
    try:
        server = serve(config)
    except Exception as error:  # noqa: BLE001 (whatever it is, the parent tells the person)
        _say({"error": str(error), "kind": type(error).__name__})
        raise SystemExit(3) from None
    _say({"address": server.listening_address})
    _end_with_parent(parent)


if __name__ == "__main__":
    main()
