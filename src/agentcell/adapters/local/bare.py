"""Lines -> the facts that need no label: dates, times, telephones, cards, ways to pay."""

# ruff: noqa: PLR2004 (counts of amounts, heights of a letter)

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence

from agentcell.adapters.local.fact import Fact, unlabelled
from agentcell.adapters.local.lines import Line, LineCell, values_of
from agentcell.adapters.local.words import folded, word_set

_BY_KIND = {"date": "date", "time": "time", "phone": "phone", "email": "email", "web": "website"}

_OWN_NAME = word_set(
    """due_date expiry birth check_in check_out arrival departure period ship_date fax boarding
    valid_from end_date"""
)
"""Terms whose value is not just any date, time or number."""

_PAYMENT = re.compile(
    r"\bvisa\b|master\s?card|\bamex\b|american\s?express|maestro|union\s?pay|paypal|apple\s?pay"
    r"|google\s?pay|contactless|\b(?:debit|credit)\b(?:\scard)?|bank\stransfer|direct\sdebit"
    r"|银联|微信|支付宝|alipay|wechat|刷卡|信用卡|储蓄卡|银行转账|云闪付|现金支付|\bcheque\b"
)
_CARD_END = re.compile(r"[*xX•.·]{2,}\s?-?\s?\d{3,6}\b|ending\s(?:in\s)?\d{4}|尾号\D{0,3}\d{4}")
_COUNTED = re.compile(
    r"\b(\d{1,3})\s?(?:items?|articles|products)\b|共\s?(\d+)\s?件", re.IGNORECASE
)
_HOLDER = re.compile(r"\d{4,}[*\s]{4,}[\dX]{3,5}\s*([\u4e00-\u9fff]{2,4})")  # on Chinese tickets
_SHAPES = (
    ("train", re.compile(r"[GDCZTKY]\d{1,4}")),
    ("flight", re.compile(r"[A-Z]{2}\s?\d{2,4}")),
    ("seat", re.compile(r"(?:\d{1,2}\s?车\s?)?\d{1,2}[A-HJK](?:\s?号)?")),
)
_LOOKED_AT = 80  # rows, where amounts are counted


def without_label(lines: Sequence[Line], facts: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the values in `lines` that tell by themselves what they are.

    Not those which `facts`, found before, have under a label such as ``Date of birth``.
    """
    amounts = _amounts(lines)
    has_few = len(amounts) <= 3
    named: dict[int, set[str]] = {}
    for fact in facts:
        if fact.layout in ("over", "next", "table") and set(fact.terms) & _OWN_NAME:
            named.setdefault(fact.row, set()).add(fact.value)
    for line in lines:
        for cell in line.cells if not line.is_prose else ():
            if cell.text in named.get(line.index, ()):
                continue
            yield from _values(cell, line)
            yield from _shapes(cell, line)
            if has_few:
                yield from _lone_amount(cell, line)
    yield from _only_amount(lines, amounts)


def _values(cell: LineCell, line: Line) -> Iterator[Fact]:
    if cell.names & _OWN_NAME:
        return
    for found in values_of(cell.text):
        if found.kind in _BY_KIND:
            yield unlabelled(line, found.text, _BY_KIND[found.kind], quote=cell.text)


_UNITS = tuple(
    (name, re.compile(rf"\d[\d.,]*\s?(?:{units})(?![a-z])", re.IGNORECASE))
    for name, units in (
        ("distance", r"miles?|mi|kms?|kilomet\w+|公里|千米|英里"),
        ("weight", r"kgs?|lbs?|pounds|公斤|千克|吨"),
        (
            "duration",
            r"mins?|minutes?|hours?|hrs?|days?|nights?|weeks?|months?|years?|分钟|小时|天|晚|周|个月",
        ),
    )
)


def _shapes(cell: LineCell, line: Line) -> Iterator[Fact]:
    text = cell.text
    for name, pattern in _SHAPES:
        if pattern.fullmatch(text.strip()):
            yield unlabelled(line, text, name, quote=text)
    for name, pattern in _UNITS:
        if match := pattern.search(text):
            yield unlabelled(line, match.group(), name, quote=line.row.text)
    if match := _COUNTED.search(text):
        yield unlabelled(line, match[1] or match[2], "item_count", quote=text)
    if match := _HOLDER.search(text):
        yield unlabelled(line, match[1], "person", quote=text)
    if match := _CARD_END.search(text):
        yield unlabelled(line, match.group(), "card", quote=text)
    if _PAYMENT.search(folded(text)):
        yield unlabelled(line, text, "payment_method", quote=line.row.text)


def _lone_amount(cell: LineCell, line: Line) -> Iterator[Fact]:
    """Yield an amount with no label before it in its row."""
    money = [found for found in values_of(cell.text) if found.kind == "money" and found.currency]
    is_first = all(other.is_value for other in line.cells if other.left < cell.left)
    if len(money) == 1 and is_first:
        yield unlabelled(line, money[0].text, "amount", quote=line.row.text)


def _amounts(lines: Sequence[Line]) -> list[tuple[Line, LineCell, str]]:
    return [
        (line, cell, found.text)
        for line in lines[:_LOOKED_AT]
        for cell in line.cells
        for found in values_of(cell.text)
        if found.kind == "money" and found.number
    ]


def _only_amount(
    lines: Sequence[Line], amounts: Sequence[tuple[Line, LineCell, str]]
) -> Iterator[Fact]:
    """Yield the amount of a document that states one only, or one in letters twice as high."""
    usual = statistics.median(line.row.height for line in lines) if lines else 0.0
    numbers = {found.number for _, _, text in amounts for found in values_of(text)}
    for line, cell, text in amounts:
        is_large = line.row.height > 1.7 * usual and cell.is_value and len(line.cells) == 1
        if is_large or len(numbers) == 1:
            yield unlabelled(line, text, "amount", "paid", "fare", quote=line.row.text)
            return
