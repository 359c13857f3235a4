"""Tool calls and answers in the background, as a person sees them in JupyterLab."""

from __future__ import annotations

from playwright.sync_api import expect

from labkit import OpenNotebook

SETUP = """\
%load_ext agentcell
import time
from agentcell.testing import FakeModel, Call, Reply
from agentcell_magics import current_session
session = current_session()
def weather(town: str) -> str:
    "Tell the weather."
    time.sleep(0.3)
    return "rain in " + town
session.model = FakeModel(
    Reply("Let me see.", calls=[Call("weather", '{"town": "Oslo"}')]), "It **rains**.")
"""


def test_a_tool_call_is_one_line_that_folds_out(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, "%%agent -T weather\nHow is it?"])
    notebook.run(0)
    notebook.run(1)

    output = notebook.output(1)
    expect(output).to_contain_text("Let me see.")
    line = output.locator("summary")
    expect(line).to_have_count(1)
    expect(line).to_contain_text("weather(town='Oslo') · 0.3 s · ok")
    result = output.locator("details div")
    expect(result).to_be_hidden()
    line.click()
    expect(result).to_be_visible()
    expect(result).to_contain_text("rain in Oslo")
    expect(output.locator("strong")).to_have_text("rains")
    notebook.screenshot("tool-call")


WAITS = """\
%load_ext agentcell
import asyncio
from agentcell import Model
from agentcell.adapters.events import Finished, TextDelta
from agentcell_magics import current_session
class Waits(Model):
    async def astream(self, messages, tools=None, settings=None, **options):
        if "Tell" in str(messages):
            yield TextDelta("word word ")
            while not goes_on:
                await asyncio.sleep(0.05)
            yield TextDelta("**end**")
        else:
            yield TextDelta("b done")
        yield Finished(reason="stop", model=self.model_name)
goes_on, current_session().model = [], Waits("waits")
"""


def test_an_answer_in_the_background_grows_in_its_own_cell(open_notebook: OpenNotebook) -> None:
    cells = [
        WAITS,
        "%%agent --async -o a\nTell.",
        "%%agent --async -o b -c b\nAnd now?",
        "goes_on.append(1); 1 + 1",
    ]
    notebook = open_notebook(cells)
    notebook.run(0)
    notebook.run(1)
    notebook.run(2)
    expect(notebook.output(1)).to_contain_text("word word")
    expect(notebook.output(1).locator("strong")).to_have_count(0)
    notebook.run(3)  # only this lets the first answer go on

    expect(notebook.output(3)).to_contain_text("2")
    expect(notebook.output(1).locator("strong")).to_have_text("end")
    expect(notebook.output(1)).to_contain_text("custom/waits")
    expect(notebook.output(2)).to_contain_text("b done")
    expect(notebook.output(2)).not_to_contain_text("word")
    saved = notebook.save()
    (output,) = saved["cells"][1]["outputs"]
    assert "**end**" in "".join(output["data"]["text/markdown"])
    notebook.screenshot("async")
