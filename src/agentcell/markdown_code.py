"""Markdown, cut into prose, spans of code and blocks of code, with nothing lost.

`"".join(piece.text for piece in pieces(text))` is `text`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One run of a Markdown text.

    Parameters
    ----------
    text
        As it stood, marks included.
    code
        What the code says, without fences, backticks and indentation; empty for prose.
    prefix, indent
        What stands before a block's first line and before its others: quote marks, a list's
        indentation.
    """

    kind: Literal["text", "span", "block"]
    text: str
    code: str = ""
    prefix: str = ""
    indent: str = ""


_OPENS = re.compile(r"\\[\s\S]|`+")
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable(["html_block", "inline"])


def pieces(text: str) -> Iterator[Piece]:
    """Yield `text` in pieces, in order."""
    lines = text.splitlines(keepends=True)
    done = 0
    for token in _parser().parse(text):
        if token.type not in {"fence", "code_block"} or token.map is None:
            continue
        first, last = token.map
        if first < done:
            continue
        yield from _prose("".join(lines[done:first]))
        yield _block("".join(lines[first:last]), token.content)
        done = last
    yield from _prose("".join(lines[done:]))


def _block(text: str, code: str) -> Piece:
    opening = text.split("\n", 1)[0]
    prefix = re.match(r"[\s>]*(?:(?:[-+*]|\d{1,9}[.)])\s+)*[\s>]*", opening)
    before = prefix.group() if prefix else ""
    if before and not before.strip() and len(before) >= 4:  # an indented block: no container  # noqa: PLR2004
        before = ""
    indent = "".join(character if character in "> \t" else " " for character in before)
    return Piece(kind="block", text=text, code=code.rstrip("\n"), prefix=before, indent=indent)


def _prose(text: str) -> Iterator[Piece]:
    done = 0
    for start, end, width in _spans(text):
        if start > done:
            yield Piece(kind="text", text=text[done:start])
        code = " ".join(text[start + width : end - width].split("\n")).strip()
        yield Piece(kind="span", text=text[start:end], code=code)
        done = end
    if done < len(text):
        yield Piece(kind="text", text=text[done:])


def _spans(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield each span's start, end and number of backticks, in linear time."""
    if "`" not in text:
        return
    closers: dict[int, list[int]] = defaultdict(list)
    for run in re.finditer("`+", text):
        closers[len(run.group())].append(run.start())
    blanks = [blank.start() for blank in _BLANK_LINE.finditer(text)]
    at = 0
    while opening := _OPENS.search(text, at):
        at = opening.end()
        width = len(opening.group())
        end = _next(closers[width], at)
        if opening.group()[0] == "\\" or end is None:
            continue
        blank = _next(blanks, at)
        if blank is not None and blank < end:  # a span does not cross paragraphs
            continue
        at = end + width
        yield opening.start(), at, width


def _next(places: list[int], start: int) -> int | None:
    """Return the first of `places`, which are in order, that is not less than `start`."""
    number = bisect_left(places, start)
    return places[number] if number < len(places) else None


def open_fence(text: str) -> str:
    """Return the line that would close the block of code which `text` leaves open; "" if none."""
    fences = [one for one in _parser().parse(text) if one.type == "fence" and one.level == 0]
    lines = text.split("\n")
    last = fences[-1] if fences else None
    if last is None or last.map is None or last.map[1] < len(lines):
        return ""
    first, end = last.map
    closing = lines[end - 1].strip()
    mark = last.markup
    is_closed = end - 1 > first and len(closing) >= len(mark) and not closing.strip(mark[0])
    return "" if is_closed else mark
