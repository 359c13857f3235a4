from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agentcell.markdown_code import pieces
from agentcell.safe_text import as_html, as_literal, marked, plain, safe_markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "![x](https://evil.example/pixel.png)",
    "![x][ref]\n\n[ref]: https://evil.example/pixel.png",
    "[bank](javascript:alert(1))",
    "[click\n](javascript:alert(1))",
    "<javascript:alert(1)>",
    "[a]: javascript:alert(1)\n[a]",
    "```html\n<script>alert(1)</script>\n```",
    "~~~\n</code></pre><script>alert(1)</script>\n~~~",
    "    <script>alert(1)</script>",
    "`<script>alert(1)</script>`",
    "``` `` <script>alert(1)</script>",
    "- item\n\n  ```\n  <script>alert(1)</script>\n  ```",
    "> ```\n> <script>alert(1)</script>",
    "<!-- --><script>alert(1)</script>",
    "<?php <script>alert(1)</script> ?>",
    "$<script>alert(1)</script>$",
    "$\\href{javascript:alert(1)}{x}$",
    "</pre></div><script>alert(1)</script>",
    "\\<script>alert(1)\\</script>",
    "\\\\<script>alert(1)</script>",
    '[x]: /url "\n```\n<script>alert(1)</script>\n```\n"',
    "<svg/onload=alert(1)>",
    "<a href='data:text/html,x'>y</a>",
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
]

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
        "1 < 2, a <- b, x<5 and <3\n",
        "- [ ] task\n- [x] done\n",
        "> a quote\n",
        "合计 ¥83.00，谢谢惠顾。\n",
        "مرحبا 🎉\n",
    ],
)
def test_ordinary_markdown_stays_as_it_is(text: str) -> None:
    assert safe_markdown(text) == text


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
