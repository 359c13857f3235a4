"""A request as it is sent, to a card that is folded until somebody wants to read it."""

from __future__ import annotations

from agentcell.card import NO_MATHS, QUIET
from agentcell.safe_text import as_html, as_literal, plain, safe_markdown
from agentcell_magics.cards import Bundle
from agentcell_magics.wording import say, word

LONGEST = 60_000
"""Characters of a request that a notebook keeps."""


def sent(request: str, title: str = "The request as sent") -> Bundle:
    """Return the card.

    Parameters
    ----------
    request
        JSON, without keys and with media as digests.
    title
        What stands where it is folded.
    """
    more = len(request) - LONGEST
    title = word(title)
    cut = say("… ({count} characters more)", count=f"{more:,}")
    text = request if more <= 0 else request[:LONGEST] + cut
    text = plain(text)
    fence = "`" * max(3, _longest_run(text, "`") + 1)
    return {
        "text/html": (
            f'<details {NO_MATHS} style="{QUIET}">'
            f"<summary>{as_html(title)}</summary>"
            f'<pre style="white-space:pre-wrap">{as_html(text)}</pre></details>'
        ),
        "text/markdown": f"*{as_literal(title)}*\n\n"
        + safe_markdown(f"{fence}json\n{text}\n{fence}\n"),
        "text/plain": f"{plain(title)}:\n{text}",
    }


def _longest_run(text: str, mark: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == mark else 0
        longest = max(longest, run)
    return longest
