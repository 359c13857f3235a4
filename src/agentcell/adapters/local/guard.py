"""A model's sentence and the evidence -> whether it may be shown.

A small model invents: it adds sums up, takes the quantity for the price, names things that are
not there. So a sentence is shown only if it says the value that the evidence answers with, and
nothing besides: every number, date, name and word in it stands in that one quote, or is a word of
the question that the quote is about, or carries no meaning. To refuse a right sentence costs
little, as the quote is shown anyhow; to show a wrong one costs trust.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from agentcell.adapters.local.evidence import Evidence
from agentcell.adapters.local.question import parse_question
from agentcell.adapters.local.terms import closeness, label_terms
from agentcell.adapters.local.values import Found, find_values
from agentcell.adapters.local.words import folded, language_of, squashed, stem, word_set

SPOKEN_ABOVE = 0.6
"""Score of the evidence from which a sentence is looked at. Of 1,845 answers found in real till
receipts over it (total, date, shop), 94 in 100 were right."""

_AS_GOOD = 0.05

LONGEST = 200
"""Letters. A longer sentence of a small model says more than was asked."""

_HEDGES = word_set(
    """not no never none neither nor cannot cant unable unknown unclear unsure sorry maybe perhaps
    probably possibly might could would should may if or but however except without unless assuming
    estimate estimated approximately approx about around roughly nearly almost over under least most
    more less than each per every both i im we my think believe seems seem appears appear likely
    understand assist language model ai example such"""
)
_FRAME = word_set(
    """the a an is was are were it this that of on for at in to from by and which your you has have
    had be been there its with as s who where when what how much did do does these those answer
    amount value number name named called cost price date dated listed shown given stated written
    recorded according receipt invoice bill document image picture attachment page line row thank
    question following quote charged purchased sold bought item company store shop business
    """
)
_NEUTRAL_TERMS = frozenset({"amount", "date", "time", "person", "vendor", "order_no", "order_date"})
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s+\S)")
_CONTRACTED_NOT = re.compile(r"n['’]t\b", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|No|Inc|Ltd|Co|Corp|Jr|Sr|vs|a\.m|p\.m)\.$", re.IGNORECASE
)


def is_supported(sentence: str, evidence: Sequence[Evidence], question: str) -> bool:
    """Tell whether `sentence` says what the first of `evidence` answers, and nothing else.

    Parameters
    ----------
    sentence
        In English; anything in another language is refused, unless it is quoted.
    evidence
        The best first, as `find_evidence` returns it.
    """
    text = " ".join(sentence.split()).strip("\"'“”")
    if not evidence or not _is_plain(text, question):
        return False
    best = evidence[0]
    if best.score < SPOKEN_ABOVE or any(_contradicts(best, other) for other in evidence[1:]):
        return False
    said = find_values(text)
    return (
        _values_stand_in(said, best, question)
        and _currency_fits(said, best)
        and _says_value(text, said, best)
        and _words_stand_in(text, said, best, question)
        and _is_about(text, best, question)
    )


def _contradicts(best: Evidence, other: Evidence) -> bool:
    """Tell whether `other` answers as well as the best, and differs: the total of another bill."""
    if other.score < best.score - _AS_GOOD or not (best.value and other.value):
        return False
    if squashed(best.value) == squashed(other.value):
        return False
    own, theirs = _terms_of(best), _terms_of(other)
    return bool(own & theirs) or not (own or theirs)


def _terms_of(evidence: Evidence) -> set[str]:
    label = evidence.label or _before_value(evidence)
    return {named.name for named in label_terms(label)[0]}


def _is_plain(text: str, question: str) -> bool:
    """Tell whether `text` is one short, certain, English statement."""
    if not 0 < len(text) <= LONGEST or "?" in text or language_of(question) != "en":
        return False
    if any(mark in text for mark in "{}[]<>|`\\=+^~_"):
        return False  # markup, sums
    for end in _SENTENCE_ENDS.finditer(text):
        if not _ABBREVIATION.search(text[: end.end()]):
            return False
    return not _CONTRACTED_NOT.search(text)


def _values_stand_in(said: Sequence[Found], best: Evidence, question: str) -> bool:
    """Tell whether every value that is said stands in the quote or in the question."""
    known = [*find_values(best.quote), *find_values(question)]
    quoted = squashed(f"{best.quote} | {question}")
    return all(_stands_in(value, known, quoted) for value in said)


def _stands_in(value: Found, known: Sequence[Found], quoted: str) -> bool:
    if value.number is not None:
        is_percent = value.kind == "percent"
        return any(
            other.number is not None
            and abs(other.number) == abs(value.number)
            and (other.kind == "percent") == is_percent
            for other in known
        )
    if value.kind == "date":
        return any(_same_day(value, other) for other in known if other.kind == "date")
    if value.kind == "time":
        return any(_clock(value.text) == _clock(other.text) for other in known)
    others = [squashed(other.text) for other in known]
    return squashed(value.text) in others or (
        len(squashed(value.text)) > _SHORT_CODE and squashed(value.text) in quoted
    )


_SHORT_CODE = 3


def _same_day(a: Found, b: Found) -> bool:
    if folded(a.text).replace(" ", "") == folded(b.text).replace(" ", ""):
        return True
    return len(a.days) == 1 and a.days == b.days


def _clock(text: str) -> str:
    return re.sub(r"[\s.]", "", folded(text)).lstrip("0")


def _currency_fits(said: Sequence[Found], best: Evidence) -> bool:
    """Tell whether no other currency is said than the document's.

    A plain dollar sign passes where no currency is known at all.
    """
    written = {found.currency for found in find_values(best.quote) if found.currency}
    own = written or ({best.currency} if best.currency else {"USD"})
    return all(value.currency in own for value in said if value.currency)


def _says_value(text: str, said: Sequence[Found], best: Evidence) -> bool:
    """Tell whether the value that answers is said."""
    answer = best.value
    if not answer:
        return _says_only_value(text, said, best)
    values = find_values(answer)
    numbers = {abs(value.number) for value in values if value.number is not None}
    if best.kind in ("money", "percent", "count") or (numbers and not best.kind):
        spoken = [value for value in said if value.number is not None]
        return any(
            value.number is not None
            and abs(value.number) in numbers
            and _has_no_other_unit(text, value, best)
            for value in spoken
        )
    if best.kind == "date":
        days = [value for value in values if value.kind == "date"]
        return any(_same_day(a, b) for a in said if a.kind == "date" for b in days)
    whole = squashed(answer)
    return bool(whole) and whole in squashed(text)


def _says_only_value(text: str, said: Sequence[Found], best: Evidence) -> bool:
    """Tell the same of a quote of which no part is known to answer.

    Of the kind asked for it must hold one value only, and that must be said; where no kind is
    asked for, its words must come in its own order.
    """
    wanted = {"money": ("money",), "count": ("number",)}.get(best.kind, (best.kind,))
    if best.kind and best.kind not in ("name", "place", "text", "code"):
        held: set[object] = {
            _identity(value) for value in find_values(best.quote) if value.kind in wanted
        }
        return len(held) == 1 and any(_identity(value) in held for value in said)
    quoted = [stem(word) for word in _WORD.findall(folded(best.quote))]
    position = 0
    matched = 0
    for word in (stem(word) for word in _WORD.findall(folded(text))):
        if word in quoted[position:]:
            position = quoted.index(word, position) + 1
            matched += 1
        elif word in quoted:
            return False
    return matched >= _FEWEST_QUOTED


_FEWEST_QUOTED = 4  # words


def _identity(value: Found) -> object:
    if value.number is not None:
        return abs(value.number)
    return value.days if value.kind == "date" else squashed(value.text)


def _has_no_other_unit(text: str, value: Found, best: Evidence) -> bool:
    """Tell whether the word after a number is none, or the one after it in the quote."""
    after = re.match(r"\s?-?([^\W\d_]+)", text[value.end :])
    if not after or folded(after[1]) in _FRAME or after[1].lower() in _MONEY_WORDS:
        return True
    for other in find_values(best.quote):
        if other.number is not None and value.number is not None:
            follows = re.match(r"\s?-?([^\W\d_]+)", best.quote[other.end :])
            if abs(other.number) == abs(value.number) and follows:
                return folded(follows[1]) == folded(after[1])
    return best.kind == "count"


_MONEY_WORDS = word_set("dollars dollar euros euro pounds yuan usd eur gbp cny rm")


def _words_stand_in(text: str, said: Sequence[Found], best: Evidence, question: str) -> bool:
    """Tell whether every word stands in the quote, or was asked, or carries no meaning."""
    quoted = {stem(word) for word in _WORD.findall(folded(best.quote))}
    smooth = squashed(best.quote)
    asked = {stem(word) for word in _WORD.findall(folded(question))} - _unanswered(
        question, quoted, smooth
    )
    rest = text
    for value in reversed(said):
        if value.kind in ("date", "time", "email", "web", "money"):
            rest = f"{rest[: value.start]} {rest[value.end :]}"
    for word in _WORD.findall(folded(rest)):
        base = stem(word)
        in_quote = base in quoted or (len(word) > _SHORT_CODE and word in smooth)
        if word in _HEDGES and not in_quote:
            return False
        if not word.isascii() and word not in folded(best.quote):
            return False
        if not (in_quote or base in asked or word in _FRAME or base in _FRAME):
            return False
    return True


def _unanswered(question: str, quoted: set[str], smooth: str) -> set[str]:
    """Return the words of the question that name a thing which the quote is not about.

    Of "the coffee and the tea" a quote about coffee may not be said of the tea.
    """
    return {
        word
        for asked in parse_question(question)
        for word in asked.whole.words
        if word not in quoted and word not in smooth
    }


def _is_about(text: str, best: Evidence, question: str) -> bool:
    """Tell whether the sentence calls the value what the document calls it: no tax the total."""
    own = _terms_of(best)
    asked = {name for each in parse_question(question) for name in each.whole.terms}
    for named in label_terms(_without_value(text, best))[0]:
        name = named.name
        if name in _NEUTRAL_TERMS:
            continue
        if own and not any(
            max(closeness(name, other), closeness(other, name)) >= _CLOSE for other in own
        ):
            return False
        if not own and name not in asked:
            return False
    return True


_CLOSE = 0.6


def _before_value(best: Evidence) -> str:
    at = best.quote.find(best.value) if best.value else -1
    return best.quote[:at] if at > 0 else best.quote


def _without_value(text: str, best: Evidence) -> str:
    """Return `text` without the value: Cash & Carry is a name, and no word about cash."""
    if best.kind in ("name", "place", "text", ""):
        at = folded(text).find(folded(best.value)) if best.value else -1
        if at >= 0:
            return text[:at] + " " + text[at + len(best.value) :]
    return text


def numbers_in(text: str) -> set[Decimal]:
    """Return the numbers in `text`, without their signs."""
    return {abs(value.number) for value in find_values(text) if value.number is not None}
