"""A question and a fact -> how well the one answers the other, from 0 to 1."""

# ruff: noqa: PLR2004 (the weights were measured together, and stand where they are used)

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentcell.adapters.local.fact import Fact
from agentcell.adapters.local.lines import values_of
from agentcell.adapters.local.question import Question
from agentcell.adapters.local.terms import closeness, label_terms, term
from agentcell.adapters.local.values import Found, has_currency, is_currency
from agentcell.adapters.local.words import (
    chinese_runs,
    common_run,
    content_words,
    folded,
    likeness,
    squashed,
)

_LAYOUTS = {"inline": 1.0, "row": 1.0, "over": 0.97, "loose": 0.82, "next": 0.94, "bare": 0.9, "after": 0.85, "table": 0.72}

_ANY_AMOUNT = frozenset({"amount", "total", "unit_price", "paid", "due", "fare"})
"""Terms that a price in the row of the thing asked for satisfies."""

_ENDS = frozenset({"end_date", "expiry", "check_out", "due_date", "exit", "arrival"})
"""Terms that the second of two dates answers: "from 1 March to 28 February"."""

_OF_THE_THING = frozenset({"amount", "unit_price", "quantity", "person"})
"""Terms that tell nothing without the thing: the price of what, the name of whom."""

_ANY_DATE = frozenset({"date", "time"})

_WEAK = frozenset(
    """fee charg cost item product pric servic dish goods purchas bought includ us used made set
    need requir happen list written going sent currenc spent spend money record state given amount
    shop go eat ate din travel took take place hold occur creat sign visit travell
    charged total paid pai good unit piec achiev receiv obtain complet earn got reach rang level
    result measur report""".split()
)
"""Words that name no thing of their own; not finding them says little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How a fact answers: `score`, the `value` asked for, and how much of the words it holds."""

    score: float
    value: str
    words: float


def match(question: Question, fact: Fact) -> Match | None:
    """Return how `fact` answers `question`; None if it has nothing to do with it."""
    held, column = _words_held(question, fact)
    is_named_whole = held >= 0.3 and _holds_label(question, fact)
    named = max(
        (
            closeness(asked, name) * (1.0 - 0.15 * place)
            for place, asked in enumerate(question.terms)
            for name in fact.terms
        ),
        default=0.0,
    )
    if question.terms == ("currency",) and set(fact.terms) & {"total", "due", "paid", "amount"}:
        marked = has_currency(fact.quote)
        named = max(named, 0.8 if marked else 0.0)
    has_words = bool(question.words or question.runs)
    if has_words and held < 0.3 and set(question.terms[:1]) & _OF_THE_THING:
        return None  # the price of something else is no answer
    if not named and not held:
        return None
    value, fits = _value(question, fact, column)
    if held >= 0.3 and fact.columns and question.terms:
        headers = {name.name for heading, _ in fact.columns for name in label_terms(heading)[0]}
        named = max([named, *(closeness(asked, name) for asked in question.terms for name in headers)])
    if (held >= 0.6 or is_named_whole) and fits and question.terms:
        generic = question.terms[0]
        if question.kind in ("phone", "email", "web"):
            named = max(named, 0.9)
        if generic in _ANY_AMOUNT and question.kind == "money":
            named = max(named, 1.0 if fact.layout != "inline" else 0.9)
        elif generic in _ANY_DATE or generic in ("quantity", "person"):
            named = max(named, 1.0)
    if fact.layout == "table" and not fact.label and not held:
        return None
    term_weight = 1.0 if question.terms else 0.0
    word_weight = _word_weight(question)
    if not term_weight and not word_weight:
        return None
    score = (term_weight * named + word_weight * held) / (term_weight + word_weight)
    score *= _LAYOUTS[fact.layout] if not (fact.layout == "table" and held >= 0.6) else 1.0
    score *= _precision(question, fact, held)
    if not fits:
        score *= 0.3
    return Match(score=score, value=value, words=held)


def _holds_label(question: Question, fact: Fact) -> bool:
    """Tell whether the question holds every word of the label: "return" of "the car be returned"."""
    asked = (*question.words, *question.soft)
    words = [word for word in fact.words if word.isalpha()]
    return bool(words) and all(any(likeness(a, word) >= 0.8 for a in asked) for word in words)


def _word_weight(question: Question) -> float:
    weights = sum(0.25 if word in _WEAK else 1.0 for word in question.words) + len(question.runs)
    return min(1.3, 0.65 * weights)


def _words_held(question: Question, fact: Fact) -> tuple[float, str]:
    """Return how much of the question's words the fact's label holds, and the column they name."""
    if not question.words and not question.runs:
        return 0.0, ""
    label = set(fact.words) | (set(content_words(fact.value)) if fact.layout == "bare" else set())
    smooth = squashed(fact.label)
    column = ""
    weights = held = 0.0
    for word in question.words:
        weight = 0.25 if word in _WEAK else 1.0
        alike = max((likeness(word, other) for other in label), default=0.0)
        if alike < 0.9 and len(word) >= 4 and word in smooth:
            alike = 0.9  # the recogniser lost a space
        for header, _ in fact.columns if alike < 0.6 else ():
            if any(likeness(word, other) >= 0.8 for other in content_words(header)):
                alike, column = 1.0, header
        weights += weight
        held += weight * alike
    for run in question.runs:
        text = "".join(chinese_runs(fact.label))
        shared = common_run(run, text)
        alike = shared / len(run) if shared >= min(2, len(run)) else 0.0
        for header, _ in fact.columns if alike < 0.5 else ():
            if common_run(run, folded(header)) >= min(2, len(run)):
                alike, column = 1.0, header
        weights += 1.0
        held += alike
    return (held / weights if weights else 0.0), column


def _precision(question: Question, fact: Fact, held: float) -> float:
    """Return a little under 1 for a label that says more than was asked."""
    if fact.layout == "bare":
        return 1.0
    asked = set(question.words) | set(question.soft)
    _, rest = label_terms(fact.label)
    extra = [
        word
        for word in content_words(rest)
        if word.isalpha() and not any(likeness(word, other) >= 0.8 for other in asked)
    ]
    extra_runs = sum(len(run) for run in chinese_runs(rest)) if not question.runs else 0
    # "Total points", "total 6% supplies": the total of something else.
    is_part = bool(set(fact.terms) & {"total", "due"}) and not held
    cost = 0.09 if is_part else 0.03
    if is_part:
        extra = [word for word in extra if not is_currency(word)]
    factor = 1.0 - cost * min(len(extra) + extra_runs / 2, 5)
    if held == 0.0 and question.terms:
        strangers = [
            name
            for name in fact.terms
            if not any(closeness(asked_name, name) for asked_name in question.terms)
        ]
        factor -= 0.12 * min(len(strangers), 2)
    return factor


def _value(question: Question, fact: Fact, column: str) -> tuple[str, bool]:
    """Return the part of the fact's value that is asked for, and whether it is of that kind."""
    if fact.columns:
        header = column or _header_for(question, fact)
        for heading, text in fact.columns:
            if heading == header:
                is_strict = question.kind in ("money", "date", "time", "phone", "email", "web")
                return text, _fits(text, question.kind) or (bool(column) and not is_strict)
    kind = question.kind
    if kind == "money":
        money = amounts(fact.value)
        if not money and fact.layout == "row":
            money = [found for found in amounts(fact.label) if found.kind == "money"]
        is_numbered = any(term(name).kind in ("code", "phone", "date") for name in fact.terms)
        if money and money[-1].kind != "money" and is_numbered:
            return fact.value, False
        if money:
            chosen = money[-1]
            if question.terms[:1] == ("unit_price",) and len(money) > 1:
                chosen = money[-2]
            return chosen.text, True
        return fact.value, False
    if kind == "phone":
        numbers = [value for value in values_of(fact.value) if value.kind in ("phone", "code", "number")]
        numbers.sort(key=lambda value: value.kind != "phone")
        return (numbers[0].text, True) if numbers else (fact.value, False)
    if kind in ("date", "time", "percent", "email", "web"):
        found = [value for value in values_of(fact.value) if value.kind == kind]
        if not found and kind == "percent":
            found = [value for value in values_of(fact.label) if value.kind == kind]
        if not found and kind == "date":
            found = [value for value in values_of(fact.value) if value.kind == "time"]
            return (found[0].text, fact.layout != "bare") if found else (fact.value, False)
        is_end = bool(set(question.terms[:1]) & _ENDS)
        return (found[-is_end].text, True) if found else (fact.value, False)
    if kind == "count":
        return _count(fact)
    return fact.value, _fits(fact.value, kind)


def amounts(text: str) -> list[Found]:
    """Return the amounts of money in `text`; where none says that it is one, its numbers."""
    found = values_of(text)
    money = [value for value in found if value.kind == "money"]
    return money or [
        value
        for value in found
        if value.kind == "number" and not text[value.end : value.end + 1].isalpha()
    ]


def _header_for(question: Question, fact: Fact) -> str:
    """Return the header of the column that answers a question about a row of a table."""
    headers = [heading for heading, _ in fact.columns]
    named = [{name.name for name in label_terms(heading)[0]} for heading in headers]
    for asked in question.terms:
        for heading, names in zip(headers, named, strict=True):
            if asked in names:
                return heading
    if question.kind == "money":
        for heading, names in reversed(list(zip(headers, named, strict=True))):
            if names & {"total", "amount", "subtotal"} and "unit_price" not in names:
                return heading
        for heading, text in reversed(fact.columns):
            if any(found.kind == "money" for found in values_of(text)):
                return heading
    for heading, text in fact.columns:
        if question.kind in ("date", "time", "percent", "code") and _fits(text, question.kind):
            return heading
    return ""


_TIMES = re.compile(
    r"(?:^|\s)(\d+)\s?[xX×*](?=\s|[^\W\d_])|(?:^|\s)[xX×*]\s?(\d+)\b|\((\d+)\)|(\d+)\s?[xX×@]"
)


def _count(fact: Fact) -> tuple[str, bool]:
    """Return how many a fact speaks of: ``2 x``, ``x2``, ``(12)``, or a number that is no price."""
    for text in (fact.label, fact.value):
        if found := _TIMES.search(text):
            return next(group for group in found.groups() if group), True
    for text in (fact.value, fact.label):
        for value in values_of(text):
            if value.kind == "number":
                return value.text, True
    return fact.value, False


def _fits(text: str, kind: str) -> bool:
    """Tell whether `text` can be a value of that kind."""
    if kind in ("", "text"):
        return bool(text)
    if kind == "money":
        return bool(amounts(text))
    if kind in ("name", "place"):
        letters = sum(letter.isalpha() for letter in text)
        return letters >= 2 and letters >= 0.4 * len(text.replace(" ", ""))
    if kind == "code":
        first = text.split()[0] if text.split() else ""
        has_digit = any(letter.isdigit() for letter in first + "".join(text.split()[1:2]))
        is_dated = any(found.kind in ("date", "money") for found in values_of(text))
        return (has_digit or (first.isupper() and len(first) <= 8)) and not is_dated
    if kind == "count":
        return any(letter.isdigit() for letter in text)
    return any(found.kind == kind for found in values_of(text))


def kind_of(question: Question) -> str:
    """Return the kind of value that is asked for, by the first term where no other is said."""
    return question.kind or (term(question.terms[0]).kind if question.terms else "")


def said_whole(question: Question, fact: Fact) -> bool:
    """Tell whether the question holds the label word for word: "the grand total"."""
    label = squashed(fact.label)
    is_sum = bool(set(fact.terms) & {"total", "due", "paid"})
    longest = 6 if is_sum or " " in fact.label.strip() else 3
    is_phrase = " " in fact.label.strip() or not is_sum
    return is_phrase and len(label) > longest and label in squashed(question.text)


def prefer_final(
    question: Question, facts: Sequence[Fact], scores: list[float], everything: Sequence[Fact]
) -> None:
    """Raise, of several totals, the one that is final; `scores` is changed.

    That is the one which other rows repeat (what was paid), the one after a row of rounding, or
    the last before the cash and the change; sums of a tax table after those are not.

    Parameters
    ----------
    facts, scores
        What may answer, and how well.
    everything
        All facts of the document.
    """
    if not set(question.terms) & {"total", "due", "paid"}:
        return
    family = [
        number
        for number, fact in enumerate(facts)
        if scores[number] > 0.4 and set(fact.terms) & {"total", "due", "paid"}
    ]
    if len(family) < 2:
        return
    closing = [fact.row for fact in everything if set(fact.terms) & {"change", "tendered"}]
    end = min(closing, default=10**9)
    rounded = [fact.row for fact in everything if "rounding" in fact.terms]
    sums: dict[object, int] = {}
    for fact in everything:
        if set(fact.terms) & {"total", "due", "paid", "tendered", "payment_method"}:
            for found in amounts(fact.value)[-1:]:
                sums[found.number] = sums.get(found.number, 0) + 1
    largest = max(
        (abs(money[-1].number or 0) for n in family if (money := amounts(facts[n].value))), default=0
    )
    for order, number in enumerate(sorted(family, key=lambda n: facts[n].row)):
        fact = facts[number]
        money = amounts(fact.value)
        raised = 0.04 * order / len(family)
        if money and sums.get(money[-1].number, 0) > 1:
            raised += 0.05
        if fact.row > end:
            raised -= 0.12
        if len({found.number for found in money}) > 1:
            raised -= 0.12
        if any(0 < fact.row - row <= 3 for row in rounded):
            raised += 0.1
        if money and money[-1].number == largest:
            raised += 0.03
        if money and not money[-1].number:
            raised -= 0.2
        if "grand" in folded(fact.label) or "rounded" in folded(fact.label):
            raised += 0.05
        scores[number] += raised
