from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.adapters.local.rows import Box, group_rows, typed_rows

RECEIPT = [("Bananas", "1.29"), ("Whole milk", "3.49"), ("Eggs (12)", "5.10"), ("TOTAL", "9.88")]


def box(text: str, left: float, top: float, width: float = 0, height: float = 20) -> Box:
    right = left + (width or 10 * len(text))
    return Box(text=text, left=left, top=top, right=right, bottom=top + height)


def receipt(degrees: float = 0.0, step: float = 30) -> list[Box]:
    """Labels on the left, prices far to the right, on lines that sink by so many degrees."""
    boxes = []
    for number, (label, price) in enumerate(RECEIPT):
        sunk = 320 * math.tan(math.radians(degrees))
        boxes += [box(label, 20, number * step), box(price, 340, number * step + sunk)]
    return boxes


def pairs(boxes: list[Box]) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row.cells) for row in group_rows(boxes)]


@pytest.mark.parametrize("degrees", [-1.5, -0.7, 0.0, 0.7, 1.5])
def test_a_label_and_its_price_are_one_row_on_lines_that_are_not_quite_level(
    degrees: float,
) -> None:
    assert pairs(receipt(degrees)) == RECEIPT


def test_the_order_in_which_pieces_come_does_not_matter() -> None:
    boxes = receipt(0.8)
    boxes = boxes[::-2] + boxes[::2]

    assert pairs(boxes) == RECEIPT


def test_a_large_heading_does_not_swallow_the_small_lines_beside_it() -> None:
    rows = group_rows(
        [
            box("Northwind Ltd", 10, 10, height=44),
            box("INVOICE", 500, 14, height=36),
            box("48 Harbour Road", 10, 62),
            box("Invoice no. 17", 500, 62),
        ]
    )

    assert [row.text for row in rows] == [
        "Northwind Ltd  INVOICE",
        "48 Harbour Road  Invoice no. 17",
    ]


def test_pieces_a_space_apart_are_one_cell_and_numbers_side_by_side_are_not() -> None:
    rows = group_rows(
        [box("VISA", 0, 0), box("ending 4821", 47, 0), box("12", 300, 0), box("18.99", 330, 0)]
    )

    assert [cell.text for cell in rows[0].cells] == ["VISA ending 4821", "12", "18.99"]


def test_lines_on_a_bent_page_are_followed_from_neighbour_to_neighbour() -> None:
    boxes = []
    for number in range(6):
        for column in range(5):
            bend = 14 * math.sin(column / 4 * math.pi)
            boxes.append(box(f"{number}{column}", 120 * column, 28 * number + bend, width=60))

    assert pairs(boxes) == [tuple(f"{n}{c}" for c in range(5)) for n in range(6)]


def test_rows_come_from_the_top_with_their_page_and_least_sure_piece() -> None:
    sure = Box(text="low", left=0, top=90, right=50, bottom=110, confidence=0.9)
    unsure = Box(text="part", left=300, top=90, right=350, bottom=110, confidence=0.6)

    rows = group_rows([sure, unsure, box("high", 0, 10)], page=3)

    assert [row.text for row in rows] == ["high", "low  part"]
    assert [row.page for row in rows] == [3, 3]
    assert [row.confidence for row in rows] == [1.0, 0.6]


def test_nothing_makes_no_rows() -> None:
    assert group_rows([]) == []
    assert group_rows([box("  ", 0, 0, width=10)]) == []


def test_typed_text_keeps_its_columns_and_its_gaps() -> None:
    rows = typed_rows("Item      Price\nHammer    18.99\n\nTotal\t18.99")

    assert [tuple(cell.text for cell in row.cells) for row in rows] == [
        ("Item", "Price"),
        ("Hammer", "18.99"),
        ("Total", "18.99"),
    ]
    assert rows[0].cells[1].left == rows[1].cells[1].left
    assert rows[2].top - rows[1].top == 2 * (rows[1].top - rows[0].top)


@given(
    st.lists(st.tuples(st.integers(0, 800), st.integers(0, 800), st.integers(5, 60)), max_size=40)
)
def test_no_piece_is_lost_and_none_comes_twice(places: list[tuple[int, int, int]]) -> None:
    boxes = [
        box(f"w{number}", left, top, width=40, height=height)
        for number, (left, top, height) in enumerate(places)
    ]

    read = " ".join(row.text for row in group_rows(boxes)).split()

    assert sorted(read) == sorted(each.text for each in boxes)
