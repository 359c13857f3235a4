r"""A piece of Markdown prose, cut into words and maths, as its writer meant them.

Hosts take whatever stands between two dollars for maths, so a sentence with two prices becomes a
formula. Here a dollar opens maths only where no blank follows it, and closes it only where no
blank stands before it and no digit after it: the rule of pandoc and of most editors. TeX's own
``\(…\)`` and ``\[…\]``, which many models write and no notebook shows, count as maths.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_FORMULA = 5_000
"""Characters of a formula; what is longer has lost its other end."""

_MARK = re.compile(
    r"(?P<blank>\n[ \t>]*\n)"
    r"|\\begin\{(?P<begin>[A-Za-z]{1,20}\*?)\}|\\end\{(?P<end>[A-Za-z]{1,20}\*?)\}"
    r"|(?P<bracket>\\{1,2}[()\[\]])"  # Jupyter's own form has two backslashes
    r"|(?P<escaped>\\.)"
    r"|(?P<dollars>\$\$?)"
)
_CLOSES = {"\\(": "\\)", "\\[": "\\]", "\\\\(": "\\\\)", "\\\\[": "\\\\]"}
_LIKE_TEX = re.compile(r"[\\^_=<>+{}]")
_ONE_LETTER = re.compile(r"\s*[A-Za-z]'?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Some words, or one formula in a form that hosts show: in dollars, or an environment."""

    text: str
    is_maths: bool


def runs(prose: str) -> Iterator[Run]:
    """Yield `prose` in runs, in order. Of the words nothing is lost; it takes linear time."""
    marks = list(_MARK.finditer(prose))
    places: dict[str, list[int]] = defaultdict(list)
    for number, mark in enumerate(marks):
        places[_name(mark)].append(number)
    done = 0
    number = 0
    while number < len(marks):
        mark = marks[number]
        number += 1
        closes = _closed_by(mark)
        last = _next(places[closes], number) if closes else None
        if last is None or _next(places["blank"], number, before=last) is not None:
            continue
        formula = _formula(prose, mark, marks[last])
        if formula is None:
            continue
        if mark.start() > done:
            yield Run(text=prose[done : mark.start()], is_maths=False)
        yield Run(text=formula, is_maths=True)
        done = marks[last].end()
        number = last + 1
    if done < len(prose):
        yield Run(text=prose[done:], is_maths=False)


def _name(mark: re.Match[str]) -> str:
    if mark["blank"]:
        return "blank"
    return f"end {mark['end']}" if mark["end"] else mark.group()


def _closed_by(mark: re.Match[str]) -> str:
    if mark["begin"]:
        return f"end {mark['begin']}"
    return mark.group() if mark["dollars"] else _CLOSES.get(mark.group(), "")


def _next(places: list[int], start: int, *, before: int | None = None) -> int | None:
    """Return the first of `places` that is not less than `start`."""
    at = bisect_left(places, start)
    if at == len(places) or (before is not None and places[at] >= before):
        return None
    return places[at]


def _formula(prose: str, left: re.Match[str], right: re.Match[str]) -> str | None:
    """Return what stands from `left` to `right` as a formula; None if none was meant."""
    if right.start() - left.end() > LONGEST_FORMULA:
        return None
    inner = prose[left.end() : right.start()]
    if not inner.strip():
        return None
    after = prose[right.end() : right.end() + 1]
    if left["begin"]:
        return prose[left.start() : right.end()]
    if left.group() == "$$":
        return f"$${inner}$$"
    if left.group() == "$":
        blank = inner[0].isspace() or inner[-1].isspace() or "\n" in inner
        priced = after.isdigit() or inner[0] in "),.;:!?"
        return None if blank or priced else f"${inner}$"
    before = prose[max(left.start() - 1, 0) : left.start()]
    return _of_brackets(inner, left.group()[-1], before, after)


def _of_brackets(inner: str, bracket: str, before: str, after: str) -> str | None:
    r"""Return TeX's brackets as dollars; None where Markdown's signs were only escaped: f\(x\)."""
    if "$" in inner or before.isalnum() or after in {"(", "[", ":"}:
        return None
    if bracket == "[":
        inner = inner if "\n" in inner else inner.strip()
        return f"$${inner}$$" if _LIKE_TEX.search(inner) else None
    meant = _LIKE_TEX.search(inner) or _ONE_LETTER.fullmatch(inner)
    return f"${' '.join(inner.split())}$" if meant else None
