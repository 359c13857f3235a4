"""Marks of answers that follow a former one: in the page, in place, and in the saved notebook."""

from __future__ import annotations

from playwright.sync_api import expect

from labkit import OpenNotebook

MODEL = """from agentcell import Model
from agentcell.adapters.events import Finished, TextDelta
from agentcell_magics import current_session
class Counting(Model):
    asked = 0
    async def astream(self, messages, tools=None, settings=None, **options):
        self.asked += 1
        yield TextDelta(f"answer {self.asked}")
        yield Finished(reason="stop", model=self.model_name)
%load_ext agentcell
current_session().model = Counting("counting")"""

MARK = "Stale: an earlier cell ran again since."


def test_a_cell_that_runs_again_marks_the_later_ones_until_they_do(
    open_notebook: OpenNotebook,
) -> None:
    cells = [MODEL, "%%agent\nfirst", "%%agent\nsecond", "%%agent\nthird", "%%agent -q\nquiet"]
    notebook = open_notebook(cells)
    notebook.run_all()
    for index in (1, 2, 3, 4):
        expect(notebook.output(index)).not_to_contain_text(MARK)

    notebook.run(1)

    expect(notebook.output(1)).to_contain_text("answer 5")
    expect(notebook.output(1)).not_to_contain_text(MARK)
    for index in (2, 3):
        expect(notebook.output(index)).to_contain_text(MARK)
        expect(notebook.output(index)).to_contain_text("custom/counting")
    expect(notebook.output(4)).not_to_contain_text(MARK)
    notebook.screenshot("stale-marks")

    notebook.run(2)

    expect(notebook.output(2)).to_contain_text("answer 6")
    expect(notebook.output(2)).not_to_contain_text(MARK)
    expect(notebook.output(3)).to_contain_text(MARK)
    saved = notebook.save()
    shown = ["\n".join(o.data["text/plain"] for o in cell.outputs) for cell in saved.cells[1:]]
    assert [MARK in text for text in shown] == [False, False, True, False]
