from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.adapters.local.evidence import language_of
from agentcell.adapters.local.mention import mentioned
from agentcell.adapters.local.question import Question, parse_question
from agentcell.adapters.local.terms import closeness, label_terms


def only(text: str) -> Question:
    return parse_question(text)[0].whole


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("SUB TOTAL", ["subtotal"]),
        ("Total Sales (lnclusive of GST) :", ["total"]),
        ("Total Sales (Excluding GST)", ["subtotal"]),
        ("BALANCE DUE", ["due"]),
        ("TOTALRM", ["total"]),
        ("Tota Amt Rounded", ["total"]),
        ("GST @6% included in total", ["tax"]),
        ("Total Qty.", ["item_count"]),
        ("InvoiceDate", ["invoice_date"]),
        ("Invoice No.", ["invoice_no"]),
        ("Order #", ["order_no"]),
        ("Payment due by", ["due_date"]),
        ("总计 Grand total (CNY)", ["total", "total"]),
        ("價稅合計", ["total"]),
        ("应付余额", ["balance"]),
        ("税额", ["tax"]),
        ("Rye bread", []),
    ],
)
def test_a_label_stands_for_what_the_longest_phrase_says(label: str, names: list[str]) -> None:
    assert [named.name for named in label_terms(label)[0]] == names


def test_near_terms_answer_for_each_other_and_strange_ones_do_not() -> None:
    assert closeness("total", "total") == 1.0
    assert 0.5 < closeness("total", "due") < 1.0
    assert closeness("total", "subtotal") < closeness("total", "paid")
    assert closeness("tax", "total") == closeness("date", "total") == 0.0


@pytest.mark.parametrize(
    ("text", "terms", "kind"),
    [
        ("What is the total?", ("total",), "money"),
        ("How much?", ("total",), "money"),
        ("多少钱？", ("total",), "money"),
        ("What is the total including tax?", ("total",), "money"),
        ("What's the sub-total before tax?", ("subtotal",), "money"),
        ("And the tax?", ("tax",), "money"),
        ("那税呢？", ("tax",), "money"),
        ("By what date should it be paid?", ("due_date",), "date"),
        ("When must I pay?", ("due_date",), "date"),
        ("When was it paid?", ("pay_date",), "date"),
        ("When is payment due?", ("due_date",), "date"),
        ("Who issued this invoice?", ("vendor",), "name"),
        ("Which bank issued this?", ("vendor",), "name"),
        ("超市叫什么名字？", ("vendor",), "name"),
        ("Who is this invoice billed to?", ("customer",), "name"),
        ("How did I pay?", ("payment_method",), "text"),
        ("Which card was used to pay?", ("payment_method",), "text"),
        ("What are the last four digits of the card?", ("card",), "code"),
        ("What is the store's phone number?", ("phone",), "phone"),
        ("几号桌？", ("table",), "code"),
        ("Where does the flight go to?", ("destination",), "place"),
        ("下单日期是什么？", ("order_date",), "date"),
        ("How much does it weigh?", ("weight",), "measure"),
    ],
)
def test_the_terms_and_kind_that_are_asked_for(
    text: str, terms: tuple[str, ...], kind: str
) -> None:
    question = only(text)

    assert (question.terms, question.kind) == (terms, kind)


@pytest.mark.parametrize(
    ("text", "words", "runs"),
    [
        ("How much did the coffee beans cost?", ("coffe", "bean"), ()),
        ("How much was the hammer?", ("hammer",), ()),
        ("大米多少钱？", (), ("大米",)),
        ("请问墨盒的金额是多少？", (), ("墨盒",)),
        ("How much did the room cost?", ("room",), ()),
    ],
)
def test_the_words_that_name_the_thing(
    text: str, words: tuple[str, ...], runs: tuple[str, ...]
) -> None:
    question = only(text)

    assert (question.words, question.runs) == (words, runs)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("What is this?", "overview"),
        ("Summarise the attached receipt.", "overview"),
        ("What's in this image?", "overview"),
        ("这是什么？", "overview"),
        ("图里写了什么？", "overview"),
        ("What did I buy?", "list"),
        ("买了什么？", "list"),
        ("What is the most expensive item?", "extreme"),
        ("哪张最贵？", "extreme"),
        ("What type of payment was used?", "fact"),
        ("What is the total?", "fact"),
        ("Read the meter number", "fact"),
    ],
)
def test_the_shape_of_the_answer(text: str, shape: str) -> None:
    assert only(text).shape == shape


def test_the_last_question_comes_first_and_remarks_come_last() -> None:
    asked = parse_question("What is the total? And the date? Answer in one word.")

    assert [each.whole.terms for each in asked[:2]] == [("date",), ("total",)]


def test_things_joined_by_and_are_asked_apart() -> None:
    [asked] = parse_question("What are the tax and the total?")

    assert [part.terms for part in asked.parts] == [("tax",), ("total",)]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the total?", "en"),
        ("How much was the café latte?", "en"),
        ("合计是多少钱？", "zh"),
        ("發票號碼？", "zh"),
        ("¿Cuál es el total?", "other"),
        ("Wie hoch ist der Gesamtbetrag?", "other"),
        ("合計はいくらですか", "other"),
        ("Сколько всего?", "other"),
    ],
)
def test_the_language_of_a_question(text: str, language: str) -> None:
    assert language_of(text) == language


TAGS = ["[receipt_image_1 Receipt]", "[taxi_image_1 Taxi ride]", "[bill_pdf_1 水电费账单]"]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("What is the total on [taxi_image_1 Taxi ride]?", [1]),
        ("Total of taxi_image_1?", [1]),
        ("How much was the taxi?", [1]),
        ("What is the date of the second receipt?", [1]),
        ("第一张的合计是多少？", [0]),
        ("水电费多少？", []),
        ("水电费账单是多少？", [2]),
        ("Which receipt is the most expensive?", []),
        ("What is the total?", []),
        ("Compare [receipt_image_1 Receipt] and [taxi_image_1 Taxi ride]", [0, 1]),
        (" ".join(TAGS) + " total?", []),
    ],
)
def test_the_documents_that_a_question_names(text: str, chosen: list[int]) -> None:
    numbers, bare = mentioned(text, TAGS)

    assert numbers == chosen
    assert not any(tag in bare for tag in TAGS)


@given(st.text(max_size=120))
def test_any_text_can_be_asked(text: str) -> None:
    for asked in parse_question(text):
        assert not asked.whole.is_empty
    mentioned(text, TAGS)
    language_of(text)
