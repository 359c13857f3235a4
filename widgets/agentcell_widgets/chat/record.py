"""Turns → the transcript as it reads anywhere: HTML, Markdown, text, and a picture below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from agentcell.card import NO_MATHS
from agentcell.history.export_html import as_page
from agentcell.history.reader_words import call_text, cut
from agentcell.history.turns import Turn
from agentcell.imaging.strip import strip
from agentcell.messages import MediaMessageBlock, media_blocks
from agentcell.safe_text import as_html, as_literal, plain, safe_markdown
from agentcell.wording import say
from agentcell_widgets.chat.views import facts, how_it_ended, why_failed
from agentcell_widgets.panel import NO_PICTURE, Static, weight
from agentcell_widgets.panel.media_words import described

Bundle: TypeAlias = dict[str, Any]

MOST_TURNS = 40
"""Turns that the output holds: the last ones. All are in the session."""

MOST_HTML = 20_000
"""Bytes of the transcript as most hosts show it: where there are more, fewer turns."""

MOST_PLAIN = 6_000
"""Bytes of it in Markdown, and in words alone, for hosts that show no HTML."""

MOST_PICTURES = 12
"""Attachments that the picture below it shows: the last ones."""

MOST_PICTURE_BYTES = 11_000
"""Of that picture; a third more in Base64. All together a panel leaves 50 kB at most."""

_SHORTEST = 200
_LONGEST_CALL = 200
_MOST_LINES = 20
"""Attachments of one turn, and calls, that are named."""

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
    title = say("Chat: {conversation}", conversation=cut(plain(conversation), _LONGEST_CALL))

    def above(kept: Sequence[str]) -> list[str]:
        left_out = more + len(turns) - len(kept)
        if left_out == 1:
            return [say("… one earlier turn")]
        if left_out:
            return [say("… {count} earlier turns", count=f"{left_out:,}")]
        return [] if kept else [say("Nothing was asked yet.")]

    def fitting(form: _Form, most: int) -> list[str]:
        return _fitting(turns, lambda turn, most: form(turn, _shown(turn, forgotten), most), most)

    html = fitting(_html, MOST_HTML)
    markdown = fitting(_markdown, MOST_PLAIN)
    text = fitting(_text, MOST_PLAIN)
    heads = [f"<p><strong>{as_html(title)}</strong></p>"]
    heads += [f"<p>{as_html(line)}</p>" for line in above(html)]
    kept = turns[len(turns) - len(html) :]
    return Static(
        html=f"<div {NO_MATHS}>{''.join([*heads, *html])}</div>",
        markdown="\n\n".join(
            [
                f"**{as_literal(title)}**",
                *(f"*{as_literal(line)}*" for line in above(markdown)),
                *markdown,
            ]
        ),
        text="\n\n".join([plain(title), *above(text), *text]),
        picture=_pictures(kept, forgotten),
    )


_Form: TypeAlias = Callable[[Turn, list[MediaMessageBlock], int], str]
"""Writes a turn of which at most so many characters of question and answer are wanted."""


def _fitting(turns: Sequence[Turn], write: Callable[[Turn, int], str], most: int) -> list[str]:
    """Return the last turns as written, that fit into `most` bytes; of the last its beginning."""
    written: list[str] = []
    room = most
    for turn in reversed(turns[-MOST_TURNS:]):
        longest = most
        one = write(turn, longest)
        while not written and (size := weight(one)) > room and longest > _SHORTEST:
            longest = min(int(longest * room / size), longest - _SHORTEST // 2)
            one = write(turn, longest)
        room -= weight(one)
        if room < 0 and written:
            break
        written.append(one)
    return written[::-1]


def _shown(turn: Turn, forgotten: frozenset[str]) -> list[MediaMessageBlock]:
    return [one for one in media_blocks(turn.messages) if one.fingerprint not in forgotten]


def _question(turn: Turn, longest: int) -> str:
    return cut(plain(turn.question.strip("\n")), longest)


def _answer(turn: Turn, longest: int) -> str:
    return cut(turn.answer, max(_SHORTEST, longest - len(turn.question)))


def _named(block: MediaMessageBlock) -> tuple[str, str]:
    return plain(block.tag), described(block.asset)


def _ending(turn: Turn) -> str:
    if turn.status == "failed":
        return say("failed: {reason}", reason=cut(why_failed(turn), _LONGEST_CALL))
    return " · ".join(one for one in (how_it_ended(turn), facts(turn)) if one)


def _calls(turn: Turn) -> list[str]:
    calls = [call for message in turn.messages for call in message.get("tool_calls") or ()]
    said = [call_text(call, _LONGEST_CALL) for call in calls[:_MOST_LINES]]
    return [*said, *_and_more(len(calls))]


def _and_more(count: int) -> list[str]:
    left_out = count - _MOST_LINES
    return [say("and {count} more", count=left_out)] if left_out > 0 else []


def _html(turn: Turn, blocks: list[MediaMessageBlock], longest: int) -> str:
    quiet = []
    for block in blocks[:_MOST_LINES]:
        tag, what = _named(block)
        quiet.append(f"<strong>{as_html(tag)}</strong> {as_html(what)}")
    quiet += map(as_html, [*_and_more(len(blocks)), *_calls(turn)])
    parts = [f'<div dir="auto" style="{_QUESTION}">{as_html(_question(turn, longest))}</div>']
    parts += [f'<div dir="auto" style="{_QUIET}">{line}</div>' for line in quiet]
    if turn.answer.strip():
        parts.append(f'<div dir="auto">{as_page(_answer(turn, longest))}</div>')
    if said := _ending(turn):
        parts.append(f'<div dir="auto" style="{_QUIET}">{as_html(said)}</div>')
    return "".join(parts)


def _pictures(turns: Iterable[Turn], forgotten: frozenset[str]) -> tuple[Bundle, Bundle]:
    """Return the last attachments of the turns as one picture: HTML would hold them as Base64."""
    blocks = {block.fingerprint: block for turn in turns for block in _shown(turn, forgotten)}
    last = list(blocks.values())[-MOST_PICTURES:]
    return strip(last, most_bytes=MOST_PICTURE_BYTES) or NO_PICTURE


def _markdown(turn: Turn, blocks: list[MediaMessageBlock], longest: int) -> str:
    lines = [as_literal(line) for line in _question(turn, longest).split("\n")]
    parts = ["\n".join(f"> {line}".rstrip() for line in lines)]
    named = [
        f"- **{as_literal(tag)}** {as_literal(what)}"
        for tag, what in map(_named, blocks[:_MOST_LINES])
    ]
    if named:
        parts.append("\n".join([*named, *(f"- {one}" for one in _and_more(len(blocks)))]))
    if called := _calls(turn):
        parts.append("\n".join(f"- *{as_literal(call)}*" for call in called))
    if turn.answer.strip():
        parts.append(safe_markdown(_answer(turn, longest)))
    if said := _ending(turn):
        parts.append(f"*{as_literal(said)}*")
    return "\n\n".join(parts)


def _text(turn: Turn, blocks: list[MediaMessageBlock], longest: int) -> str:
    parts = ["\n".join(f"> {line}".rstrip() for line in _question(turn, longest).split("\n"))]
    parts += [" ".join(_named(block)) for block in blocks[:_MOST_LINES]]
    parts += [*_and_more(len(blocks)), *_calls(turn)]
    if turn.answer.strip():
        parts.append(plain(_answer(turn, longest)))
    if said := _ending(turn):
        parts.append(said)
    return "\n\n".join(parts)
