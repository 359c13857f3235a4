"""Markdown, cut into prose, spans of code and blocks of code, with nothing lost.

`"".join(piece.text for piece in pieces(text))` is `text`.
"""

from __future__ import annotations

import re
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


_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


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
    for found in _SPAN.finditer(text):
        if "\n\n" in found.group():  # a span does not cross paragraphs
            continue
        if found.start() > done:
            yield Piece(kind="text", text=text[done : found.start()])
        code = " ".join(found.group(2).split("\n")).strip()
        yield Piece(kind="span", text=found.group(), code=code)
        done = found.end()
    if done < len(text):
        yield Piece(kind="text", text=text[done:])
