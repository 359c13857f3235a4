"""Keys, to where any run of their characters stands in a text; fast enough for 20 MB in a second.

A trace is a run of `RUN` characters of a key's secret part (what follows the prefix that all keys
of its kind share), as it is or as Base64 at any of its three alignments. In encoded data, where
every run of six comes up by chance sooner or later, it is a run of `LONG_RUN`.

How: a run of six bytes holds a whole word of four at an even place, and a run of twelve a whole
word of eight at every fourth. So words are read straight from memory and looked up in a set;
only what is in it is compared in full.
"""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from agentcell.keys.shapes import without_prefix

RUN = 6
"""Characters of a key that are one too many to be seen."""

LONG_RUN = 12
"""The same in encoded data: 64 ** 6 and 16 ** 6 are small beside a picture's length, 16 ** 12 is
not."""

_ENCODED = re.compile(
    rb"(?<![A-Za-z0-9+/=_-])(?:(?:[A-Za-z0-9+/=_-]{60,}(?:\r?\n)?){4,}"
    rb"|[0-9a-f]{8}[0-9a-f-]{24,}(?![A-Za-z0-9+/=_]))"
)
"""Stretches that no prose, code or log holds: Base64 data, whole or in lines, and digests and ids
in hexadecimal."""

_SHORTEST_ENCODED = 32

_COMMON = "T3BlbkFJ"
"""Stands in the middle of every key of OpenAI's that is not of the newest kind."""

_CHUNK = 1 << 15
"""Bytes that are searched together: where a word is met by chance, so little is compared again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What to look for, made once from keys by name.

    Parameters
    ----------
    short, long
        Runs and whose they are, by each word of four or eight bytes that they hold.
    """

    short: Mapping[int, tuple[tuple[bytes, str], ...]] = field(repr=False)
    long: Mapping[int, tuple[tuple[bytes, str], ...]] = field(repr=False)
    _words: frozenset[int] = field(repr=False)
    _long_words: frozenset[int] = field(repr=False)
    _brief: tuple[tuple[bytes, str, int], ...] = field(repr=False)
    """Keys that are shorter than a run, and the run: the whole of them is looked for."""

    @classmethod
    def of(cls, keys: Mapping[str, str]) -> Traces:
        """Return what to look for: keys by the names that are to be told."""
        short: dict[int, list[tuple[bytes, str]]] = {}
        long: dict[int, list[tuple[bytes, str]]] = {}
        brief: list[tuple[bytes, str, int]] = []
        for name, value in keys.items():
            secret = without_prefix(value.strip()).encode()
            brief += [(secret, name, run) for run in (RUN, LONG_RUN) if 3 < len(secret) < run]  # noqa: PLR2004
            for run in _runs(secret, RUN):
                _add(short, run, name, 4)
            for run in _runs(secret, LONG_RUN):
                _add(long, run, name, 8)
            for encoded in _as_base64(secret):
                for run in _runs(encoded, _in_base64(RUN)):
                    _add(short, run, name, 4)
                for run in _runs(encoded, _in_base64(LONG_RUN)):
                    _add(long, run, name, 8)
        return cls(
            short={word: tuple(runs) for word, runs in short.items()},
            long={word: tuple(runs) for word, runs in long.items()},
            _words=frozenset(short),
            _long_words=frozenset(long),
            _brief=tuple(brief),
        )

    def in_text(self, text: bytes) -> set[str]:
        """Return whose key has a trace in `text`; in encoded stretches a long one counts."""
        found: set[str] = set()
        place = 0
        for encoded in _ENCODED.finditer(text) if len(text) >= _SHORTEST_ENCODED else ():
            found |= self._search(text[place : encoded.start()], RUN)
            place = encoded.end()
            found |= self._search(encoded.group(), LONG_RUN)
        return found | self._search(text[place:] if place else text, RUN)

    def in_data(self, data: bytes) -> set[str]:
        """Return whose key has a long trace in `data`, which is a picture or other data."""
        return self._search(data, LONG_RUN)

    def _search(self, text: bytes, run: int) -> set[str]:
        found = {name for secret, name, of_run in self._brief if of_run == run and secret in text}
        if not (self._words if run == RUN else self._long_words):
            return found
        longest = _in_base64(LONG_RUN)
        for start in range(0, len(text), _CHUNK):
            # The next chunk's beginning comes along, for runs that reach into it.
            chunk = text[start : start + _CHUNK + longest]
            found |= self._in_chunk(chunk, run)
        return found

    def _in_chunk(self, chunk: bytes, run: int) -> set[str]:
        size, step, words, runs = 4, 2, self._words, self.short
        if run != RUN:
            size, step, words, runs = 8, 4, self._long_words, self.long
        view = memoryview(chunk + b" " * (size + step))
        met: set[int] = set()
        for first in range(0, size, step):
            whole = (len(view) - first) // size * size
            part = view[first : first + whole]
            met |= words.intersection(part.cast("I") if run == RUN else part.cast("Q"))
        return {name for word in met for text, name in runs[word] if text in chunk}


def _runs(text: bytes, length: int) -> Iterator[bytes]:
    for start in range(len(text) - length + 1):
        run = text[start : start + length]
        if run.decode("ascii", "replace") not in _COMMON:
            yield run


def _in_base64(length: int) -> int:
    """Return how many characters hold nothing but bits of `length` bytes, at any alignment."""
    return (length * 8 - 4) // 6


def _as_base64(secret: bytes) -> Iterable[bytes]:
    """Return the characters that Base64 makes of `secret` alone, whatever stands around it."""
    found = set()
    for before in range(3):
        encoded = b64encode(b"\0" * before + secret)
        first = (0, 2, 3)[before]
        # The last characters hold bits of what follows.
        last = (before + len(secret)) * 8 // 6
        kept = encoded[first:last]
        found |= {kept, kept.translate(_URL_SAFE)}
    return found


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def _add(table: dict[int, list[tuple[bytes, str]]], run: bytes, name: str, size: int) -> None:
    """Enter `run` under every word that it holds."""
    for start in range(len(run) - size + 1):
        word = int.from_bytes(run[start : start + size], sys.byteorder)
        entry = (run, name)
        runs = table.setdefault(word, [])
        if entry not in runs:
            runs.append(entry)


def without_traces(text: str, key: str, stand_in: str) -> str:
    """Return `text` with every stretch of six or more characters of `key` replaced.

    Parameters
    ----------
    text
        What a service said, for example; short.
    stand_in
        What takes the stretch's place.
    """
    secret = without_prefix(key)
    if len(secret) < RUN:
        return text
    runs = {secret[start : start + RUN] for start in range(len(secret) - RUN + 1)}
    if not any(run in text for run in runs):
        return text
    pieces: list[str] = []
    place = 0
    while place < len(text):
        if text[place : place + RUN] not in runs:
            pieces.append(text[place])
            place += 1
            continue
        end = place + RUN
        while text[end - RUN + 1 : end + 1] in runs and end < len(text):
            end += 1
        pieces.append(stand_in)
        place = end
    return "".join(pieces)
