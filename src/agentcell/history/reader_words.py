"""A long text, a call of a tool, counted tokens → words in the reader's language.

What magics and panels show alike. What is saved or exported stays in English: see `turn_words`.
"""

from __future__ import annotations

from agentcell.adapters.events import Usage
from agentcell.messages import ToolCall
from agentcell.safe_text import plain
from agentcell.wording import say


def cut(text: str, longest: int) -> str:
    """Return `text`, and of a longer one its beginning and how much more there is.

    Parameters
    ----------
    text
        Any.
    longest
        Characters.
    """
    more = len(text) - longest
    if more <= 0:
        return text
    return f"{text[:longest]}{say('… ({count} characters more)', count=f'{more:,}')}"


def call_text(call: ToolCall, longest: int) -> str:
    """Return a call as it is written in Python, on one line; at most `longest` characters.

    Parameters
    ----------
    call
        What the model called: its name may be anything.
    longest
        Characters.
    """
    given = [f"{plain(name)}={value!r}" for name, value in call.arguments.items()]
    said = plain(f"{call.name}({call.raw_arguments or ', '.join(given)})").replace("\n", " ")
    return cut(said, longest)


def tokens(usage: Usage | None) -> str:
    """Return ``812 tokens in (500 cached), 14 out``; empty where nothing was counted.

    Parameters
    ----------
    usage
        Of a turn, or of many.
    """
    if usage is None or not (usage.input_tokens or usage.output_tokens):
        return ""
    parts = []
    if usage.input_tokens is not None:
        known = say("{count} tokens in", count=f"{usage.input_tokens:,}")
        if usage.cached_tokens:
            known = say(
                "{count} tokens in ({cached} cached)",
                count=f"{usage.input_tokens:,}",
                cached=f"{usage.cached_tokens:,}",
            )
        parts.append(known)
    if usage.output_tokens is not None:
        parts.append(say("{count} out", count=f"{usage.output_tokens:,}"))
    counted = say(", ").join(parts)
    return say("about {counted}", counted=counted) if usage.estimated else counted
