"""A question and a fact -> the part of the fact's value that is asked for."""

# ruff: noqa: PLR2004 (counts of letters)

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from agentcell.adapters.local.fact import Fact
from agentcell.adapters.local.lines import has_digit, values_of
from agentcell.adapters.local.question import Question
from agentcell.adapters.local.terms import label_terms, term
from agentcell.adapters.local.values import Found
from agentcell.adapters.local.words import word_set

_STRICT = word_set("money date time phone email web")
"""Kinds that are known by their look; a value of another look is none of them."""

_ENDS = word_set("end_date expiry check_out due_date exit arrival")
"""Terms that the second of two dates answers: "from 1 March to 28 February"."""

_WHOLE_PRICE = word_set("amount total paid due")
"""Terms that the last column of money answers, not the price of one."""

_SHORT_CODE = 8  # letters of a code without a digit


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of a value that answers, and whether it is of the kind asked for."""

    text: str
    fits: bool


def answer_in(question: Question, fact: Fact, column: str) -> Answer:
    """Return what of the value of `fact` is asked for.

    Parameters
    ----------
    column
        The header of the column that the question names, or "".
    """
    header = column or (_header_for(question, fact) if fact.columns else "")
    for heading, text in fact.columns:
        if heading == header:
            is_named = bool(column) and question.kind not in _STRICT
            return Answer(text, fits=is_named or fits(text, question.kind))
    special = _BY_KIND.get(question.kind)
    if special:
        return special(question, fact)
    return Answer(fact.value, fits=fits(fact.value, question.kind))


def amounts(text: str) -> list[Found]:
    """Return the amounts of money in `text`; where none says that it is one, its numbers."""
    found = values_of(text)
    money = [value for value in found if value.kind == "money"]
    return money or [
        value
        for value in found
        if value.kind == "number" and not text[value.end : value.end + 1].isalpha()
    ]


def _money(question: Question, fact: Fact) -> Answer:
    """Return the last amount; the one before it where the price of one is asked for."""
    money = amounts(fact.value)
    if not money and fact.layout == "row":
        money = [found for found in amounts(fact.label) if found.kind == "money"]
    is_numbered = any(term(name).kind in ("code", "phone", "date") for name in fact.terms)
    if not money or (money[-1].kind != "money" and is_numbered):
        return Answer(fact.value, fits=False)
    is_of_one = question.terms[:1] == ("unit_price",) and len(money) > 1
    return Answer(money[-2 if is_of_one else -1].text, fits=True)


def _phone(_: Question, fact: Fact) -> Answer:
    kinds = ("phone", "code", "number")
    found = [value for value in values_of(fact.value) if value.kind in kinds]
    found.sort(key=lambda value: kinds.index(value.kind))
    return Answer(found[0].text, fits=True) if found else Answer(fact.value, fits=False)


def _name(_: Question, fact: Fact) -> Answer:
    """Return the name before the telephone, the number or the date that follows it."""
    found = values_of(fact.value)
    name = fact.value[: found[0].start].strip(" ,;:-·*") if found else fact.value
    text = name if fits(name, "name") else fact.value
    return Answer(text, fits=fits(text, "name"))


def _of_look(question: Question, fact: Fact) -> Answer:
    """Return the first value of the kind; the last where the end of a time is asked for."""
    kind = question.kind
    found = [value for value in values_of(fact.value) if value.kind == kind]
    if not found and kind == "percent":
        found = [value for value in values_of(fact.label) if value.kind == kind]
    if found:
        is_end = bool(set(question.terms[:1]) & _ENDS)
        return Answer(found[-1 if is_end else 0].text, fits=True)
    times = [value for value in values_of(fact.value) if value.kind == "time"]
    if kind == "date" and times:
        return Answer(times[0].text, fits=fact.layout != "bare")
    return Answer(fact.value, fits=False)


_TIMES = re.compile(
    r"(?:^|\s)(\d+)\s?[xX×*](?=\s|[^\W\d_])|(?:^|\s)[xX×*]\s?(\d+)\b|\((\d+)\)|(\d+)\s?[xX×@]"
)


def _count(_: Question, fact: Fact) -> Answer:
    """Return how many a fact speaks of: ``2 x``, ``x2``, ``(12)``, or a number that is no price."""
    for text in (fact.label, fact.value):
        if found := _TIMES.search(text):
            return Answer(next(group for group in found.groups() if group), fits=True)
    for text in (fact.value, fact.label):
        for value in values_of(text):
            if value.kind == "number":
                return Answer(value.text, fits=True)
    return Answer(fact.value, fits=False)


_BY_KIND: dict[str, Callable[[Question, Fact], Answer]] = {
    "money": _money,
    "phone": _phone,
    "name": _name,
    "count": _count,
    "date": _of_look,
    "time": _of_look,
    "percent": _of_look,
    "email": _of_look,
    "web": _of_look,
}


def _header_for(question: Question, fact: Fact) -> str:
    """Return the header of the column that answers a question about a row of a table."""
    named = [(heading, text, _names(heading)) for heading, text in fact.columns]
    if question.kind == "money" and set(question.terms) <= _WHOLE_PRICE:
        return _money_header(named)
    for asked in question.terms:
        for heading, _, names in named:
            if asked in names:
                return heading
    if question.terms[:1] == ("unit_price",):  # "Price" beside "Amount"
        others = [each for each in named if each[0] != _money_header(named)]
        return _money_header(others)
    if question.kind == "money":
        return _money_header(named)
    if question.kind in ("date", "time", "percent", "code"):
        return next((heading for heading, text, _ in named if fits(text, question.kind)), "")
    return ""


def _money_header(named: list[tuple[str, str, set[str]]]) -> str:
    """Return the last column that is called amount or total, else the last that holds money."""
    for heading, _, names in reversed(named):
        if names & {"total", "amount", "subtotal"} and "unit_price" not in names:
            return heading
    for heading, text, _ in reversed(named):
        if any(found.kind == "money" for found in values_of(text)):
            return heading
    return ""


def _names(heading: str) -> set[str]:
    return {named.name for named in label_terms(heading)[0]}


def fits(text: str, kind: str) -> bool:
    """Tell whether `text` can be a value of that kind."""
    if kind in ("", "text"):
        return bool(text)
    if kind == "money":
        return bool(amounts(text))
    if kind in ("name", "place"):
        letters = sum(letter.isalpha() for letter in text)
        return letters >= 2 and letters >= 0.4 * len(text.replace(" ", ""))
    if kind == "code":
        return _is_code(text)
    if kind in ("count", "measure"):
        return has_digit(text)
    return any(found.kind == kind for found in values_of(text))


def _is_code(text: str) -> bool:
    words = text.split()
    if not words or any(found.kind in ("date", "money") for found in values_of(text)):
        return False
    is_short = words[0].isupper() and len(words[0]) <= _SHORT_CODE
    return is_short or any(has_digit(word) for word in words[:2])
