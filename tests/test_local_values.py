from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.adapters.local.values import find_values, parse_number


def found(text: str) -> list[tuple[str, str]]:
    return [(value.kind, value.text) for value in find_values(text)]


@pytest.mark.parametrize(
    ("text", "number", "currency"),
    [
        ("$27.95", "27.95", "USD"),
        ("TOTAL $1,540.00", "1540.00", "USD"),
        ("Total:$1,540.00", "1540.00", "USD"),
        ("EUR 67.50", "67.50", "EUR"),
        ("1.234,56 €", "1234.56", "EUR"),
        ("396,63 €", "396.63", "EUR"),
        ("1 234,56 kr", "1234.56", "SEK"),
        ("-$5.00", "-5.00", "USD"),
        ("(12.50)", "-12.50", ""),
        ("¥38", "38", "CNY"),
        ("合计83元", "83", "CNY"),
        ("¥841.85", "841.85", "CNY"),
        ("HK$ 60.40", "60.40", "HKD"),
        ("RM8.6O", "8.60", "MYR"),
        ("RM 34.80", "34.80", "MYR"),
        ("27.95 dollars", "27.95", "USD"),
        ("12. 15", "12.15", ""),
    ],
)
def test_an_amount_is_one_number_however_it_is_written(
    text: str, number: str, currency: str
) -> None:
    [value] = [value for value in find_values(text) if value.kind == "money"]

    assert (value.number, value.currency) == (Decimal(number), currency)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-03-14", (2026, 3, 14)),
        ("Date:2026-03-14 15:42", (2026, 3, 14)),
        ("开票日期：2026年08月05日", (2026, 8, 5)),
        ("2026年8月5日", (2026, 8, 5)),
        ("11/22/2026", (2026, 11, 22)),
        ("25.12.2018", (2018, 12, 25)),
        ("21 May 2026", (2026, 5, 21)),
        ("3Feb2026", (2026, 2, 3)),
        ("July 9, 2026", (2026, 7, 9)),
        ("15-Jan-2025 13:07", (2025, 1, 15)),
        ("29/12/201711:41", (2017, 12, 29)),
        ("14 Mar 201818:40", (2018, 3, 14)),
        ("10 0CT 2017", (2017, 10, 10)),
        ("20260318", (2026, 3, 18)),
        ("Aug 7", (None, 8, 7)),
        ("8月5日", (None, 8, 5)),
        ("Dec 2025", (2025, 12, None)),
    ],
)
def test_a_date_is_one_day_however_it_is_written(
    text: str, day: tuple[int | None, int | None, int | None]
) -> None:
    [value] = [value for value in find_values(text) if value.kind == "date"]

    assert value.days == {day}


def test_a_date_that_can_be_read_two_ways_keeps_both_days() -> None:
    [value] = find_values("03/04/2018")

    assert value.days == {(2018, 3, 4), (2018, 4, 3)}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Tax 8%  2.07", ["percent", "money"]),
        ("6  £95.00  £570.00", ["number", "money", "money"]),
        ("VISA **** 4821", ["code"]),
        ("Invoice no. NW-20418", ["code"]),
        ("IBAN GB29 NWBK 6016 1331 9268 19", ["code"]),
        ("(512) 555-0147", ["phone"]),
        ("+44 20 7946 0018", ["phone"]),
        ("138 0013 8000", ["phone"]),
        ("ann@shop.example", ["email"]),
        ("8841-220-7  1 Sep 2026  $143.27", ["code", "date", "money"]),
        ("9553114461423 1 X 25.90 25.90", ["code", "number", "money", "money"]),
        ("12 250.00", ["number", "money"]),
        ("Receipt number: 2024-1177", ["code"]),
        ("Page 3 of 10", ["number", "number"]),
        ("no numbers at all", []),
        ("2020-13-32", ["code"]),
    ],
)
def test_numbers_are_told_apart_by_their_look(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in found(text)] == kinds


def test_one_and_a_half_thousand_is_told_from_one_and_a_half() -> None:
    assert parse_number("1,540") == 1540
    assert parse_number("1.54") == Decimal("1.54")
    assert parse_number("1'540.50") == Decimal("1540.50")
    assert parse_number("1,2,3") == 123


@given(st.decimals(min_value=0, max_value=9_999_999, places=2))
def test_every_amount_with_cents_is_read_back(amount: Decimal) -> None:
    for written in (f"{amount:.2f}", f"{amount:,.2f}", f"Total ${amount:,.2f}."):
        assert [value.number for value in find_values(written)] == [amount], written


@given(st.text(max_size=80))
def test_any_text_is_looked_through_and_values_never_overlap(text: str) -> None:
    values = find_values(text)

    assert all(text[value.start : value.end].strip() == value.text for value in values)
    assert all(a.end <= b.start for a, b in pairwise(values))
