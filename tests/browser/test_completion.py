"""Tab as a person sees it in JupyterLab."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from labkit import Lab, Notebook, OpenNotebook

LOAD = "%load_ext agentcell\nfrom pathlib import Path\nplan = Path('files/plan.png')\nnumber = 1"


@pytest.fixture
def notebook(lab: Lab, open_notebook: OpenNotebook) -> Iterator[Notebook]:
    """A notebook with the extension loaded, an empty cell, and files beside it."""
    folder = lab.root / "files"
    folder.mkdir()
    for name in ("receipt.png", "my photo.png", "plan.png"):
        Image.new("RGB", (60, 90), "white").save(folder / name)
    notebook = open_notebook([LOAD, ""])
    notebook.run(0)
    yield notebook
    shutil.rmtree(folder)


def source(notebook: Notebook) -> str:
    """What stands in the second cell."""
    text: str = notebook.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.source"
    )
    return text


def write(notebook: Notebook, text: str) -> None:
    """Type into the second cell as a person does, in place of what stands there."""
    page = notebook.page
    notebook.cell(1).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    for number, line in enumerate(text.split("\n")):
        if number:
            page.keyboard.press("Enter")
        page.keyboard.insert_text(line)


def popup(page: Page) -> Locator:
    return page.locator(".jp-Completer:visible .jp-Completer-item .jp-Completer-match")


def offered(notebook: Notebook, text: str, *wanted: str) -> list[str]:
    """Press Tab behind `text` and return what the list shows, once all that is wanted is in it.

    JupyterLab draws the first items at once and a long list's others in later frames.
    """
    write(notebook, text)
    notebook.page.keyboard.press("Tab")
    items = popup(notebook.page)
    expect(items.first).to_be_visible()
    for one in wanted:
        expect(items.filter(has_text=re.compile(f"^{re.escape(one)}$"))).to_be_attached()
    texts = items.all_inner_texts()
    notebook.screenshot("completion")
    notebook.page.keyboard.press("Escape")
    return texts


def completed(notebook: Notebook, text: str) -> str:
    """Press Tab behind `text`, take the one match, and return what then stands in the cell."""
    write(notebook, text)
    notebook.page.keyboard.press("Tab")
    items = popup(notebook.page)
    expect(items).to_have_count(1)
    notebook.page.keyboard.press("Enter")
    expect(items).to_have_count(0)
    return source(notebook)


def test_options_models_and_files_are_offered_in_the_line(notebook: Notebook) -> None:
    options = offered(notebook, "%%agent --", "--model", "--attach", "--input", "--dry-run")
    assert all(one.startswith("--") for one in options)
    models = offered(notebook, "%%agent -m open", "openai/gpt-4.1")
    assert all(one.startswith("open") for one in models)
    files = offered(notebook, "%%agent -a files/")
    assert files == ['"files/my photo.png"', "files/plan.png", "files/receipt.png"]


def test_a_match_is_written_with_its_quotes(notebook: Notebook) -> None:
    assert completed(notebook, "%%agent --detail or") == "%%agent --detail original"
    assert completed(notebook, "%%agent -a files/re") == "%%agent -a files/receipt.png"
    assert completed(notebook, "%%agent -a files/my") == '%%agent -a "files/my photo.png"'
    assert completed(notebook, "%view_image pl") == "%view_image plan"


def test_a_name_in_braces_is_completed_in_the_question(notebook: Notebook) -> None:
    names = offered(notebook, "%%agent -a receipt=files/receipt.png\nIs {")

    assert names[:3] == ["receipt", "plan", "number"]
    assert completed(notebook, "%%agent\nIs {pl") == "%%agent\nIs {plan"


def test_a_mention_is_completed_and_attaches_the_file(notebook: Notebook) -> None:
    assert offered(notebook, "%%agent\nOn @files/") == [
        '@"files/my photo.png"',
        "@files/plan.png",
        "@files/receipt.png",
    ]
    cell = completed(notebook, "%%agent -m local -n\nSee @files/re")
    assert cell == "%%agent -m local -n\nSee @files/receipt.png"
    notebook.run(1)

    expect(notebook.output(1)).to_contain_text("See [receipt_1 receipt]")
    notebook.screenshot("mention-attached")
