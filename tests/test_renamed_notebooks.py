"""Notebooks that are renamed, copied or replaced: whose history is whose."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from notebook_history_kit import Opened, asked, lives, marks, media, photo


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return lives(tmp_path)


def write_notebook(file: Path, *cells: str, later: float = 60) -> None:
    """Save a notebook, some seconds from now."""
    file.write_text(json.dumps({"cells": [{"id": cell} for cell in cells]}), encoding="utf-8")
    os.utime(file, (time.time() + later,) * 2)


def test_a_renamed_notebook_keeps_its_history(opened: Opened, tmp_path: Path) -> None:
    first = opened("a.ipynb")
    first.ask("one", cell_id="1")
    first.ask("old", cell_id="1")
    write_notebook(tmp_path / "b.ipynb", "1", "2")
    second = opened("b.ipynb")

    assert asked(second, "two", cell_id="2") == ["old", "Hello", "two"]
    assert opened("a.ipynb").turns == ()
    assert [turn.question for turn in second.history.versions(second.turns[0].id)] == ["one"]


def test_a_copied_notebook_begins_with_a_copy_and_goes_its_own_way(
    opened: Opened, tmp_path: Path
) -> None:
    first = opened("a.ipynb")
    first.ask("one {x}", values={"x": photo()}, cell_id="1")
    first.ask("gone", cell_id="deleted")
    write_notebook(tmp_path / "a.ipynb", "1", "deleted")
    write_notebook(tmp_path / "b.ipynb", "1", "2")
    second = opened("b.ipynb")
    sent = asked(second, "two", cell_id="2")
    second.ask("one of b", cell_id="1")

    assert sent[1:] == ["Hello", "two"]
    assert [turn.question for turn in second.turns] == ["one of b", "two"]
    assert [turn.question for turn in opened("a.ipynb").turns] == ["one [x_1 x]", "gone"]
    second.reset()
    assert len(media(opened("a.ipynb").prepare("x").messages)) == 1


def test_another_notebook_begins_empty_whatever_its_file_holds(
    opened: Opened, tmp_path: Path
) -> None:
    opened("a.ipynb").ask("one", cell_id="1")
    for number, content in enumerate(["{", "[]", '{"cells": [1]}', '{"cells": [{"id": "9"}]}']):
        (tmp_path / f"{number}.ipynb").write_text(content, encoding="utf-8")
        assert opened(f"{number}.ipynb").turns == ()


def test_a_new_notebook_under_a_deleted_one_s_name_begins_empty(
    opened: Opened, tmp_path: Path
) -> None:
    write_notebook(tmp_path / "a.ipynb", "cell-one", "cell-two")
    first = opened()
    first.ask("old {x}", values={"x": photo()}, cell_id="cell-one")
    assert len(opened().turns) == 1
    write_notebook(tmp_path / "a.ipynb", "cell-new")
    second = opened()

    assert asked(second, "new", cell_id="cell-new") == ["new"]
    assert second.attachments == ()
    second.restore("last")
    assert marks(second) == "old [x_1 x] new"
    second.ask("old again", cell_id="cell-one")
    assert [turn.question for turn in second.turns if "old" in turn.question] == ["old again"]


def test_a_notebook_that_was_not_saved_yet_is_no_other_one(opened: Opened, tmp_path: Path) -> None:
    write_notebook(tmp_path / "a.ipynb", later=0)  # JupyterLab makes it without cells
    opened().ask("one", cell_id="cell-one")

    assert [turn.question for turn in opened().turns] == ["one"]


def test_a_notebook_whose_file_names_no_cells_begins_anew_each_time(
    opened: Opened, tmp_path: Path
) -> None:
    opened().ask("one", cell_id="random-id-1")
    (tmp_path / "a.ipynb").write_text('{"cells": [{"source": "x"}]}', encoding="utf-8")
    os.utime(tmp_path / "a.ipynb", (time.time() + 60,) * 2)
    second = opened()
    second.ask("two", cell_id="random-id-2")

    assert marks(second) == "two"
    assert [run.question for run in second.history.former_runs] == ["one"]
