"""A question and one document -> the lines that may answer, each with how well it does."""

# ruff: noqa: PLR2004 (the weights were measured together, and stand where they are used)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agentcell.adapters.local.fact import Fact, clipped
from agentcell.adapters.local.issuer import find_issuers, is_title_text
from agentcell.adapters.local.lines import values_of
from agentcell.adapters.local.matching import Match, match, said_whole
from agentcell.adapters.local.passages import excerpt, says_more
from agentcell.adapters.local.question import Question, softened
from agentcell.adapters.local.reading import Reading
from agentcell.adapters.local.totals import prefer_final


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A quote that may answer; see `evidence.Evidence` for what its parts mean."""

    quote: str
    page: int
    score: float
    value: str = ""
    kind: str = ""
    label: str = ""


def find_candidates(question: Question, reading: Reading) -> list[Candidate]:
    """Return the lines of a document that may answer, the best first."""
    found = list(_facts(question, reading))
    if question.terms[:1] == ("vendor",):
        found += _issuers(question, reading)
    else:
        found += _passages(question, reading)
    return sorted(found, key=lambda each: -each.score)[:_MOST]


_MOST = 40
"""Candidates of one document that are kept."""


def _facts(question: Question, reading: Reading) -> Iterator[Candidate]:
    kept: list[Fact] = []
    values: list[str] = []
    scores: list[float] = []
    versions = _versions(question, reading)
    for fact in reading.facts:
        matches = [found for version in versions if (found := match(version, fact))]
        if matches:
            best = max(matches, key=_preference)
            kept.append(fact)
            values.append(best.value)
            scores.append(_preference(best) + (0.06 if said_whole(question, fact) else 0.0))
    prefer_final(question, kept, scores, reading.facts)
    last = max(len(reading.rows), 1)
    for fact, value, score in zip(kept, values, scores, strict=True):
        yield Candidate(
            quote=fact.quote,
            page=fact.page,
            score=score + 0.02 * (1 - fact.row / last),  # of equals, the first
            value=value,
            kind=question.kind,
            label=fact.label,
        )


def _preference(found: Match) -> float:
    """Return a match's score, more for what names the thing by most of its words."""
    return found.score + (0.1 if found.words >= 0.6 and found.score >= 0.6 else 0.0)


_TAKEN_AT_WORD = ("money", "count", "name", "time", "")
"""Kinds of value that a thing such as lunch may have; a bill's date is the document's."""


def _versions(question: Question, reading: Reading) -> list[Question]:
    """Return the ways to take the question.

    Words such as ``breakfast`` may name a thing of the document, or the document itself.
    """
    versions = [question]
    if question.soft and question.kind in _TAKEN_AT_WORD:
        terms = question.terms
        if (
            terms == ("total",)
            and question.kind == "money"
            and "total" not in question.text.lower()
        ):
            terms = ("amount",)
        words = (*question.words, *question.soft)
        versions.append(replace(question, terms=terms, words=words, soft=()))
    about = softened(question, reading.title_words)
    return versions if about is question else [*versions, about]


def _issuers(question: Question, reading: Reading) -> Iterator[Candidate]:
    hints = [*question.soft, *question.runs]
    for issuer in find_issuers(reading.rows, reading.facts, hints)[:6]:
        yield Candidate(
            quote=clipped(issuer.quote),
            page=issuer.page,
            score=issuer.score,
            value=issuer.name,
            kind="name",
        )


_NUMBER_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty"
    r"|forty|fifty|sixty|ninety|hundred|thousand|once|twice)\b|[一二三四五六七八九十百千两]",
    re.IGNORECASE,
)


def _passages(question: Question, reading: Reading) -> Iterator[Candidate]:
    for hit in reading.search.find(question.search):
        text = hit.passage.text
        score = 0.85 * hit.score * _kind_factor(question.kind, text)
        if not says_more(text, question.search) or is_title_text(text):
            score *= 0.25  # a heading repeats the question, and answers nothing
        yield Candidate(
            quote=excerpt(text, question.search),
            page=hit.passage.page,
            score=score,
            kind=question.kind,
        )


def _kind_factor(kind: str, text: str) -> float:
    """Return 1, or less for a sentence that holds no value of the kind asked for."""
    if kind in ("", "text", "name", "place"):
        return 1.0
    if kind in ("count", "measure"):
        has_number = re.search(r"\d", text) or _NUMBER_WORD.search(text)
        return 1.0 if has_number else 0.75
    kinds = {found.kind for found in values_of(text)}
    wanted: Sequence[str] = ("money", "number") if kind == "money" else (kind,)
    if kinds.intersection(wanted):
        return 1.0
    return 0.72 if len(text.split()) > 8 else 0.5
