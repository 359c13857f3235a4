"""A prompt file's text is read as sections and front matter; written again it says the same."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.errors import PromptFormatError
from agentcell.prompts.prompt_file import read_prompt, write_prompt
from agentcell.prompts.prompt_sections import Section
from agentcell.prompts.prompt_slots import ImagePlace, Slot, filled, pieces, slots
from promptly import cpu_seconds

SEED = "---\nmodel: gemini-2.5-flash\ntemperature: 0.3\n---\n\n$system$\nS\n\n$user$\nU: %text%\n"


def read(text: str) -> list[tuple[str, str]]:
    return [(one.role, one.text) for one in read_prompt(text, "task.prompt").sections]


# -- case 61, 62, 63: front matter


def test_the_seeds_file_gives_model_settings_and_two_sections() -> None:
    file = read_prompt(SEED, "task.prompt")

    assert (file.model, file.settings, file.metadata) == (
        "gemini-2.5-flash",
        {"temperature": 0.3},
        {},
    )
    assert read(SEED) == [("system", "S"), ("user", "U: %text%")]


def test_front_matter_keeps_keys_that_nobody_here_knows() -> None:
    file = read_prompt("---\nskills: [planning]\n---\n$user$\nHi\n", "f")

    assert (file.model, file.settings, file.metadata) == (None, {}, {"skills": ["planning"]})


@pytest.mark.parametrize("head", ["", "---\n---\n", "---  \n\n--- \n"])
def test_front_matter_may_be_missing_or_empty(head: str) -> None:
    text = f"{head}$user$\nHi"

    file = read_prompt(text, "f")

    assert (file.model, file.settings, file.metadata) == (None, {}, {})
    assert read(text) == [("user", "Hi")]


FRONT_FAULTS = [
    ("---\nmodel: x\n\n$user$\nHi\n", 1, "not closed"),  # case 64
    ("---\n- a\n---\n$user$\nHi\n", 2, "is a list; a mapping"),
    ("---\nfoo\n---\n$user$\nHi\n", 2, "is a str; a mapping"),
    ("---\na: 1\nb: [1\n---\n$user$\nHi\n", 3, "no YAML"),
    ("---\na: 1\nmodel: 3\n---\n$user$\nHi\n", 3, "model is '3'; a model's name"),
    ("---\nmodel: ' '\n---\n$user$\nHi\n", 2, "model"),
    ("---\ntemperature: 2.1\n---\n$user$\nHi\n", 2, "0 to 2"),
    ("---\ntemperature: true\n---\n$user$\nHi\n", 2, "0 to 2"),
    ("---\ntemperature: .nan\n---\n$user$\nHi\n", 2, "0 to 2"),
    ("---\ntemperature: warm\n---\n$user$\nHi\n", 2, "0 to 2"),
    ("---\n\ntop_p: 1.5\n---\n$user$\nHi\n", 3, "0 to 1"),
    ("---\nmax_tokens: 0\n---\n$user$\nHi\n", 2, "at least 1"),
    ("---\nmax_tokens: 1.5\n---\n$user$\nHi\n", 2, "whole number"),
    (f"---\nmodel: 0x{'f' * 5000}\n---\n$user$\nHi\n", 2, "a number of many digits"),
    (f"---\ntemperature: 0x{'f' * 5000}\n---\n$user$\nHi\n", 2, "0 to 2"),
    (f"---\nmax_tokens: 0x{'f' * 5000}\n---\n$user$\nHi\n", 2, "whole number"),
    ("---\nx: !!python/object/apply:os.system [ls]\n---\n$user$\nHi\n", 2, "no YAML"),
]


@pytest.mark.parametrize(("text", "line", "says"), FRONT_FAULTS)
def test_a_fault_in_the_front_matter_names_file_and_line(text: str, line: int, says: str) -> None:
    with pytest.raises(PromptFormatError, match=r"task\.prompt, line") as caught:
        read_prompt(text, "task.prompt")

    assert (caught.value.file, caught.value.line) == ("task.prompt", line)
    assert says in caught.value.reason
    assert caught.value.fix


# -- cases 65 to 70: sections

SECTIONS = [
    ("$user$\nHi", [("user", "Hi")]),  # case 65
    (SEED.replace("\n", "\r\n"), [("system", "S"), ("user", "U: %text%")]),  # case 67
    ("\ufeff" + SEED.replace("\n", "\r\n"), [("system", "S"), ("user", "U: %text%")]),
    ("$user$\ncost $user$ now", [("user", "cost $user$ now")]),  # case 68
    ("$user$\n```\n$user$\n```\nx", [("user", "```\n$user$\n```\nx")]),
    ("$user$\n~~~~ text\n$tool$\n~~~\n~~~~\nx", [("user", "~~~~ text\n$tool$\n~~~\n~~~~\nx")]),
    ("$user$\n`code` ``` no\n$assistant$\nA", [("user", "`code` ``` no"), ("assistant", "A")]),
    ("$user$\n```a`b\n$assistant$\nA", [("user", "```a`b"), ("assistant", "A")]),
    (  # case 70
        '$user$\n{ "a": 1 }\n\n| a | b |\n|---|---|\n| 1 | 2 |',
        [("user", '{ "a": 1 }\n\n| a | b |\n|---|---|\n| 1 | 2 |')],
    ),
    ("$user$\n\\$user$", [("user", "$user$")]),
    ("$user$\n\\$tool$ is text", [("user", "$tool$ is text")]),
    ("$user$\n\\\\$user$", [("user", "\\$user$")]),
    ("$user$\na \\$user$", [("user", "a \\$user$")]),
    ("$user$\n```\n\\$user$\n```", [("user", "```\n\\$user$\n```")]),
    ("$user$  \t\n\n \n  a  \n\n b\n \n", [("user", "  a  \n\n b")]),
    ("$user$\n$x^2$\n $system$\n$ user $", [("user", "$x^2$\n $system$\n$ user $")]),
    (
        "\n \n$user$\nQ\n$assistant$\nA\n$user$\nR",
        [("user", "Q"), ("assistant", "A"), ("user", "R")],
    ),
    ("$user$", [("user", "")]),
    ("$user$\nQ\n$system$\nS", [("user", "Q"), ("system", "S")]),
    ("$user$\n---\nmodel: x\n---", [("user", "---\nmodel: x\n---")]),
]


@pytest.mark.parametrize(("text", "sections"), SECTIONS)
def test_sections_are_whole_lines_and_the_rest_is_text(
    text: str, sections: list[tuple[str, str]]
) -> None:
    assert read(text) == sections


SECTION_FAULTS = [
    ("$system$\nS\n", 3, "without a $user$"),  # case 66
    ("", 1, "without a $user$"),
    ("$user$\nHi\n$tool$\nx", 3, "no section $tool$"),  # case 69
    ("$User$\nHi", 1, "no section $User$"),
    ("Hello\n$user$\nHi", 1, "before the first section"),
    ("---\na: 1\n---\n\nHello\n$user$\nHi", 5, "before the first section"),
    ("$system$\nA\n$user$\nHi\n$system$\nB", 5, "the first is in line 1"),
    ("$system$\n```\nopen\n$user$\nHi", 5, "without a $user$"),
    ("$user$\na\0b", 2, "a NUL character"),
]


@pytest.mark.parametrize(("text", "line", "says"), SECTION_FAULTS)
def test_a_fault_in_a_section_names_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(PromptFormatError) as caught:
        read_prompt(text, "f")

    assert (caught.value.line, says in caught.value.reason) == (line, True)


# -- cases 71, 72: slots

FILLED = [
    ("50% off, 20% more", {}, "50% off, 20% more"),
    ("100%%", {}, "100%"),
    ("%%text%%", {"text": "no"}, "%text%"),
    ("%a%%b%", {"a": "1", "b": "2"}, "12"),
    ("%a %b%", {"b": "1"}, "%a 1"),
    ("%名%", {"名": "1"}, "%名%"),
    ("%a%", {"a": "%b%", "b": "Z"}, "%b%"),
    ("%1a% %a-b% %a.b% % a %", {"a": "1", "b": "2"}, "%1a% %a-b% %a.b% % a %"),
    ("%%%a%%%", {"a": "1"}, "%1%"),
    ("%a%b%", {"a": "1", "b": "2"}, "1b%"),
    ("%_x1%", {"_x1": "y"}, "y"),
    ("%", {}, "%"),
    ("%%image:1%%", {}, "%image:1%"),
]


@pytest.mark.parametrize(("text", "values", "result"), FILLED)
def test_slots_are_filled_in_one_pass(text: str, values: dict[str, str], result: str) -> None:
    assert filled(text, values) == ([result] if result else [])


def test_places_of_images_are_no_slots() -> None:
    text = "a %image:12% b %images% c %x% %image:%"

    assert list(pieces(text)) == [
        *("a ", ImagePlace(12), " b ", ImagePlace(0), " c ", Slot("x"), " %image:%"),
    ]
    assert slots([text, "%y%%x%"]) == ["x", "y"]


# -- round trips

LINES = st.one_of(
    st.sampled_from(
        [
            *("$user$", "$system$", "\\$user$", "\\\\$tool$ x", "```", "~~~", "```py", "---", ""),
            *("%text%", "100%%", "%image:1%", "  $user$", "$user$ ", "$x$y", "a: b", "\\", "$"),
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
)
TEXTS = st.lists(LINES, max_size=6).map("\n".join)
ROLES = st.sampled_from(["user", "assistant"])
FRONTS = st.dictionaries(
    st.text(string.ascii_letters, min_size=1, max_size=6).map(lambda name: f"x{name}"),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(string.printable, max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=2)
        ),
        max_leaves=5,
    ),
    max_size=3,
)


@given(st.lists(st.tuples(ROLES, TEXTS), min_size=1, max_size=4), FRONTS)
@settings(max_examples=400)
def test_what_is_written_is_read_again_or_refused(
    given_: list[tuple[str, str]], front: dict[str, Any]
) -> None:
    sections = [Section(role, text) for role, text in given_]
    try:
        text = write_prompt(sections, front, "f")
    except PromptFormatError:
        # Only what no file can hold is refused.
        assert all(role != "user" for role, _ in given_) or any(_is_unheld(t) for _, t in given_)
        return

    again = read_prompt(text, "f")

    assert [(one.role, one.text) for one in again.sections] == given_
    assert again.metadata == front
    assert write_prompt(again.sections, again.metadata, "f") == text


def _is_unheld(text: str) -> bool:
    lines = text.split("\n")
    is_padded = bool(text) and not (lines[0].strip() and lines[-1].strip())
    return is_padded or "\r" in text or "```" in text or "~~~" in text


@given(st.lists(LINES, max_size=10).map("\n".join))
@settings(max_examples=300)
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    line = 0
    try:
        file = read_prompt(text, "f")
    except PromptFormatError as error:
        line = error.line
    else:
        assert any(one.role == "user" for one in file.sections)
        assert file.text == text.removeprefix("\ufeff")

    assert 0 <= line <= text.count("\n") + 1


@given(st.text(max_size=40), st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=20)))
@settings(max_examples=300)
def test_no_value_adds_slots_or_places(text: str, values: dict[str, str]) -> None:
    done = filled(text, values)

    places = [one for one in pieces(text) if isinstance(one, ImagePlace)]
    assert [one for one in done if isinstance(one, ImagePlace)] == places
    expected = "".join(
        values.get(piece.name, f"%{piece.name}%") if isinstance(piece, Slot) else piece
        for piece in pieces(text)
        if not isinstance(piece, ImagePlace)
    )
    assert "".join(one for one in done if isinstance(one, str)) == expected


@pytest.mark.parametrize("piece", ["%%", "%a%", "%a% ", "x%", "%image:1%", "%%a%%"])
def test_filling_a_text_of_many_pieces_takes_time_by_its_length_only(piece: str) -> None:
    def seconds(count: int) -> float:
        return cpu_seconds(lambda: filled(piece * count, {"a": "xyz"}), tries=3)

    assert seconds(200_000) < 60 * max(
        seconds(20_000), 0.001
    )  # by its square it would be 100 times
