"""The demo's runner: what it prints, what it leaves, and that a failing cell fails it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

RUNNER = Path(__file__).parent.parent / "notebooks" / "run_demo.py"

MODEL = """%load_ext agentcell
from agentcell import Model, ModelResponseType
from agentcell_magics import current_session
class Fixed(Model):
    def invoke(self, messages, tools=None, settings=None, **options):
        return {"type": ModelResponseType.CONTENT, "content": "The **total** is 27.95. " * 9}
current_session().model = Fixed("fixed")"""


def run(folder: Path, cells: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    source = folder / "small.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), source)
    command = [sys.executable, str(RUNNER), str(source), "--out", str(folder / "out"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_it_prints_question_answer_and_where_things_lie(tmp_path: Path) -> None:
    ran = run(tmp_path, [MODEL, "%%agent\nWhat is the total?"])

    assert ran.returncode == 0, ran.stderr
    assert "Question:  What is the total?" in ran.stdout
    assert "Answer:    The **total** is 27.95." in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 100
    assert "make lab" in ran.stdout
    for name in ("small.ipynb", "small.html"):
        assert f"out/{name}" in ran.stdout
        assert "27.95" in (tmp_path / "out" / name).read_text(encoding="utf-8")
    untouched = nbformat.read(tmp_path / "small.ipynb", as_version=4)
    assert [cell.outputs for cell in untouched.cells] == [[], []]


def test_with_save_the_outputs_go_into_the_notebook(tmp_path: Path) -> None:
    ran = run(tmp_path, ["print(6 * 7)"], "--save")

    saved = nbformat.read(tmp_path / "small.ipynb", as_version=4)
    assert ran.returncode == 0, ran.stderr
    assert saved.cells[0].outputs[0].text == "42\n"
    assert saved.cells[0].metadata == {}
    assert "widgets" not in saved.metadata


def test_a_failing_cell_fails_it_and_what_came_until_then_is_kept(tmp_path: Path) -> None:
    ran = run(tmp_path, ["print('first')", "1 / 0", "print('never')"], "--save")

    assert ran.returncode == 1
    assert "ZeroDivisionError" in ran.stderr
    assert "\x1b[" not in ran.stderr
    assert "first" in (tmp_path / "out" / "small.ipynb").read_text(encoding="utf-8")
    assert nbformat.read(tmp_path / "small.ipynb", as_version=4).cells[0].outputs == []
