"""A real ipykernel in a process of its own, asked and answered in one call."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

SHOWS = {"stream", "display_data", "update_display_data", "execute_result", "error"}


@dataclass
class Ran:
    """What one cell did, its outputs as a front end would save them."""

    status: str = ""
    outputs: list[dict[str, Any]] = field(default_factory=list)
    ename: str = ""
    evalue: str = ""
    traceback: str = ""
    seconds: float = 0.0
    messages: int = 0
    """How many messages carried output."""
    payload: list[dict[str, Any]] = field(default_factory=list)
    """What `set_next_input` and the pager sent."""

    _shown: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _clear_next: bool = False

    @property
    def text(self) -> str:
        """All that the cell shows, as plain text."""
        return "\n".join(map(_plain, self.outputs))

    def data(self, mime_type: str) -> list[Any]:
        """Return each output's `mime_type` part, where it has one."""
        parts = [output.get("data", {}) for output in self.outputs]
        return [part[mime_type] for part in parts if mime_type in part]

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """Add one message from the kernel, as JupyterLab does."""
        if kind == "clear_output":
            self._clear_next = content["wait"]
            if not self._clear_next:
                self.outputs.clear()
        elif kind == "update_display_data":
            self.messages += 1
            for output in self._shown.get(content["transient"]["display_id"], []):
                output.update(data=content["data"], metadata=content["metadata"])
        elif kind in SHOWS:
            self.messages += 1
            self._add({"output_type": kind, **content})

    def _add(self, output: dict[str, Any]) -> None:
        if self._clear_next:
            self.outputs.clear()
            self._clear_next = False
        if display_id := output.pop("transient", {}).get("display_id"):
            self._shown.setdefault(display_id, []).append(output)
        last = self.outputs[-1] if self.outputs else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            self.outputs.append(output)


def _plain(output: dict[str, Any]) -> str:
    match output["output_type"]:
        case "stream":
            return str(output["text"])
        case "error":
            return "\n".join(output["traceback"])
        case _:
            return str(output["data"].get("text/plain", ""))


class Kernel:
    """One running kernel. `run` waits for a cell; `start` and `finish` do so in two steps."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client
        self._started: dict[str, float] = {}

    @property
    def pid(self) -> int:
        """The kernel's process."""
        pid: int = self.manager.provisioner.pid  # type: ignore[union-attr]
        return pid

    def run(self, code: str, timeout: float = 60, *, cell_id: str = "") -> Ran:
        """Run one cell to its end. `timeout` is in seconds."""
        return self.finish(self.start(code, cell_id=cell_id), timeout)

    def start(self, code: str, *, cell_id: str = "") -> str:
        """Send a cell and return at once, with its name for `finish`.

        `cell_id` is what JupyterLab says with each run of the same cell.
        """
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        message = self.client.session.msg(
            "execute_request", {**content, "allow_stdin": False, "stop_on_error": False}
        )
        message["metadata"] = {"cellId": cell_id} if cell_id else {}
        self.client.shell_channel.send(message)
        sent = str(message["header"]["msg_id"])
        self._started[sent] = time.monotonic()
        return sent

    def until_output(self, cell: str, timeout: float = 60) -> None:
        """Wait until `cell` has shown something. `finish` will not see that message again."""
        end = time.monotonic() + timeout
        while True:
            message = self._next_output(end)
            if message["parent_header"].get("msg_id") == cell and message["msg_type"] in SHOWS:
                return

    def finish(self, cell: str, timeout: float = 60) -> Ran:
        """Wait for a cell that was started, and return what it did.

        Raises
        ------
        TimeoutError
            If it still runs after `timeout` seconds.
        """
        ran = Ran()
        end = time.monotonic() + timeout
        while True:
            message = self._next_output(end)
            if message["parent_header"].get("msg_id") != cell:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            ran.take(kind, content)
        ran.seconds = time.monotonic() - self._started.pop(cell)
        reply = self._reply(cell, timeout)
        ran.status, ran.payload = reply["status"], reply.get("payload", [])
        ran.ename, ran.evalue = reply.get("ename", ""), reply.get("evalue", "")
        ran.traceback = "\n".join(reply.get("traceback", []))
        return ran

    def interrupt(self) -> None:
        """Do what the Stop button does."""
        self.manager.interrupt_kernel()

    def complete(self, code: str, cursor: int | None = None) -> list[str]:
        """Return what Tab offers at `cursor` (default: the end)."""
        asked = self.client.complete(code, len(code) if cursor is None else cursor)
        matches: list[str] = self._reply(asked, 20)["matches"]
        return matches

    def inspect(self, code: str, cursor: int | None = None) -> str:
        """Return what Shift-Tab shows at `cursor`, as plain text; empty if nothing."""
        asked = self.client.inspect(code, len(code) if cursor is None else cursor)
        return str(self._reply(asked, 20)["data"].get("text/plain", ""))

    def _next_output(self, end: float) -> dict[str, Any]:
        try:
            message: dict[str, Any] = self.client.get_iopub_msg(
                timeout=max(0.01, end - time.monotonic())
            )
        except Empty:
            raise TimeoutError("the cell still runs") from None
        return message

    def _reply(self, asked: str, timeout: float) -> dict[str, Any]:
        while True:
            reply = self.client.get_shell_msg(timeout=timeout)
            if reply["parent_header"].get("msg_id") == asked:
                content: dict[str, Any] = reply["content"]
                return content


@contextmanager
def running(folder: Path, env: dict[str, str] | None = None) -> Iterator[Kernel]:
    """Start a kernel in `folder`, under this Python, and end it afterwards.

    It does not know that a test runs, nor that it does so unattended: with such a variable in its
    environment, ipykernel and the magics would show outputs in another way than a person sees
    them, and ask for nothing.
    """
    manager = KernelManager(kernel_name="python3")
    hidden = {"PYTEST_CURRENT_TEST", "CI"}
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    manager.start_kernel(
        extra_arguments=["--log-level=ERROR"],  # no notice that loopback is not encrypted
        cwd=str(folder),
        env={**inherited, **(env or {})},
    )
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        if manager.is_alive():
            manager.shutdown_kernel(now=False)
        manager.cleanup_resources()
