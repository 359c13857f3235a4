"""How answers and cards look in JupyterLab, and how far the page is behind the kernel."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agentcell.testing import ChatServer, Reply
from labkit import Notebook, OpenNotebook, use_theme
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

MOST_BEHIND = 0.5
"""Part of the time in which an answer came: the most that the page may be behind the kernel.

A machine that is busy is slow with both. Without pacing the page is behind many times that long.
"""


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
    page.wait_for_function("last => window.shown.at(-1)?.[1] === last", arg=count - 1)
    lags = behind(sent, page.evaluate("() => window.shown"))
    seconds = sent[-1][0] - sent[0][0]
    print(f"{count} at {rate}/s: {len(sent)} updates, {max(lags):.3f} s behind", lags)  # noqa: T201

    assert sent[-1][1] == count - 1
    assert max(lags) <= MOST_BEHIND * seconds
    assert notebook.output(1).inner_text().count("word") == count


SAID = "print(json.dumps(sent))"


def told(notebook: Notebook, number: int) -> Any:
    """What a cell printed as JSON."""
    return json.loads(re.sub(r"\s+", " ", notebook.output(number).inner_text()))


CARDS = r"""
%load_ext agentcell
%config AgentMagics.history = "memory"
import numpy as np
from PIL import Image
from agentcell.adapters.events import *
from agentcell.magics import current_session
from agentcell.testing import FakeModel, Call

def photo(width, height, color):
    ramp = np.linspace(0, 1, width)[None, :, None] * np.ones((height, 1, 1))
    return Image.fromarray((ramp * np.array(color) + 40).astype("uint8"))

receipt, plan = photo(300, 420, (90, 160, 90)), photo(640, 300, (190, 90, 60))
photo_3 = photo(400, 400, (60, 90, 200))
def weather(town: str) -> str:
    "Tell the weather of a town."
    return f"{town}: rain, 12 °C " + "w" * 1600

def broken(shelf: str) -> str:
    "Look into a shelf."
    raise KeyError(shelf)

USAGE = Usage(input_tokens=1812, output_tokens=214, cached_tokens=1024)
current_session().model = FakeModel(
    [ThinkingDelta("First the receipt, then the plan.\nThe photo: nothing. " + "w" * 1600),
     ToolCallDelta(index=0, id="1", name="weather", arguments='{"town": "Oslo"}'),
     ToolCallDelta(index=1, id="2", name="broken", arguments='{"shelf": "top"}'),
     Finished(reason="tool_calls")],
    [TextDelta("The total on [receipt_1 Receipt] is **27.95**; it costs $5 and $6.\n\n"
               "مرحبا بالعالم 🎉 合计金额为八十三元整，谢谢惠顾。\n\n"
               "So \\( t = s + x \\), and \\[ \\sum_i x_i = \\frac{a}{b} \\]\n\n"
               "```python\nprint('a < b')\n```\n"),
     Citation(quote="TOTAL 27.95", tag="[receipt_1 Receipt]", page=1),
     Citation(quote="", url="https://example.org/prices?year=2026", title="Prices of nails"),
     USAGE, Finished(reason="length")])
"""

ASKED = """%%agent -T weather -T broken --approve run -i receipt="IMAGE:Receipt"
What is the total on {receipt}, is it on {plan}, and what shows {photo_3}?"""

OVERFLOWING = """area => [...area.querySelectorAll('.jp-OutputArea-output')].filter(
    output => output.scrollWidth > output.clientWidth + 1).map(output => output.textContent)"""


def test_a_whole_turn_reads_in_both_themes_and_on_a_phone(
    open_notebook: OpenNotebook, page: Page
) -> None:
    notebook = open_notebook([CARDS, ASKED, "%agent", "%agent history"])
    notebook.run_all()
    size = page.viewport_size
    assert size is not None
    area = notebook.output(1)
    area.locator("mjx-container").first.wait_for()
    page.set_viewport_size({"width": 1280, "height": 1900})
    for summary in area.locator("summary").all():
        summary.click()
    for theme in ("dark", "light"):
        use_theme(page, theme)
        notebook.cell(1).scroll_into_view_if_needed()
        notebook.screenshot(f"display-{theme}")
    notebook.command("application:toggle-left-area")
    page.set_viewport_size({"width": 400, "height": 1900})
    page.wait_for_function(
        "() => document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)').clientWidth <= 400"
    )
    notebook.screenshot("display-narrow")
    overflowing = [notebook.output(n).evaluate(OVERFLOWING) for n in (1, 2, 3)]
    page.set_viewport_size(size)
    notebook.command("application:toggle-left-area")

    expect(area.locator("img")).to_have_count(1)
    expect(area.locator("mjx-container")).to_have_count(2)
    expect(area).to_contain_text("it costs $5 and $6")
    expect(area).to_contain_text("Sources")
    expect(area.locator("a[href]")).to_have_text("https://example.org/prices?year=2026")
    assert overflowing == [[], [], []]
