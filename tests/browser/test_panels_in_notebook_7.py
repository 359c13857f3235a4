"""The panels for attachments, pictures and history in Notebook 7: what a person does first."""

from __future__ import annotations

import io

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from classic import opened, run
from labkit import Lab

SETUP = """
from IPython.display import display
from agentcell import Session
from agentcell.testing import FakeModel
from agentcell.widgets import AttachmentsPanel, GenerationPanel, HistoryPanel
session = Session(FakeModel('Yes.'), history='.')
session.ask('Is it open on Sundays?')
for panel in (AttachmentsPanel, GenerationPanel, HistoryPanel):
    display(panel(session))
"""

WORK = "import time; time.sleep(300)"


def attach(page: Page) -> None:
    file = io.BytesIO()
    Image.new("RGB", (60, 40), "seagreen").save(file, "PNG")
    panel = page.get_by_role("region", name="Attachments")
    panel.locator("input[type=file]").set_input_files(
        {"name": "plot.png", "mimeType": "image/png", "buffer": file.getvalue()}
    )
    expect(panel).to_contain_text("60 × 40 px")
    panel.get_by_role("button", name="Remove [").click()
    expect(panel).to_contain_text("is removed")


def test_they_work_there_also_while_a_cell_runs(lab: Lab, browser: Browser) -> None:
    with opened(lab, browser, [SETUP, WORK], "panels-notebook-7") as page:
        run(page, 0)
        made = page.get_by_role("region", name="Pictures and clips")
        made.get_by_label("What is to be seen").wait_for()
        run(page, 1)
        busy = page.locator(".jp-Notebook .jp-Cell").nth(1).locator(".jp-InputPrompt")
        expect(busy).to_contain_text("*")

        made.get_by_label("Maker").fill("procedural")
        made.get_by_label("Size").fill("128x128")
        made.get_by_label("What is to be seen").fill("a harbour")
        made.get_by_label("What is to be seen").press("Enter")
        expect(made.get_by_role("img", name="a harbour")).to_be_visible()
        expect(busy).to_contain_text("*")
        attach(page)

        history = page.get_by_role("region", name="History")
        history.get_by_label("Search").fill("Sundays")
        expect(history).to_contain_text("Is it open on Sundays?")
