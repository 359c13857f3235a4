"""Conversations → Markdown that reads well anywhere, with its pictures beside it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from agentcell.history.chapters import Chapter, Exported, FileNames, calls, picture, sources
from agentcell.history.turn_words import facts
from agentcell.history.turns import Turn
from agentcell.markdown_code import open_fence
from agentcell.safe_text import as_literal, safe_markdown


def exported(title: str, chapters: list[Chapter], folder: str) -> Exported:
    """Return the text, and the thumbnails that it shows from `folder`.

    Parameters
    ----------
    title
        Any text.
    folder
        The name of the folder beside the file.
    """
    files: dict[str, bytes] = {}
    names = FileNames()
    parts = [f"# {as_literal(title)}"]
    for chapter in chapters:
        if len(chapters) > 1:
            parts.append(f"## {as_literal(chapter.name)}")
        for number, turn in enumerate(chapter.turns, start=1):
            parts.append(f"### Question {number}")
            parts.append(quoted(turn.question))
            parts += _attachments(chapter, turn, folder, names, files)
            parts += _answer(turn)
    return Exported(text="\n\n".join(parts) + "\n", files=files)


def quoted(text: str) -> str:
    """Return a person's question as a quote; what it leaves open ends with it."""
    lines = safe_markdown(text).strip("\n").split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def whole(text: str) -> str:
    """Return Markdown that ends where it ends: an open block of code is closed."""
    safe = safe_markdown(text).strip("\n")
    fence = open_fence(safe)
    return f"{safe}\n{fence}" if fence else safe


def _attachments(
    chapter: Chapter, turn: Turn, folder: str, names: FileNames, files: dict[str, bytes]
) -> Iterator[str]:
    lines = []
    for block in chapter.shown(turn):
        lines.append(f"- **{as_literal(block.tag)}** {as_literal(block.asset.describe())}")
        shown = picture(block)
        if shown is not None:
            name = names.name(block, shown.mime_type.removeprefix("image/"))
            files[name] = shown.data
            place = quote(f"{folder}/{name}")
            lines.append(f"\n  ![{as_literal(shown.alt)}]({place})\n")
    if lines:
        yield "\n".join(lines).rstrip("\n")


def _answer(turn: Turn) -> Iterator[str]:
    called = [f"- *{as_literal(one)}*" for one in calls(turn)]
    if called:
        yield "\n".join(["Tools:", "", *called])
    if turn.answer.strip():
        yield whole(turn.answer)
    where = [f"- {as_literal(one)}" for one in sources(turn)]
    if where:
        yield "\n".join(["Sources:", "", *where])
    if said := facts(turn):
        yield f"*{as_literal(said)}*"
