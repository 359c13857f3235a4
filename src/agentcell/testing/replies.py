"""What a scripted server answers, and what it was asked: values, no I/O."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in a reply. `arguments` is JSON text; it is sent in `pieces` parts."""

    name: str
    arguments: str = "{}"
    id: str = "call_1"
    pieces: int = 2


@dataclass(frozen=True, slots=True, init=False)
class Reply:
    """One answer, and what goes wrong with it.

    Parameters
    ----------
    text
        The answer's pieces, one event each.
    calls, thinking, refusal
        Tool calls, pieces of reasoning, and a refusal in the place of text.
    finish
        The end, as Chat names it: ``stop``, ``length``, ``content_filter``, ``tool_calls``.
    usage
        ``(input, output)`` tokens, ``(input, output, cached, reasoning)``, or None for none.
    delay
        Seconds before each event.
    stall
        Say nothing more after so many events, until the client hangs up: 0 is silence after the
        headers, -1 is silence before them.
    cut, clean_cut
        Break the connection after so many events, -1 is before the headers; `clean_cut` ends the
        body properly instead.
    reset
        As `cut`, but abort the connection (RST).
    error
        An error object to send as an event after `error_after` events.
    status, headers, raw
        Another status, more headers, and a body sent as it is (then nothing else is played).
    split_bytes
        Send the body in pieces of so many bytes, also inside a character; 0 is one per event.
    newline, comments
        The line ending, and whether comment lines come between events.
    done
        Chat: whether ``data: [DONE]`` ends the stream.
    whole
        Answer as one JSON document although a stream was asked for.
    """

    text: tuple[str, ...]
    calls: tuple[Call, ...]
    thinking: tuple[str, ...]
    refusal: str
    finish: str
    usage: tuple[int, ...] | None
    delay: float
    stall: int | None
    cut: int | None
    clean_cut: int | None
    reset: int | None
    error: Mapping[str, Any] | None
    error_after: int
    status: int
    headers: Mapping[str, str]
    raw: bytes | None
    split_bytes: int
    newline: str
    comments: bool
    done: bool
    whole: bool

    def __init__(  # noqa: PLR0913 (one for each thing that can go wrong)
        self,
        *text: str,
        calls: Sequence[Call] = (),
        thinking: Sequence[str] = (),
        refusal: str = "",
        finish: str = "",
        usage: tuple[int, ...] | None = (11, 7),
        delay: float = 0.0,
        stall: int | None = None,
        cut: int | None = None,
        clean_cut: int | None = None,
        reset: int | None = None,
        error: Mapping[str, Any] | None = None,
        error_after: int = 0,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        raw: bytes | str | None = None,
        split_bytes: int = 0,
        newline: str = "\n",
        comments: bool = False,
        done: bool = True,
        whole: bool = False,
    ) -> None:
        values = dict(locals(), text=text, calls=tuple(calls), thinking=tuple(thinking))
        values["headers"] = dict(headers or {})
        values["raw"] = raw.encode() if isinstance(raw, str) else raw
        values["finish"] = finish or ("tool_calls" if calls else "stop")
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, values[name])


def pieces(text: str, count: int) -> list[str]:
    """Return `text` in at most `count` pieces."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)]


def failure(status: int, message: str = "no", *, retry_after: str = "", **error: Any) -> Reply:
    """Return a reply with an error status and an OpenAI-shaped body."""
    headers = {"content-type": "application/json", "x-request-id": "req_fail"}
    if retry_after:
        headers["retry-after"] = retry_after
    body = json.dumps({"error": {"message": message, "type": "error", "code": None, **error}})
    return Reply(status=status, headers=headers, raw=body)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in: `body` is its parsed JSON, `headers` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    size: int
    at: float = field(default_factory=time.monotonic)


Script: TypeAlias = Reply | str | Callable[[Request], Reply | str]


def server_event(body: Mapping[str, Any], newline: str, name: str = "") -> bytes:
    """Return one event of a stream."""
    head = f"event: {name}{newline}" if name else ""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return f"{head}data: {text}{newline * 2}".encode()
