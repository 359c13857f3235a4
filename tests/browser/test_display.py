"""How answers and cards look in JupyterLab, and how far the page is behind the kernel."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page

from agentcell.testing import ChatServer, Reply
from labkit import Notebook, OpenNotebook
from traffic import SETUP

LOGS_WHAT_IT_SENDS = """
import json, re, time
from IPython.core.getipython import get_ipython
from IPython.core.displaypub import DisplayPublisher
sent = []
publish = get_ipython().display_pub.publish
def logged(data, metadata=None, **options):
    words = re.findall(r"word(\\d+)", data.get("text/markdown", "")[-40:])
    if words:
        sent.append((time.time(), int(words[-1])))
    publish(data, metadata=metadata, **options)
get_ipython().display_pub.publish = logged
"""

LOGS_WHAT_IT_SHOWS = """area => {
  window.shown = [];
  const look = () => {
    const text = area.textContent;
    const words = text.slice(-400).match(/word\\d+/g) ?? text.match(/word\\d+/g) ?? ['word-1'];
    const last = Number(words.at(-1).slice(4));
    // Twice: the first comes before the frame is painted, the second after it.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (last > (window.shown.at(-1)?.[1] ?? -1)) window.shown.push([Date.now() / 1000, last]);
    }));
  };
  new MutationObserver(look).observe(
    area, {childList: true, subtree: true, characterData: true});
}"""

MOST_BEHIND = 0.3
"""Seconds from a text's leaving the kernel until the page shows it."""


def behind(sent: list[tuple[float, int]], shown: list[tuple[float, int]]) -> list[float]:
    """How long after each update the page showed it, or a later one."""
    return [min(at for at, last in shown if last >= word) - time for time, word in sent]


def words(count: int) -> list[str]:
    """An answer's tokens: words in paragraphs with some Markdown."""
    return [
        f"word{number} " if number % 50 else f"\n\n**word{number}** " for number in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "rate"), [(2_000, 1_000), (7_000, 1_000), (500, 100)], ids=["2000", "60kB", "slow"]
)
def test_the_page_is_never_far_behind_the_kernel(
    open_notebook: OpenNotebook, page: Page, count: int, rate: int
) -> None:
    tokens = words(count)
    with ChatServer(Reply(*tokens, delay=1 / rate)) as server:
        notebook = open_notebook(
            [SETUP.format(url=server.url) + LOGS_WHAT_IT_SENDS, "%%agent\nTell me all.", SAID]
        )
        notebook.run(0)
        notebook.output(1).evaluate(LOGS_WHAT_IT_SHOWS)
        notebook.run(1)
        notebook.run(2)
    sent = told(notebook, 2)
    lags = behind(sent, page.evaluate("() => window.shown"))
    print(f"{count} at {rate}/s: {len(sent)} updates, {max(lags):.3f} s behind", lags)  # noqa: T201

    assert sent[-1][1] == count - 1
    assert max(lags) <= MOST_BEHIND
    assert notebook.output(1).inner_text().count("word") == count


SAID = "print(json.dumps(sent))"


def told(notebook: Notebook, number: int) -> Any:
    """What a cell printed as JSON."""
    return json.loads(re.sub(r"\s+", " ", notebook.output(number).inner_text()))
