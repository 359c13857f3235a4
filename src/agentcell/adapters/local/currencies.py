"""The marks of currencies in a text -> their codes: ``$``, ``USD`` and ``dollars`` are one."""

from __future__ import annotations

import re

_MARKS = {
    "USD": "us$ usd $ dollars dollar 美元",
    "HKD": "hk$ hkd 港币 港元",
    "AUD": "a$ au$ aud",
    "CAD": "c$ ca$ cad",
    "SGD": "s$ sgd",
    "TWD": "nt$ twd 新台币",
    "NZD": "nz$ nzd",
    "EUR": "€ eur euros euro 欧元",
    "GBP": "£ gbp pounds pound 英镑",
    "CNY": "¥ ￥ cny rmb 元 圆 块 yuan 人民币",
    "JPY": "jpy yen 円 日元",
    "INR": "₹ rs. rs inr rupees rupee",
    "MYR": "rm myr ringgit",
    "CHF": "chf",
    "SEK": "sek kr",
    "NOK": "nok",
    "DKK": "dkk",
    "PLN": "zł pln",
    "KRW": "₩ krw won",
    "RUB": "₽ rub",
    "BRL": "r$ brl",
    "THB": "฿ thb baht",
    "IDR": "rp idr",
    "VND": "₫ vnd",
    "PHP": "₱ php",
    "MXN": "mx$ mxn",
    "AED": "aed",
    "ZAR": "zar",
    "TRY": "₺ try",
}
_CODES = {mark: code for code, marks in _MARKS.items() for mark in marks.split()}


_LONGEST = max(map(len, _CODES))
_FIRST_LETTERS = {mark[0] for mark in _CODES}
_LAST_LETTERS = {mark[-1] for mark in _CODES}
_ANY = re.compile(
    "|".join(
        rf"\b{mark}(?![a-z])" if mark.isascii() and mark.isalpha() else re.escape(mark)
        for mark in sorted(_CODES, key=lambda mark: (-len(mark), mark))
    ),
    re.IGNORECASE,
)


def code_of(mark: str) -> str:
    """Return the code of the currency that `mark` stands for; "" if it is none."""
    return _CODES.get(mark.lower(), "")


def mark_before(text: str, end: int) -> str:
    """Return the mark that ends at `end`, as written; "" if there is none."""
    if text[end - 1 : end].lower() not in _LAST_LETTERS or end < 1:
        return ""
    for length in range(min(_LONGEST, end), 0, -1):
        mark = text[end - length : end]
        if code_of(mark) and not (
            _is_word(mark) and text[end - length - 1 : end - length].isalpha()
        ):
            return mark
    return ""


def mark_after(text: str, start: int) -> str:
    """Return the mark that begins at `start`, as written; "" if there is none."""
    if text[start : start + 1].lower() not in _FIRST_LETTERS:
        return ""
    for length in range(_LONGEST, 0, -1):
        mark = text[start : start + length]
        after = text[start + length : start + length + 1]
        if code_of(mark) and not (_is_word(mark) and after.isascii() and after.isalpha()):
            return mark
    return ""


def _is_word(mark: str) -> bool:
    return mark.isascii() and mark.isalpha()


def is_currency(text: str) -> bool:
    """Tell whether `text` is the mark of a currency alone: ``RM``, ``€``."""
    return bool(code_of(text.strip(" :.")))


def has_currency(text: str) -> bool:
    """Tell whether the mark of a currency is in `text`."""
    return bool(_ANY.search(text))
