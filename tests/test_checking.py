from __future__ import annotations

import base64
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)
from PIL import Image

from agentcell.checking import Report, check

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def picture(color: tuple[int, int, int] = (10, 120, 30), kind: str = "PNG") -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (20, 10), color).save(buffer, kind)
    return base64.b64encode(buffer.getvalue()).decode()


def code(source: str, *outputs: Any, tags: tuple[str, ...] = ()) -> Any:
    return new_code_cell(
        source, outputs=list(outputs), execution_count=1, metadata={"tags": list(tags)}
    )


def printed(text: str) -> Any:
    return new_output("stream", name="stdout", text=text)


def shown(data: dict[str, Any], metadata: dict[str, Any] | None = None) -> Any:
    return new_output("display_data", data, metadata=metadata or {})


def written(folder: Path, *cells: Any, name: str = "a.ipynb", **metadata: Any) -> Path:
    notebook = new_notebook(cells=list(cells), metadata={"kernelspec": KERNEL, **metadata})
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / name)
    return folder / name


def displays(arguments: str) -> str:
    return f"from IPython.display import display\ndisplay({arguments}, raw=True);"


def one(path: Path, **options: Any) -> Report:
    (report,) = check([path], **options)
    return report


def looked(folder: Path, *cells: Any, **metadata: Any) -> Report:
    return one(written(folder, *cells, **metadata), execute=False)


def test_a_notebook_that_says_the_same_again_is_fine(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        new_markdown_cell("# Title"),
        code("for n in range(3):\n    print(n, flush=True)", printed("0\n1\n"), printed("2\n")),
        code(
            "1 / 0",
            new_output("error", ename="ZeroDivisionError", evalue="division by zero"),
            tags=("raises-exception",),
        ),
    )
    before = path.read_bytes()
    report = one(path)

    assert report.faults == ()
    assert report.is_fine
    assert report.summary() == f"{path}: ok (2 cells, 1 kB, 0 pictures)"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("source", "output", "says"),
    [
        ("print('new')", printed("old\n"), "cell 1: stdout differs: saved 'old\\n', now 'new\\n'"),
        ("print('a')", None, "cell 1: an output is new: 'a\\n'"),
        ("pass", printed("a\n"), "cell 1: an output is gone: 'a\\n'"),
        (
            displays("{'text/plain': 'b', 'text/markdown': 'b'}"),
            shown({"text/plain": "a", "text/markdown": "b"}),
            "cell 1: text/plain differs: saved 'a', now 'b'",
        ),
        (
            displays("{'text/plain': 'b'}"),
            shown({"text/plain": "b", "text/html": "b"}),
            "cell 1: instead of text/html, text/plain came text/plain",
        ),
        (
            displays("{'text/plain': 'b'}, metadata={'a': 1}"),
            shown({"text/plain": "b"}, {"a": 2}),
            "cell 1: the output's metadata differs",
        ),
    ],
)
def test_what_differs_is_told_with_its_cell(
    tmp_path: Path, source: str, output: Any, says: str
) -> None:
    report = one(written(tmp_path, code(source, *([output] if output else []))))

    assert any(fault.startswith(says) for fault in report.faults), report.faults
    assert "1 faults" in report.summary()


SHOWS = """from IPython.display import display
display({{'image/png': {data!r}, 'text/plain': 'a picture'}}, raw=True,
        metadata={{'image/png': {{'alt': 'green'}}}})"""


@pytest.mark.parametrize(
    ("now", "same"),
    [((10, 120, 30), True), ((12, 119, 31), True), ((60, 60, 60), False)],
    ids=["the same", "another codec", "another picture"],
)
def test_pictures_are_compared_by_what_they_show(
    tmp_path: Path, now: tuple[int, int, int], same: bool
) -> None:
    output = shown(
        {"image/png": picture(), "text/plain": "a picture"}, {"image/png": {"alt": "green"}}
    )
    report = one(written(tmp_path, code(SHOWS.format(data=picture(now)), output)))

    assert report.is_fine is same
    assert report.pictures == 1


def test_an_error_that_is_not_expected_is_a_fault_even_where_it_was_saved(tmp_path: Path) -> None:
    saved = new_output("error", ename="ZeroDivisionError", evalue="division by zero")
    report = one(written(tmp_path, code("1 / 0", saved)))

    assert report.faults == ("cell 1: it fails: ZeroDivisionError: division by zero",)


def test_no_key_of_the_environment_reaches_the_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-Zq8vW3nR5tY7uB1x")
    source = "import os; print(os.environ.get('OPENAI_API_KEY'), os.environ['AGENTCELL_MODE'])"
    report = one(written(tmp_path, code(source, printed("None replay\n"))))

    assert report.faults == ()


def test_a_key_in_an_output_is_a_fault_that_does_not_repeat_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-proj-Zq8vW3nR5tY7uB1x"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    report = looked(tmp_path, code("show()", printed(f"key: {key}\n")))

    assert any("OPENAI_API_KEY" in fault for fault in report.faults)
    assert key[8:14] not in str(report.faults)


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (new_markdown_cell("![A plot](https://example.com/a.png)"), "loads from another host"),
        (new_markdown_cell("![A plot](//example.com/a.png)"), "loads from another host"),
        (
            code("x", shown({"text/html": "<img alt='a' src='https://example.com/a.png'>"})),
            "loads from another host: <img alt='a' src='https://example.com/a.png",
        ),
        (
            code("x", shown({"text/html": "<script src=//example.com/a.js></script>"})),
            "loads from another host",
        ),
        (code("x", shown({"text/html": "QUJD" * 60})), "holds a file as base64 in text/html"),
        (code("x", printed("QUJD" * 60)), "holds a file as base64 in text/plain"),
    ],
)
def test_what_must_not_go_out_is_a_fault(tmp_path: Path, cell: Any, says: str) -> None:
    report = looked(tmp_path, cell)

    assert len(report.faults) == 1
    assert report.faults[0].startswith(f"cell 1: {says}")


def test_a_link_is_no_remote_picture(tmp_path: Path) -> None:
    report = looked(
        tmp_path,
        new_markdown_cell(
            "[A page](https://example.com) and <a href='https://example.com'>one</a>"
        ),
    )

    assert report.is_fine


def test_widget_state_is_a_fault(tmp_path: Path) -> None:
    report = looked(tmp_path, code("x"), widgets={"state": {"a": 1}})

    assert report.faults == ("widget state is saved; clear it, or do not save widget state",)


def test_what_could_be_better_is_a_remark(tmp_path: Path) -> None:
    widget = "application/vnd.jupyter.widget-view+json"
    report = looked(
        tmp_path,
        new_markdown_cell("![](a.png)"),
        code("x", shown({"image/png": picture(), "text/plain": ""})),
        code("x", shown({widget: {"model_id": "a"}, "text/plain": "W()"})),
        code("x", shown({"image/png": picture()}, {"image/png": {"alt": "A plot"}})),
    )

    assert report.is_fine
    assert report.remarks == (
        "cell 1: a picture has no alternative text",
        "cell 2: a picture has no alternative text",
        "cell 3: a widget shows nothing without a kernel",
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"nbformat": 4, "cells": [{}]}'])
def test_a_file_that_is_no_notebook_is_a_fault_of_its_own(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8")
    report = one(tmp_path / "a.ipynb")

    assert len(report.faults) == 1
    assert report.faults[0].startswith("no notebook can be read")


def command(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agentcell", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_tells_each_notebook_of_a_folder(tmp_path: Path) -> None:
    written(tmp_path / "docs", code("print(1)", printed("1\n")), name="good.ipynb")
    written(tmp_path / "docs" / "deep", code("print(1)", printed("2\n")), name="bad.ipynb")
    written(tmp_path / "docs" / ".ipynb_checkpoints", code("1 / 0"), name="old.ipynb")
    done = command("check", "docs", cwd=tmp_path)
    lines = done.stdout.splitlines()

    assert done.returncode == 1
    assert [line.split(" (")[0] for line in lines if "cells," in line] == [
        "docs/deep/bad.ipynb: 1 faults",
        "docs/good.ipynb: ok",
    ]
    assert "  cell 1: stdout differs: saved '2\\n', now '1\\n'" in lines
    assert done.stderr == ""


def test_the_command_can_look_only_and_be_strict(tmp_path: Path) -> None:
    written(tmp_path, new_markdown_cell("![](a.png)"), code("print(1)", printed("2\n")))

    assert command("check", ".", "--no-run", cwd=tmp_path).returncode == 0
    assert command("check", ".", "--no-run", "--strict", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_the_command_says_where_nothing_is(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty").mkdir()
    done = command("check", path, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("agentcell check:")
