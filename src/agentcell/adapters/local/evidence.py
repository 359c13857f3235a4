"""A question and documents -> the lines that answer it, as quotes, the best first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentcell.adapters.local.candidates import Candidate, find_candidates
from agentcell.adapters.local.document import Document
from agentcell.adapters.local.mention import mentioned
from agentcell.adapters.local.overview import by_total, extreme_items, listed_items, outline
from agentcell.adapters.local.question import Asked, Question, parse_question
from agentcell.adapters.local.reading import reading_of
from agentcell.adapters.local.words import language_of

__all__ = ["SHOWN_ABOVE", "Evidence", "find_evidence", "language_of"]

SHOWN_ABOVE = 0.5
"""Score from which evidence is worth showing as an answer.

A label of the right sort that holds none of the question's other words comes to 0.4 to 0.6, one
that holds them to 0.8 and more. Of 1,058 questions that their documents do not answer ("how much
was the helicopter ride"), asked of 46 documents, 3 reached it.
"""

_SURE = 0.9

Tagged = tuple[str, Document]


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
        Of the value: ``money date time percent code name place phone count measure text``, or "".
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


def find_evidence(question: str, documents: Sequence[Tagged], *, limit: int = 3) -> list[Evidence]:
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
    if len(first) < len(readable) and not _is_shown(found):
        others = [pair for pair in readable if pair not in first]
        found = _ranked(found + _answers(bare, others))
    return [replace(each, score=min(1.0, each.score)) for each in _distinct(found)[:limit]]


def _is_shown(found: Sequence[Evidence]) -> bool:
    return bool(found) and found[0].score >= SHOWN_ABOVE


def _ranked(found: Sequence[Evidence]) -> list[Evidence]:
    return sorted(found, key=lambda each: -each.score)


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


def _answers(text: str, documents: Sequence[Tagged]) -> list[Evidence]:
    asked = parse_question(text)
    if not asked:  # nothing but a tag is a wish to see what it is
        return [] if any(letter.isalnum() for letter in text) else _overview(documents)
    weak: list[Evidence] = []
    for sentence in asked:
        found = _answers_to(sentence, documents)
        if _is_shown(found):
            return found
        weak += found
    return _ranked(weak)


def _answers_to(asked: Asked, documents: Sequence[Tagged]) -> list[Evidence]:
    question = asked.whole
    if question.shape == "overview":
        return _overview(documents)
    special = _special(question, documents)
    if special:
        return special
    whole = _facts(question, documents)
    parts = [_facts(part, documents) for part in asked.parts]
    answered = [part for part in parts if _is_shown(part)]
    is_one = len({part.terms for part in asked.parts}) == 1  # "fish and chips"
    if len(answered) < 2 or (is_one and whole and whole[0].score > _SURE):  # noqa: PLR2004
        return whole
    seconds = [each for part in answered for each in part[1:]]
    return [*(part[0] for part in answered), *whole, *seconds]


def _facts(question: Question, documents: Sequence[Tagged]) -> list[Evidence]:
    return _ranked(
        [
            _evidence(tag, document, candidate)
            for tag, document in documents
            for candidate in find_candidates(question, reading_of(document))
        ]
    )


def _overview(documents: Sequence[Tagged]) -> list[Evidence]:
    """Return what each document is: of each its first line, then of each its second."""
    return _ranked(
        [
            _evidence(tag, document, candidate)
            for tag, document in documents
            for candidate in outline(document.rows, reading_of(document).facts)
        ]
    )


_OF_ITEMS = re.compile(r"item|product|dish|goods|商品|菜|东西", re.IGNORECASE)
_TOTAL = Question(text="total", terms=("total",), kind="money")


def _special(question: Question, documents: Sequence[Tagged]) -> list[Evidence]:
    """Return the list of goods, or the largest or smallest, if that is asked for."""
    if question.shape == "extreme" and len(documents) > 1 and not _OF_ITEMS.search(question.text):
        totals = [found[0] for pair in documents if (found := _facts(_TOTAL, [pair]))]
        order = by_total([each.value for each in totals], {each.currency for each in totals})
        return [totals[at] for at in order[:: question.sign]]
    found = []
    for tag, document in documents:
        facts = reading_of(document).facts
        if question.shape == "list":
            found += [_evidence(tag, document, each) for each in listed_items(facts)]
        elif question.shape == "extreme":
            items = extreme_items(facts, question.sign)
            found += [_evidence(tag, document, each) for each in items]
    return found


def _evidence(tag: str, document: Document, candidate: Candidate) -> Evidence:
    return Evidence(
        quote=candidate.quote,
        tag=tag,
        page=candidate.page if document.pages > 1 else None,
        score=candidate.score,
        value=candidate.value if candidate.value in candidate.quote else "",
        kind=candidate.kind,
        label=candidate.label,
        currency=reading_of(document).currency,
    )
