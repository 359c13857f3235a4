"""What a hostile or a merely awkward model answers: JupyterLab trusted and not, and exported."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from agentcell import ImageAsset, MediaMessageBlock
from agentcell.adapters.events import Citation
from agentcell.agents.exchange import ToolFinished
from agentcell.answer import Answer
from agentcell.messages import ToolCall
from agentcell_magics import cards
from agentcell_magics.live import answer_bundle
from hostile import EVIL, HOSTILE, LIES_BESIDE
from labkit import Lab, Notebook, OpenNotebook, watch_external

AT_ONCE = 40
"""Lab draws the first 50 outputs of a cell."""

LIVE = """area => [...area.querySelectorAll('*')].filter(e =>
    e.matches('img:not([src^="data:image/png;base64,"]), image, script, iframe, object, embed, ' +
      'style, link, meta, base, form, input, video, audio, template, svg:not([data-icon])') ||
    [...e.attributes].some(a => a.name.startsWith('on') || /^\\s*(java|vb)script:/i.test(a.value) ||
      (/^(style|background|poster|srcset|action|formaction)$/.test(a.name) &&
        /url\\(|:\\/\\//.test(a.value)))
  ).map(e => e.outerHTML.slice(0, 200))"""

HIDING = """area => [...area.querySelectorAll('a[href]')]
    .filter(a => !a.matches('.jp-InternalAnchorLink, .anchor-link'))
    .map(a => [a.textContent, a.getAttribute('href')])
    .filter(([text, href]) => ![href, decodeURI(href)].some(
      one => one === text || one === `mailto:${text}` || one === `http://${text}`))"""


@functools.cache
def bundles() -> tuple[tuple[dict[str, Any], dict[str, Any]], ...]:
    """Every text as an answer, and as each thing that a card tells of."""
    data = io.BytesIO()
    Image.new("RGB", (30, 20), "white").save(data, "PNG")
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for text in HOSTILE:
        found.append((answer_bundle(text, ["[receipt_1 Receipt]"]), {}))
        short = text[:3_000]
        asset = ImageAsset.from_bytes(
            data.getvalue(), filename=short.replace("/", "")[:150] or None
        )
        block = MediaMessageBlock(asset=asset, field_name="x", tag=f"[x_1 {short}]")
        call = ToolCall(id="1", name=short, arguments={"a": short}, raw_arguments="")
        done = ToolFinished(call=call, content=short, seconds=1.0, is_error=False)
        answer = Answer(
            "x",
            model=short,
            citations=(
                Citation(quote=short, tag=short, page=1),
                Citation(quote=short, url=short, title=short),
                Citation(quote="", url=f"{EVIL}/{short}", title=short),
            ),
        )
        parts = [
            cards.attachments([block], asked=short, notes=[short]),
            cards.tool_calls([(call, done)], waiting=short),
            cards.footer(answer, thinking=short),
            cards.rows(short, [(short, short)]),
        ]
        card = {kind: "\n".join(part[kind] for part in parts) for kind in parts[0]}
        found.append((card, {}))
    pictures = [cards.picture(block) for block in [block]]
    found += [one for one in pictures if one is not None]
    return tuple(found)


def hostile_notebook(*, kind: str = "display_data") -> Any:
    """One notebook that holds all of it."""
    outputs = [new_output(kind, data=data, metadata=facts) for data, facts in bundles()]
    cells = [
        new_code_cell("…", outputs=outputs[start : start + AT_ONCE], execution_count=1)
        for start in range(0, len(outputs), AT_ONCE)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def assert_harmless(area: Any, page: Page) -> None:
    """Nothing that could act is there, and no link hides its target."""
    assert area.evaluate(LIVE) == []
    assert area.evaluate(HIDING) == []
    assert page.evaluate("() => window.ran") is None
    assert LIES_BESIDE not in area.inner_text()


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_in_jupyterlab_nothing_runs_nothing_loads_and_no_link_hides(
    lab: Lab, open_notebook: OpenNotebook, page: Page, external: list[str], trusted: bool
) -> None:
    name = f"hostile-{trusted}.ipynb"
    (lab.root / "secret.txt").write_text(LIES_BESIDE, encoding="utf-8")
    (lab.root / "secret.png").write_bytes(b"")
    nbformat.write(hostile_notebook(), lab.root / name)
    if trusted:
        lab.trust(name)
    asked: list[str] = []
    listen = lambda request: asked.append(request.url)  # noqa: E731 (to be taken away again)
    page.on("request", listen)
    notebook = open_notebook(name=name, kernel=False)
    area = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
    expect(area.locator("mjx-container").first).to_be_attached()
    drawn = ".jp-RenderedMarkdown, .jp-RenderedHTMLCommon, .jp-RenderedImage"
    page.wait_for_function(
        "([area, drawn, count]) => area.querySelectorAll(drawn).length >= count",
        arg=[area.element_handle(), drawn, len(bundles())],
    )
    page.wait_for_timeout(2_000)  # for what should not come
    page.remove_listener("request", listen)

    assert is_trusted(notebook) is trusted
    assert external == []
    assert [url for url in asked if "secret" in url or "/files/" in url] == []
    assert_harmless(area, page)


def is_trusted(notebook: Notebook) -> bool:
    return bool(
        notebook.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.widgets"
            ".every(cell => cell.model.trusted)"
        )
    )


@pytest.fixture(params=["lab", "classic"])
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The notebook as nbconvert's page."""
    (tmp_path / "secret.txt").write_text(LIES_BESIDE, encoding="utf-8")
    (tmp_path / "secret.svg").write_text(f"<svg>{LIES_BESIDE}</svg>", encoding="utf-8")
    exporter = HTMLExporter(template_name=request.param, embed_images=True)
    body, _ = exporter.from_notebook_node(
        hostile_notebook(), resources={"metadata": {"path": str(tmp_path)}}
    )
    page = tmp_path / "page.html"
    page.write_text(body, encoding="utf-8")
    return page


def test_in_an_exported_page_nothing_runs_nothing_loads_and_no_link_hides(
    exported: Path, browser: Browser
) -> None:
    context = browser.new_context()
    asked = watch_external(context)
    page = context.new_page()
    page.goto(exported.as_uri(), wait_until="domcontentloaded")
    page.wait_for_timeout(2_000)
    areas = page.locator(".jp-OutputArea, .output_wrapper, .output")

    assert areas.count() > 0
    assert LIES_BESIDE not in exported.read_text(encoding="utf-8")
    # nbconvert's own page asks for its scripts; nothing that we show asks for anything.
    assert [url for url in asked if not url.startswith("https://cdn")] == []
    for area in areas.all()[:12]:
        assert_harmless(area, page)
    context.close()


ORDINARY = r"""from agentcell_magics.live import answer_bundle, show
show(answer_bundle('''The subtotal is $25.00 and the tax is $2.95, so the total is $27.95.

In TeX: \\( t = s + x \\) and $E = mc^2$ and

\\[ \\sum_{i=1}^n x_i = \\frac{a}{b} \\]

| item | price |
|---|---:|
| nails | $5.00 |
| sum | $10.00 |
'''))"""


def test_prices_are_read_as_prices_and_formulas_as_formulas(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([ORDINARY])
    notebook.run(0)
    notebook.output(0).locator("mjx-container").first.wait_for()
    area = notebook.output(0)

    expect(area.locator("mjx-container")).to_have_count(3)
    expect(area).to_contain_text(
        "The subtotal is $25.00 and the tax is $2.95, so the total is $27.95."
    )
    expect(area.locator("td").nth(3)).to_have_text("$10.00")
    notebook.screenshot("prices-and-formulas")
