"""A panel's content as a reader without a kernel sees it -> outputs of the cell, kept up to date.

A widget is no record: a reopened notebook shows it as an error, or not at all. So a panel has a
second output below it, which holds the same in words. While the panel lives, its own style hides
that output where the host's page allows it (`panel.css`); else it stands below the panel.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agentcell.card import NO_MATHS_CLASSES
from agentcell.safe_text import as_html, as_literal
from agentcell.wording import say

Bundle: TypeAlias = dict[str, Any]

_CLASSES = f"agentcell-static {NO_MATHS_CLASSES}"
"""Two prices are no formula, whoever draws formulas in the page."""

_BYTES_OF_A_LINE = 10
"""Its indent, quotes and comma: nbformat writes a list of lines."""

_MOST_SHOWN = 4
"""Places in which one panel is shown and kept up to date: the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Static:
    """What a panel shows, as it reads anywhere.

    Parameters
    ----------
    html
        Made safe; readable with every style stripped. No script, no id, no base64.
    markdown
        Made safe.
    text
        Without terminal codes.
    picture
        Data and metadata of a picture that stands below it; `NO_PICTURE` as long as there is
        none. None: of a panel that never has one.
    """

    html: str
    markdown: str
    text: str
    picture: tuple[Bundle, Bundle] | None = None

    def bundle(self) -> Bundle:
        """Return it as a display's data."""
        return {
            "text/html": f'<div class="{_CLASSES}">{self.html}</div>',
            "text/markdown": self.markdown,
            "text/plain": self.text,
        }


def weight(text: str) -> int:
    """Return about how many bytes a text takes in a notebook's file.

    Parameters
    ----------
    text
        Part of an output.
    """
    lines = text.count("\n") * _BYTES_OF_A_LINE
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) + lines


MOST_ROWS_BYTES = 40_000
"""Bytes that a list leaves in a notebook, in all forms together."""


def that_fit(rows: Sequence[tuple[str, ...]]) -> int:
    """Return how many of the first rows a notebook keeps; the first in any case.

    Parameters
    ----------
    rows
        Each in the three forms of a `Static`.
    """
    room = MOST_ROWS_BYTES
    for count, row in enumerate(rows):
        room -= sum(map(weight, row))
        if room < 0:
            return max(1, count)
    return len(rows)


NO_PICTURE: Final[tuple[Bundle, Bundle]] = (
    {"text/html": '<div class="agentcell-static"></div>', "text/plain": ""},
    {},
)


class StaticOutputs:
    """The outputs that tell of one panel: the panel itself, and its content in words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handles: deque[tuple[Any, Any, Any]] = deque(maxlen=_MOST_SHOWN)
        self._last: Bundle = {}
        self._last_picture: tuple[Bundle, Bundle] | None = None

    def show(self, view: Bundle, metadata: Bundle, static: Static) -> None:
        """Display the panel, and its content below it.

        Parameters
        ----------
        view, metadata
            The widget's own data; what is beside the view reads where no widget can be drawn.
        static
            Its content now.
        """
        from IPython.display import display

        with self._lock:
            self._last, self._last_picture = static.bundle(), static.picture
            options = {"raw": True, "display_id": True}
            live = display(view, metadata=metadata, **options)
            below = display(self._last, **options)
            pictured = None
            if static.picture is not None:
                data, facts = static.picture
                pictured = display(data, metadata=facts, **options)
            if live is not None and below is not None:
                self._handles.append((live, below, pictured))

    def update(self, static: Static) -> None:
        """Let the outputs hold what the panel shows now; nothing is sent if they do."""
        bundle = static.bundle()
        with self._lock:
            if self._handles and bundle != self._last:
                self._last = bundle
                for _, below, _ in self._handles:
                    below.update(bundle, raw=True)
            if (
                self._handles
                and static.picture is not None
                and static.picture != self._last_picture
            ):
                self._last_picture = static.picture
                data, facts = static.picture
                for *_, pictured in self._handles:
                    if pictured is not None:
                        pictured.update(data, metadata=facts, raw=True)

    def close(self, title: str, static: Static) -> None:
        """Put a line in the panel's own place; the content below it stays."""
        self.update(static)
        line = closed_line(title)
        with self._lock:
            for live, *_ in self._handles:
                live.update(line, raw=True)
            self._handles.clear()

    @property
    def is_shown(self) -> bool:
        """Whether there are any."""
        return bool(self._handles)


def beside_view(title: str) -> Bundle:
    """Return what stands for the panel where no widget can be drawn; its content comes below."""
    return _line(say("{panel}: it works where a kernel runs; this is what it showed.", panel=title))


def closed_line(title: str) -> Bundle:
    """Return what stands in the place of a panel that was closed."""
    return _line(say("{panel}: closed.", panel=title))


def _line(text: str) -> Bundle:
    return {
        "text/html": f"<p><small>{as_html(text)}</small></p>",
        "text/markdown": as_literal(text),
        "text/plain": text,
    }
