"""Turns → the transcript as it reads anywhere: HTML, Markdown, text, and a picture below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from agentcell.card import NO_MATHS
from agentcell.history.export_html import as_page
from agentcell.history.reader_words import call_text, cut
from agentcell.history.turns import Turn
from agentcell.imaging.strip import strip
from agentcell.messages import MediaMessageBlock, media_blocks
from agentcell.safe_text import as_html, as_literal, plain, safe_markdown
from agentcell.wording import say
from agentcell_widgets.chat.views import facts, why_failed
from agentcell_widgets.panel import NO_PICTURE, Static
from agentcell_widgets.panel.media_words import described

Bundle: TypeAlias = dict[str, Any]

MOST_TURNS = 40
"""Turns that the output holds: the last ones. All are in the session."""

MOST_CHARACTERS = 30_000
"""Characters of questions and answers that it holds: where there are more, fewer turns."""

MOST_PICTURES = 12
"""Attachments that the picture below it shows: the last ones."""

_LONGEST_ANSWER = 20_000
_LONGEST_CALL = 200

_QUIET = "opacity:0.75;font-size:85%"
_QUESTION = "border-left:3px solid #888;padding:2px 10px;margin:8px 0;white-space:pre-wrap"


def transcript(
    conversation: str,
    turns: Sequence[Turn],
    *,
    more: int = 0,
    forgotten: frozenset[str] = frozenset(),
) -> Static:
    """Return the transcript; what a model or a file says in it is made safe.

    Parameters
    ----------
    conversation
        The name.
    turns
        Oldest first.
    more
        Turns before them that are not given.
    forgotten
        Fingerprints of attachments that nothing shows any more.
    """
    kept = _that_fit(turns)
    more += len(turns) - len(kept)
    title = say("Chat: {conversation}", conversation=plain(conversation))
    above = say("… {count} earlier turns", count=f"{more:,}") if more else ""
    if not kept and not more:
        above = say("Nothing was asked yet.")
    html = [f"<p><strong>{as_html(title)}</strong></p>"]
    markdown, text = [f"**{as_literal(title)}**"], [plain(title)]
    if above:
        html.append(f"<p>{as_html(above)}</p>")
        markdown.append(f"*{as_literal(above)}*")
        text.append(above)
    for turn in kept:
        html += _html(turn, _shown(turn, forgotten))
        markdown += _markdown(turn, _shown(turn, forgotten))
        text += _text(turn, _shown(turn, forgotten))
    return Static(
        html=f"<div {NO_MATHS}>{''.join(html)}</div>",
        markdown="\n\n".join(markdown),
        text="\n\n".join(text),
        picture=_pictures(kept, forgotten),
    )


def _shown(turn: Turn, forgotten: frozenset[str]) -> list[MediaMessageBlock]:
    return [one for one in media_blocks(turn.messages) if one.fingerprint not in forgotten]


def _that_fit(turns: Sequence[Turn]) -> list[Turn]:
    kept: list[Turn] = []
    room = MOST_CHARACTERS
    for turn in reversed(turns[-MOST_TURNS:]):
        room -= len(turn.question) + min(len(turn.answer), _LONGEST_ANSWER)
        if room < 0 and kept:
            break
        kept.append(turn)
    return kept[::-1]


def _question(turn: Turn) -> str:
    return cut(plain(turn.question.strip("\n")), _LONGEST_ANSWER)


def _answer(turn: Turn) -> str:
    return cut(turn.answer, _LONGEST_ANSWER)


def _named(block: MediaMessageBlock) -> tuple[str, str]:
    return plain(block.tag), described(block.asset)


def _ending(turn: Turn) -> str:
    if turn.status == "failed":
        return say("failed: {reason}", reason=cut(why_failed(turn), _LONGEST_CALL))
    return facts(turn)


def _calls(turn: Turn) -> Iterator[str]:
    for message in turn.messages:
        for call in message.get("tool_calls") or ():
            yield call_text(call, _LONGEST_CALL)


def _html(turn: Turn, blocks: list[MediaMessageBlock]) -> Iterator[str]:
    yield f'<div dir="auto" style="{_QUESTION}">{as_html(_question(turn))}</div>'
    for block in blocks:
        tag, what = _named(block)
        named = f"<strong>{as_html(tag)}</strong> {as_html(what)}"
        yield f'<div dir="auto" style="{_QUIET}">{named}</div>'
    for call in _calls(turn):
        yield f'<div dir="auto" style="{_QUIET}">{as_html(call)}</div>'
    if turn.answer.strip():
        yield f'<div dir="auto">{as_page(_answer(turn))}</div>'
    if said := _ending(turn):
        yield f'<div dir="auto" style="{_QUIET}">{as_html(said)}</div>'


def _pictures(turns: Iterable[Turn], forgotten: frozenset[str]) -> tuple[Bundle, Bundle]:
    """Return the last attachments of the turns as one picture: HTML would hold them as Base64."""
    blocks = {block.fingerprint: block for turn in turns for block in _shown(turn, forgotten)}
    return strip(list(blocks.values())[-MOST_PICTURES:]) or NO_PICTURE


def _markdown(turn: Turn, blocks: list[MediaMessageBlock]) -> Iterator[str]:
    lines = [as_literal(line) for line in _question(turn).split("\n")]
    yield "\n".join(f"> {line}".rstrip() for line in lines)
    if blocks:
        yield "\n".join(
            f"- **{as_literal(tag)}** {as_literal(what)}" for tag, what in map(_named, blocks)
        )
    if called := list(_calls(turn)):
        yield "\n".join(f"- *{as_literal(call)}*" for call in called)
    if turn.answer.strip():
        yield safe_markdown(_answer(turn))
    if said := _ending(turn):
        yield f"*{as_literal(said)}*"


def _text(turn: Turn, blocks: list[MediaMessageBlock]) -> Iterator[str]:
    yield "\n".join(f"> {line}".rstrip() for line in _question(turn).split("\n"))
    for block in blocks:
        yield " ".join(_named(block))
    yield from _calls(turn)
    if turn.answer.strip():
        yield plain(_answer(turn))
    if said := _ending(turn):
        yield said
