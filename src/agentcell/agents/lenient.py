"""Nearly JSON, as models write it → a Python value, and whether it had to be finished for them.

Taken beyond JSON: raw line breaks in texts, trailing and missing commas, single quotes, Python's
True, False and None, comments, unquoted keys, backslashes that escape nothing, and a text that
stops before its brackets are closed.
"""

from __future__ import annotations

import re
from typing import Any

MAX_DEPTH = 200
"""Levels of brackets that are read."""

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,400})(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,4})?")
_WORD = re.compile(r"[^\W\d][\w-]*")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\"}
_RUNS = {quote: re.compile(rf"[^\\{quote}]*") for quote in "\"'"}


class Lenient:
    """Reads one value from `text`, beginning at `at`.

    Attributes
    ----------
    at
        Where reading stopped.
    unfinished
        Whether the text ended before the value did.
    """

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at
        self.unfinished = False

    def value(self, depth: int = 0) -> Any:
        """Return the value that begins here.

        Raises
        ------
        ValueError
            If there is none.
        """
        self._skip()
        head = self.text[self.at : self.at + 1]
        if head and head in "{[":
            if depth >= MAX_DEPTH:
                raise ValueError("too many brackets")
            return self._object(depth) if head == "{" else self._array(depth)
        if head and head in "\"'":
            return self._text(head)
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return _as_number(number.group())
        word = _WORD.match(self.text, self.at)
        if word and word.group().lower() in _WORDS:
            self.at = word.end()
            return _WORDS[word.group().lower()]
        if not head:
            self.unfinished = True
            return None
        raise ValueError(f"no value at {self.at}")

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while not self._closes("}"):
            key = self._key()
            self._skip()
            if self.text[self.at : self.at + 1] in {":", "="}:
                self.at += 1
            elif self.at < len(self.text):
                raise ValueError(f"no colon at {self.at}")
            else:  # the text ended after a key: it says nothing
                self.unfinished = True
                break
            found[key] = self.value(depth + 1)
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        while not self._closes("]"):
            found.append(self.value(depth + 1))
        return found

    def _closes(self, bracket: str) -> bool:
        self._skip()
        while self.text[self.at : self.at + 1] == ",":
            self.at += 1
            self._skip()
        if self.at >= len(self.text):
            self.unfinished = True
            return True
        if self.text[self.at] == bracket:
            self.at += 1
            return True
        return False

    def _key(self) -> str:
        head = self.text[self.at]
        if head in "\"'":
            return self._text(head)
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise ValueError(f"no key at {self.at}")
        self.at = word.end()
        return word.group()

    def _text(self, quote: str) -> str:
        parts: list[str] = []
        self.at += 1
        while True:
            run = _RUNS[quote].match(self.text, self.at)
            assert run is not None  # noqa: S101 (the pattern matches nothing too)
            parts.append(run.group())
            self.at = run.end() + 1
            if run.end() >= len(self.text):
                self.unfinished = True
                return "".join(parts)
            if self.text[run.end()] == quote:
                return "".join(parts)
            parts.append(self._escape(quote))

    def _escape(self, quote: str) -> str:
        mark = self.text[self.at : self.at + 1]
        self.at += 1
        if mark == "u":
            digits = re.compile(r"[0-9a-fA-F]{4}").match(self.text, self.at)
            if digits:
                self.at = digits.end()
                return self._pair(chr(int(digits.group(), 16)))
        if mark == quote:
            return quote
        return _ESCAPES.get(mark, "\\" + mark)

    def _pair(self, first: str) -> str:
        """Return a character above U+FFFF, which JSON writes as two halves."""
        low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(self.text, self.at)
        if "\ud800" <= first <= "\udbff" and low:
            self.at = low.end()
            return (
                (first + chr(int(low.group(1), 16)))
                .encode("utf-16", "surrogatepass")
                .decode("utf-16")
            )
        return first

    def _skip(self) -> None:
        space = _SPACE.match(self.text, self.at)
        if space:
            self.at = space.end()


def _as_number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
