from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcell.markdown_maths import runs


def formulas(text: str) -> list[str]:
    return [run.text for run in runs(text) if run.is_maths]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$a < b$", ["$a < b$"]),
        ("$a$, $b$", ["$a$", "$b$"]),
        ("$$\nx = 1\n$$", ["$$\nx = 1\n$$"]),
        ("$5 and $10", []),
        ("$5-$10 or $5/$10", []),
        ("a $ b $ c", []),
        ("$a\nb$", []),
        ("$$a\n\nb$$", []),
        (r"\$a$ and \$b$", []),
        (r"$a\$b$", [r"$a\$b$"]),
        ("$5, where $x$ and $y$", ["$x$", "$y$"]),
        (r"\(x\)", ["$x$"]),
        ("\\(a\n + b\\)", ["$a + b$"]),
        (r"\\(x_1\\) and \\[y_1\\]", ["$x_1$", "$$y_1$$"]),
        (r"f\(x\)", []),
        (r"\(see above\)", []),
        (r"\[1\]", []),
        (r"\[a_1\](b)", []),
        (r"\begin{align*}a&=b\\c&=d\end{align*}", [r"\begin{align*}a&=b\\c&=d\end{align*}"]),
        (r"\begin{align}a\end{equation}", []),
        ("\\[\nx = 1\n\\]", ["$$\nx = 1\n$$"]),
        ("$" + "x+" * 4_000 + "y$", []),
        ("$$$$", []),
        ("$", []),
    ],
)
def test_a_formula_is_found_where_one_was_meant(text: str, found: list[str]) -> None:
    assert formulas(text) == found


@given(st.text(alphabet="$ab1 \n.,`", max_size=60))
def test_nothing_is_lost(text: str) -> None:
    assert "".join(run.text for run in runs(text)) == text


@pytest.mark.parametrize(
    "piece",
    ["$", "$$a", "\\begin{a}", "\\(", "\\[ x_ ", "$x ", "\n\n$a", "\\(a\\) ", "$a$ ", "$a$1"],
)
@pytest.mark.parametrize("end", ["", " $ \\) \\]", "\\end{a}"])
def test_a_long_text_takes_linear_time(piece: str, end: str) -> None:
    began = time.process_time()
    assert list(runs(piece * (400_000 // len(piece)) + end))

    assert time.process_time() - began < 10
