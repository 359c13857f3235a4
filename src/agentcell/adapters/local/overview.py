"""A document's facts -> what it is in a few lines, its goods, its dearest one."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from agentcell.adapters.local.answering import amounts
from agentcell.adapters.local.candidates import Candidate
from agentcell.adapters.local.fact import MAX_QUOTE, Fact, clipped
from agentcell.adapters.local.issuer import find_issuers, is_title
from agentcell.adapters.local.lines import values_of
from agentcell.adapters.local.rows import Row
from agentcell.adapters.local.words import word_set

_SUMS = word_set(
    """total due paid subtotal tax tax_rate tip service discount change tendered balance deposit
    rounding received opening item_count refund gross_pay net_pay deductions minimum"""
)
_TOTALS = ("total", "due", "paid", "net_pay", "balance")
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
_HEAD = 8  # rows in which a title stands
_FEWEST = 3
_LIKELY_ISSUER = 0.5


def outline(rows: Sequence[Row], facts: Sequence[Fact]) -> list[Candidate]:
    """Return what a document is, a line each: who it is from, what, how much, when."""
    chosen: dict[str, int] = {}
    issuers = find_issuers(rows, facts)
    if issuers and issuers[0].score > _LIKELY_ISSUER:
        chosen[clipped(issuers[0].quote)] = issuers[0].page
    titles = [row for row in rows[:_HEAD] if is_title(row)]
    for row in titles[:1] or ([] if chosen else rows[:1]):
        chosen[clipped(row.text)] = row.page
    for names in (_TOTALS, _DATES):
        if fact := _first_of(facts, names):
            chosen[fact.quote] = fact.page
    for row in rows[:_HEAD]:
        if len(chosen) < _FEWEST and sum(map(str.isalnum, row.text)) > 1:
            chosen[clipped(row.text)] = row.page
    return [
        Candidate(quote=quote, page=page, score=0.9 - 0.05 * place)
        for place, (quote, page) in enumerate(chosen.items())
    ]


def _first_of(facts: Sequence[Fact], names: Sequence[str]) -> Fact | None:
    for name in names:
        named = [fact for fact in facts if name in fact.terms and fact.layout != "table"]
        valued = [fact for fact in named if values_of(fact.value)]
        if valued:
            return valued[-1] if name == "total" else valued[0]
    return None


def _goods(facts: Sequence[Fact]) -> list[tuple[Fact, Decimal]]:
    """Return the facts that are things with a price, not sums, each with its price."""
    sums = [
        fact.row
        for fact in facts
        if set(fact.terms) & {"total", "subtotal", "due"} and fact.layout == "row"
    ]
    end = min(sums, default=None)
    found: dict[int, tuple[Fact, Decimal]] = {}
    for fact in facts:
        is_thing = fact.layout in ("row", "table", "next") and bool(fact.label)
        is_heading = fact.layout == "table" and not fact.columns
        if not is_thing or is_heading or (end is not None and fact.row >= end):
            continue
        price = _price(fact)
        if price and not set(fact.terms) & _SUMS:
            found.setdefault(fact.row, (fact, price))
    return list(found.values())


def _price(fact: Fact) -> Decimal:
    money = [found.number for found in amounts(fact.value) if found.kind == "money"]
    if not money and fact.layout == "row":
        money = [found.number for found in amounts(fact.value)]
    return (money[-1] if money else None) or Decimal(0)


def listed_items(facts: Sequence[Fact]) -> list[Candidate]:
    """Return the goods, as many to a quote as it holds."""
    quotes: list[tuple[str, int]] = []
    for fact, _ in _goods(facts):
        if quotes and len(quotes[-1][0]) + len(fact.quote) + 3 <= MAX_QUOTE:
            quotes[-1] = (f"{quotes[-1][0]} · {fact.quote}", quotes[-1][1])
        else:
            quotes.append((fact.quote, fact.page))
    return [Candidate(quote=quote, page=page, score=0.8) for quote, page in quotes]


def extreme_items(facts: Sequence[Fact], sign: int) -> list[Candidate]:
    """Return the dearest goods (`sign` 1) or the cheapest (-1), three of them."""
    ranked = sorted(_goods(facts), key=lambda pair: -sign * pair[1])
    return [
        Candidate(
            quote=fact.quote,
            page=fact.page,
            score=0.75 - 0.05 * place,
            value=amounts(fact.value)[-1].text,
            kind="money",
            label=fact.label,
        )
        for place, (fact, _) in enumerate(ranked[:3])
    ]


def by_total(values: Sequence[str], currencies: set[str]) -> list[int]:
    """Return the places of `values`, the largest amount first.

    Amounts in different currencies cannot be ordered and stay as they were.
    """
    numbers = [amounts(value) for value in values]
    places = list(range(len(values)))
    if len(currencies - {""}) > 1 or not all(numbers):
        return places
    return sorted(places, key=lambda at: -(numbers[at][-1].number or Decimal(0)))
