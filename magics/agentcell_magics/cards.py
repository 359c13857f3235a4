"""Facts about a turn, to MIME bundles that read well on every host, with styles or without."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, TypeAlias

from agentcell.agents.exchange import ToolFinished
from agentcell.answer import Answer
from agentcell.assets.preview import preview
from agentcell.card import NO_MATHS, QUIET, STYLE, card
from agentcell.history.reader_words import call_text, cut, tokens
from agentcell.imaging.strip import SHOWN_WIDTH
from agentcell.messages import MediaMessageBlock, ToolCall, content_text
from agentcell.safe_text import as_html, as_literal, plain
from agentcell_magics.sources import sources
from agentcell_magics.wording import say, word

Bundle: TypeAlias = dict[str, Any]

SHOWN_HEIGHT = 280
"""The tallest that a preview is shown, in CSS pixels; its picture holds up to 512 for zooming."""

_ENDS = {
    "length": "The answer was cut at the model's limit; allow more with --max-tokens.",
    "content_filter": "The provider's filter cut the answer.",
    "refusal": "The model declined to answer.",
}


_LONGEST_ASKED = 600
"""Characters of a question that a card shows."""

_LONGEST_CALL = 120
"""Characters of a call, and of why it failed, in a tool's line."""

_LONGEST_THINKING = 20_000
"""Characters of a model's thinking that a notebook keeps."""

_LONGEST_RESULT = 4_000
"""Characters of a tool's arguments and result that are folded away below its line."""

SMALL_SIDE = 192
"""Pixels of a small preview's longer side; it takes a fifth of a large one's bytes."""

_LARGE_SIDE = 512


def picture(block: MediaMessageBlock, *, small: bool = False) -> tuple[Bundle, Bundle] | None:
    """Return a thumbnail's data and metadata, None where nothing can be shown of the attachment.

    The alternative text stands in the metadata, where nbconvert takes it from, in `text/plain`
    and in the card below the picture: JupyterLab gives pictures no alternative text itself.
    """
    shown = preview(block.asset, max_side=SMALL_SIDE if small else _LARGE_SIDE)
    if shown is None:
        return None
    scale = min(1, SHOWN_HEIGHT / shown.height, SHOWN_WIDTH / shown.width)
    alt = f"{plain(block.tag)} {plain(shown.alt)}"
    size = {"width": round(shown.width * scale), "height": round(shown.height * scale)}
    data = {shown.mime_type: base64.b64encode(shown.data).decode("ascii"), "text/plain": alt}
    return data, {shown.mime_type: {"alt": alt, **size}}


def attachments(
    blocks: Iterable[MediaMessageBlock], asked: str = "", notes: Iterable[str] = ()
) -> Bundle:
    """Return the card that names and describes each attachment and shows the tagged question."""
    blocks, notes = tuple(blocks), tuple(notes)
    html, markdown, text = [], [], []
    for block in blocks:
        what = _described(block)
        html.append(f'<div dir="auto"><strong>{as_html(block.tag)}</strong> {as_html(what)}</div>')
        markdown.append(f"- **{as_literal(block.tag)}** {as_literal(what)}")
        text.append(f"{plain(block.tag)} {plain(what)}")
    for note in notes:
        said = say("Note: {note}", note=word(note))
        html.append(f'<div dir="auto"><em>{as_html(said)}</em></div>')
        markdown.append(f"- *{as_literal(said)}*")
        text.append(plain(said))
    if asked:
        short = asked if len(asked) <= _LONGEST_ASKED else f"{asked[:_LONGEST_ASKED]}…"
        said = say("Asked: {question}", question=short)
        html.append(f'<div dir="auto" style="{QUIET};white-space:pre-wrap">{as_html(said)}</div>')
        markdown.append(f"\n> {as_literal(said)}")
        text.append(plain(said))
    return {
        "text/html": f'<div {NO_MATHS} style="{STYLE}">{"".join(html)}</div>',
        "text/markdown": "\n".join(markdown),
        "text/plain": "\n".join(text),
    }


def line(said: str) -> Bundle:
    """Return one quiet line; a sentence without facts in it is translated here."""
    said = word(said)
    return {
        "text/html": f'<div {NO_MATHS} dir="auto" style="{QUIET}">{as_html(said)}</div>',
        "text/markdown": f"*{as_literal(said)}*",
        "text/plain": plain(said),
    }


def footer(answer: Answer, thinking: str = "", *, cost: str = "") -> Bundle:
    """Return the line under an answer: model, tokens, seconds, and how it ended if not well."""
    facts = [answer.model]
    if counted := tokens(answer.usage):
        facts.append(counted)
    if cost:
        facts.append(cost)
    if answer.seconds or answer.status != "interrupted":  # 0: of a recording; see `Finished`
        facts.append(say("{seconds} s", seconds=f"{answer.seconds:.1f}"))
    if answer.status == "interrupted":
        facts.append(say("stopped"))
    bundle = line(" · ".join(facts))
    if said := _ENDS.get(answer.finish_reason):
        bundle = _above(line(say(said)), bundle)
    if (listed := sources(answer)) is not None:
        listed["text/html"] = (
            f'<div {NO_MATHS} dir="auto" style="{QUIET}">{listed["text/html"]}</div>'
        )
        bundle = _above(listed, bundle)
    if thinking.strip():
        bundle["text/html"] = _folded(say("Thinking"), thinking) + bundle["text/html"]
    return bundle


def _above(first: Bundle, second: Bundle) -> Bundle:
    return {mime: f"{first[mime]}\n\n{second[mime]}" for mime in second}


def _folded(title: str, text: str) -> str:
    text = plain(text).strip()
    short = cut(text, _LONGEST_THINKING)
    return (
        f'<details {NO_MATHS} style="{QUIET}"><summary>{as_html(title)}</summary>'
        f'<div dir="auto" style="white-space:pre-wrap;margin-left:1.2em">{as_html(short)}</div>'
        "</details>"
    )


def rows(title: str, facts: Iterable[tuple[str, str]]) -> Bundle:
    """Return a small table of names and values."""
    return card(word(title), [(word(name), word(value)) for name, value in facts])


def tool_calls(
    calls: Iterable[tuple[ToolCall, ToolFinished | None]],
    waiting: str = "",
    *,
    unfinished: str = "running",
) -> Bundle:
    """Return a line for each call of a tool; arguments and result are folded away below it.

    Parameters
    ----------
    calls
        Each with what came of it; None while it runs.
    waiting
        What is waited for after them.
    unfinished
        What is said of a call of which nothing came yet.
    """
    html, markdown, text = [], [], []
    for call, finished in calls:
        end = say(unfinished) if finished is None else _end_of(finished)
        head = f"{call_text(call, _LONGEST_CALL)} · {end}"
        result = "" if finished is None else plain(content_text(finished.content)).strip()
        short = result if len(result) <= _LONGEST_RESULT else f"{result[:_LONGEST_RESULT]}…"
        whole = f"{call_text(call, _LONGEST_RESULT)}\n{short}"
        html.append(
            f'<details style="{QUIET}"><summary>{as_html(head)}</summary>'
            f'<div dir="auto" style="white-space:pre-wrap;margin-left:1.2em">{as_html(whole)}</div>'
            "</details>"
        )
        markdown.append(f"- *{as_literal(head)}*")
        text.append(head)
    if waiting:
        html.append(f'<div dir="auto" style="{QUIET}">{as_html(waiting)}</div>')
        markdown.append(f"\n*{as_literal(waiting)}*")
        text.append(plain(waiting))
    return {
        "text/html": f"<div {NO_MATHS}>{''.join(html)}</div>",
        "text/markdown": "\n".join(markdown),
        "text/plain": "\n".join(text),
    }


def _end_of(finished: ToolFinished) -> str:
    took = f"{finished.seconds:.1f}"  # of a recorded turn nothing: it would differ with each run
    seconds = "" if took == "0.0" else f"{say('{seconds} s', seconds=took)} · "
    if not finished.is_error:
        return f"{seconds}{say('ok')}"
    said = plain(content_text(finished.content)).removeprefix("Error: ").strip()
    first = said.splitlines()[0] if said else ""
    short = first if len(first) <= _LONGEST_CALL else f"{first[:_LONGEST_CALL]}…"
    if finished.was_refused:
        return f"{seconds}{say('refused: {reason}', reason=short)}"
    return f"{seconds}{say('failed: {reason}', reason=short)}"


def _described(block: MediaMessageBlock) -> str:
    return say(", ").join(map(word, block.asset.describe().split(", ")))
