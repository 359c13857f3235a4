"""A notebook with tools, a schema and an answer in the background passes nbval as it was saved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

CELLS = [
    """\
%load_ext agentcell
from agentcell.testing import FakeModel, Call, Reply
from agentcell_magics import current_session
from PIL import Image
def weather(town: str) -> str:
    "Tell the weather."
    return "rain in " + town
def draw():
    "Draw."
    return Image.new("RGB", (30, 20), "red")
Rain = dict[str, bool]
current_session().model = FakeModel(
    Reply("Let me see.", calls=[Call("weather", '{"town": "Oslo"}'), Call("draw", id="2")]),
    Call("weather", '{"town": 5}'), "It rains.", "perhaps", '{"rains": true}',
    Reply(*["word "] * 20, delay=0.02))""",
    "%%agent -T weather -T draw\nHow is it?",
    "%%agent --schema Rain -o rain\nDoes it rain?",
    "rain",
    "%%agent --async -o story\nTell.",
    "story.result().status",
]


def test_what_a_person_saved_passes_nbval(tmp_path: Path) -> None:
    path = tmp_path / "tools.ipynb"
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS])
    for cell in notebook.cells:
        cell.pop("id")
    notebook.nbformat_minor = 4
    environment = dict(os.environ)
    del os.environ["PYTEST_CURRENT_TEST"]  # as a person runs it: displays are updated
    try:
        NotebookClient(
            notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}
        ).execute()
    finally:
        os.environ.update(environment)
    nbformat.write(notebook, path)
    kinds = [[one.output_type for one in cell.outputs] for cell in notebook.cells]
    assert [len(one) for one in kinds] == [0, 5, 2, 1, 1, 1]

    seconds = tmp_path / "seconds.cfg"  # they differ where nothing is recorded
    seconds.write_text("[seconds]\nregex: \\b\\d+\\.\\d s\\b\nreplace: N s\n", encoding="utf-8")
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider"),
            f"--nbval-sanitize-with={seconds}",
            *("-c", os.devnull, str(path)),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout[-4000:]
