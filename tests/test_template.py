"""Slots in a text: only what names something is replaced, everything else stays as typed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.prompts.template import Slot, distance, fill, find_slots, literal, near_miss
from promptly import cpu_seconds

VALUES = {"x": "1", "a": "{b}", "b": "B", "票据": "[t_1 r]", "os": "module", "d": "dict", "μ": "mu"}

AS_TYPED = [
    '{"a": 1}',
    "{'a': 1}",
    "{}",
    "{ }",
    "{",
    "}",
    "}{",
    "{{}}",
    "{unknown}",
    "{{unknown}}",
    "{unknown.attr}",
    "{unknown[0]}",
    "{x.y}",
    "{x[0]}",
    "{d['k']}",
    "{x!r}",
    "{x:>3}",
    "{x,}",
    "{ x }",
    "{os.environ[HOME]}",
    "{o.__class__.__init__.__globals__}",
    "{k: v for k, v in d.items()}",
    "{1+1}",
    "{len(x)}",
    "{0}",
    "{ color: red; }",
    "p { margin: 0 }",
    r"\frac{c}{y} + \sqrt{z}",
    r"\begin{equation}",
    "const f = (y) => { return y }",
    "${y}",
    "{x\n}",
    "{-x}",
]


@pytest.mark.parametrize("text", AS_TYPED)
def test_braces_that_name_nothing_stay_as_typed(text: str) -> None:
    assert fill(text, VALUES.get) == text


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{x}", "1"),
        ("a{x}b{x}c", "a1b1c"),
        ("{a}", "{b}"),
        ("{{x}}", "{x}"),
        ("{{{x}}}", "{1}"),
        ("{{{{x}}}}", "{{x}}"),
        ("{{x}", "{1"),
        ("{x}}", "1}"),
        ("{a:{x}}", "{a:1}"),
        ("请看 {票据}。", "请看 [t_1 r]。"),
        ("{x}{unknown}{{x}}", "1{unknown}{x}"),
        ("{µ}", "mu"),
        ("$x {x}", "$x 1"),
    ],
)
def test_a_slot_that_names_something_is_replaced_once(text: str, filled: str) -> None:
    assert fill(text, VALUES.get) == filled


@settings(deadline=None)
@given(st.text(alphabet="{}ax:. \\n\\\\'é[]!", max_size=60))
def test_a_text_that_names_nothing_comes_out_as_it_went_in(text: str) -> None:
    assert fill(text, lambda _: None) == text
    for slot in find_slots(text):
        assert text[slot.start : slot.end] == f"{{{slot.name}}}"


def test_slots_are_found_with_their_places() -> None:
    text = "{x} {{x}} {{{x}}} {票据} {x.y}"

    slots = find_slots(text)

    assert slots == [
        Slot(0, 3, "x"),
        Slot(12, 15, "x"),
        Slot(18, 22, "票据"),
    ]
    assert [text[slot.start : slot.end] for slot in slots] == ["{x}", "{x}", "{票据}"]


@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000,
        "}" * 200_000,
        "{a" * 100_000,
        "{a}" * 50_000,
        "{" * 100_000 + "a" + "}" * 100_000,
    ],
)
def test_long_runs_of_braces_take_no_time(text: str) -> None:
    assert cpu_seconds(lambda: fill(text, VALUES.get), tries=3) < 2


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("recipt", "receipt"),
        ("Receipt", "receipt"),
        ("reciept_image", "receipt_image"),
        ("toatl", "total"),
        ("ab", None),
        ("total", None),
        ("frac", None),
        ("environment", None),
    ],
)
def test_a_misspelling_leads_to_the_known_name(name: str, meant: str | None) -> None:
    known = ["receipt", "receipt_image", "total", "x", "abc"]

    assert near_miss(name, known) == meant
    assert near_miss(name, reversed(known)) == meant


def test_two_neighbours_exchanged_are_one_slip() -> None:
    assert distance("imgae", "image") == 1
    assert distance("", "abc") == 3
    assert distance("kitten", "sitting") == 3


@pytest.mark.parametrize(
    "text",
    [
        "{a}",
        "{{a}}",
        "{{{a}}}",
        "x {a}{b} {{a}} y",
        "{b} {c}",
        "{ a }",
        '{"a": {a}}',
        "no slot",
        "",
    ],
)
def test_a_literal_text_comes_back_as_it_is(text: str) -> None:
    written = literal(text, {"a", "b"})

    assert fill(written, {"a": "1", "b": "{a}"}.get) == text
