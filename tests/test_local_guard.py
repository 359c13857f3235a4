from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.adapters.local.document import Document
from agentcell.adapters.local.evidence import Evidence, find_evidence
from agentcell.adapters.local.guard import is_supported, numbers_in
from agentcell.adapters.local.rows import typed_rows

RECEIPT = Document(
    rows=tuple(
        typed_rows(
            """
GREEN VALLEY MARKET
12 Oak Street, Portland
Date: 2026-03-14  15:42
Server: Marco
Invoice no. NW-20418
Bananas                  1.29
2 x Margherita          29.00
Hammer 1 x 18.99        18.99
Coffee beans            11.75
Water 9 m3              41.75
Subtotal                25.88
Tax 8%                   2.07
TOTAL                  $27.95
Check-out  2026-06-13
"""
        )
    )
)

TOTAL = "What is the total?"
HAMMER = "How much was the hammer?"
DATE = "What is the date on this receipt?"
STORE = "What is the name of the store?"


def judged(question: str, sentence: str) -> bool:
    return is_supported(sentence, find_evidence(question, [("[r]", RECEIPT)]), question)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (TOTAL, "The total is $27.95."),
        (TOTAL, "The total is 27.95"),
        (TOTAL, "The total amount on the receipt is $27.95."),
        (TOTAL, "The total is 27.95 dollars."),
        (TOTAL, "$27.95"),
        (HAMMER, "The hammer cost $18.99."),
        (HAMMER, "The hammer was 18.99."),
        ("How much was the Margherita?", "The Margherita cost 29.00."),
        ("How much did the coffee beans cost?", "Coffee beans cost $11.75."),
        ("How much is the tax?", "The tax is $2.07."),
        (DATE, "The date on the receipt is March 14, 2026."),
        (DATE, "The date is 2026-03-14."),
        ("When is the check-out?", "The check-out is on 13 June 2026."),
        (STORE, "The name of the store is Green Valley Market."),
        ("Who was the server?", "The server was Marco."),
        ("What is the invoice number?", "The invoice number is NW-20418."),
    ],
)
def test_a_sentence_that_says_what_the_line_says_is_shown(question: str, sentence: str) -> None:
    assert judged(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence", "why"),
    [
        (TOTAL, "The total is $25.88.", "another row's number"),
        (TOTAL, "The total is £27.95.", "another currency"),
        (TOTAL, "The total is 27.95 euros.", "another currency"),
        (TOTAL, "The total is 27.95 including tax of 2.07.", "a second number"),
        (TOTAL, "25.88 + 2.07 = 27.95", "a sum"),
        (TOTAL, "The subtotal is $27.95.", "another name for it"),
        (TOTAL, "The total is not $27.95.", "a negation"),
        (TOTAL, "The total isn't $27.95.", "a negation"),
        (TOTAL, "The total might be $27.95.", "a hedge"),
        (TOTAL, "The total is about $27.95.", "a hedge"),
        (TOTAL, "I think the total is $27.95.", "a hedge"),
        (TOTAL, "I cannot read the total.", "no answer"),
        (TOTAL, "The total is on the receipt.", "no value"),
        (TOTAL, "What is the total?", "an echo"),
        (TOTAL, "The total is twenty-seven dollars.", "a number in words"),
        (TOTAL, "The total of John's order is $27.95.", "a name from nowhere"),
        (TOTAL, "The total is $27.95. Thank you.", "two sentences"),
        (TOTAL, "El total es $27.95.", "another language"),
        (TOTAL, "总计是 $27.95。", "another language"),
        (TOTAL, "The total is $27.95 " + "indeed " * 40, "too long"),
        (TOTAL, "The total is $27.95 each.", "a word that changes it"),
        (TOTAL, "The total is 27.95%.", "another kind"),
        (TOTAL, "", "nothing"),
        (HAMMER, "The hammer cost 1.", "the quantity"),
        (HAMMER, "The hammer cost 1 dollar.", "the quantity"),
        (HAMMER, "The hammer cost $29.00.", "another row"),
        (HAMMER, "One hammer cost 18.99, two cost 37.98.", "a number made up"),
        ("How much was the Margherita?", "The Margherita cost 2.", "the quantity"),
        ("How much was the water?", "The water was 9 m3.", "the quantity"),
        ("How much was the water?", "The water was 41.75 m3.", "the wrong unit"),
        ("How much is the tax?", "The tax is 8%.", "the rate"),
        ("How much is the tax?", "The total is $2.07.", "another name for it"),
        (DATE, "The date is March 15, 2026.", "another day"),
        (DATE, "The date is Saturday, March 14, 2026.", "a weekday from nowhere"),
        (STORE, "The store is Green Valley Supermarket.", "another name"),
        (STORE, "The store is on Oak Street.", "another line"),
        ("Who was the server?", "The server was Mario.", "another name"),
        ("What is the invoice number?", "The invoice number is NW-20419.", "another number"),
        ("What are the tax and the total?", "The total is $2.07.", "crossed over"),
        (
            "How much were the coffee beans and the bananas?",
            "The bananas cost $11.75.",
            "crossed over",
        ),
        ("合计多少？", "The total is $27.95.", "not the language of the question"),
    ],
)
def test_a_sentence_that_says_anything_else_is_refused(
    question: str, sentence: str, why: str
) -> None:
    assert not judged(question, sentence), why


def line(quote: str, value: str, kind: str = "money", **more: object) -> Evidence:
    fields: dict[str, object] = {"tag": "[r]", "page": None, "score": 1.0, "label": ""}
    return Evidence(quote=quote, value=value, kind=kind, **(fields | more))  # type: ignore[arg-type]


def test_numbers_are_compared_by_what_they_are() -> None:
    grand = [line("Grand total  1,540.00", "1,540.00", label="Grand total")]
    comma = [line("Gesamtbetrag  396,63 €", "396,63 €", label="Gesamtbetrag")]

    assert is_supported("The grand total is 1540.", grand, "What is the grand total?")
    assert is_supported("The total is €396.63.", comma, "What is the total?")
    assert not is_supported("The grand total is 1.540.", grand, "What is the grand total?")


def test_a_currency_is_the_documents_or_a_plain_dollar_where_none_is_known() -> None:
    bare = [line("TOTAL  39.54", "39.54", label="TOTAL")]
    yuan = [line("TOTAL  39.54", "39.54", label="TOTAL", currency="CNY")]

    assert is_supported("The total is $39.54.", bare, TOTAL)
    assert not is_supported("The total is €39.54.", bare, TOTAL)
    assert not is_supported("The total is $39.54.", yuan, TOTAL)
    assert is_supported("The total is 39.54 yuan.", yuan, TOTAL)


def test_a_date_that_can_be_read_two_ways_is_not_spelled_out() -> None:
    unclear = [line("Date  03/04/2018", "03/04/2018", "date", label="Date")]

    assert is_supported("The date is 03/04/2018.", unclear, "What is the date?")
    assert not is_supported("The date is March 4, 2018.", unclear, "What is the date?")


def test_weak_evidence_and_evidence_that_disagrees_speak_no_sentence() -> None:
    weak = [line("TOTAL  39.54", "39.54", label="TOTAL", score=0.4)]
    other = [
        line("TOTAL  39.54", "39.54", label="TOTAL"),
        line("TOTAL  12.00", "12.00", label="TOTAL", tag="[s]", score=0.98),
    ]

    assert not is_supported("The total is 39.54.", weak, TOTAL)
    assert not is_supported("The total is 39.54.", other, TOTAL)
    assert not is_supported("The total is 39.54.", [], TOTAL)


def test_of_a_sentence_of_prose_only_its_own_words_in_their_order_are_said() -> None:
    quote = "The landlord pays the tenant 200 euros for the garden."
    evidence = [line(quote, "", "")]
    question = "What does the contract say about the garden?"

    assert is_supported(
        "The landlord pays the tenant 200 euros for the garden.", evidence, question
    )
    assert not is_supported("The tenant pays the landlord 200 euros.", evidence, question)
    assert not is_supported("The landlord pays 300 euros for the garden.", evidence, question)


NUMBERS = st.one_of(
    st.integers(0, 99_999).map(str),
    st.decimals(min_value=0, max_value=99_999, places=2).map(str),
    st.decimals(min_value=0, max_value=99_999, places=2).map("${:,}".format),
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([TOTAL, HAMMER, "How much is the tax?", "How much was the Margherita?"]),
    st.sampled_from(
        ["The total is {}.", "The hammer cost {}.", "It is {}.", "The tax is {} for {}."]
    ),
    NUMBERS,
    NUMBERS,
)
def test_no_sentence_with_a_number_that_is_not_in_the_line_is_shown(
    question: str, frame: str, first: str, second: str
) -> None:
    evidence = find_evidence(question, [("[r]", RECEIPT)])
    sentence = frame.format(first, second)
    known = numbers_in(evidence[0].quote) | numbers_in(question)

    if is_supported(sentence, evidence, question):
        assert numbers_in(sentence) <= known
        assert numbers_in(evidence[0].value) & numbers_in(sentence)


@given(st.text(max_size=120))
def test_any_sentence_can_be_judged(sentence: str) -> None:
    evidence = find_evidence(TOTAL, [("[r]", RECEIPT)])

    if is_supported(sentence, evidence, TOTAL):
        assert Decimal("27.95") in numbers_in(sentence)
