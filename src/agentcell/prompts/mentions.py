"""A text with ``@path`` in it → where it names files; everything else stays as it was typed.

A mention begins at a word's start: after a blank, an opening bracket or a character of a script
that puts no blanks between words. So e-mail addresses, ``file=@a.png`` and the strings of JSON
hold none. It must look like a path (with a dot, a slash or quotes), so that ``@tool`` and
``@name`` are none; what it looks like decides nothing: a file must be there. Code between
backticks stays as typed, and is the way to write a mention that is not meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from agentcell.assets.sniff import SUFFIX_TYPES
from agentcell.markdown_code import pieces

_NO_BLANKS = (
    "\u2e80-\u2fdf\u3000-\u30ff\u3130-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff00-\uff0f\uff1a-\uff20\u0e00-\u0e7f"
)
"""Scripts that put no blanks between words, and their punctuation."""

MENTION_START = re.compile(rf"(?<![^\s(\[{_NO_BLANKS}])@")
"""An ``@`` at which a mention may begin."""

_QUOTES = {'"': '"', "'": "'", "“": "”"}
_ENDING = re.compile(rf"\.(?:{'|'.join(sorted(SUFFIX_TYPES))})", re.IGNORECASE)
_CUT = re.compile(r"(?=[^\w/\\~])")
_GOES_ON = re.compile(r"\.?[A-Za-z0-9_]|[/\\]")
"""What cannot follow a whole name: ``@a.png`` is not meant by ``@a.png.bak`` and ``@a.pngs``."""

_LONGEST = 1024
_MOST_TRIED = 40
"""Bounds for what follows an ``@``: its characters, and how many beginnings of it are tried."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One ``@path``: its place in the text (``@`` and quotes included), and the path."""

    start: int
    end: int
    path: str


def find_mentions(text: str, is_file: Callable[[str], bool]) -> list[Mention]:
    """Return every mention of a file in `text`, in order.

    Parameters
    ----------
    text
        As it was typed.
    is_file
        Called with paths as they were written; of several that one ``@`` may stand for, the
        longest for which it is true is meant: ``@a.png.`` at a sentence's end is ``a.png``.
    """
    found: list[Mention] = []
    for start in in_prose(text, MENTION_START):
        if found and start < found[-1].end:
            continue
        for mention in _candidates(text, start):
            if is_file(mention.path):
                found.append(mention)
                break
    return found


def missing_files(text: str, is_file: Callable[[str], bool]) -> list[str]:
    """Return what looks like a mention of an image or a PDF, and is not one, as paths.

    Parameters
    ----------
    text, is_file
        As for `find_mentions`.
    """
    taken = {mention.start for mention in find_mentions(text, is_file)}
    missing = []
    for start in in_prose(text, MENTION_START):
        if start in taken:
            continue
        named = (one.path for one in _candidates(text, start) if _ends_as_media(one.path))
        if path := next(named, None):
            missing.append(path)
    return missing


def written(path: str) -> str:
    """Return the mention of `path`, in quotes where it needs them.

    >>> written("a.png"), written("my file.png"), written("scan")
    ('@a.png', '@"my file.png"', '@"scan"')
    """
    mentions = find_mentions(f"@{path}", path.__eq__)
    if [mention.path for mention in mentions] == [path]:
        return f"@{path}"
    marks = [mark for mark, end in _QUOTES.items() if end not in path]
    return f"@{marks[0]}{path}{_QUOTES[marks[0]]}" if marks and "\n" not in path else f"@{path}"


def _ends_as_media(path: str) -> bool:
    ending = _ENDING.search(path, max(0, len(path) - 6))
    return ending is not None and ending.end() == len(path)


def in_prose(text: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """Yield where `pattern` begins in `text`, but for what stands in code.

    Parameters
    ----------
    text
        Markdown, as it was typed.
    pattern
        What is looked for; found whole within one piece.
    """
    if pattern.search(text) is None:
        return
    at = 0
    for piece in pieces(text) if "`" in text or "~~~" in text else ():
        end = at + len(piece.text)
        if not (piece.kind == "span" or (piece.kind == "block" and _is_fenced(piece.text))):
            yield from (one.start() for one in pattern.finditer(text, at, end))
        at = end
    if at == 0:
        yield from (one.start() for one in pattern.finditer(text))


def _is_fenced(block: str) -> bool:
    """Whether a block of code is marked as such; one that is only indented may be prose."""
    return re.match(r"[\s>]*(?:(?:[-+*]|\d{1,9}[.)])\s+)*[\s>]*(?:```|~~~)", block) is not None


def _candidates(text: str, start: int) -> Iterator[Mention]:
    """Yield what the ``@`` at `start` may stand for, the longest first."""
    begin = start + 1
    if end := _QUOTES.get(text[begin : begin + 1]):
        closing = text.find(end, begin + 1, begin + 1 + _LONGEST)
        path = text[begin + 1 : max(closing, begin + 1)]
        if path.strip() and "\n" not in path:
            yield Mention(start, closing + 1, path)
        return
    word = re.compile(rf"\S{{1,{_LONGEST}}}").match(text, begin)
    if word is None:
        return
    run = word.group()
    cuts = (cut.end() for pattern in (_ENDING, _CUT) for cut in pattern.finditer(run))
    ends = {len(run), *islice(cuts, _MOST_TRIED)}
    for size in sorted(ends, reverse=True):
        path = run[:size]
        if (
            not _GOES_ON.match(run, size)
            and any(mark in path for mark in "./\\")
            and path.strip("./\\~")
        ):
            yield Mention(start, begin + size, path)
