"""``@path`` in a text: only what names a file is found, everything else stays as typed."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.prompts.mentions import find_mentions, missing_files, written
from promptly import cpu_seconds

FILES = {
    *("a.png", "b.pdf", "sub/a.png", "./a.png", "../a.png", "~/a.png", "/pics/a.png"),
    *("my file.png", "收据.png", "it's.png", "a.png.bak.png", "C:\\pics\\a.png", "notes.md"),
    *("tool", "media", "import", "app.route", "example.org", "(1).png", "a,b.png"),
}


def paths(text: str) -> list[str]:
    found = find_mentions(text, FILES.__contains__)
    for mention in found:
        assert mention.path in text[mention.start : mention.end]
        assert text[mention.start] == "@"
    return [mention.path for mention in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@a.png", ["a.png"]),
        ("What is on @a.png?", ["a.png"]),
        ("Compare @a.png, @b.pdf; and (@sub/a.png).", ["a.png", "b.pdf", "sub/a.png"]),
        ("See @a.png.", ["a.png"]),
        ("See @a.png's total", ["a.png"]),
        ("See @a.png…", ["a.png"]),
        ("[@a.png]", ["a.png"]),
        (
            "@./a.png @../a.png @~/a.png @/pics/a.png",
            ["./a.png", "../a.png", "~/a.png", "/pics/a.png"],
        ),
        ('@"my file.png" and @"a.png"', ["my file.png", "a.png"]),
        ("@'my file.png' @“my file.png”", ["my file.png", "my file.png"]),
        ("@it's.png", ["it's.png"]),
        ("请看@收据.png，总额是多少？", ["收据.png"]),
        ("请看 @收据.png的总额", ["收据.png"]),
        ("@C:\\pics\\a.png", ["C:\\pics\\a.png"]),
        ("@a.png.bak.png", ["a.png.bak.png"]),
        ("@(1).png @a,b.png", ["(1).png", "a,b.png"]),
        ('@"tool"', ["tool"]),
        ("first\n@a.png\nlast", ["a.png"]),
        ("1. One\n\n    @a.png", ["a.png"]),
        ("`@b.pdf` is @a.png", ["a.png"]),
        ("@a.png " * 3, ["a.png"] * 3),
        ("@a.png" + "。" * 300, ["a.png"]),
    ],
)
def test_a_mention_is_found(text: str, found: list[str]) -> None:
    assert paths(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "me@example.org",
        "@example and @tool and @media (max-width: 3px) { a: b }",
        '@import url("x.css");',
        "curl -F file=@a.png https://x.example",
        '{"image": "@a.png"}',
        "{'image': '@a.png'}",
        "`@a.png`",
        "``@a.png``",
        "```\n@app.route\n@a.png\n```",
        "~~~\n@a.png\n~~~",
        "\\@a.png",
        "@@a.png",
        "x@a.png",
        "https://x.example/@a.png",
        "@ a.png",
        "@",
        '@"',
        '@""',
        '@"a.png',
        '@"my\nfile.png"',
        "@nowhere.png",
        "@b.png",
        "@a.pn",
        "@a.pngs",
        "@a.png.bak",
        "@a.png/x",
        "@a.png1",
        "@sub/",
        "@\0.png",
        "@a" + ".png" * 3000,
    ],
)
def test_what_is_no_mention_stays_as_typed(text: str) -> None:
    assert paths(text) == []


def test_what_looks_like_a_file_that_is_missing_is_named() -> None:
    text = "See @recepit.png, @a.png, @tool, @x.y, `@b.png`, me@x.png and @sub/none.PDF."

    assert missing_files(text, FILES.__contains__) == ["recepit.png", "sub/none.PDF"]


def test_a_long_text_of_signs_takes_no_time() -> None:
    for text in ("@" * 50_000, "@a " * 20_000, " @a.b-c" * 10_000, " @" + "a.png" * 20_000):
        assert cpu_seconds(partial(find_mentions, text, lambda _: False), tries=3) < 3
        assert cpu_seconds(partial(missing_files, text, lambda _: False), tries=3) < 3


@given(st.text() | st.text(st.sampled_from("@`~ \n\"'a.png/\\。")))
def test_mentions_stand_in_order_and_do_not_overlap(text: str) -> None:
    found = find_mentions(text, lambda _: True)

    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
    assert all(0 <= one.start < one.end <= len(text) for one in found)


@given(st.text(st.sampled_from("ab. -()'/文"), min_size=1, max_size=12))
def test_a_mention_that_was_written_is_found(name: str) -> None:
    path = f"x{name}.png"

    found = find_mentions(f"See {written(path)} now", path.__eq__)

    assert [mention.path for mention in found] == [path]
