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


def _pattern() -> str:
    ordered = sorted(_CODES, key=lambda mark: (-len(mark), mark))
    return "|".join(
        rf"\b{mark}(?![a-z])" if mark.isascii() and mark.isalpha() else re.escape(mark)
        for mark in ordered
    )


MARK = _pattern()
"""A pattern, without case, of the mark of any currency."""

_ANY = re.compile(MARK, re.IGNORECASE)


def code_of(mark: str) -> str:
    """Return the code of the currency that `mark` stands for; "" if it is none."""
    return _CODES.get(mark.lower(), "")


def is_currency(text: str) -> bool:
    """Tell whether `text` is the mark of a currency alone: ``RM``, ``€``."""
    return bool(code_of(text.strip(" :.")))


def has_currency(text: str) -> bool:
    """Tell whether the mark of a currency is in `text`."""
    return bool(_ANY.search(text))
