"""A GGUF file → a running child process that answers chat requests. Started at first need.

The child is shared by all who use the same file, ends when nobody has used it for a while, and is
started again when it is needed again. It lives in a session of its own, so that an interrupt of
the kernel does not reach it, and never outlives the kernel (see `server.py`).
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import os
import secrets
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agentcell.adapters.events import Event
from agentcell.adapters.local.exchange import Endpoint, broken, exchange
from agentcell.adapters.local.status import RUNTIME_FIX
from agentcell.errors import LocalModelMissing

T = TypeVar("T")

CONTEXT_TOKENS = 4096
"""How much the child reads and writes in one request."""

_SERVER = Path(__file__).with_name("server.py")
_LOAD_SECONDS = 300.0
"""A child that has not loaded its file by then is given up."""


@dataclass(slots=True)
class _Child:
    """One running child process."""

    process: subprocess.Popen[bytes]
    endpoint: Endpoint

    @property
    def alive(self) -> bool:
        return self.process.poll() is None


class Speaker:
    """Starts, talks to and stops the child that holds one GGUF file.

    Parameters
    ----------
    gguf
        The file. It is looked at when the child starts.
    alias
        What the model is called in requests and answers.
    """

    def __init__(self, gguf: Path, alias: str) -> None:
        self.gguf = gguf
        self.alias = alias
        self._new_locks()
        self._child: _Child | None = None
        self._users = 0
        self._timer: threading.Timer | None = None
        _SPEAKERS.add(self)

    def _new_locks(self) -> None:
        self._starting = threading.Lock()  # held while a child starts or stops: seconds
        self._counting = threading.Lock()  # held for moments

    @property
    def process_id(self) -> int | None:
        """The child's process id; None while there is none."""
        child = self._child
        return child.process.pid if child is not None and child.alive else None

    async def start(self) -> None:
        """Start the child if there is none, without blocking the loop.

        Raises
        ------
        LocalModelMissing
            If the runtime is not installed or cannot run here, or the file is no model.
        """
        await _off_loop(self._running)

    async def chat(self, body: dict[str, Any], *, idle_seconds: float) -> AsyncIterator[Event]:
        """Yield the model's answer to an OpenAI-shaped chat request as it comes.

        Closing the iterator closes the connection, and the child stops generating.

        Raises
        ------
        LocalModelMissing
            As `start`.
        BadRequest
            If the child cannot take the request, for example when it is too long.
        ConnectionFailed, StreamTruncated
            If the child dies, before or after the first piece of the answer.
        """
        import httpx2

        request = {**body, "model": self.alias}
        with self._in_use(idle_seconds):
            for attempt in (1, 2):
                child = await _off_loop(self._running)
                began = False
                try:
                    async for event in exchange(child.endpoint, request):
                        began = True
                        yield event
                except httpx2.TransportError as error:
                    await _off_loop(functools.partial(self._give_up, child))
                    if began or attempt == 2:  # noqa: PLR2004 (one more try, then it is the request)
                        raise broken(self.alias, error, began=began) from error
                else:
                    return

    def stop(self) -> None:
        """End the child, if there is one. The next request starts another."""
        with self._starting:
            child, self._child = self._child, None
        if child is not None:
            _end(child.process)

    @contextlib.contextmanager
    def _in_use(self, idle_seconds: float) -> Iterator[None]:
        with self._counting:
            self._users += 1
        try:
            yield
        finally:
            with self._counting:
                self._users -= 1
            self._stop_later(idle_seconds)

    def _stop_later(self, idle_seconds: float) -> None:
        with self._counting:
            if self._timer is not None:
                self._timer.cancel()
            if self._users or idle_seconds == float("inf"):
                return
            self._timer = threading.Timer(idle_seconds, self._stop_if_idle)
            self._timer.daemon = True
            self._timer.start()

    def _stop_if_idle(self) -> None:
        with self._starting:
            with self._counting:
                if self._users:
                    return
            child, self._child = self._child, None
        if child is not None:
            _end(child.process)

    def _give_up(self, child: _Child) -> None:
        with self._starting:
            if self._child is child:
                self._child = None
        _end(child.process)

    def _running(self) -> _Child:
        """Return the running child, started now if need be. Blocks until its model is loaded."""
        with self._starting:
            if self._child is None or not self._child.alive:
                self._child = self._launch()
            return self._child

    def _launch(self) -> _Child:
        if not sys.executable:
            raise self._missing("This Python does not know its own program file.", "")
        key = secrets.token_hex(16)
        config = {
            "gguf": str(self.gguf.resolve()),
            "alias": self.alias,
            "key": key,
            "threads": thread_count(),
            "context_tokens": CONTEXT_TOKENS,
            "sys_path": [os.path.abspath(folder) for folder in sys.path],  # noqa: PTH100 ("" too)
        }
        # -P: the folder of server.py holds modules with names such as model and status.
        process = subprocess.Popen(  # noqa: S603 (our own program, no shell)
            [sys.executable, "-P", str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            **_apart(),
        )
        guard = threading.Timer(_LOAD_SECONDS, process.kill)
        guard.daemon = True
        guard.start()
        try:
            said = _first_line(process, config)
        except BaseException:
            _end(process)
            raise
        finally:
            guard.cancel()
        if "address" not in said:
            _end(process)
            raise self._not_started(said, process.returncode)
        return _Child(process, Endpoint(said["address"], key))

    def _not_started(self, said: dict[str, Any], code: int | None) -> LocalModelMissing:
        error = str(said.get("error", ""))
        if "libgomp" in error:
            return self._missing(
                "The runtime of the built-in model (xllamacpp) needs the system library"
                " libgomp.so.1, which is not installed.",
                "run `apt-get install -y libgomp1` (or your system's package of that library).",
            )
        if said.get("kind") in {"ImportError", "ModuleNotFoundError", "OSError"}:
            return self._missing(
                f"The runtime of the built-in model (xllamacpp) cannot be imported: {error[:300]}.",
                RUNTIME_FIX,
            )
        reason = error[:300] or f"its process ended with code {code}"
        return self._missing(
            f"The model file {self.gguf} cannot be loaded: {reason}",
            "check that it is a whole GGUF file that llama.cpp can read.",
        )

    def _missing(self, problem: str, fix: str) -> LocalModelMissing:
        return LocalModelMissing(problem, fix=fix, provider="local", model=self.alias)

    def _after_fork(self) -> None:
        """Forget the parent's child: this is a fork, and the child is not ours."""
        child, self._child = self._child, None
        self._new_locks()
        self._users, self._timer = 0, None
        if child is not None:
            child.process.returncode = 0  # not ours to wait for
            if child.process.stdin is not None:
                # While a fork holds this open, the child would not see the kernel's death by it.
                child.process.stdin.close()


_SPEAKERS: weakref.WeakSet[Speaker] = weakref.WeakSet()
_shared: dict[tuple[Path, str], Speaker] = {}
_sharing = threading.Lock()


def speaker_for(gguf: Path, alias: str) -> Speaker:
    """Return the process's one speaker for `gguf`, so that a file is held in memory once."""
    with _sharing:
        if (gguf, alias) not in _shared:
            _shared[gguf, alias] = Speaker(gguf, alias)
        return _shared[gguf, alias]


def thread_count() -> int:
    """Return how many threads to generate with.

    Two threads on two cores wait for each other by spinning: on a busy machine that is 20 to 60
    times slower than one.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return 1 if not cores or cores <= 2 else min(4, cores // 2)  # noqa: PLR2004 (see above)


@atexit.register
def stop_all() -> None:
    """End every child of this process."""
    for speaker in list(_SPEAKERS):
        speaker.stop()


def _after_fork() -> None:
    global _sharing  # noqa: PLW0603 (another thread may have held it when the fork happened)
    _sharing = threading.Lock()
    for speaker in list(_SPEAKERS):
        speaker._after_fork()  # noqa: SLF001 (this module's own class)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _apart() -> dict[str, Any]:
    """Return what keeps a child out of reach of the kernel's interrupts."""
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        return {"creationflags": flags}
    return {"start_new_session": True}


def _first_line(process: subprocess.Popen[bytes], config: dict[str, Any]) -> dict[str, Any]:
    """Hand over `config` and return what the child says; ``{}`` if it ends without a word."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")
    try:
        process.stdin.write(json.dumps(config).encode() + b"\n")
        with process.stdout as stdout:
            said = json.loads(stdout.readline() or b"{}")
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    with contextlib.suppress(OSError):
        process.terminate()
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


async def _off_loop(work: Callable[[], T]) -> T:
    """Run `work` on a thread that nobody waits for when Python exits, unlike `to_thread`'s."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():  # cancelled: nobody wants it any more
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value: T | None = None
        error: BaseException | None = None
        try:
            value = work()
        except BaseException as caught:  # noqa: BLE001 (handed over whole)
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop was closed in the meantime
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="agentcell-local", daemon=True).start()
    return await future
