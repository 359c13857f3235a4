"""A line of `%generate`: what is read of it, and what is told of a wrong one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agentcell.errors import CellError
from agentcell_magics.generate_options import command_of, generate_options


@pytest.mark.parametrize(
    ("line", "prompt", "wish"),
    [
        ("a fox's tail --size 512x512", "a fox's tail", {"size": "512x512"}),
        ('a sign that says "OPEN" -n 2', 'a sign that says "OPEN"', {"count": 2}),
        ('"all of it"', "all of it", {}),
        ("“all of it” --seed -7", "all of it", {"seed": -7}),
        ('a 12" ruler --negative "a cat\'s tail"', 'a 12" ruler', {"negative": "a cat's tail"}),
        ("the foxes' tails --n=3", "the foxes' tails", {"count": 3}),
        ("--format jpg a  wide   gap", "a  wide   gap", {"format": "jpeg"}),
        ("a -m openai/gpt-image-2 b", "a b", {"model": "openai/gpt-image-2"}),
        ("sea --quality high", "sea", {"quality": "high"}),
        (
            "waves --video --duration 6 --aspect 16:9",
            "waves",
            {"kind": "video", "seconds": 6, "aspect": "16:9"},
        ),
        ('{"a": 1} $x \\frac{1}{2} {name}', '{"a": 1} $x \\frac{1}{2} {name}', {}),
        ("a dash - and –", "a dash - and –", {}),
    ],
)
def test_a_line_is_a_prompt_as_typed_among_options(
    line: str, prompt: str, wish: dict[str, Any]
) -> None:
    found, options = generate_options(line)

    assert found == prompt
    assert options.wish == wish


@pytest.mark.parametrize(
    ("line", "body", "message"),
    [
        ("", None, "has no prompt"),
        ("--size 1x1", None, "has no prompt"),
        ("-n 2", "  \n ", "has no prompt"),
        ("a fox", "a hare", "below the line, but a fox stands on it too"),
        ("a fox --sze 1x1", None, "no option --sze"),
        ("a fox --size", None, "--size needs a value"),
        ("a fox --seed 1.5", None, "a whole number was expected"),
        ("a fox --format gif", None, "one of png, webp, jpeg, jpg"),
        ("a fox -n 0", None, "a whole number from 1"),
        ("a fox —size 512x512", None, "begins with a long dash"),
        ("a fox --duration 4", None, "--duration is a clip's, and a picture was asked for"),
        ("a fox --video --format png", None, "--format is a picture's, and a clip was asked for"),
        ("a fox -o not-a-name", None, "a variable's name was expected"),
        ('a fox --negative "blur', None, "opened and not closed"),
    ],
)
def test_what_cannot_be_read_is_told_and_never_becomes_part_of_a_prompt(
    line: str, body: str | None, message: str
) -> None:
    with pytest.raises(CellError, match=re.escape(message)):
        generate_options(line, body)


@pytest.mark.parametrize("line", ["a fox", "the jobs of the future", "lighthouse", '"jobs"'])
def test_a_prompt_is_no_command(line: str) -> None:
    assert command_of(line) is None


@pytest.mark.parametrize(
    "line", ["job", "models of cars", "resume", "modles", "resume a b", "cancel", "backends x"]
)
def test_what_begins_like_a_command_makes_no_picture_by_mistake(line: str) -> None:
    with pytest.raises(CellError, match="%generate") as caught:
        command_of(line)

    assert "%%generate" in str(caught.value)
