"""One statement of a document: a label, its value, and the rows that show both."""

from __future__ import annotations

from dataclasses import dataclass

from agentcell.adapters.local.lines import Line
from agentcell.adapters.local.terms import label_terms
from agentcell.adapters.local.words import content_words

MAX_QUOTE = 200
"""Letters of a quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One statement of a document.

    Parameters
    ----------
    label, value
        As read; the label may be empty.
    quote
        The row or rows that show both; at most `MAX_QUOTE` letters.
    layout
        How label and value stand to each other: ``inline`` in one cell, ``loose`` so without a
        colon, ``row`` beside it, ``over`` and ``next`` under it, ``after`` in the next line,
        ``table`` under a header, ``bare`` without a label.
    terms
        What the label stands for; see `terms`.
    words
        The stems of the label's words.
    columns
        In a table: each cell with its header, ``(("Qty", "6"), ("Amount", "£570.00"))``.
    head
        In a table: the row of the headers.
    """

    label: str
    value: str
    quote: str
    page: int
    row: int
    layout: str
    terms: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    head: int | None = None


def labelled(  # noqa: PLR0913 (each is a part of the fact)
    line: Line,
    label: str,
    value: str,
    *,
    quote: str,
    layout: str,
    columns: tuple[tuple[str, str], ...] = (),
    head: int | None = None,
) -> Fact:
    """Return the fact of a label and its value in `line`."""
    label = label[:MAX_QUOTE]
    named, _ = label_terms(label)
    return Fact(
        label=label.strip(),
        value=value.strip(),
        quote=clipped(quote),
        page=line.row.page,
        row=line.index,
        layout=layout,
        terms=tuple(dict.fromkeys(term.name for term in named)),
        words=tuple(content_words(label)),
        columns=columns,
        head=head,
    )


def unlabelled(line: Line, value: str, *names: str, quote: str) -> Fact:
    """Return the fact of a value in `line` that needs no label to be one of the terms `names`."""
    return Fact(
        label="",
        value=value.strip(),
        quote=clipped(quote),
        page=line.row.page,
        row=line.index,
        layout="bare",
        terms=names,
    )


def clipped(quote: str) -> str:
    """Return `quote`, at most `MAX_QUOTE` letters of it, cut between words."""
    quote = quote.strip()
    if len(quote) <= MAX_QUOTE:
        return quote
    cut = quote[: MAX_QUOTE - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > MAX_QUOTE // 2 else cut).rstrip() + "…"
