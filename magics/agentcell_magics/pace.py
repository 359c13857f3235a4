"""How long an answer is and how fast it comes, to when its display may be updated again.

Each update carries the whole text. Sent for every token, a long answer would fill the host's
channel: messages are lost, the last one included, and the page lags behind by a minute.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

SHORTEST_WAIT = 1 / 15
"""Seconds between updates, at least."""

MOST_TIMES = 4.6
"""How often a fast answer's own length may go out, all told."""

MESSAGE_BYTES = 900
"""What a message weighs besides its data: names, headers, the request that it belongs to."""

CELL_BYTES = 6_000
"""What a cell sends besides its answer: its state, its number, what is waited for, the footer."""

FIRST_BYTES = 4_000
"""What may always go out: the first words are to be seen at once."""

SLOW, FAST = 400, 1_200
"""Bytes of text in a second: people read along with the one and wait for the end of the other."""

SLOW_BYTES_PER_SECOND = 24_000
"""What a slow answer's updates may send besides; for one that comes fast it is `MOST_TIMES`."""

_DRAWING_SHARE = 0.1
"""How much of its time a kernel spends on updates, at most."""


class Pace:
    """Says when the display of one answer may be updated again."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._last = 0.0
        self._sent_bytes = 0
        self._share = 1.0
        self._drawing = (0.0, 0.0)

    def is_time(self, text_bytes: int) -> bool:
        """Whether an update may go out now.

        Parameters
        ----------
        text_bytes
            Of the answer until now, as UTF-8.
        """
        now = time.monotonic()
        if self._began is None:
            self._began = now
        if now - self._last < max(SHORTEST_WAIT, min(self._drawing) / _DRAWING_SHARE):
            return False
        seconds = max(now - self._began, SHORTEST_WAIT)
        update = self._share * text_bytes
        at_the_end = update + text_bytes + CELL_BYTES
        slowness = min(1.0, max(0.0, (FAST - text_bytes / seconds) / (FAST - SLOW)))
        allowed = max(FIRST_BYTES, MOST_TIMES * text_bytes - at_the_end)
        allowed += slowness * SLOW_BYTES_PER_SECOND * seconds
        return self._sent_bytes + update + MESSAGE_BYTES <= allowed

    def sent(self, texts: Iterable[str], text_bytes: int, drawing: float = 0.0) -> None:
        """Take note of an update.

        Parameters
        ----------
        texts
            What it carried.
        text_bytes
            Of the answer until now, as UTF-8.
        drawing
            Seconds that it took to make.
        """
        self._last = time.monotonic()
        weight = sum(map(_weight, texts))
        self._sent_bytes += weight + MESSAGE_BYTES
        self._share = weight / max(1, text_bytes)
        self._drawing = (self._drawing[1], drawing)  # of the first one much was loading


def utf8_bytes(text: str) -> int:
    """Return how many bytes a text takes, also one with halves of characters."""
    return len(text.encode("utf-8", "surrogatepass"))


def _weight(text: str) -> int:
    """Return the bytes of a text in a message, in which line ends and quotes take two."""
    return utf8_bytes(text) + sum(map(text.count, '\n"\\'))
