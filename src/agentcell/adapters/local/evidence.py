"""A question and documents -> the lines that answer it, as quotes, the best first."""

# ruff: noqa: PLR2004 (the weights were measured together, and stand where they are used)

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from agentcell.adapters.local.document import Document
from agentcell.adapters.local.fact import Fact, clipped
from agentcell.adapters.local.facts import find_facts
from agentcell.adapters.local.issuer import find_issuers, is_title, is_title_text
from agentcell.adapters.local.matching import match, prefer_final, said_whole
from agentcell.adapters.local.mention import mentioned
from agentcell.adapters.local.overview import compared_totals, extreme_items, listed_items, outline
from agentcell.adapters.local.passages import Search, excerpt, says_more, split_passages
from agentcell.adapters.local.question import Asked, Question, parse_question, softened
from agentcell.adapters.local.values import currencies_in, find_values
from agentcell.adapters.local.words import content_words, language_of

__all__ = ["SHOWN_ABOVE", "Evidence", "find_evidence", "language_of"]

SHOWN_ABOVE = 0.5
"""Score from which evidence is worth showing as an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A quote from a document that answers a question, or may.

    Parameters
    ----------
    quote
        The row or rows, as read: label and value. At most 200 letters.
    tag
        The document's name for the reader, as given to `find_evidence`.
    page
        Counted from 1; None where the document has but one.
    score
        From 0 to 1; under `SHOWN_ABOVE` it is a guess that is better not shown as an answer.
    value
        The part of the quote that answers; "" where the whole of it does.
    kind
        Of the value: ``money date time percent code name place phone count text``, or "".
    label
        What the document calls the value; may be empty.
    currency
        The code of the currency that the document writes most, or "".
    """

    quote: str
    tag: str
    page: int | None
    score: float
    value: str = ""
    kind: str = ""
    label: str = ""
    currency: str = ""


class _Reading:
    """What is known of one document, worked out when it is first asked for."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def facts(self) -> list[Fact]:
        return find_facts(self.document.rows)

    @cached_property
    def title_words(self) -> frozenset[str]:
        rows = self.document.rows[:8]
        titles = [row.text for number, row in enumerate(rows) if number < 2 or is_title(row)]
        return frozenset(content_words(" ".join(titles)))

    @cached_property
    def search(self) -> Search:
        return Search(split_passages(self.document.rows))

    @cached_property
    def currency(self) -> str:
        counts: Counter[str] = Counter()
        for row in self.document.rows[:400]:
            counts.update(currencies_in(row.text))
        return counts.most_common(1)[0][0] if counts else ""


@lru_cache(maxsize=16)
def _reading(document: Document) -> _Reading:
    return _Reading(document)


def find_evidence(
    question: str, documents: Sequence[tuple[str, Document]], *, limit: int = 3
) -> list[Evidence]:
    """Return the lines of `documents` that answer `question`, the best first.

    Parameters
    ----------
    question
        May hold tags, and earlier questions on lines before it; the last sentence that asks
        something is answered.
    documents
        Each with its tag. One that the question names is searched first, alone.

    Returns
    -------
    list
        At most `limit`, none twice; empty if nothing has to do with the question. For "what are
        the tax and the total" one of each comes before any second ones.
    """
    readable = [(tag, document) for tag, document in documents if document.rows]
    if not readable or limit < 1:
        return []
    chosen, bare = mentioned(question, [tag for tag, _ in readable])
    first = [readable[number] for number in chosen] or readable
    found = _answers(bare, first)
    if len(first) < len(readable) and (not found or found[0].score < SHOWN_ABOVE):
        others = [pair for pair in readable if pair not in first]
        found = sorted(found + _answers(bare, others), key=lambda each: -each.score)
    return [replace(each, score=min(1.0, each.score)) for each in _distinct(found)[:limit]]


def _distinct(found: Sequence[Evidence]) -> list[Evidence]:
    kept: list[Evidence] = []
    for each in found:
        if not any(_is_same(each, other) for other in kept):
            kept.append(each)
    return kept


def _is_same(a: Evidence, b: Evidence) -> bool:
    if (a.tag, a.page) != (b.tag, b.page):
        return False
    return a.quote in b.quote or b.quote in a.quote


def _answers(text: str, documents: Sequence[tuple[str, Document]]) -> list[Evidence]:
    asked = parse_question(text)
    if not asked:  # nothing but a tag is a wish to see what it is
        return [] if any(letter.isalnum() for letter in text) else _overview(documents)
    weak: list[Evidence] = []
    for sentence in asked:
        found = _answers_to(sentence, documents)
        if found and found[0].score >= SHOWN_ABOVE:
            return found
        weak += found
    return sorted(weak, key=lambda each: -each.score)


def _answers_to(asked: Asked, documents: Sequence[tuple[str, Document]]) -> list[Evidence]:
    question = asked.whole
    if question.shape == "overview":
        return _overview(documents)
    if question.shape == "list":
        return [
            _evidence(tag, document, quote, page, 0.8)
            for tag, document in documents
            for quote, page in listed_items(_reading(document).facts)
        ] or _facts_for(question, documents)
    if question.shape == "extreme":
        found = _extremes(question, documents)
        if found:
            return found
    whole = _facts_for(question, documents)
    parts = [_facts_for(part, documents) for part in asked.parts]
    answered = [part for part in parts if part and part[0].score >= SHOWN_ABOVE]
    if len(answered) > 1 and not (whole and whole[0].score > 0.9 and _is_one(asked)):
        return [
            *(part[0] for part in answered),
            *whole,
            *(each for p in answered for each in p[1:]),
        ]
    return whole


def _is_one(asked: Asked) -> bool:
    """Tell whether the parts ask for one thing: "fish and chips"."""
    return len({part.terms for part in asked.parts}) == 1


def _overview(documents: Sequence[tuple[str, Document]]) -> list[Evidence]:
    by_document = [
        [
            _evidence(tag, document, quote, page, 0.9 - 0.05 * place)
            for place, (quote, page) in enumerate(outline(document.rows, _reading(document).facts))
        ]
        for tag, document in documents
    ]
    if len(by_document) == 1:
        return by_document[0]
    return sorted((each for found in by_document for each in found), key=lambda each: -each.score)


def _extremes(question: Question, documents: Sequence[tuple[str, Document]]) -> list[Evidence]:
    if len(documents) > 1 and not re.search(r"item|product|dish|goods|商品|菜|东西", question.text):
        totals = []
        for tag, document in documents:
            best = _facts_for(_TOTAL, [(tag, document)])[:1]
            totals += best
        return compared_totals(totals, question.sign)
    found = []
    for tag, document in documents:
        for quote, value, page in extreme_items(_reading(document).facts, question.sign):
            found.append(_evidence(tag, document, quote, page, 0.75, value=value, kind="money"))
    return found


_TOTAL = Question(text="total", terms=("total",), kind="money")


def _facts_for(question: Question, documents: Sequence[tuple[str, Document]]) -> list[Evidence]:
    found: list[Evidence] = []
    for tag, document in documents:
        found += _in_facts(question, tag, document)
        if question.terms[:1] == ("vendor",):
            found += _issuers(question, tag, document)
            continue
        found += _in_passages(question, tag, document)
    return sorted(found, key=lambda each: -each.score)


def _in_facts(question: Question, tag: str, document: Document) -> Iterator[Evidence]:
    facts = _reading(document).facts
    softer = softened(question, _reading(document).title_words)
    asked = [question, *_read_softly(question), *([softer] if softer is not question else [])]
    kept: list[Fact] = []
    values: list[str] = []
    scores: list[float] = []
    for fact in facts:
        matches = [found for each in asked if (found := match(each, fact))]
        if not matches:
            continue
        best = max(matches, key=lambda found: found.score + 0.1 * (found.words >= 0.6))
        kept.append(fact)
        values.append(best.value)
        # What names the thing by all its words goes before what only is of the right sort.
        told = 0.1 if best.words >= 0.6 and best.score >= 0.6 else 0.0
        scores.append(best.score + told + (0.06 if said_whole(question, fact) else 0.0))
    prefer_final(question, kept, scores, facts)
    last = max(len(document.rows), 1)
    for fact, value, score in zip(kept, values, scores, strict=True):
        early = 0.02 * (1 - fact.row / last)
        yield _evidence(
            tag,
            document,
            fact.quote,
            fact.page,
            score + early,
            value=value,
            kind=question.kind,
            label=fact.label,
        )


def _read_softly(question: Question) -> list[Question]:
    """Return the question with words such as ``breakfast`` or ``paper`` taken at their word."""
    if not question.soft or question.kind not in ("money", "count", ""):
        return []
    terms = question.terms
    if question.kind == "money" and terms == ("total",) and "total" not in question.text.lower():
        terms = ("amount",)
    return [replace(question, terms=terms, words=(*question.words, *question.soft), soft=())]


def _issuers(question: Question, tag: str, document: Document) -> Iterator[Evidence]:
    reading = _reading(document)
    hints = [*question.soft, *question.runs]
    for issuer in find_issuers(document.rows, reading.facts, hints)[:6]:
        yield _evidence(
            tag,
            document,
            clipped(issuer.quote),
            issuer.page,
            issuer.score,
            value=issuer.name,
            kind="name",
        )


_NUMBER_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty"
    r"|fifty|sixty|ninety|hundred|thousand|once|twice)\b|[一二三四五六七八九十百千两]",
    re.IGNORECASE,
)


def _in_passages(question: Question, tag: str, document: Document) -> Iterator[Evidence]:
    if not question.search:
        return
    for hit in _reading(document).search.find(question.search):
        passage = hit.passage
        score = 0.85 * hit.score * _kind_factor(question.kind, passage.text)
        if not says_more(passage.text, question.search) or is_title_text(passage.text):
            score *= 0.25  # a heading repeats the question, and answers nothing
        quote = excerpt(passage.text, question.search)
        yield _evidence(tag, document, quote, passage.page, score, kind=question.kind)


def _kind_factor(kind: str, text: str) -> float:
    if kind in ("", "text", "name", "place"):
        return 1.0
    if kind == "count":
        return 1.0 if re.search(r"\d", text) or _NUMBER_WORD.search(text) else 0.75
    kinds = {found.kind for found in find_values(text)}
    if kind == "money":
        return 1.0 if kinds & {"money", "number"} else 0.7
    return 1.0 if kind in kinds else 0.75


def _evidence(
    tag: str,
    document: Document,
    quote: str,
    page: int,
    score: float,
    *,
    value: str = "",
    kind: str = "",
    label: str = "",
) -> Evidence:
    return Evidence(
        quote=quote,
        tag=tag,
        page=page if document.pages > 1 else None,
        score=score,
        value=value if value in quote else "",
        kind=kind,
        label=label,
        currency=_reading(document).currency,
    )
