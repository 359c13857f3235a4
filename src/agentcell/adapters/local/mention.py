"""A question and the documents' tags -> which documents it names, and the question without them."""

# ruff: noqa: PLR2004 (lengths of words, in letters)

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcell.adapters.local.words import (
    chinese_runs,
    content_words,
    english_words,
    folded,
    stem,
    word_set,
)

_ORDINALS = {
    "first": 0,
    "1st": 0,
    "second": 1,
    "2nd": 1,
    "third": 2,
    "3rd": 2,
    "fourth": 3,
    "4th": 3,
    "fifth": 4,
    "5th": 4,
    "last": -1,
    "latest": -1,
}
_NOUN = (
    r"(?:receipt|invoice|bill|image|picture|photo|document|file|pdf|attachment|one|page|scan"
    r"|ticket)"
)
_ORDINAL = re.compile(rf"\b({'|'.join(_ORDINALS)})\s(?:\w+\s)?{_NOUN}s?\b", re.IGNORECASE)
_NUMBERED = re.compile(rf"\b{_NOUN}\s?(?:#|no\.?\s?|number\s)?(\d)\b", re.IGNORECASE)
_CHINESE_ORDINAL = re.compile(r"第([一二三四五12345])(?:张|个|份|幅)|最后一?(?:张|个|份)")
_COMPARES = re.compile(
    r"\b(?:which|compare|all|each|every|both|receipts|invoices|bills|documents|images|files)\b|哪|各|每|所有|都",
    re.IGNORECASE,
)
_TAG = re.compile(r"\[[A-Za-z]\w*_\d+\b[^\]\n]*\]")
_GENERIC = word_set(
    "image imag pdf file document doc photo picture attachment scan upload field input"
)


def mentioned(question: str, tags: Sequence[str]) -> tuple[list[int], str]:
    """Return the places of the documents that `question` names, and its text without the names.

    A document is named by its tag, by its field's name, by a word of its tag that the others
    lack, or by its number ("the second receipt"). All of them named is none singled out.
    """
    text = question
    named: set[int] = set()
    compares = bool(_COMPARES.search(question))
    for number, tag in sorted(enumerate(tags), key=lambda pair: -len(pair[1])):
        for form in (tag, tag.strip("[]").split()[0] if tag.strip("[] ") else ""):
            if len(form) > 2 and ("_" in form or form.startswith("[")) and form in text:
                text = text.replace(form, " ")
                named.add(number)
    if not named and len(tags) > 1:
        named, text = _by_order(text, len(tags))
    if not named and len(tags) > 1 and not compares:
        named, text = _by_words(text, tags)
    text = _TAG.sub(" ", text)
    chosen = [] if len(named) == len(tags) else sorted(named)
    return chosen, text


def _by_order(text: str, count: int) -> tuple[set[int], str]:
    named = set()
    for match in _ORDINAL.finditer(text):
        named.add(_ORDINALS[match[1].lower()])
    for match in _NUMBERED.finditer(text):
        named.add(int(match[1]) - 1)
    for match in _CHINESE_ORDINAL.finditer(text):
        named.add("一二三四五12345".index(match[1]) % 5 if match[1] else -1)
    places = {number % count for number in named if -1 <= number < count}
    if places:
        for pattern in (_ORDINAL, _NUMBERED, _CHINESE_ORDINAL):
            text = pattern.sub(" ", text)
    return places, text


def _by_words(text: str, tags: Sequence[str]) -> tuple[set[int], str]:
    by_tag = [_words_of(tag) for tag in tags]
    named: set[int] = set()
    asked = {stem(word) for word in english_words(text)}
    plain = folded(text)
    for number, words in enumerate(by_tag):
        others = set().union(*(by_tag[:number] + by_tag[number + 1 :]))
        for word in words - others - _GENERIC:
            if word in asked or (not word.isascii() and len(word) > 1 and word in plain):
                named.add(number)
                text = _without(text, word)
    return named, text


def _words_of(tag: str) -> set[str]:
    spaced = re.sub(r"[_\d]+", " ", tag)
    return {word for word in content_words(spaced) if len(word) > 2} | set(chinese_runs(tag))


def _without(text: str, word: str) -> str:
    if not word.isascii():
        return folded(text).replace(word, " ")
    return re.sub(
        r"[^\W\d_]+",
        lambda match: " " if stem(match.group().lower()) == word else match.group(),
        text,
    )
