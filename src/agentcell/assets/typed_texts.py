"""What a person typed → whether a path stands in it, whole and by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST_CHARACTERS = 2_000_000
"""Of all texts that are remembered; the oldest go first."""

_MOST_PLACES = 1_000
"""As many places of one text are looked at where a path's letters stand."""

_BREAK = re.compile(r"[\s\"'`“”‘’()\[\]{}<>,;|]")
"""What cannot be a part of the same path: blanks, quotes, brackets."""

_IN_A_NAME = re.compile(r"[A-Za-z0-9_.~%+-]")
_GOES_ON = re.compile(r"[A-Za-z0-9_~%+/\\-]|\.+[A-Za-z0-9_/\\]")
"""What makes a longer name of it: ``/a/b.png`` is not meant by ``/a/b.png.bak``."""


class TypedTexts:
    """Remembers the texts that a person typed, with the folder that was current then."""

    def __init__(self) -> None:
        self._texts: dict[str, Path | None] = {}
        self._size = 0

    def add(self, text: str) -> None:
        """Remember `text`.

        Parameters
        ----------
        text
            As it was typed, before anything was put into it.
        """
        if text in self._texts:
            self._size -= len(text)
            del self._texts[text]
        self._texts[text] = _current()
        self._size += len(text)
        while self._size > MOST_CHARACTERS and len(self._texts) > 1:
            oldest = next(iter(self._texts))
            del self._texts[oldest]
            self._size -= len(oldest)

    def hold(self, spellings: Iterable[str]) -> bool:
        """Whether one of `spellings` was typed.

        Parameters
        ----------
        spellings
            Of one path. A word without a dot and a slash is none.
        """
        texts = tuple(self._texts)
        paths = {one for one in spellings if re.search(r"[./\\]", one)}
        return any(_stands_in(text, path) for path in paths for text in texts)

    def folders(self, path: str) -> Iterator[Path]:
        """Yield the folders that were current when `path` was typed, the last first."""
        for text, folder in reversed(tuple(self._texts.items())):
            if folder is not None and _stands_in(text, path):
                yield folder


def _stands_in(text: str, path: str) -> bool:
    at = -1
    for _ in range(_MOST_PLACES):
        at = text.find(path, at + 1)
        if at < 0:
            return False
        backwards = text[max(0, at - 1_000) : at][::-1]
        found = _BREAK.search(backwards)
        before = backwards[: found.start()] if found else backwards
        begins = not re.search(r"[/\\~]", before) and not _IN_A_NAME.match(before)
        if begins and not _GOES_ON.match(text, at + len(path)):
            return True
    return False


def _current() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return None
