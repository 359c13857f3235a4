"""A question and a fact -> how well the one answers the other, from 0 to 1."""

# ruff: noqa: PLR2004 (the weights were measured together, and stand where they are used)

from __future__ import annotations

from dataclasses import dataclass

from agentcell.adapters.local.answering import amounts, answer_in, fits
from agentcell.adapters.local.currencies import has_currency, is_currency
from agentcell.adapters.local.fact import Fact
from agentcell.adapters.local.lines import values_of
from agentcell.adapters.local.question import Question
from agentcell.adapters.local.terms import closeness, label_terms
from agentcell.adapters.local.words import (
    chinese_runs,
    common_run,
    content_words,
    folded,
    likeness,
    squashed,
    weight_of,
    word_set,
)

_LAYOUTS = {
    "inline": 1.0,
    "row": 1.0,
    "over": 0.97,
    "next": 0.94,
    "bare": 0.9,
    "after": 0.85,
    "loose": 0.82,
    "table": 0.72,
}
"""How far a layout is to be trusted."""

SUMS = word_set("total due paid")

_ANY_AMOUNT = word_set("amount total unit_price paid due fare")
"""Terms that a price in the row of the thing asked for satisfies."""

_ANY_VALUE = word_set("date time quantity person duration weight distance")
"""Terms that any value of their kind in the row of the thing does."""

_OF_THE_THING = word_set("amount unit_price quantity person")
"""Terms that tell nothing without the thing: the price of what, the name of whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How a fact answers: `score`, the `value` asked for, and how much of the words it holds."""

    score: float
    value: str
    words: float


@dataclass(frozen=True, slots=True)
class _Held:
    """How much of the question's words a fact's label holds, and the column that they name."""

    share: float = 0.0
    column: str = ""


def match(question: Question, fact: Fact) -> Match | None:
    """Return how `fact` answers `question`; None if it has nothing to do with it."""
    held = _held(question, fact)
    named = _named(question, fact)
    has_words = bool(question.words or question.runs)
    if has_words and held.share < 0.3 and set(question.terms[:1]) & _OF_THE_THING:
        return None  # the price of something else is no answer
    is_headless = fact.layout == "table" and not fact.label
    if not held.share and (not named or is_headless):
        return None
    answer = answer_in(question, fact, held.column)
    named = max(named, _satisfied(question, fact, held, fits=answer.fits))
    term_weight = 1.0 if question.terms else 0.0
    word_weight = _word_weight(question)
    if not term_weight + word_weight:
        return None
    score = (term_weight * named + word_weight * held.share) / (term_weight + word_weight)
    if not (fact.columns and fact.label):
        score *= _LAYOUTS[fact.layout]
    score *= _precision(question, fact, held.share)
    if not answer.fits:
        score *= 0.3
    elif question.kind == "date" and not _says_day(answer.text):
        score *= 0.88  # "July 2025" beside a whole date
    value = answer.text
    if set(question.terms) & SUMS and set(fact.terms) & SUMS and not fact.columns:
        found = amounts(fact.value)
        if len({each.number for each in found}) > 1:
            score, value = score * 0.75, ""  # a row of sums, as under a table of tax rates
        elif found and found[0].kind != "money":
            score *= 0.85  # may be a count of goods
    return Match(score=score, value=value, words=held.share)


def _says_day(text: str) -> bool:
    days = [day for found in values_of(text) for day in found.days]
    return not days or any(day[2] for day in days)


def _named(question: Question, fact: Fact) -> float:
    """Return how near the label's terms are to those asked for, the first of which counts most."""
    if question.terms == ("currency",) and set(fact.terms) & (SUMS | {"amount"}):
        return 0.8 if has_currency(fact.quote) else 0.0
    return max(
        (
            closeness(asked, name) * (1.0 - 0.15 * place)
            for place, asked in enumerate(question.terms)
            for name in fact.terms
        ),
        default=0.0,
    )


def _satisfied(question: Question, fact: Fact, held: _Held, *, fits: bool) -> float:
    """Return how far a fact that is about the thing satisfies the terms, whatever its label.

    The row of the coffee beans satisfies "how much": it is their price. A column of a table
    satisfies the term that its header names.
    """
    if not question.terms or held.share < 0.3:
        return 0.0
    best = 0.0
    if fact.columns:
        headers = {name.name for heading, _ in fact.columns for name in label_terms(heading)[0]}
        best = max(
            (closeness(asked, name) for asked in question.terms for name in headers), default=0.0
        )
    if not fits or not (held.share >= 0.6 or _holds_label(question, fact)):
        return best
    first = question.terms[0]
    if first in _ANY_VALUE:
        return 1.0
    if first in _ANY_AMOUNT and question.kind == "money":
        return max(best, 0.9 if fact.layout == "inline" else 1.0)
    return max(best, 0.9 if question.kind in ("phone", "email", "web") else 0.0)


def _holds_label(question: Question, fact: Fact) -> bool:
    """Tell whether the question holds all of the label: "return" in "must the car be returned"."""
    asked = (*question.words, *question.soft)
    words = [word for word in fact.words if word.isalpha()]
    return bool(words) and all(any(likeness(a, word) >= 0.8 for a in asked) for word in words)


def _word_weight(question: Question) -> float:
    return min(1.3, 0.65 * (sum(map(weight_of, question.words)) + len(question.runs)))


def _held(question: Question, fact: Fact) -> _Held:
    if not question.words and not question.runs:
        return _Held()
    label = set(fact.words)
    if fact.layout == "bare":
        label |= set(content_words(fact.value))
    smooth = squashed(fact.label)
    column = ""
    held = total = 0.0
    for word in question.words:
        alike = _likeness_in(word, label, smooth)
        if alike < 0.6 and (header := _header_with(word, fact, question.kind)):
            alike, column = 1.0, header
        # Of "how many hours of labor" the row of the labor need not say hours.
        weight = 0.25 if word == question.unit and alike < 0.6 else weight_of(word)
        held += weight * alike
        total += weight
    runs = "".join(chinese_runs(fact.label))
    for run in question.runs:
        alike = _share_of(run, runs)
        if alike < 0.5 and (header := _header_with_run(run, fact)):
            alike, column = 1.0, header
        held += alike
    return _Held(held / (total + len(question.runs)), column)


def _likeness_in(word: str, label: set[str], smooth: str) -> float:
    alike = max((likeness(word, other) for other in label), default=0.0)
    lost_space = alike < 0.9 and len(word) >= 4 and word in smooth
    return 0.9 if lost_space else alike


def _header_with(word: str, fact: Fact, kind: str) -> str:
    """Return the header that holds `word`, one over a value of the kind asked for if there is."""
    held = [
        (header, text)
        for header, text in fact.columns
        if text != fact.label
        and any(likeness(word, other) >= 0.8 for other in content_words(header))
    ]
    fitting = [header for header, text in held if fits(text, kind)]
    return (fitting or [header for header, _ in held] or [""])[0]


def _share_of(run: str, text: str) -> float:
    shared = common_run(run, text)
    return shared / len(run) if shared >= min(2, len(run)) else 0.0


def _header_with_run(run: str, fact: Fact) -> str:
    columns = ((header, text) for header, text in fact.columns if text != fact.label)
    return next((header for header, _ in columns if _share_of(run, folded(header))), "")


def _precision(question: Question, fact: Fact, held: float) -> float:
    """Return a little under 1 for a label that says more than was asked."""
    if fact.layout == "bare":
        return 1.0
    asked = {*question.words, *question.soft}
    _, rest = label_terms(fact.label)
    extra = [
        word
        for word in content_words(rest)
        if word.isalpha() and not any(likeness(word, other) >= 0.8 for other in asked)
    ]
    # "Total points", "total 6% supplies": the total of something else.
    is_part = bool(set(fact.terms) & {"total", "due"}) and not held
    if is_part:
        extra = [word for word in extra if not is_currency(word)]
    runs = sum(len(run) for run in chinese_runs(rest)) if not question.runs else 0
    factor = 1.0 - (0.09 if is_part else 0.03) * min(len(extra) + runs / 2, 5)
    if not held and question.terms:
        strange = sum(
            not any(closeness(asked_name, name) for asked_name in question.terms)
            for name in fact.terms
        )
        factor -= 0.12 * min(strange, 2)
    return factor


def said_whole(question: Question, fact: Fact) -> bool:
    """Tell whether the question holds the label word for word: "the grand total"."""
    label = squashed(fact.label)
    is_phrase = " " in fact.label.strip()
    if not is_phrase and set(fact.terms) & SUMS:
        return False  # every question for a total holds the word
    return len(label) > (6 if is_phrase else 3) and label in squashed(question.text)
