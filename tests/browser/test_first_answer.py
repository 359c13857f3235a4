"""The first notebook, as a person sees it in JupyterLab: live, reopened, exported, narrow."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Locator, Page, expect

from labkit import SCREENSHOTS, Lab, Notebook, OpenNotebook, use_theme, watch_external
from promptly import PROMPTLY

NOTEBOOKS = Path(__file__).parent.parent.parent / "notebooks"
NAME = "01_first_answer.ipynb"
TOTAL, DATE = "27.95", "2026-03-14"

MAX_NOTEBOOK_BYTES = 120_000

OVERFLOWING = """area => [...area.querySelectorAll('.jp-OutputArea-output')].filter(
    output => output.scrollWidth > output.clientWidth + 1).map(output => output.textContent)"""


def questions(notebook_file: Path) -> list[int]:
    """The numbers of the `%%agent` cells."""
    cells = json.loads(notebook_file.read_text(encoding="utf-8"))["cells"]
    return [n for n, cell in enumerate(cells) if "".join(cell["source"]).startswith("%%agent")]


FIRST, FOLLOW_UP = questions(NOTEBOOKS / NAME)[:2]


@pytest.fixture(scope="module")
def ran(lab: Lab, page: Page) -> Iterator[Notebook]:
    """The notebook, run from end to end in JupyterLab and saved."""
    shutil.copy(NOTEBOOKS / "receipt.png", lab.root)
    shutil.copy(NOTEBOOKS / NAME, lab.root)
    notebook = Notebook(page, lab, NAME)
    notebook.command("notebook:clear-all-cell-outputs")
    notebook.run_all()
    notebook.save()
    yield notebook
    notebook.show()
    notebook.close()


@pytest.fixture
def shown(ran: Notebook) -> Notebook:
    ran.show()
    return ran


def assert_shows_all(first: Locator, follow_up: Locator) -> None:
    """Preview with its tag, type and pixels in words below it; both answers."""
    picture = first.locator("img").first
    expect(picture).to_be_visible()
    picture.evaluate("e => e.decode()")
    assert picture.evaluate("e => e.naturalWidth") > 100
    expect(first).to_contain_text("[receipt_1 Receipt]")
    expect(first).to_contain_text("PNG image, 420 × 640 px")
    expect(first).to_contain_text(TOTAL)
    expect(follow_up).to_contain_text(DATE)
    expect(follow_up.locator("img")).to_have_count(0)


def test_the_cells_show_the_receipt_and_both_answers(shown: Notebook) -> None:
    assert_shows_all(shown.output(FIRST), shown.output(FOLLOW_UP))


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_reads_in_both_themes(shown: Notebook, page: Page, theme: str) -> None:
    use_theme(page, theme)
    shown.cell(FIRST).scroll_into_view_if_needed()
    shown.screenshot(f"first-answer-{theme}")
    answer = shown.output(FIRST).locator(".jp-RenderedMarkdown, .jp-RenderedHTMLCommon").last
    background = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
    colors = [
        answer.evaluate("e => getComputedStyle(e).color"),
        background.evaluate("e => getComputedStyle(e).backgroundColor"),
    ]
    use_theme(page, "light")

    text, behind = (sum(map(int, c[c.index("(") + 1 : -1].split(",")[:3])) for c in colors)
    assert abs(text - behind) > 300


def test_running_it_asks_nothing_outside(shown: Notebook, external: list[str]) -> None:
    shown.run(FIRST)
    shown.run(FOLLOW_UP)

    assert_shows_all(shown.output(FIRST), shown.output(FOLLOW_UP))
    assert external == []


def test_the_saved_notebook_is_small_and_names_what_its_picture_shows(
    ran: Notebook, lab: Lab
) -> None:
    file = lab.root / ran.name
    saved = lab.read(ran.name)
    picture = saved.cells[FIRST].outputs[0]

    assert file.stat().st_size < MAX_NOTEBOOK_BYTES
    assert "widgets" not in saved.metadata
    # JupyterLab and nbconvert's page take no `alt` from the metadata; hosts that do, find it.
    assert picture.metadata["image/png"]["alt"] == picture.data["text/plain"]
    assert picture.data["text/plain"].startswith("[receipt_1 Receipt] receipt.png: PNG image")


def test_reopened_without_a_kernel_it_shows_everything(
    ran: Notebook, lab: Lab, open_notebook: OpenNotebook
) -> None:
    shutil.copy(lab.root / ran.name, lab.root / "reopened.ipynb")
    again = open_notebook(name="reopened.ipynb", kernel=False)

    assert again.kernel() is None
    assert_shows_all(again.output(FIRST), again.output(FOLLOW_UP))
    again.screenshot("first-answer-reopened")


def test_the_exported_page_shows_everything_on_a_narrow_screen(
    ran: Notebook, lab: Lab, browser: Browser, tmp_path: Path
) -> None:
    body, _ = HTMLExporter(embed_images=True).from_filename(str(lab.root / ran.name))
    (tmp_path / "page.html").write_text(body, encoding="utf-8")
    context = browser.new_context(viewport={"width": 400, "height": 900})
    asked = watch_external(context)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri(), wait_until="domcontentloaded")
    cells = page.locator(".jp-Cell")
    outputs = cells.nth(FIRST), cells.nth(FOLLOW_UP)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "first-answer-page.png", full_page=True)

    assert_shows_all(*outputs)
    assert outputs[0].evaluate(OVERFLOWING) == []
    # nbconvert's own page asks for its scripts; nothing that we show asks for anything.
    assert [url for url in asked if not url.startswith("https://cdn")] == []
    context.close()


def test_400_pixels_wide_it_is_still_readable(shown: Notebook, page: Page) -> None:
    size = page.viewport_size
    assert size is not None
    shown.command("application:toggle-left-area")
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function(
        "() => document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)').clientWidth <= 400"
    )
    shown.cell(FIRST).scroll_into_view_if_needed()
    shown.screenshot("first-answer-narrow")
    overflowing = [shown.output(n).evaluate(OVERFLOWING) for n in (FIRST, FOLLOW_UP)]
    picture = shown.output(FIRST).locator("img").first.bounding_box()
    page.set_viewport_size(size)
    shown.command("application:toggle-left-area")

    assert overflowing == [[], []]
    assert picture is not None
    assert picture["x"] + picture["width"] <= 400


SLOW = """import asyncio
from agentcell import Model
from agentcell.adapters.events import Finished, TextDelta
from agentcell_magics import current_session
class Slow(Model):
    async def astream(self, messages, tools=None, settings=None, **options):
        for number in range(1200):
            yield TextDelta(f"word{number} ")
            await asyncio.sleep(0.05)
        yield Finished(reason="stop", model=self.model_name)
%load_ext agentcell
current_session().model = Slow("slow")"""


def test_the_stop_button_ends_the_cell_and_the_next_one_runs(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SLOW, "%%agent\nTell me all.", "print('goes on')"])
    notebook.run(0)
    notebook.run(1, wait=False)
    expect(notebook.output(1)).to_contain_text("word9 ")

    began = time.monotonic()
    notebook.page.get_by_role("button", name="Interrupt the kernel").first.click()
    notebook.wait_idle()
    seconds = time.monotonic() - began
    notebook.run(2)

    expect(notebook.output(1)).to_contain_text("word9 ")
    expect(notebook.output(1)).to_contain_text("topped")
    expect(notebook.output(2)).to_contain_text("goes on")
    assert seconds < PROMPTLY
    assert notebook.output(1).inner_text().count("\n") < 15
