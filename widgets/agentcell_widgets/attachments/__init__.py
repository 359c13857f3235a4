"""A session's attachments -> a panel of cards, each with a button that takes it out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import anywidget
import traitlets

from agentcell.assets.preview import preview
from agentcell.errors import AgentcellError
from agentcell.messages import MediaMessageBlock
from agentcell.safe_text import as_html, plain

__all__ = ["AttachmentsPanel"]

_HERE = Path(__file__).parent

THUMBNAIL_SIDE = 192
"""Pixels of a thumbnail's longer side: twice what the panel shows, for sharp screens."""

EMPTY = "No attachments yet."


class AttachmentsSource(Protocol):
    """What the panel needs of a session."""

    @property
    def attachments(self) -> tuple[MediaMessageBlock, ...]:
        """All attachments that a model may be given."""

    def on_change(self, callback: Callable[[], None], /) -> Callable[[], None]:
        """Call `callback` after every change; return what ends that."""

    def forget(self, tag: str, /) -> object:
        """Let the attachment of that tag never go out again."""


class AttachmentsPanel(anywidget.AnyWidget):
    """Shows what a session has attached, and lets a person take it out again.

    Parameters
    ----------
    session
        A `Session`, or anything with its `attachments`, `on_change` and `forget`.

    Notes
    -----
    Traits shared with ``attachments.js``, both owned by Python:

    - `cards`: one dict for each attachment: ``tag``, ``name``, ``detail`` and, where there is a
      picture to show, ``alt``, ``mime_type`` and ``thumbnail`` (the bytes of its file).
    - `notice`: one sentence on the last thing that happened; read aloud by screen readers.

    The browser sends ``{"kind": "forget", "tag": str}`` and gets ``{"kind": "done"}``. Where no
    widget can be drawn, the output holds the same list as HTML and as text.
    """

    _esm = _HERE / "attachments.js"
    _css = _HERE / "attachments.css"

    cards = traitlets.List(traitlets.Dict()).tag(sync=True)
    notice = traitlets.Unicode().tag(sync=True)

    _unsubscribe: Callable[[], None] | None = None

    def __init__(self, session: AttachmentsSource) -> None:
        super().__init__()
        self._session = session
        self.on_msg(self._receive)
        self._unsubscribe = session.on_change(self._refresh)
        self._refresh()

    def close(self) -> None:
        """End the panel: it disappears, and the session no longer tells it of changes."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        super().close()

    def __repr__(self) -> str:
        lines = [f"{plain(block.tag)} {plain(block.asset.describe())}" for block in self._blocks()]
        return "\n".join(lines) or EMPTY

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/html"] = self._static_html()
        return bundle

    def _blocks(self) -> tuple[MediaMessageBlock, ...]:
        return self._session.attachments

    def _refresh(self) -> None:
        self.cards = [_card(block) for block in self._blocks()]

    def _receive(self, _panel: object, content: object, _buffers: object) -> None:
        """Take a message from the browser. It comes from outside: nothing of it is trusted."""
        if not isinstance(content, dict) or content.get("kind") != "forget":
            return
        tag = str(content.get("tag"))
        try:
            self._session.forget(tag)
        except AgentcellError as error:  # shown here: a callback has no cell of its own
            self.notice = error.problem
        else:
            self.notice = f"{plain(tag)} is removed; the model will not be given it again."
        self.send({"kind": "done"})

    def _static_html(self) -> str:
        """Return the list without its pictures: those are saved once, under the cells."""
        items = "".join(
            f"<li><strong>{as_html(block.tag)}</strong> {as_html(block.asset.describe())}</li>"
            for block in self._blocks()
        )
        return f"<ul>{items}</ul>" if items else f"<p>{EMPTY}</p>"


def _card(block: MediaMessageBlock) -> dict[str, Any]:
    card: dict[str, Any] = {
        "tag": block.tag,
        "name": plain(block.description or block.field_name),
        "detail": plain(block.asset.describe()),
    }
    if shown := preview(block.asset, max_side=THUMBNAIL_SIDE):
        card |= {"alt": plain(shown.alt), "mime_type": shown.mime_type, "thumbnail": shown.data}
    return card
