from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agentcell.markdown_code import pieces
from agentcell.safe_text import (
    as_html,
    as_literal,
    marked,
    plain,
    safe_markdown,
    unsendable,
    whole_characters,
)
from hostile import DIAGRAMS, HOSTILE, MATHS

OWN_TAGS = {"<pre>", "<code>", "<span>", "</pre>", "</code>", "</span>"}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_tag_but_our_own_survives(text: str) -> None:
    safe = safe_markdown(text)

    assert set(re.findall(r"<[A-Za-z/!?][^>]*>?", safe)) <= OWN_TAGS
    assert "![" not in safe


@pytest.mark.parametrize("text", HOSTILE)
def test_rendered_by_a_host_that_allows_html_nothing_runs_or_loads(text: str) -> None:
    for preset in ("commonmark", "gfm-like"):
        parser = MarkdownIt(preset, {"html": True, "linkify": False})
        html = parser.render(safe_markdown(text))
        assert set(re.findall(r"<(script|img|svg|meta|iframe)", html)) == set()
        assert not re.search(r'<[a-z]+ [^>]*href="(?!https?:|mailto:)', html)
        for target, label in re.findall(r'<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>', html):
            assert target == label


LIVE = re.compile(
    r"\\(href|mmlToken|bbox|style|require|includegraphics|let|def|newcommand)(?![A-Za-z])"
)


@pytest.mark.parametrize("text", MATHS)
def test_no_command_of_a_formula_links_loads_or_changes_others(text: str) -> None:
    outside_code = re.sub(r"<code>.*?</code>", "", safe_markdown(text), flags=re.DOTALL)

    assert not LIVE.search(outside_code)


@pytest.mark.parametrize("text", DIAGRAMS)
def test_no_host_draws_a_diagram(text: str) -> None:
    html = MarkdownIt("commonmark", {"html": True}).render(safe_markdown(text))

    assert not re.search(r'class="[^"]*mermaid', html, re.IGNORECASE)
    assert not re.search(r"(?im)^[ \t>]*(`{3}|~{3})[^\n]*mermaid", safe_markdown(text))


@given(st.text(alphabet="<>`[]()!~\\$ \nabscript:/=\"'-#&;x", max_size=60))
def test_no_text_at_all_gets_a_tag_or_an_image_through(text: str) -> None:
    safe = safe_markdown(text)

    assert set(re.findall(r"<[A-Za-z/!?][^>]*>?", safe)) <= OWN_TAGS
    assert "![" not in safe
    assert "](" not in safe


@given(st.text(alphabet="`~<> \nab-1.", max_size=80))
def test_pieces_lose_nothing(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\nSome *text* with `code` and **bold**.\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "```python\nif a < b and c > d:\n    print(x)\n```\n",
        "Maths: $a < b$ and $$\\frac{a}{b}$$\n",
        "The total is $27.95.\n",
        "The $n$th of $x_1, x_2$ and $f(x)$-values.\n",
        "\\begin{align}a &= b\\end{align}\n",
        "1 < 2, a <- b, x<5 and <3\n",
        "- [ ] task\n- [x] done\n",
        "> a quote\n",
        "合计 ¥83.00，谢谢惠顾。\n",
        "مرحبا 🎉\n",
    ],
)
def test_ordinary_markdown_stays_as_it_is(text: str) -> None:
    assert safe_markdown(text) == text


D = "<span>&#36;</span>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It costs $5 and $10.", f"It costs {D}5 and {D}10."),
        ("It costs \\$5 and \\$10.", f"It costs {D}5 and {D}10."),
        ("It costs &#36;5 and &dollar;10.", f"It costs {D}5 and {D}10."),
        ("$5, where $x = 2$, and $10", f"{D}5, where $x = 2$, and {D}10"),
        ("**$5** or US$7/C$9", f"**{D}5** or US{D}7/C{D}9"),
        ("dollars ($) and Canadian ones (C$)", f"dollars ({D}) and Canadian ones (C{D})"),
        ("`$5` and $10", f"`$5` and {D}10"),
        ("$5\n\n$6", f"{D}5\n\n{D}6"),
    ],
)
def test_prices_are_no_formula(text: str, shown: str) -> None:
    assert safe_markdown(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"so \( \frac{a}{b} \) holds", r"so $\frac{a}{b}$ holds"),
        (r"\[ x^2 = 3 \]", r"$$x^2 = 3$$"),
        (r"the \(n\)-th", "the $n$-th"),
        (r"see \[1\] and f\(x\)", r"see \[1\] and f\(x\)"),
        (r"\[link\](https://x.example)", r"\[link\&#93;(https://x.example)"),
    ],
)
def test_formulas_in_tex_s_own_brackets_are_shown_as_formulas(text: str, shown: str) -> None:
    assert safe_markdown(text) == shown


@pytest.mark.parametrize(
    "piece", ["\\", "`", "``` `` ", "$ ", "$a$ ", "\\begin{a}", "[", "](", "\\( ", "<a ", "\n\n`"]
)
def test_the_longest_text_takes_no_longer_for_what_it_holds(piece: str) -> None:
    began = time.process_time()
    safe_markdown(piece * (100_000 // len(piece)))

    assert time.process_time() - began < 10  # those that were not linear took minutes


def test_halves_of_characters_become_whole_or_a_mark() -> None:
    assert whole_characters("a\ud83d\ude00b") == "a😀b"
    assert whole_characters("a\ud83db") == "a\ufffdb"
    assert plain("\ud83d") == "\ufffd"
    assert safe_markdown("x\ude00").encode() == "x\ufffd".encode()


def test_what_no_service_takes_is_named() -> None:
    assert unsendable("a\ud800") == "half a character (U+D800)"
    assert unsendable("a\0b") == "a NUL character (U+0000)"
    assert unsendable("a😀\n\t") == ""


def test_a_span_of_code_ends_with_its_paragraph_and_knows_escapes() -> None:
    def spans(text: str) -> list[str]:
        return [piece.code for piece in pieces(text) if piece.kind == "span"]

    assert spans("a ` b\n\nc `d` e") == ["d"]
    assert spans(r"\`a` b` c") == ["b"]
    assert spans(r"\\`a`") == ["a"]
    assert spans(r"`a\` b") == ["a\\"]
    assert spans("``a`b`` `c`") == ["a`b", "c"]


def test_a_link_shows_where_it_leads() -> None:
    assert safe_markdown("[your bank](https://evil.example/x)") == (
        "your bank (https://evil.example/x)"
    )


def test_a_link_that_shows_its_own_address_stays_short() -> None:
    assert safe_markdown("[https://a.example](https://a.example)") == "https://a.example"


def test_code_with_a_tag_shows_the_tag() -> None:
    safe = safe_markdown("```html\n<b>x</b>\n```\n")

    assert safe == "<pre><code>&lt;b&gt;x&lt;/b&gt;\n</code></pre>\n\n"


def test_terminal_codes_and_direction_overrides_are_gone() -> None:
    assert plain("\x1b[31mred\x1b[0m a\u202eb\u2066c\x07") == "red abc"
    assert "\u202e" not in safe_markdown("abc\u202etxt.exe")


@pytest.mark.parametrize(
    "text", ["*a* _b_ `c`", "[x](y)", "<b>", "$x$", "# h", "https://x.example", "~~a~~", "a|b"]
)
def test_a_literal_renders_as_exactly_its_characters(text: str) -> None:
    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).renderInline(as_literal(text))

    assert re.sub(r"&lt;", "<", re.sub(r"&gt;", ">", re.sub("&quot;", '"', html))) == text


def test_tags_are_marked_outside_of_code_and_of_other_marks() -> None:
    text = "See [x_1 X].\n\nIn *this* [x_1 X]\n\n`[x_1 X]`\n\n```\n[x_1 X]\n```\n"

    assert marked(text, ["[x_1 X]"]) == text.replace("See [x_1 X]", "See **[x_1 X]**")


def test_html_text_cannot_leave_its_attribute() -> None:
    assert as_html("\"><script>'") == "&quot;&gt;&lt;script&gt;&#x27;"
