"""A panel without a page: tests speak for the browser and read what would reach it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentcell_widgets.panel import Panel

GUARD = 20.0
"""Seconds after which a test gives up."""


class Page:
    """One view of a panel: `ask` waits for the reply, `events` keeps what Python told."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        self._came = threading.Condition()
        self._numbers = itertools.count(1)
        panel.send = self._take

    def _take(self, content: dict[str, Any], buffers: Any = None) -> None:
        with self._came:
            self.sent.append((content, [bytes(one) for one in buffers or ()]))
            self._came.notify_all()

    def post(self, kind: str, payload: object = None, buffers: Any = (), name: str = "") -> None:
        """Send a message and wait for nothing."""
        content = {"kind": kind, "id": name, "payload": {} if payload is None else payload}
        self.panel._handle_custom_msg(content, list(buffers))  # noqa: SLF001

    def reply(self, kind: str, payload: object = None, buffers: Any = ()) -> dict[str, Any]:
        """Send a message and return the whole reply."""
        name = f"test-{next(self._numbers)}"
        self.post(kind, payload, buffers, name)
        return self.wait(lambda content: content.get("id") == name)

    def ask(self, kind: str, payload: object = None, buffers: Any = ()) -> dict[str, Any]:
        """Send a message and return what it was answered."""
        reply = self.reply(kind, payload, buffers)
        assert reply["ok"], reply
        answered: dict[str, Any] = reply["payload"]
        return answered

    def refusal(self, kind: str, payload: object = None, buffers: Any = ()) -> str:
        """Send a message that is refused, and return why and what to do."""
        reply = self.reply(kind, payload, buffers)
        assert not reply["ok"], reply
        return f"{reply['problem']} {reply['fix']}"

    def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first message to the page of that sort, once it came."""
        with self._came:
            found: list[dict[str, Any]] = []

            def came() -> bool:
                found[:] = [content for content, _ in self.sent if wanted(content)]
                return bool(found)

            assert self._came.wait_for(came, GUARD), [content for content, _ in self.sent]
            return found[0]

    def event(self, kind: str, **facts: object) -> dict[str, Any]:
        """Return the first event of a kind whose payload holds `facts`, once it came."""
        found = self.wait(
            lambda content: (
                content["kind"] == kind
                and all(content["payload"].get(name) == value for name, value in facts.items())
            )
        )
        payload: dict[str, Any] = found["payload"]
        return payload

    def buffers_of(self, reply: Mapping[str, Any]) -> list[bytes]:
        """Return the bytes that came with a reply or an event."""
        return next(buffers for content, buffers in self.sent if content["payload"] is reply)

    def upload(
        self, data: bytes, name: str, *, piece: int = 1024 * 1024, **extra: object
    ) -> dict[str, Any]:
        """Send a file as the page does, and return the reply to its end."""
        upload = self.ask("upload-begin", {"name": name, "size": len(data)})["upload"]
        for offset in range(0, len(data), piece):
            payload = {"upload": upload, "offset": offset}
            self.ask("upload-piece", payload, [memoryview(data)[offset : offset + piece]])
        return self.reply("upload-end", {"upload": upload, **extra})


def uploads_left(folder: Path) -> list[Path]:
    """Return the files of uploads that lie in a temporary folder."""
    return sorted(folder.glob("agentcell-upload-*"))
