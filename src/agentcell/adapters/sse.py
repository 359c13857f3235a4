"""The bytes of an event stream, in whatever pieces they come, to its events.

Follows https://html.spec.whatwg.org/multipage/server-sent-events.html (read 2026-11-29), with
one liberty: an event that the end of the stream cut off before its blank line is given out too
(`flush`), because some servers leave out the last blank line.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

MAX_EVENT_BYTES = 256 * 1024 * 1024
"""The longest event that is kept in memory; generated pictures come in one event."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

ServerEvent = tuple[str, bytes]
"""An event's name, empty if it has none, and its data."""


_DECODER = json.JSONDecoder()

_SHORT = 100
"""Bytes of a line that may be remembered."""


def event_json(data: bytes) -> Any:
    """Return what an event's data say, as `json.loads` would, in two thirds of its time.

    Raises
    ------
    ValueError
        If they are no JSON, or nested too deeply.
    """
    text = data.decode("utf-8", "surrogatepass")
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        end = -1
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if end == len(text):
        return value
    return json.loads(data)  # with space around it, or wrong: then it says how


class EventDecoder:
    """Takes bytes as they come; gives events. Pieces may end inside a character or a CRLF.

    Raises
    ------
    ValueError
        From `feed`, if one event is longer than `MAX_EVENT_BYTES`.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0  # bytes of the line that has not ended
        self._gathered = 0  # bytes of the event's lines that have
        self._after_return = False
        self._at_start = True
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Return the events that `piece` completes."""
        if b"\r" in piece or self._after_return:
            piece = self._plain_newlines(piece)
        if b"\n" not in piece:
            self._hold(piece)
            return []
        if self._pieces:
            self._pieces.append(piece)
            piece = b"".join(self._pieces)
            self._pieces.clear()
        lines = piece.split(b"\n")
        self._held = 0
        rest = lines.pop()
        if self._at_start:
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        events = self._events(lines)
        self._hold(rest)
        return events

    def flush(self) -> list[ServerEvent]:
        """Return what the end of the stream left without its blank line."""
        lines = [b"".join(self._pieces), b""]
        self._pieces.clear()
        return self._events(lines)

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held + self._gathered > MAX_EVENT_BYTES:
            raise ValueError(f"an event of the stream is longer than {MAX_EVENT_BYTES:,} bytes")
        if piece:
            self._pieces.append(piece)

    def _plain_newlines(self, piece: bytes) -> bytes:
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]  # the second half of a CRLF
            self._after_return = False
            if not piece:
                return piece
        self._after_return = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _events(self, lines: list[bytes]) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._gathered += len(line)
            elif not line:
                if self._data:
                    data = self._data
                    whole = data[0] if len(data) == 1 else b"\n".join(data)
                    events.append((self._name, whole))
                    self._data = []
                    self._gathered = 0
                self._name = ""
            elif line.startswith(b"event:"):
                self._name = _short_name(line) if len(line) <= _SHORT else _name(line)
            elif line == b"data":
                self._data.append(b"")
                self._gathered += len(line)
            # all else is a comment, `id`, `retry` or a field to be ignored
        return events


def _name(line: bytes) -> str:
    return line[6:].removeprefix(b" ").decode("utf-8", "replace")


_short_name = lru_cache(maxsize=64)(_name)
