"""An answer's pieces, to one display of Markdown that grows no faster than hosts can take."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import Any

from agentcell.safe_text import marked, plain, safe_markdown
from agentcell_magics.cards import Bundle, line
from agentcell_magics.pace import Pace, utf8_bytes


def show(data: Bundle, metadata: Bundle | None = None, **options: Any) -> Any:
    """Display a bundle as it is; `Markdown(text)` would open a text that names a file."""
    from IPython.display import display

    return display(data, metadata=metadata or {}, raw=True, **options)


def answer_bundle(text: str, tags: Iterable[str] = ()) -> Bundle:
    """Return an answer's bundle: native Markdown on every host, its tags marked, and its source."""
    return {"text/markdown": marked(safe_markdown(text), tags), "text/plain": plain(text)}


class LiveAnswer:
    """One display for one answer.

    Parameters
    ----------
    updates
        Whether the display may be updated; if not, it is shown once, at the end.
    prints
        Whether pieces are printed as they come, as a terminal needs it.
    tags
        Names of attachments, to be marked where the answer mentions them.
    """

    def __init__(self, *, updates: bool, prints: bool = False, tags: Iterable[str] = ()) -> None:
        self._tags = tuple(tags)
        self._updates = updates and not prints
        self._prints = prints
        self._handle: Any = None
        self._text: list[str] = []
        self._bytes = 0
        self._pace = Pace()

    @property
    def text(self) -> str:
        """All that came until now."""
        return "".join(self._text)

    def given_up(self) -> Any:
        """Return the handle of the display, None if there is none yet; another takes its place."""
        handle, self._handle = self._handle, None
        return handle

    def status(self, said: str) -> None:
        """Say what is waited for, in the answer's place, until the answer begins."""
        if self._updates and not self._text:
            self._send(line(said))

    def add(self, piece: str) -> None:
        """Add a piece and show it when it is time."""
        self._text.append(piece)
        self._bytes += utf8_bytes(piece)
        if self._prints:
            print(plain(piece), end="", flush=True)  # noqa: T201 (a terminal has no displays)
        elif self._updates and self._pace.is_time(self._bytes):
            began = time.monotonic()
            markdown = marked(safe_markdown(self.text), self._tags)
            self._send({"text/markdown": markdown})
            self._pace.sent([markdown], self._bytes, time.monotonic() - began)

    def finish(self, metadata: Bundle | None = None, note: str = "") -> None:
        """Show the last state; `note` stands for the answer where there is none."""
        text = self.text
        if self._prints:
            print("" if text.strip() else note)  # noqa: T201
            return
        bundle = answer_bundle(text, self._tags) if text.strip() else line(note)
        if text.strip() or note:
            self._send(bundle, {"agentcell": metadata or {}})

    def _send(self, data: Bundle, metadata: Bundle | None = None) -> None:
        if not self._updates:
            show(data, metadata)
        elif self._handle is None:
            self._handle = show(data, metadata, display_id=uuid.uuid4().hex)
        else:
            self._handle.update(data, metadata=metadata or {}, raw=True)
