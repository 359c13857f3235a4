"""A document's facts -> what it is in a few lines, its goods, its dearest one."""

# ruff: noqa: PLR2004 (counts of rows and letters)

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from agentcell.adapters.local.fact import MAX_QUOTE, Fact
from agentcell.adapters.local.lines import values_of
from agentcell.adapters.local.issuer import find_issuers, is_title
from agentcell.adapters.local.matching import amounts
from agentcell.adapters.local.rows import Row

if TYPE_CHECKING:
    from agentcell.adapters.local.evidence import Evidence

_SUMS = frozenset(
    """total due paid subtotal tax tax_rate tip service discount change tendered balance deposit
    rounding received opening item_count refund gross_pay net_pay deductions minimum""".split()
)


def outline(rows: Sequence[Row], facts: Sequence[Fact]) -> list[tuple[str, int]]:
    """Return what a document is, as quotes with their pages: who it is from, what, how much, when."""
    chosen: list[tuple[str, int]] = []
    title = next((row for row in rows[:8] if is_title(row)), None)
    issuers = [issuer for issuer in find_issuers(rows, facts) if issuer.score > 0.5]
    if issuers:
        chosen.append((issuers[0].quote, issuers[0].page))
    if title is not None:
        chosen.append((title.text, title.page))
    if not chosen:
        chosen.append((rows[0].text[:MAX_QUOTE], rows[0].page))
    for names in (("total", "due", "paid", "net_pay", "balance"), _DATES):
        fact = _first_of(facts, names)
        if fact is not None:
            chosen.append((fact.quote, fact.page))
    for row in rows[:6]:
        if len(chosen) < 3 and len(row.text) > 2:
            chosen.append((row.text[:MAX_QUOTE], row.page))
    return list(dict.fromkeys(chosen))


_DATES = (
    "date",
    "invoice_date",
    "issue_date",
    "order_date",
    "transaction_date",
    "statement_date",
    "check_in",
    "departure",
)


def _first_of(facts: Sequence[Fact], names: Sequence[str]) -> Fact | None:
    for name in names:
        named = [fact for fact in facts if name in fact.terms and fact.layout != "table"]
        valued = [fact for fact in named if values_of(fact.value)]
        if valued:
            return valued[-1] if name == "total" else valued[0]
    return None


def goods(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that are things with a price, not sums."""
    sums = [
        fact.row
        for fact in facts
        if set(fact.terms) & {"total", "subtotal", "due"} and fact.layout == "row"
    ]
    end = min(sums, default=10**9)
    found: dict[int, Fact] = {}
    for fact in facts:
        if fact.layout not in ("row", "table", "next") or not fact.label or fact.row >= end:
            continue
        if set(fact.terms) & _SUMS or not _price(fact):
            continue
        if fact.layout == "table" and not fact.columns:
            continue
        found.setdefault(fact.row, fact)
    return list(found.values())


def _price(fact: Fact) -> Decimal:
    money = [found.number for found in amounts(fact.value) if found.kind == "money"]
    if not money and fact.layout == "row":
        money = [found.number for found in amounts(fact.value)]
    return money[-1] or Decimal(0) if money else Decimal(0)


def listed_items(facts: Sequence[Fact]) -> list[tuple[str, int]]:
    """Return the goods, as many to a quote as it holds."""
    quotes: list[tuple[str, int]] = []
    for fact in goods(facts):
        if quotes and len(quotes[-1][0]) + len(fact.quote) + 3 <= MAX_QUOTE:
            quotes[-1] = (f"{quotes[-1][0]} · {fact.quote}", quotes[-1][1])
        else:
            quotes.append((fact.quote, fact.page))
    return quotes


def extreme_items(facts: Sequence[Fact], sign: int) -> list[tuple[str, str, int]]:
    """Return the dearest goods (`sign` 1) or the cheapest (-1): quote, price, page."""
    ranked = sorted(goods(facts), key=lambda fact: -sign * _price(fact))
    return [
        (fact.quote, next(a.text for a in reversed(amounts(fact.value))), fact.page)
        for fact in ranked[:3]
    ]


def compared_totals(totals: Sequence[Evidence], sign: int) -> list[Evidence]:
    """Return each document's total, the largest first, or the smallest for `sign` -1.

    Amounts in different currencies cannot be ordered and stay as they were.
    """
    numbers = [amounts(each.value or each.quote) for each in totals]
    currencies = {each.currency for each in totals if each.currency}
    if len(currencies) > 1 or not all(numbers):
        return list(totals)
    order = sorted(
        range(len(totals)), key=lambda at: -sign * (numbers[at][-1].number or Decimal(0))
    )
    return [totals[at] for at in order]
