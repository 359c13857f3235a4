"""A question -> what it asks for: terms, the kind of value, and the words that name the thing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agentcell.adapters.local import wording
from agentcell.adapters.local.terms import Named, asked_terms, term
from agentcell.adapters.local.wording import Shape
from agentcell.adapters.local.words import (
    chinese_pairs,
    english_words,
    folded,
    is_stop,
    stem,
    weight_of,
    word_set,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked.

    Parameters
    ----------
    terms
        Names of terms (see `terms`), the most telling first.
    kind
        The kind of value that answers, ``money date time code …``; "" if any may.
    words
        Stems of the English words that name the thing: ``("coffe", "bean")``.
    runs
        The Chinese runs that do: ``("大米",)``.
    soft
        Stems of words such as ``receipt`` or ``hotel`` that say what is attached, or of whom.
    shape
        ``fact`` for one value, ``overview`` for what a document is, ``list`` for its items,
        ``extreme`` for the largest or smallest.
    sign
        Of an extreme: 1 for the largest, -1 for the smallest.
    search
        What to look for in sentences: all stems that carry meaning, and pairs of characters.
    unit
        The stem of what is counted in "how many hours of labor".
    """

    text: str
    terms: tuple[str, ...] = ()
    kind: str = ""
    words: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    soft: tuple[str, ...] = ()
    shape: Shape = "fact"
    sign: int = 0
    search: tuple[str, ...] = ()
    unit: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked that could be looked for."""
        return not (self.terms or self.kind or self.words or self.runs or self.shape != "fact")


@dataclass(frozen=True, slots=True)
class Asked:
    """One sentence that asks; `parts` holds the things that it joins by "and", if it does."""

    whole: Question
    parts: tuple[Question, ...] = ()


_GENERIC = word_set("amount date time total person quantity unit_price")
"""Terms that give way to any other in the same question."""

_MEASURES = word_set("weight distance duration")

_SENTENCE_END = re.compile(r"(?<=[?？!！。；;\n])\s*|(?<=[a-z\u4e00-\u9fff)\]])\.(?:\s+|$)")
_PART = re.compile(r"\s*(?:,|，|、|\band\b|和|以及|还有|及|&|\bplus\b)\s*")


def parse_question(text: str) -> list[Asked]:
    """Return what `text` asks, its last sentence first; what asks for nothing is left out."""
    sentences = [piece.strip() for piece in _SENTENCE_END.split(text) if piece.strip()]
    marked = [piece for piece in sentences if piece.endswith(("?", "？"))]
    rest = [piece for piece in sentences if piece not in marked]
    asked = [_asked(sentence) for sentence in [*reversed(marked), *reversed(rest)]]
    return [each for each in asked if not each.whole.is_empty]


def _asked(sentence: str) -> Asked:
    whole = _parse(sentence)
    pieces = [piece for piece in _PART.split(sentence) if piece]
    if len(pieces) == 1 or whole.shape != "fact":
        return Asked(whole)
    shared = tuple(name for name in whole.terms if name in _GENERIC)
    # "The coffee and the tea": both by price.
    parts = [
        replace(part, kind=part.kind or whole.kind, terms=part.terms or shared)
        for part in map(_parse, pieces)
        if part.shape == "fact" and (part.terms or part.words or part.runs)
    ]
    distinct = {(part.terms, part.words, part.runs) for part in parts}
    return Asked(whole, tuple(parts)) if len(distinct) > 1 else Asked(whole)


def softened(question: Question, known: frozenset[str]) -> Question:
    """Return `question` with the words of `known`, a document's title, said to be about it."""
    soft = tuple(word for word in question.words if word in known)
    if not soft or question.shape != "fact":
        return question
    words = tuple(word for word in question.words if word not in known)
    about = replace(question, words=words, soft=(*question.soft, *soft))
    return replace(about, terms=_or_usual(about))


def _or_usual(question: Question) -> tuple[str, ...]:
    """Return the terms, or what is usually meant by a bare "how much", "who" or "what number"."""
    is_bare = not question.runs and all(weight_of(word) < 1 for word in question.words)
    if question.kind == "money" and question.terms in ((), ("amount",)) and is_bare:
        return ("total",)
    if question.kind == "name" and not question.terms:
        return ("person",)
    if question.kind == "code" and not question.terms and is_bare:
        return ("number",)
    return question.terms


def _parse(text: str) -> Question:
    plain = " ".join(folded(text).split())
    shape, sign = wording.shape_of(plain)
    question = Question(text=text, shape=shape, sign=sign)
    if shape == "overview":
        return question
    found, rest = asked_terms(plain)
    kind = wording.kind_of(plain)
    terms = _chosen(plain, found, kind)
    rest = _with_dropped(plain, rest, found, terms)
    words = [word for word in english_words(rest) if not is_stop(word) and len(word) > 1]
    question = replace(
        question,
        terms=terms,
        kind=kind,
        words=_unique(stem(word) for word in words if not wording.is_soft(word)),
        runs=tuple(wording.chinese_focus(rest)),
        soft=_unique(stem(word) for word in words if wording.is_soft(word)),
        search=_search_words(plain),
        unit=wording.counted(plain),
    )
    if _is_of_a_thing(question, found):
        question = replace(question, terms=("date",))
    if question.kind not in ("money", "count", "measure", ""):
        runs = tuple(run for run in question.runs if len(run) > 1)
        question = replace(question, runs=runs)
    question = _with_issuer(plain, question)
    question = _with_special(plain, question)
    question = replace(question, kind=_kind(plain, question))
    return replace(question, terms=_or_usual(question))


def _is_of_a_thing(question: Question, found: list[Named]) -> bool:
    """Tell whether it asks when a thing that it names begins: "when does the talk start"."""
    names = question.terms[:1]
    if names not in (("valid_from",), ("end_date",)) or not (question.words or question.runs):
        return False
    return all(named.asked for named in found if named.name == names[0])


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _search_words(plain: str) -> tuple[str, ...]:
    words = [
        stem(word)
        for word in english_words(plain)
        if not is_stop(word) and word.removesuffix("s") not in wording.DOCUMENT_NOUNS
    ]
    return _unique([*words, *chinese_pairs(wording.without_filler(plain))])


def _chosen(plain: str, found: list[Named], kind: str) -> tuple[str, ...]:
    """Return the terms that are asked for; the generic ones only where there is no other."""
    names = _of_kind(list(dict.fromkeys(named.name for named in found)), kind)
    if "change" in names and wording.is_verb(plain, "change"):
        names.remove("change")
    specific = [name for name in names if name not in _GENERIC]
    if specific:
        firm = {named.name for named in found if not named.asked}
        said = [name for name in specific if name in firm] or specific
        names = [name for name in said if term(name).kind == term(said[0]).kind]
    elif "total" in names:
        names = ["total"]
    return tuple(names)


def _of_kind(names: list[str], kind: str) -> list[str]:
    """Return those of `names` that a question for that kind of value can mean.

    "By what date should it be paid" is no question about money.
    """
    if measures := [name for name in names if name in _MEASURES]:
        return measures  # "how much does it weigh"
    allowed = {
        "date": ("date", "time"),
        "time": ("date", "time"),
        "money": ("money", "count"),
        "name": ("name", "text"),
        "count": ("count", "measure"),
    }.get(kind)
    if allowed is None:
        return names
    kept = [name for name in names if term(name).kind in allowed]
    if kind == "date" and "due" in names:
        kept.append("due_date")
    return kept if kept or kind == "name" else names


def _with_dropped(plain: str, rest: str, found: list[Named], terms: tuple[str, ...]) -> str:
    """Return `rest` with the words of terms not asked for: the room of "the room's cost"."""
    for named in found:
        if named.name not in terms and named.name not in _GENERIC and not named.asked:
            rest = rest[: named.start] + plain[named.start : named.end] + rest[named.end :]
    return rest


_NO_NAMES = word_set("money date time count percent code")
_MAY_BE_ISSUER = word_set("vendor person order_no order_date paid amount")


def _with_issuer(plain: str, question: Question) -> Question:
    """Return the question for the vendor or the customer where it asks for one of them."""
    first = question.terms[:1]
    if wording.asks_customer(plain) and first != ("vendor",):
        is_named = any(term(name).kind == "name" for name in question.terms)
        return replace(question, terms=question.terms if is_named else ("customer",), kind="name")
    if question.kind in _NO_NAMES:
        return question
    if wording.asks_issuer(plain):
        return replace(question, terms=("vendor",), kind="name", words=())
    may_be = not first or first[0] in _MAY_BE_ISSUER
    if first == ("vendor",) or (may_be and wording.names_issuer(plain)):
        nouns = [noun for noun in wording.ISSUER_RUNS if noun in plain]
        runs = tuple(run for run in question.runs if not any(noun in run for noun in nouns))
        return replace(question, terms=("vendor",), kind="name", runs=runs)
    return question


def _with_special(plain: str, question: Question) -> Question:
    """Return the question with the term that its wording as a whole tells."""
    if wording.asks_way_to_pay(plain):
        return replace(question, terms=("payment_method",), kind="text")
    if question.kind == "date" and question.terms in ((), ("date",)):
        name = wording.paying_date(plain)
        return replace(question, terms=(name,)) if name else question
    may_travel = question.kind == "place" or question.terms in ((), ("flight",), ("train",))
    if may_travel and question.terms != ("address",) and (end := wording.route_end(plain)):
        return replace(question, terms=(end,), kind="place")
    return question


def _kind(plain: str, question: Question) -> str:
    """Return the kind of value, which a specific term knows better than the wording."""
    if not question.terms:
        return question.kind
    own = term(question.terms[0]).kind
    if question.terms[0] in _GENERIC:
        return question.kind or own
    if {own, question.kind} == {"date", "time"}:  # "when" asks for either
        return "time" if "time" in plain or "点" in plain else ""
    return own
