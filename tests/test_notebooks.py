"""The committed notebooks: executed by a tool, whole, small, and free of this machine."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from agentcell.checking import check
from agentcell.scan import scan

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))

RECORDINGS = NOTEBOOKS[0].parent / "recordings"

MAX_BYTES = 120_000

notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.stem))


def test_there_are_notebooks_numbered_from_one() -> None:
    numbers = [int(path.name.split("_")[0]) for path in NOTEBOOKS]

    assert numbers == list(range(1, len(NOTEBOOKS) + 1))


@notebooks
def test_it_was_run_from_top_to_bottom(path: Path) -> None:
    """Without this nbval would compare nothing: it takes a cell that never ran for a new one."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        expected = "raises-exception" in cell.metadata.get("tags", [])
        assert expected == any(output.output_type == "error" for output in cell.outputs)
        assert cell.outputs or not cell.source.startswith("%%agent")


@notebooks
def test_it_is_small_and_holds_no_widget_state_and_no_time_stamps(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)

    assert path.stat().st_size < MAX_BYTES
    assert "widgets" not in notebook.metadata
    assert not any("execution" in cell.metadata for cell in notebook.cells)


@notebooks
def test_it_names_no_folder_of_the_machine_that_ran_it_and_no_key(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert re.findall(r"(?:/home|/root|/tmp|/Users|[A-Z]:\\\\Users)/\S*", text) == []
    assert re.findall(r"\bsk-\w{8,}", text) == []


@notebooks
def test_pictures_are_thumbnails_and_no_text_holds_base64(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            for mime_type, data in output.get("data", {}).items():
                if mime_type in {"image/png", "image/jpeg"}:
                    assert len(data) < 50_000
                else:
                    assert ";base64," not in json.dumps(data)


@notebooks
def test_it_says_the_same_again_without_a_key_and_without_a_network(path: Path) -> None:
    """Only what is recorded is answered: another question would be an error."""
    before = path.read_bytes()
    (report,) = check([path])

    assert report.faults == ()
    assert report.remarks == ()
    assert path.read_bytes() == before
    saved = nbformat.read(path, as_version=4)
    for old, new in zip(saved.cells, report.executed.cells, strict=True):
        assert old.get("outputs") == new.get("outputs")  # byte for byte on one machine


def test_each_recording_belongs_to_a_notebook_and_holds_no_content_of_a_file() -> None:
    found = sorted(RECORDINGS.iterdir())

    assert {one.stem for one in found} <= {path.stem for path in NOTEBOOKS}
    for file in (one for one in found if one.suffix == ".jsonl"):
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"[A-Za-z0-9+/]{200,}", text) == []
        assert scan(file) == []


def test_pictures_that_were_made_lie_beside_their_recording_and_each_is_asked_for() -> None:
    for folder in RECORDINGS.glob("*.files"):
        text = folder.with_suffix(".jsonl").read_text(encoding="utf-8")
        names = [file.name for file in folder.iterdir()]

        assert names
        assert [name for name in names if name not in text] == []


def test_notebooks_replay_in_another_folder(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    shutil.copytree(NOTEBOOKS[0].parent, folder, ignore=shutil.ignore_patterns(".agentcell"))
    (report,) = check([folder / "03_conversation.ipynb"])

    assert report.faults == ()
