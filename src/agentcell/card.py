"""A title and some facts → a MIME bundle that reads well on every host, with styles or without.

For values that show themselves in a notebook; a magic's cards, in the person's language, are made
in `agentcell_magics.cards`.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentcell.safe_text import as_html, as_literal, plain

STYLE = (
    "border-left:3px solid #888;padding:2px 10px;margin:4px 0;font-size:90%;line-height:1.5;"
    "overflow-wrap:anywhere"
)
QUIET = "opacity:0.75;font-size:85%;overflow-wrap:anywhere"
NO_MATHS_CLASSES = "tex2jax_ignore mathjax_ignore"
NO_MATHS = f'class="{NO_MATHS_CLASSES}"'
"""Hosts look for maths in HTML as well: two prices in dollars are none."""

_SHORT_NAME = 16


def card(
    title: str,
    facts: Iterable[tuple[str, str]],
    folded: Iterable[tuple[str, str]] = (),
) -> dict[str, str]:
    """Return a card: a title, a table of names and values, and texts that open on a click.

    Parameters
    ----------
    title, facts, folded
        Any text; it is made safe here. Of `folded`, HTML shows the names alone until one is
        opened, and Markdown and plain text hold only them.
    """
    facts, folded = tuple(facts), tuple(folded)
    rows = "".join(
        f'<tr><th style="text-align:left;padding-right:12px{_whole(name)}">{as_html(name)}</th>'
        f'<td dir="auto" style="text-align:left;white-space:pre-wrap">{as_html(value)}</td></tr>'
        for name, value in facts
    )
    table = f"<table>{rows}</table>" if rows else ""
    texts = "".join(
        f'<details style="{QUIET}"><summary>{as_html(name)}</summary>'
        f'<div dir="auto" style="white-space:pre-wrap;margin-left:1.2em">{as_html(text)}</div>'
        "</details>"
        for name, text in folded
    )
    wide = max((len(plain(name)) for name, _ in facts), default=0)
    return {
        "text/html": f'<div {NO_MATHS} style="{STYLE}"><strong>{as_html(title)}</strong>'
        f"{table}{texts}</div>",
        "text/markdown": "\n".join(
            [f"**{as_literal(title)}**", ""]
            + [f"- {as_literal(name)}: {as_literal(value)}" for name, value in facts]
            + [f"- *{as_literal(name)}*" for name, _ in folded]
        ),
        "text/plain": "\n".join(
            [
                plain(title),
                *(f"  {plain(name).ljust(wide)}  {_hanging(v, wide + 4)}" for name, v in facts),
                *(f"  {plain(name)}" for name, _ in folded),
            ]
        ),
    }


def _whole(name: str) -> str:
    """Return the style that keeps a short name in one piece on a narrow screen."""
    return ";white-space:nowrap" if len(name) <= _SHORT_NAME else ""


def _hanging(value: str, columns: int) -> str:
    """Return a text whose further lines stand under its first."""
    return plain(value).replace("\n", "\n" + " " * columns)
