"""What a hostile or a merely awkward model answers, in a trusted notebook in JupyterLab."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from hostile import HOSTILE
from labkit import Notebook, OpenNotebook

SHOW = """import sys
sys.path.insert(0, {folder!r})
from hostile import HOSTILE
from agentcell_magics.live import answer_bundle, show
for text in HOSTILE[{start}:{start} + {count}]:
    show(answer_bundle(text, ["[receipt_1 Receipt]"]))"""

AT_ONCE = 40
"""Lab draws the first 50 outputs of a cell."""

LIVE = """area => [...area.querySelectorAll('*')].filter(e =>
    e.matches('img, image, script, iframe, object, embed, style, link, meta, details') ||
    [...e.attributes].some(a => a.name.startsWith('on') || /url\\(|javascript:/.test(a.value))
  ).map(e => e.outerHTML.slice(0, 200))"""

HIDING = """area => [...area.querySelectorAll('a[href]')]
    .filter(a => !a.classList.contains('jp-InternalAnchorLink'))
    .map(a => [a.textContent, decodeURI(a.getAttribute('href'))])
    .filter(([text, href]) => href !== text && href !== `mailto:${text}`)"""


def settled(notebook: Notebook, page: Page) -> None:
    """Wait until formulas are typeset and whatever would be drawn is drawn."""
    notebook.output(notebook.cell_count() - 1).locator("mjx-container").first.wait_for()
    page.wait_for_timeout(3_000)


def test_nothing_runs_nothing_is_requested_and_no_link_hides_its_target(
    open_notebook: OpenNotebook, page: Page, external: list[str]
) -> None:
    folder = str(Path(__file__).parent.parent)
    starts = range(0, len(HOSTILE), AT_ONCE)
    notebook = open_notebook([SHOW.format(folder=folder, start=n, count=AT_ONCE) for n in starts])
    notebook.run_all()
    settled(notebook, page)
    areas = [notebook.output(number) for number in range(len(starts))]

    drawn = sum(area.locator(".jp-RenderedMarkdown").count() for area in areas)
    assert drawn == len(HOSTILE)
    assert page.evaluate("() => window.ran") is None
    assert external == []
    assert [area.evaluate(LIVE) for area in areas] == [[]] * len(areas)
    assert [area.evaluate(HIDING) for area in areas] == [[]] * len(areas)


ORDINARY = r"""from agentcell_magics.live import answer_bundle, show
show(answer_bundle('''The subtotal is $25.00 and the tax is $2.95, so the total is $27.95.

In TeX: \\( t = s + x \\) and $E = mc^2$ and

\\[ \\sum_{i=1}^n x_i = \\frac{a}{b} \\]

| item | price |
|---|---:|
| nails | $5.00 |
| sum | $10.00 |
'''))"""


def test_prices_are_read_as_prices_and_formulas_as_formulas(
    open_notebook: OpenNotebook, page: Page
) -> None:
    notebook = open_notebook([ORDINARY])
    notebook.run(0)
    settled(notebook, page)
    area = notebook.output(0)

    expect(area.locator("mjx-container")).to_have_count(3)
    expect(area).to_contain_text(
        "The subtotal is $25.00 and the tax is $2.95, so the total is $27.95."
    )
    expect(area.locator("td").nth(3)).to_have_text("$10.00")
    notebook.screenshot("prices-and-formulas")
