"""Where an answer's statements come from, to a numbered list whose links show their targets."""

from __future__ import annotations

import re

from agentcell.adapters.events import Citation
from agentcell.answer import Answer
from agentcell.safe_text import as_html, as_literal, on_one_line, plain
from agentcell_magics.wording import say

MOST_SOURCES = 40
_LONGEST_QUOTE = 240
_LONGEST_TITLE = 160
_LONGEST_PLACE = 2_000

_ADDRESS = re.compile(
    r"https?://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?"
    r"(?:[/?#](?:[A-Za-z0-9._~!$&()*+,;=:@/?#-]|%[0-9A-Fa-f]{2})*)?"
)
"""What may become a link: an address without a name before the host, and without any disguise."""

Bundle = dict[str, str]


def sources(answer: Answer) -> Bundle | None:
    """Return the list, None where there is nothing to tell.

    A quote that stands in the answer beside its attachment's tag is not repeated.

    Parameters
    ----------
    answer
        With its citations.
    """
    text = plain(answer)
    listed = list(dict.fromkeys(one for one in answer.citations if not _stands_in(one, text)))
    if not listed:
        return None
    more = len(listed) - MOST_SOURCES
    shown = [_parts(one) for one in listed[:MOST_SOURCES]]
    title = say("Sources")
    end = [say("… and {count} more", count=f"{more:,}")] if more > 0 else []
    html = "".join(f"<li>{_html(words, url)}</li>" for words, url in shown)
    return {
        "text/html": f"<div>{as_html(title)}</div>"
        f'<ol style="margin:0;padding-left:2em">{html}</ol>'
        + "".join(f"<div>{as_html(line)}</div>" for line in end),
        "text/markdown": "\n".join(
            [f"{as_literal(title)}:", ""]
            + [
                f"{number}. {_markdown(words, url)}"
                for number, (words, url) in enumerate(shown, start=1)
            ]
            + [f"\n{as_literal(line)}" for line in end]
        ),
        "text/plain": "\n".join(
            [f"{title}:"]
            + [
                f"{number}. {words} {url}".rstrip()
                for number, (words, url) in enumerate(shown, start=1)
            ]
            + end
        ),
    }


def _stands_in(citation: Citation, text: str) -> bool:
    place = citation.tag or citation.url
    quote = " ".join(citation.quote.split())
    return bool(quote and place and place in text and quote in " ".join(text.split()))


def _parts(citation: Citation) -> tuple[str, str]:
    """Return what is said of one, on one line, and its address."""
    page = [] if citation.page is None else [say("page {number}", number=citation.page)]
    names = [on_one_line(citation.tag, _LONGEST_TITLE), on_one_line(citation.title, _LONGEST_TITLE)]
    words = ", ".join([*(name for name in names if name), *page])
    if quote := on_one_line(citation.quote, _LONGEST_QUOTE):
        words = f"{words}: “{quote}”" if words else f"“{quote}”"
    return words, on_one_line(citation.url, _LONGEST_PLACE)


def _html(words: str, url: str) -> str:
    linked = as_html(url)
    if _ADDRESS.fullmatch(url):
        linked = f'<a href="{linked}" rel="noopener noreferrer">{linked}</a>'
    return " ".join(part for part in (as_html(words), linked) if part)


def _markdown(words: str, url: str) -> str:
    linked = f"<{url}>" if _ADDRESS.fullmatch(url) else as_literal(url)
    return " ".join(part for part in (as_literal(words), linked) if part)
