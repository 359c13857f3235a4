"""A document's rows -> sentences that can be searched by their words.

Rare words tell more than common ones: a word counts by the logarithm of how few sentences hold
it. A sentence is found under its heading too.
"""

# ruff: noqa: PLR2004 (lengths in words and letters, distances in heights of a letter)

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agentcell.adapters.local.fact import MAX_QUOTE
from agentcell.adapters.local.rows import Row
from agentcell.adapters.local.words import (
    CHINESE,
    chinese_pairs,
    content_words,
    likeness,
    weight_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One sentence, or one row where there are no sentences."""

    text: str
    page: int
    row: int
    heading: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage and how much of the question it holds, from 0 to 1."""

    passage: Passage
    score: float


_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“(\d])|(?<=[。！？；])")


def split_passages(rows: Sequence[Row]) -> list[Passage]:
    """Return the sentences of `rows`, each on the page where it begins."""
    passages: list[Passage] = []
    heading = ""
    for block in _blocks(rows):
        joined, starts = _joined(block)
        first = block[0][0]
        if len(block) == 1 and _is_heading(joined):
            heading = joined
            passages.append(Passage(text=joined, page=rows[first].page, row=first))
            continue
        position = 0
        for sentence in _END.split(joined):
            at = joined.find(sentence, position)
            position = at + len(sentence)
            row = max((index for start, index in starts if start <= at), default=first)
            if sentence.strip():
                passages.append(
                    Passage(text=sentence.strip(), page=rows[row].page, row=row, heading=heading)
                )
    return passages


def _is_heading(text: str) -> bool:
    if CHINESE.search(text):
        return len(text) <= 24 and not text.endswith(("。", "；", "，"))
    return len(text.split()) <= 8 and not text.endswith((".", ",", ";"))


def _blocks(rows: Sequence[Row]) -> Iterator[list[tuple[int, str]]]:
    """Yield runs of rows that are one text, each row with its index.

    Two columns of long lines are two texts.
    """
    blocks: dict[int, list[tuple[int, str]]] = {}
    before: Row | None = None
    for index, row in enumerate(rows):
        columns = _columns(row)
        ends = (
            before is None
            or row.page != before.page
            or (row.top - before.top > 2.1 * max(row.height, before.height))
        )
        if ends or set(columns) != set(blocks):
            yield from blocks.values()
            blocks = {}
        for column, text in columns.items():
            run = blocks.get(column)
            is_table = column == 0 and len(row.cells) > 1
            if run is not None and (is_table or not _goes_on(run[-1][1], text)):
                yield run
                run = None
            if run is None:
                run = blocks[column] = []
            run.append((index, text))
        before = row
    yield from blocks.values()


def _columns(row: Row) -> dict[int, str]:
    if len(row.cells) == 2 and all(len(cell.text) >= 28 for cell in row.cells):
        return {1: row.cells[0].text, 2: row.cells[1].text}
    return {0: row.text}


def _goes_on(line: str, after: str) -> bool:
    """Tell whether `after` is the same text as the `line` before it."""
    if CHINESE.search(line):
        return len(line) >= 18 and not line.endswith(("。", "！", "？"))
    is_long = len(line.split()) >= 7 or len(line) >= 48
    return is_long and not re.match(r"(?:\d+[.)]\s|[-•–*]\s|\([a-z\d]\)\s)", after)


def _joined(block: Sequence[tuple[int, str]]) -> tuple[str, list[tuple[int, int]]]:
    """Return the lines as one text, and where in it each row begins."""
    text = ""
    starts = []
    for index, line in block:
        if text.endswith("-") and line[:1].islower() and not text.endswith(" -"):
            text = text[:-1]
        elif text and not (CHINESE.match(text[-1]) and CHINESE.match(line)):
            text += " "
        starts.append((len(text), index))
        text += line
    return text, starts


@dataclass(frozen=True, slots=True)
class Search:
    """The passages of one document, by their words."""

    passages: list[Passage]
    _places: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list), repr=False)
    _heading_places: dict[str, list[int]] = field(
        default_factory=lambda: defaultdict(list), repr=False
    )

    def __post_init__(self) -> None:
        headings: dict[str, set[str]] = {}
        for number, passage in enumerate(self.passages):
            for word in _search_words(passage.text):
                self._places[word].append(number)
            if passage.heading:
                if passage.heading not in headings:
                    headings[passage.heading] = _search_words(passage.heading)
                for word in headings[passage.heading]:
                    self._heading_places[word].append(number)

    def weight(self, word: str) -> float:
        """Return how much a word tells: more the fewer passages hold it."""
        return weight_of(word) * math.log(
            1 + (len(self.passages) + 1) / (len(self._places.get(word, ())) + 0.5)
        )

    def find(self, words: Sequence[str], limit: int = 12) -> list[Hit]:
        """Return the passages that hold the most of `words` (stems and Chinese pairs)."""
        asked = list(dict.fromkeys(words))
        if not asked or not self.passages:
            return []
        # One word that tells little, found, is little: the whole counts as one word at least.
        whole = sum(self.weight(word) for word in asked) / min(1.0, sum(map(weight_of, asked)))
        scores: dict[int, float] = defaultdict(float)
        for word in asked:
            weight = self.weight(word)
            seen: dict[int, float] = {}
            for form, strength in self._forms(word):
                for number in self._places.get(form, ()):
                    seen[number] = max(seen.get(number, 0.0), strength)
                for number in self._heading_places.get(form, ()):
                    seen[number] = max(seen.get(number, 0.0), 0.55 * strength)
            for number, strength in seen.items():
                scores[number] += weight * strength
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        return [Hit(passage=self.passages[n], score=scores[n] / whole) for n in ranked[:limit]]

    def _forms(self, word: str) -> Iterator[tuple[str, float]]:
        """Yield `word` and the words of the document that are nearly it."""
        yield word, 1.0
        if len(word) < 4 or CHINESE.match(word):
            return
        for other in self._places:
            if other != word and other[0] == word[0] and (alike := likeness(word, other)) >= 0.6:
                yield other, alike


def _search_words(text: str) -> set[str]:
    return {*content_words(text), *chinese_pairs(text)}


def says_more(text: str, words: Sequence[str]) -> bool:
    """Tell whether `text` holds any word besides `words`."""
    return any(
        not any(likeness(asked, word) >= 0.6 for asked in words) for word in _search_words(text)
    )


_MOST_PLACES = 300


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return `text`, or the part of `MAX_QUOTE` letters that holds the most of `words`."""
    if len(text) <= MAX_QUOTE:
        return text
    room = MAX_QUOTE - 2
    places = [match.start() for match in re.finditer(r"[^\W_]+", text) if _is_any(match, words)]
    del places[_MOST_PLACES:]
    # The window in which the most of the words lie, with them in its middle.
    first = max(places, key=lambda at: sum(at <= other < at + room for other in places), default=0)
    last = max((other for other in places if first <= other < first + room), default=0)
    start = max(0, min((first + last - room) // 2, len(text) - room))
    end = start + room
    if " " in text[start:end]:
        start = text.find(" ", start) + 1 if start else 0
        end = text.rfind(" ", start, end) if end < len(text) else len(text)
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _is_any(match: re.Match[str], words: Sequence[str]) -> bool:
    found = _search_words(match.group())
    return any(likeness(asked, word) >= 0.8 for asked in words for word in found)
