"""A turn -> the row that a list shows of it, and all that is read when it is opened."""

from __future__ import annotations

from typing import Any

from agentcell.adapters.price_table import shown
from agentcell.history.export_html import as_page
from agentcell.history.listing import Entry
from agentcell.history.turn_words import one_line
from agentcell.history.turns import Turn
from agentcell.messages import content_text
from agentcell.safe_text import plain
from agentcell.wording import say, word

_LONGEST_LINE = 240
_LONGEST_TEXT = 200_000
"""Characters of a question or answer that the panel shows; export writes all."""

_SHOWN_OF_ID = 8


def row_of(entry: Entry, turn: Turn | None) -> dict[str, Any]:
    """Return what a list shows, as JSON.

    Parameters
    ----------
    entry, turn
        As the listing has them; a turn that is there no more is an empty row.
    """
    row: dict[str, Any] = {
        "id": entry.id,
        "name": plain(
            f"{entry.conversation} {entry.number}" if entry.number else entry.conversation
        ),
        "stale": entry.stale,
        "state": "" if entry.state == "in force" else word(entry.state),
    }
    if turn is None:
        return {**row, "question": "", "answer": "", "facts": "", "marks": [], "at": 0}
    return {
        **row,
        "question": one_line(plain(turn.question), _LONGEST_LINE),
        "answer": one_line(plain(turn.answer), _LONGEST_LINE),
        "facts": _facts(turn),
        "marks": _marks(turn),
        "at": turn.at,
    }


def whole_turn(entry: Entry, turn: Turn) -> dict[str, Any]:
    """Return a turn as it is read, as JSON; only ``html`` is HTML, and it is safe.

    Parameters
    ----------
    entry, turn
        As the listing has them.
    """
    calls = [call.name for message in turn.messages for call in message.get("tool_calls") or ()]
    return {
        **row_of(entry, turn),
        "text": plain(turn.question)[:_LONGEST_TEXT],
        "html": as_page(turn.answer[:_LONGEST_TEXT]),
        "tags": [plain(block.tag) for block in turn.attachments],
        "calls": [plain(name) for name in calls],
        "results": [
            one_line(plain(content_text(message["content"])), _LONGEST_LINE)
            for message in turn.messages
            if message.get("role") == "tool"
        ],
        "error": plain(turn.error),
    }


def _facts(turn: Turn) -> str:
    said = [plain(turn.model)]
    usage = turn.usage
    if usage is not None and (usage.input_tokens or usage.output_tokens):
        read, written = usage.input_tokens or 0, usage.output_tokens or 0
        said.append(
            say("{read} tokens in, {written} out", read=f"{read:,}", written=f"{written:,}")
        )
    if turn.cost:
        said.append(shown(turn.cost))
    if turn.cell_id:
        cell = plain(turn.cell_id)[:_SHOWN_OF_ID]
        said.append(say("cell {cell}", cell=f"{cell}.{turn.part}" if turn.part > 1 else cell))
    return " · ".join(one for one in said if one)


def _marks(turn: Turn) -> list[str]:
    found = []
    if turn.stale:
        found.append(word("stale"))
    if turn.status == "interrupted":
        found.append(word("stopped"))
    if turn.status == "failed":
        found.append(word("failed"))
    if turn.fresh:
        found.append(word("fresh start"))
    if turn.imported:
        found.append(word("imported"))
    return found
