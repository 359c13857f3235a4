"""A turn's facts, in words for people: its marks, its tokens, its line of facts."""

from __future__ import annotations

from agentcell.adapters.events import Usage
from agentcell.history.turns import Turn

_LONGEST_ERROR = 120
"""Characters of why a turn failed that its marks say."""


def one_line(text: str, longest: int) -> str:
    """Return `text` on one line; of a longer one the first `longest` characters."""
    flat = " ".join(text[: 8 * longest + 1].split())
    is_whole = len(flat) <= longest and len(text) <= 8 * longest
    return flat if is_whole else f"{flat[:longest]}…"


def marks(turn: Turn) -> list[str]:
    """Return what is out of the ordinary about a turn, each in a few words."""
    found = []
    if turn.stale:
        found.append("stale")
    if turn.status == "interrupted":
        found.append("stopped")
    if turn.status == "failed":
        why = one_line(turn.error, _LONGEST_ERROR)
        found.append(f"failed: {why}" if why else "failed")
    if turn.fresh:
        found.append("fresh start")
    if turn.imported:
        found.append("imported")
    return found


def tokens(usage: Usage | None) -> str:
    """Return ``812 tokens in, 14 out``; empty where nothing was counted."""
    if usage is None or not (usage.input_tokens or usage.output_tokens):
        return ""
    about = "about " if usage.estimated else ""
    parts = []
    if usage.input_tokens is not None:
        parts.append(f"{usage.input_tokens:,} tokens in")
    if usage.output_tokens is not None:
        parts.append(f"{usage.output_tokens:,} out")
    return about + ", ".join(parts)


def facts(turn: Turn) -> str:
    """Return model, tokens, seconds and marks on one line, as it stands below an answer."""
    seconds = f"{turn.seconds:.1f} s" if turn.seconds else ""
    said = [turn.model, tokens(turn.usage), seconds, *marks(turn)]
    return " · ".join(one for one in said if one)
