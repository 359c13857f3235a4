"""The words of documents -> what they stand for: ``SUB TOTAL`` and ``小计`` are one term.

One table serves labels and questions, so a question in one language finds a label in the other,
and what is easily confused (total and subtotal, due date and invoice date) is told apart by the
longest phrase that fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from agentcell.adapters.local.words import CHINESE, folded, likeness, word_set


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that labels name and questions ask for.

    `kind` is the kind of its value: ``money date time code phone email web name place percent
    count text``.
    """

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Table:
    terms: dict[str, Term]
    labels: dict[str, str]
    """A phrase without its spaces -> the name of its term."""
    asks: dict[str, str]
    starts: set[str]
    """First words of phrases of several."""
    also: dict[str, dict[str, float]]


@cache
def _table() -> _Table:
    table = _Table({}, {}, {}, set(), {})
    name = key = ""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, kind = line.split()
            table.terms[name] = Term(name, kind)
            table.also[name] = {name: 1.0}
            continue
        if match := _KEY.match(line):
            key = match[1]
            line = line[match.end() :]  # noqa: PLW2901
        for phrase in filter(None, map(str.strip, line.split(";"))):
            _enter(table, name, key, phrase)
    return table


_FILE = Path(__file__).with_name("terms.txt")
_KEY = re.compile(r"  (said|asked|also):")


_NUMBER = {"#": "no", "number": "no", "num": "no", "nr": "no", "nos": "no"}


def _plain(token: str) -> str:
    """Return one word for ``#``, ``no.`` and ``number``."""
    return _NUMBER.get(token, token)


def _enter(table: _Table, name: str, key: str, phrase: str) -> None:
    if key == "also":
        other, strength = phrase.split()
        table.also[name][other] = float(strength)
        return
    tokens = _TOKEN.findall(folded(phrase))
    names = table.labels if key == "said" else table.asks
    names.setdefault("".join(map(_plain, tokens)), name)
    if len(tokens) > 1:
        table.starts.add(tokens[0])


def term(name: str) -> Term:
    """Return the term of that name."""
    return _table().terms[name]


@dataclass(frozen=True, slots=True)
class Named:
    """A term in a text, with its place in the folded text. `asked` if only a question says so."""

    name: str
    start: int
    end: int
    asked: bool = False


_TOKEN = re.compile(rf"{CHINESE.pattern}|[^\W\d_\u3400-\u9fff\uf900-\ufaff]+|\d+|#")
_LONGEST_PHRASE = 6  # words
_LONGEST_CHINESE = 9  # characters
_JOINT = re.compile(r"[\s\-_.:/’'&()]{0,3}")
_CURRENCY_ENDS = ("rm", "usd", "eur", "gbp", "cny", "aud", "sgd", "hkd")  # TOTALRM
_CURRENCY_END = re.compile(f"(?:{'|'.join(_CURRENCY_ENDS)})$")

_TAX_WORD = r"(?:sales\s?)?(?:tax(?:es)?|vat|gst|sst|hst|service(?:\s?charges?)?|tips?)"
_INCLUDING = re.compile(
    rf"\(?\b(?:[il1]nc(?:l(?:uding|usive|uded|udes)?)?\b\.?|with|after|w/|in(?=\s?of))\s*(?:of\s*)?(?:[@\d.]+\s?%?\s*)?"
    rf"(?:the\s)?{_TAX_WORD}(?:\s?@?\s?[\d.]+\s?%)?\)?|[(（]?含税[)）]?|tax\s?included|tax\s?incl\.?"
    r"|after\s(?:rounding|adj\w*\b)|\brounded\b"
)
_EXCLUDING = re.compile(
    rf"\(?\b(?:excl(?:uding|usive|udes)?\b\.?|before|without|w/o|pre-?|net\sof)\s*(?:of\s*)?"
    rf"(?:[@\d.]+\s?%?\s*)?(?:the\s)?{_TAX_WORD}(?:\s?@?\s?[\d.]+\s?%)?\)?|[(（]?(?:不含税|税前)[)）]?"
)
_OVERRIDES_TOTAL = word_set(
    """tax discount quantity item_count deductions tip service shipping net_pay gross_pay subtotal
    balance opening refund rounding interest paid due tendered received change duration"""
)


def label_terms(text: str) -> tuple[list[Named], str]:
    """Return the terms in a label, and the folded text with what they took blanked out.

    ``Total incl. GST`` is a total, ``Total excl. GST`` a subtotal and ``Total tax`` a tax.
    """
    return _terms(folded(text), in_question=False)


def asked_terms(text: str) -> tuple[list[Named], str]:
    """Return the terms in a question, and the folded text with what they took blanked out."""
    return _terms(folded(text), in_question=True)


def _terms(text: str, *, in_question: bool) -> tuple[list[Named], str]:
    found: list[Named] = []
    rest = text
    if not _TAX_HINT.search(text):
        pass
    elif match := _EXCLUDING.search(rest):
        rest = _blanked(rest, match.start(), match.end())
        found.append(Named("subtotal", match.start(), match.end()))
    else:
        for match in _INCLUDING.finditer(rest):
            rest = _blanked(rest, match.start(), match.end())
    found += _phrases(rest, in_question=in_question)
    for named in found:
        rest = _blanked(rest, named.start, named.end)
    names = {named.name for named in found}
    if "total" in names and names & _OVERRIDES_TOTAL:
        found = [named for named in found if named.name != "total"]
    return sorted(found, key=lambda named: named.start), rest


def _phrases(text: str, *, in_question: bool) -> Iterator[Named]:
    """Yield the longest phrases of the table in `text`, from left to right."""
    tokens = list(_TOKEN.finditer(text))
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if CHINESE.match(token.group()):
            yield from _chinese_phrases(token, in_question=in_question)
            position += 1
            continue
        if not _may_begin(token.group()):
            position += 1
            continue
        words = _phrase_at(text, tokens, position)
        for length in range(len(words), 0, -1):
            name, asked = _lookup(words[length - 1], in_question=in_question)
            if name:
                yield Named(name, token.start(), tokens[position + length - 1].end(), asked)
                position += length
                break
        else:
            position += 1


_SHORTEST_MISREAD = 4  # letters
_ALIKE = 0.8
_OFTEN_MISREAD = [
    "total",
    "subtotal",
    "amount",
    "balance",
    "discount",
    "invoice",
    "receipt",
    "number",
    "rounding",
    "inclusive",
    "change",
]


@lru_cache(maxsize=4096)
def _repaired(word: str) -> str:
    """Return the label word of which `word` is a misreading, if it is one: ``totai`` is total."""
    if (
        len(word) < _SHORTEST_MISREAD
        or word in _table().starts
        or word in _table().labels
        or not word.isascii()
    ):
        return word
    for right in _OFTEN_MISREAD:
        if abs(len(right) - len(word)) <= 1 and likeness(right, word) >= _ALIKE:
            return right
    return "total" if word in ("tota", "otal") else word


@lru_cache(maxsize=20_000)
def _may_begin(word: str) -> bool:
    """Tell whether a phrase of the table may begin with `word`, or be it."""
    right = _plain(_repaired(word))
    table = _table()
    forms = (right, right.removesuffix("s"), _CURRENCY_END.sub("", right))
    return (
        word in table.starts
        or right in table.starts
        or any(form in table.labels or form in table.asks for form in forms)
    )


def _phrase_at(text: str, tokens: list[re.Match[str]], position: int) -> list[str]:
    """Return the phrases, without spaces, that begin at a token: of one word, of two and on."""
    first = _repaired(tokens[position].group())
    if first not in _table().starts:
        return [_plain(first)]
    phrases: list[str] = []
    joined = ""
    end = tokens[position].start()
    for token in tokens[position : position + _LONGEST_PHRASE]:
        is_near = _JOINT.fullmatch(text, end, token.start()) or not joined
        if not is_near or CHINESE.match(token.group()):
            break
        joined += _plain(_repaired(token.group()))
        phrases.append(joined)
        end = token.end()
    return phrases


def _chinese_phrases(token: re.Match[str], *, in_question: bool) -> Iterator[Named]:
    run = token.group()
    start = 0
    while start < len(run):
        for length in range(min(_LONGEST_CHINESE, len(run) - start), 0, -1):
            name, asked = _lookup(run[start : start + length], in_question=in_question)
            if name:
                begin = token.start() + start
                yield Named(name, begin, begin + length, asked)
                start += length
                break
        else:
            start += 1


_NOT_ASKED = frozenset(
    {"to", "from", "re", "order", "payment", "name", "mail", "up", "no", "invoice", "guests"}
)
"""Labels that in a question are ordinary words."""


def _lookup(phrase: str, *, in_question: bool) -> tuple[str, bool]:
    table = _table()
    candidates = [phrase]
    if phrase.endswith("s"):
        candidates.append(phrase[:-1])
    if phrase.endswith(_CURRENCY_ENDS):
        candidates.append(_CURRENCY_END.sub("", phrase))
    for candidate in candidates:
        if in_question and candidate in _NOT_ASKED:
            return "", False
        if in_question and candidate in table.asks:
            return table.asks[candidate], True
        if candidate in table.labels:
            return table.labels[candidate], False
    return "", False


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


_TAX_HINT = re.compile(r"tax|vat|[gsh]st|service|tips?\b|税|round|adj")


def is_aside(text: str) -> bool:
    """Tell whether `text` begins with a remark on what a sum includes: ``incl. GST @ 6%``."""
    plain = folded(text).lstrip(" (（")
    return bool(_INCLUDING.match(plain) or _EXCLUDING.match(plain))


def closeness(asked: str, named: str) -> float:
    """Return from 0 to 1 how well a label for `named` answers a question for `asked`."""
    return _table().also[asked].get(named, 0.0)
