"""A magic's line and its words: what is quoted comes back, whatever it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.errors import CellError
from agentcell.safe_text import unsendable
from agentcell_magics.options import agent_options
from agentcell_magics.words import begin, closing, inside_quotes, quote, tokens

SENDABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
HARD = st.text(st.sampled_from("ab \t\n\"'\\“”=-‘’{}$@ü文\u3000")) | SENDABLE


@given(HARD)
def test_a_word_that_was_quoted_comes_back(text: str) -> None:
    assert not unsendable(text)
    assert tokens(quote(text)) == [text]


@given(st.lists(HARD))
def test_words_that_were_quoted_come_back_one_by_one(texts: list[str]) -> None:
    assert tokens(" ".join(map(quote, texts))) == texts


@given(HARD)
def test_a_quoted_value_comes_back_after_an_equals_sign(text: str) -> None:
    assert tokens(f"--system={quote(text)}") == [f"--system={text}"]
    assert agent_options(f"--system={quote(text)}").system == text


@given(HARD, st.sampled_from("\"'“"))
def test_what_is_written_inside_an_open_quote_comes_back(text: str, mark: str) -> None:
    written = inside_quotes(text, mark)

    if written is None:
        assert closing(mark) in text
    else:
        assert tokens(f"{mark}{written}{closing(mark)}") == [text]


@given(HARD)
def test_a_line_may_be_read_up_to_any_place(line: str) -> None:
    for end in range(len(line) + 1):
        begun = begin(line[:end])
        assert line[: begun.start] == "" or line[begun.start - 1].isspace()
        assert (begun.value is None) == (begun.start == end)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-s “Be brief.”", ["-s", "Be brief."]),
        ("-s “简洁 明了” -q", ["-s", "简洁 明了", "-q"]),
        ("-a receipt=“my file.png”", ["-a", "receipt=my file.png"]),
        ('-s "Say “hi” twice"', ["-s", "Say “hi” twice"]),
        ("-s 用“简洁”的话", ["-s", "用“简洁”的话"]),
        ("-s it’s", ["-s", "it’s"]),
        (r"-a '\\server\my files\a.png'", ["-a", r"\\server\my files\a.png"]),
        (r"-a \\server\files\a.png", ["-a", r"\\server\files\a.png"]),
    ],
)
def test_quotes_as_chats_and_input_methods_write_them(line: str, words: list[str]) -> None:
    assert tokens(line) == words


@pytest.mark.parametrize("line", ["-s “Be brief.", '-s “Be brief."', "-a x=“my file.png"])
def test_an_open_curly_quote_is_told_with_the_one_that_is_missing(line: str) -> None:
    with pytest.raises(CellError, match="quote “ is opened and not closed") as caught:
        tokens(line)

    assert caught.value.fix == "add ”."


@pytest.mark.parametrize("line", ["—model local", "–m local", "–max-tokens 5", "—detail=high"])
def test_a_dash_that_a_chat_made_long_is_told(line: str) -> None:
    with pytest.raises(CellError, match="long dash") as caught:
        agent_options(line)

    assert "type it anew" in caught.value.fix


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", '""'),
        ("receipt.png", "receipt.png"),
        ("my receipt.png", '"my receipt.png"'),
        (r"C:\new\a.png", r"C:\new\a.png"),
        (r"\\server\my files\a.png", r"'\\server\my files\a.png'"),
        ("it's", '"it\'s"'),
        ('say "hi"', "'say \"hi\"'"),
        ("{x} $y", '"{x} $y"'),
    ],
)
def test_quotes_are_written_only_where_a_word_needs_them(text: str, line: str) -> None:
    assert quote(text) == line
