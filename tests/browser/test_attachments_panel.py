"""The attachments panel as a person uses it: by mouse, by keyboard, in both themes, narrow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from labkit import Notebook, OpenNotebook, use_theme

SETUP = """import io
from PIL import Image
from agentcell import ImageAsset, Session
from agentcell.widgets import AttachmentsPanel
def png(color, size=(120, 80)):
    file = io.BytesIO(); Image.new('RGB', size, color).save(file, 'PNG'); return file.getvalue()
session = Session()
session.attach(ImageAsset.from_bytes(png('seagreen'), filename='plot.png'), name='plot')
session.attach(ImageAsset.from_bytes(png('tomato', (40, 90)), filename='a.png'), name='receipt',
               label='Receipt of a very long purchase on a rainy day in November')
AttachmentsPanel(session)"""

ADD = "_ = session.attach(ImageAsset.from_bytes(png('navy')), name='late')"

LIST = "print([block.field_name for block in session.attachments])"

WIDER = """e => [...e.querySelectorAll('*'), e].filter(
    n => n.getBoundingClientRect().right > e.getBoundingClientRect().right + 1).length"""


@pytest.fixture
def notebook(open_notebook: OpenNotebook) -> Notebook:
    notebook = open_notebook([SETUP, ADD, LIST])
    notebook.run(0)
    expect(notebook.output(0).get_by_role("listitem")).to_have_count(2)
    return notebook


def test_the_cards_show_pictures_tags_and_facts(notebook: Notebook, external: list[str]) -> None:
    panel = notebook.output(0).get_by_role("region", name="Attachments")

    expect(panel.get_by_role("listitem").first).to_contain_text("[plot_1")
    expect(panel.get_by_role("listitem").first).to_contain_text("120 × 80 px")
    picture = panel.get_by_role("img", name="plot.png").first
    picture.evaluate("e => e.decode()")
    assert picture.evaluate("e => [e.naturalWidth, e.naturalHeight]") == [120, 80]
    assert external == []


def test_an_attachment_made_later_appears(notebook: Notebook) -> None:
    notebook.run(1)

    expect(notebook.output(0).get_by_role("listitem")).to_have_count(3)
    expect(notebook.output(0)).to_contain_text("Attachments (3)")


def test_remove_takes_it_out_of_the_session(notebook: Notebook) -> None:
    notebook.output(0).get_by_role("button", name="Remove [plot_1").click()

    expect(notebook.output(0).get_by_role("listitem")).to_have_count(1)
    expect(notebook.output(0).get_by_role("status")).to_contain_text("is removed")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("['receipt']")


def test_the_keyboard_does_it_all_and_the_notebook_hears_no_key(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    notebook.output(0).get_by_role("button").first.focus()
    for key in ("d", "d", "b", "x", "Shift+Enter"):  # the notebook would cut, add or run cells
        keyboard.press(key)
    expect(notebook.output(0).get_by_role("listitem")).to_have_count(1)  # Shift+Enter pressed it
    focused = notebook.page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    keyboard.press("Space")

    expect(notebook.output(0)).to_contain_text("No attachments yet.")
    assert focused.startswith("Remove [receipt_1")
    assert notebook.cell_count() == 3
    assert notebook.output(1).inner_text() == ""


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_reads_in_both_themes_and_narrow(notebook: Notebook, page: Page, theme: str) -> None:
    use_theme(page, theme)
    panel = notebook.output(0).get_by_role("region", name="Attachments")
    card = panel.get_by_role("listitem").first
    colors = card.evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")
    notebook.screenshot(f"attachments-panel-{theme}")
    panel.evaluate("e => { e.style.width = '300px'; }")

    text, background = (sum(map(int, c.strip("rgba()").split(",")[:3])) for c in colors)
    assert (text > background + 300) if theme == "dark" else (background > text + 300)
    assert panel.evaluate(WIDER) == 0
    notebook.screenshot(f"attachments-panel-{theme}-narrow")
    use_theme(page, "light")
