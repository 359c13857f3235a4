"""A GGUF file → a child process that serves it on loopback (see `server.py`), and its end."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentcell.adapters.local.exchange import Endpoint
from agentcell.adapters.local.status import RUNTIME_FIX
from agentcell.adapters.local.weights import kept_folder
from agentcell.errors import LocalModelMissing

CONTEXT_TOKENS = 4096
"""How much the child reads and writes in one request."""

_SERVER = Path(__file__).with_name("server.py")
_LOAD_SECONDS = 300.0
"""A child that has not loaded its file by then is given up."""

_END_SECONDS = 1.0


@dataclass(slots=True)
class Child:
    """One child process. It listens once `load` has returned."""

    process: subprocess.Popen[bytes]
    gguf: Path
    alias: str
    endpoint: Endpoint = field(init=False, repr=False)
    is_warm: bool = False
    """Whether it has read what stands before every question."""

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    @classmethod
    def start(cls, gguf: Path, alias: str) -> Child:
        """Start the process; its model is not loaded yet.

        It lives in a session of its own, so that an interrupt of the kernel does not reach it,
        and inherits none of the kernel's open files.
        """
        if not sys.executable:
            raise _missing(alias, "This Python does not know its own program file.", "")
        # -P: the folder of server.py holds modules with names such as model and status.
        process = subprocess.Popen(  # noqa: S603 (our own program, no shell)
            [sys.executable, "-P", str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            # After an abort it would call a debugger, if there is one, and take seconds.
            env={**os.environ, "GGML_NO_BACKTRACE": "1"},
            **_apart(),
        )
        return cls(process, gguf, alias)

    def load(self) -> None:
        """Hand over what to serve, and wait until it is served.

        Raises
        ------
        LocalModelMissing
            If the runtime is not installed or cannot run here, or the file is no model.
        """
        key = secrets.token_hex(16)
        config = {
            "gguf": str(self.gguf.resolve()),
            "alias": self.alias,
            "key": key,
            "threads": thread_count(),
            "context_tokens": CONTEXT_TOKENS,
            "kept_folder": str(kept_folder()),
            "sys_path": [os.path.abspath(folder) for folder in sys.path],  # noqa: PTH100 ("" too)
        }
        guard = threading.Timer(_LOAD_SECONDS, self.process.kill)
        guard.daemon = True
        guard.start()
        try:
            said = self._hand_over(config)
        except BaseException:
            self.end()
            raise
        finally:
            guard.cancel()
        if "address" not in said:
            self.end()
            raise self._not_started(said)
        self.endpoint = Endpoint(said["address"], key)

    def _hand_over(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return what the child says; ``{}`` if it ends without a word."""
        if self.process.stdin is None or self.process.stdout is None:
            raise AssertionError("both are pipes")
        try:
            self.process.stdin.write(json.dumps(config).encode() + b"\n")
            with self.process.stdout as stdout:
                said = json.loads(stdout.readline() or b"{}")
        except (OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    def end(self) -> None:
        """End the process, whatever it is doing, and wait for its end."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(OSError):
            self.process.terminate()
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def disown(self) -> None:
        """Let go of it in a fork of the process that started it."""
        self.process.returncode = 0  # not ours to wait for
        if self.process.stdin is not None:
            # While a fork holds this open, the child would not see its parent's death by it.
            self.process.stdin.close()

    def _not_started(self, said: dict[str, Any]) -> LocalModelMissing:
        error = str(said.get("error", ""))[:300]
        if "libgomp" in error:
            return _missing(
                self.alias,
                "The runtime of the built-in model (xllamacpp) needs the system library"
                " libgomp.so.1, which is not installed.",
                "run `apt-get install -y libgomp1` (or your system's package of that library).",
            )
        if said.get("kind") in {"ImportError", "ModuleNotFoundError", "OSError"}:
            return _missing(
                self.alias,
                f"The runtime of the built-in model (xllamacpp) cannot be imported: {error}.",
                RUNTIME_FIX,
            )
        reason = error or f"its process ended with code {self.process.returncode}."
        return _missing(
            self.alias,
            f"The model file {self.gguf} cannot be loaded: {reason}",
            "check that it is a whole GGUF file that llama.cpp can read.",
        )


def thread_count() -> int:
    """Return how many threads to generate with.

    Two threads on two cores wait for each other by spinning: on a busy machine that is 20 to 60
    times slower than one.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return 1 if not cores or cores <= 2 else min(4, cores // 2)  # noqa: PLR2004 (see above)


def _apart() -> dict[str, Any]:
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        return {"creationflags": flags}
    return {"start_new_session": True}


def _missing(alias: str, problem: str, fix: str) -> LocalModelMissing:
    return LocalModelMissing(problem, fix=fix, provider="local", model=alias)
