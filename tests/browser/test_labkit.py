"""The kit itself: what the other browser tests lean on."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from labkit import OpenNotebook, use_theme

PICTURE = """from IPython.display import display
from PIL import Image
display(Image.new('RGB', (60, 40), (0, 128, 0)))"""

ASKS_OUTSIDE = """from IPython.display import display
display({'text/html': '<img src="https://example.com/a.png">', 'text/plain': ''}, raw=True)"""


def test_a_cell_runs_and_its_picture_is_drawn(
    open_notebook: OpenNotebook, external: list[str]
) -> None:
    notebook = open_notebook(["print('hello')", PICTURE])
    notebook.run_all()

    expect(notebook.output(0)).to_contain_text("hello")
    size = notebook.output(1).locator("img").evaluate("e => [e.naturalWidth, e.naturalHeight]")
    assert size == [60, 40]
    assert external == []


def test_a_page_that_asks_outside_is_seen(open_notebook: OpenNotebook, external: list[str]) -> None:
    notebook = open_notebook([ASKS_OUTSIDE])
    with notebook.page.expect_request("https://example.com/a.png"):
        notebook.run_all()

    assert set(external) == {"https://example.com/a.png"}


def test_both_themes_can_be_had(open_notebook: OpenNotebook, page: Page) -> None:
    open_notebook(["1"])
    colors = []
    for theme in ("dark", "light"):
        use_theme(page, theme)
        cell = page.locator(".jp-Notebook").last
        colors.append(cell.evaluate("e => getComputedStyle(e).backgroundColor"))

    assert colors == ["rgb(17, 17, 17)", "rgb(255, 255, 255)"]


def test_a_saved_notebook_opens_again(open_notebook: OpenNotebook) -> None:
    first = open_notebook(["print('kept')"])
    first.run_all()
    saved = first.save()
    first.close()
    again = open_notebook(name=first.name)

    assert saved.cells[0].outputs[0].text == "kept\n"
    expect(again.output(0)).to_contain_text("kept")
    assert again.kernel() is not None
    again.wait_idle()  # a new kernel is asked about its comms once more, which makes it busy


def test_a_notebook_opens_without_a_kernel(open_notebook: OpenNotebook) -> None:
    first = open_notebook(["print('kept')"])
    first.run_all()
    first.save()
    first.close()
    again = open_notebook(name=first.name, kernel=False)

    expect(again.output(0)).to_contain_text("kept")
    assert again.kernel() is None
