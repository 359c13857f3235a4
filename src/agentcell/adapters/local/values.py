"""Text -> the dates, times, amounts, numbers and addresses in it, each as a value to compare.

``27.95``, ``$27.95`` and ``27,95 €`` hold one amount; ``2026-06-13`` and ``13 June 2026`` one day.
A date that can be read two ways (03/04/2026) keeps both days.
"""

# ruff: noqa: PLR2004 (counts of digits)

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from agentcell.adapters.local.currencies import code_of, has_currency, mark_after, mark_before
from agentcell.adapters.local.dates import Day, find_dates


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One value in a text: where it begins and ends, and what it is.

    Parameters
    ----------
    kind
        ``money``, ``number``, ``percent``, ``date``, ``time``, ``phone``, ``email``, ``web`` or
        ``code`` (an identifier: NW-20418).
    number
        Of money, numbers and percentages, with its sign.
    currency
        A code, ``"USD"``; "" where none is written.
    days
        Of a date: the days it can mean.
    """

    kind: str
    text: str
    start: int
    end: int
    number: Decimal | None = None
    currency: str = ""
    days: frozenset[Day] = frozenset()


_TIME = re.compile(
    r"(?<![\d:])(?:[01]?\d|2[0-3])[:：][0-5]\d(?:[:：][0-5]\d)?(?!\d)(?:\s?[ap]\.?m\b\.?)?"
    r"|(?<!\d)(?:0?\d|1[0-2])\s?[ap]\.?m\b\.?"
    r"|(?<!\d)(?:[01]?\d|2[0-3])\s?[点時时](?:\s?[0-5]?\d\s?分|半)?",
    re.IGNORECASE,
)

_DIGITS = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|\d{1,3}(?:\.\d{3})+,\d\d(?!\d)"
    r"|\d{1,3}(?:['’]\d{3})+(?:\.\d\d)?(?!\d)|\d{1,3}(?:[ \u00a0]\d{3})+,\d\d(?!\d)"
    r"|\d+\.\s\d\d(?!\d)|\d+(?:[.,]\d+)?"
)
_NUMBER = re.compile(_DIGITS)
_MINUS = ("-", "−")

_EMAIL = re.compile(r"[\w.+-]+\s?@\s?[\w-]+(?:\.[\w-]+)+")
_WEB = re.compile(
    r"(?:https?://|www\.)[^\s，。]+|\b[\w-]+\.(?:com|org|net|cn|io|co\.uk|de|fr)\b", re.IGNORECASE
)
_PHONE = re.compile(
    r"(?<![\w.,/-])\+?(?:\(\+?\d{1,4}\)|\d)[\d()\s.-]{5,18}\d(?![\w/]|[.,]\d)", re.IGNORECASE
)
_LONG_CODE = re.compile(  # an IBAN, a card
    r"\b[A-Z]{2}\d\d(?:\s?[A-Z0-9]{4}){3,7}(?:\s?[A-Z0-9]{1,3})?\b"
    r"|(?<!\d)\d{4}(?:[ -]\d{4}){3}(?!\d)"
)
_CODE = re.compile(
    r"(?<![\w.,])(?=[\w/#*-]*\d)(?=[\w/#*-]*[A-Za-z*#-])[A-Za-z0-9#*][\w/#*-]*\w(?![\w]|[.,]\d)"
    r"|(?<![\w.,$€£¥￥-])\d{5,}(?![\w]|[.,]\d)"
    r"|(?<!\w)[*xX•.]{2,}\s?-?\s?\d{2,6}(?!\w)"
)
_ORDINARY_WORD = re.compile(
    r"\d{1,4}(?:st|nd|rd|th|x|pcs?|kg|g|ml|l|m|km|cm|mm|oz|lb|kwh|h|hrs?)?", re.IGNORECASE
)


_DIGIT_LIKE = re.compile(r"(?:(?<![A-Za-z\d])|(?<=RM)|(?<=USD))[\dOoQ]+[.,][\dOoQ]{2}(?![\w])")


def _with_zeros(match: re.Match[str]) -> str:
    """Return an amount in which a letter O was read for a zero, with the zero."""
    text = match.group()
    if not any(letter.isdigit() for letter in text):
        return text
    return re.sub("[OoQ]", "0", text)


_LOOKED_AT = 2000
"""Letters of a text that are looked through: the patterns take the square of its length."""


def find_values(text: str) -> list[Found]:
    """Return the values in `text`, from left to right; none lies in another."""
    taken: list[Found] = []
    text = text[:_LOOKED_AT]
    plain = _DIGIT_LIKE.sub(_with_zeros, text)
    for found in _candidates(plain):
        if plain is not text and found.text != text[found.start : found.end].strip():
            found = replace(found, text=text[found.start : found.end].strip())  # noqa: PLW2901
        if all(found.end <= other.start or found.start >= other.end for other in taken):
            taken.append(found)
    return sorted(taken, key=lambda found: found.start)


def _candidates(text: str) -> Iterator[Found]:
    """Yield what may be values, the surest kinds first."""
    if "@" in text:
        yield from (_plain("email", match) for match in _EMAIL.finditer(text))
    if "." in text:
        yield from (_plain("web", match) for match in _WEB.finditer(text))
    if not _has_digit(text):
        return
    dates = list(find_dates(text))
    for date in dates:
        piece = text[date.start : date.end]
        yield Found(kind="date", text=piece, start=date.start, end=date.end, days=date.days)
    rest = text
    for date in dates:
        rest = rest[: date.start] + " " * (date.end - date.start) + rest[date.end :]
    yield from (_plain("time", match) for match in _TIME.finditer(rest))
    yield from (_plain("code", match) for match in _LONG_CODE.finditer(text))
    for match in _PHONE.finditer(text):
        if _is_phone(match.group()):
            yield _plain("phone", match)
    for match in _CODE.finditer(text):
        if not _ORDINARY_WORD.fullmatch(match.group()):
            yield _plain("code", match)
    yield from _amounts(text)


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


def _plain(kind: str, match: re.Match[str]) -> Found:
    return Found(kind=kind, text=match.group(), start=match.start(), end=match.end())


_PHONE_SHAPE = re.compile(
    r"\+\d|\(0?\d{2,4}\)|0\d{1,3}[- ]\d{3}|0\d{9,10}$|\d{3}[-. ]\d{3}[-. ]\d{4}$"
    r"|1[3-9]\d[- ]?\d{4}[- ]?\d{4}$|[48]00[- ]?\d{3,4}|1-?800|\d{3}[- ]\d{4}$"
    r"|(?!(?:19|20)\d\d[- ])\d{4}[- ]\d{4}$"
)


def _is_phone(text: str) -> bool:
    digits = sum(letter.isdigit() for letter in text)
    if not 7 <= digits <= (15 if text.startswith("+") else 12):
        return False
    if re.search(r"\d[.,]\d\d(?:\s|$)", text) or re.search(r"(?:^|\s)\d(?:\s|$)", text):
        return False  # amounts or a quantity side by side
    return bool(_PHONE_SHAPE.match(text))


def _amounts(text: str) -> Iterator[Found]:
    for match in _NUMBER.finditer(text):
        number = parse_number(match.group())
        sign_start = match.start() - (_letter_before(text, match.start()) in _MINUS)
        mark = mark_before(text, _before_space(text, sign_start))
        if number is not None and (mark or not _is_in_word(text, match)):
            yield _amount(text, match, number, mark)


def _letter_before(text: str, place: int) -> str:
    return text[place - 1] if place else ""


def _before_space(text: str, place: int) -> int:
    return place - (_letter_before(text, place) == " ")


def _is_in_word(text: str, match: re.Match[str]) -> bool:
    """Tell whether a number is part of a word or of a longer number: the 3 of m3."""
    start = match.start()
    last = _letter_before(text, start)
    if last and last in ".,":
        return _letter_before(text, start - 1).isdigit()
    if last == "S" and re.fullmatch(r"\d+\.\d\d", match.group()):
        return _letter_before(text, start - 1).isalnum()  # S8.60 is $8.60, misread
    return last == "_" or (last.isascii() and last.isalnum())


def _amount(text: str, match: re.Match[str], number: Decimal, mark: str) -> Found:
    """Return the amount of which `match` is the number and `mark` what stands before it."""
    start, end, after = match.start(), match.end(), ""
    has_inner_minus = bool(mark) and _letter_before(text, start) in _MINUS
    if mark:
        start = _before_space(text, start - has_inner_minus) - len(mark)
    rest = end + (text[end : end + 1] == " ")
    is_percent = text[rest : rest + 1] in ("%", "％")
    if is_percent:
        end = rest + 1
    elif not mark and (after := mark_after(text, rest)):
        end = rest + len(after)
        if text[end : end + 2].strip()[:1].isdigit():  # the mark of the next number
            end, after = match.end(), ""
    decimals = re.search(r"[.,]\s?(\d+)$", match.group())
    sign_place = _before_space(text, start)
    sign = _letter_before(text, sign_place)
    in_brackets = sign == "(" and text[end : end + 1] == ")" and bool(decimals)
    is_negative = has_inner_minus or sign in _MINUS or in_brackets
    if sign in _MINUS or in_brackets:
        start, end = sign_place - 1, end + in_brackets
    currency = code_of(mark or after)
    kind = "number"
    if is_percent:
        kind = "percent"
    elif currency or (decimals and len(decimals[1]) == 2):
        kind = "money"
    return Found(
        kind=kind,
        text=text[start:end].strip(),
        start=start,
        end=end,
        number=-number if is_negative else number,
        currency=currency,
    )


def parse_number(digits: str) -> Decimal | None:
    """Return what a written number is.

    The last of two marks, or one that is not before three digits, is the decimal mark: ``1,540``
    is 1540, and ``1.540`` is 1.54.
    """
    text = re.sub(r"['’\s\u00a0]", "", digits)
    comma, point = text.rfind(","), text.rfind(".")
    if comma >= 0 and point >= 0:
        text = text.replace("." if comma > point else ",", "").replace(",", ".")
    elif comma >= 0:
        is_thousands = text.count(",") > 1 or len(text) - comma == 4
        text = text.replace(",", "" if is_thousands else ".")
    elif text.count(".") > 1:
        text = text.replace(".", "")
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def currencies_in(text: str) -> list[str]:
    """Return the currencies written beside a number in `text`, as codes."""
    if not has_currency(text):
        return []
    return [found.currency for found in find_values(text) if found.currency]
