"""`agentcell check` on notebooks that hang, die, come from elsewhere, or say what to leave out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from agentcell.checking import check, record
from agentcell.testing import ChatServer

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def code(source: str, *outputs: Any, tags: tuple[str, ...] = ()) -> Any:
    return new_code_cell(
        source, outputs=list(outputs), execution_count=1, metadata={"tags": list(tags)}
    )


def printed(text: str) -> Any:
    return new_output("stream", name="stdout", text=text)


def written(path: Path, *cells: Any, kernel: Any = KERNEL) -> Path:
    metadata = {"kernelspec": kernel} if kernel else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells), metadata=metadata), path)
    return path


def faults(path: Path, **options: Any) -> tuple[str, ...]:
    (report,) = check([path], **options)
    return report.faults


def children() -> set[int]:
    """Return the processes that this one started, at any depth."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,stat=,comm="],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(maxsplit=3) for line in listed.stdout.splitlines()]
    rows = [row for row in rows if row[3] != "ps"]
    found, size = {os.getpid()}, 0
    while size != len(found):
        size = len(found)
        found |= {int(row[0]) for row in rows if int(row[1]) in found and row[2][0] != "Z"}
    return found


HANGS = "import time\nprint('here', flush=True)\ntime.sleep(600)"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (HANGS, "cell 2: it ran for more than 3 s, and was ended"),
        ("import os; os._exit(3)", "cell 2: the kernel died"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "cell 2: the kernel died"),
        ("input('name? ')", "cell 2: it fails: StdinNotImplementedError"),
        ("import sys; sys.exit(3)", "cell 2: it fails: SystemExit: 3"),
        (
            r"raise ValueError('\x1b[31mred\x1b[0m \x07 ' + 'x' * 9_000)",
            "cell 2: it fails: ValueError: �[31mred�[0m � xxx",
        ),
    ],
)
def test_a_cell_that_ends_badly_is_a_fault_and_the_next_notebook_is_checked(
    tmp_path: Path, source: str, says: str
) -> None:
    written(tmp_path / "1.ipynb", code("print(1)", printed("1\n")), code(source), code("2"))
    written(tmp_path / "2.ipynb", code("print(1)", printed("1\n")))
    before = children()
    bad, good = check([tmp_path], timeout=3)

    assert any(fault.startswith(says) for fault in bad.faults), bad.faults
    assert all(len(fault) < 400 for fault in bad.faults)
    assert good.is_fine
    assert children() <= before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.ipynb", "2.ipynb"]


@pytest.mark.parametrize("name", ["ir", "julia-1.10", "no\x1bsuch", "../python3"])
def test_a_kernel_that_is_not_there_is_a_fault(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "a.ipynb", code("1"), kernel={**KERNEL, "name": name})
    (fault,) = faults(path)

    assert "kernel" in fault
    assert "\x1b" not in fault


@pytest.mark.parametrize("kernel", [None, {"display_name": "Python"}, {"name": ""}])
def test_a_notebook_that_names_no_kernel_runs_in_python(tmp_path: Path, kernel: Any) -> None:
    path = written(tmp_path / "a.ipynb", code("print(1)", printed("1\n")))
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["metadata"] = {} if kernel is None else {"kernelspec": kernel}
    path.write_text(json.dumps(notebook), encoding="utf-8")
    found = faults(path)

    assert found == () or found[0].startswith("no notebook can be read: ")


@pytest.mark.parametrize("minor", [0, 2, 4, 5])
def test_older_formats_and_cells_without_ids_are_read(
    tmp_path: Path, minor: int, recwarn: pytest.WarningsRecorder
) -> None:
    cell = {
        "cell_type": "code",
        "source": ["print(", "1)"],
        "metadata": {},
        "execution_count": 1,
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
    }
    notebook = {"nbformat": 4, "nbformat_minor": minor, "metadata": {}, "cells": [cell]}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")

    assert faults(tmp_path / "a.ipynb") == ()
    assert [str(one.message) for one in recwarn] == []


def test_format_3_is_read(tmp_path: Path) -> None:
    cell = {
        "cell_type": "code",
        "language": "python",
        "collapsed": False,
        "input": "print(1)",
        "metadata": {},
        "prompt_number": 1,
        "outputs": [{"output_type": "stream", "stream": "stdout", "text": "1\n"}],
    }
    notebook = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": [cell], "metadata": {}}],
    }
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")

    assert faults(tmp_path / "a.ipynb") == ()


CHANCE = "import time; print(time.time_ns())"


@pytest.mark.parametrize(
    ("source", "tag"),
    [
        (CHANCE, "nbval-ignore-output"),
        (f"# NBVAL_IGNORE_OUTPUT\n{CHANCE}", ""),
        (f"{CHANCE}\n  #NBVAL_IGNORE_OUTPUT", ""),
        (f"# PYTEST_VALIDATE_IGNORE_OUTPUT\n{CHANCE}", ""),
        ("1 / 0", "nbval-skip"),
        ("1 / 0", "skip-execution"),
        ("#NBVAL_SKIP\n1 / 0", ""),
    ],
)
def test_what_authors_say_to_nbval_is_heeded(tmp_path: Path, source: str, tag: str) -> None:
    saved = code(source, printed("saved\n"), tags=(tag,) if tag else ())
    path = written(tmp_path / "a.ipynb", saved, code("print(1)", printed("1\n")))
    (report,) = check([path])

    assert report.faults == ()
    assert report.executed.cells[0].metadata == saved.metadata
    if "1 / 0" in source:
        assert report.executed.cells[0].outputs == saved.outputs


@pytest.mark.parametrize(
    ("source", "tag"),
    [
        ("1 / 0", "raises-exception"),
        ("1 / 0", "nbval-raises-exception"),
        ("# NBVAL_RAISES_EXCEPTION\n1 / 0", ""),
    ],
)
def test_a_cell_that_is_to_fail_may(tmp_path: Path, source: str, tag: str) -> None:
    error = new_output("error", ename="ZeroDivisionError", evalue="division by zero")

    assert (
        faults(written(tmp_path / "a.ipynb", code(source, error, tags=(tag,) if tag else ()))) == ()
    )
    assert faults(written(tmp_path / "b.ipynb", code("pass", error, tags=("raises-exception",))))


def test_a_word_in_a_text_is_no_wish(tmp_path: Path) -> None:
    source = "print('# NBVAL_SKIP')\nprint('x # NBVAL_IGNORE_OUTPUT')"

    assert faults(written(tmp_path / "a.ipynb", code(source, printed("old\n"))))


def test_what_comes_otherwise_by_chance_is_the_same(tmp_path: Path) -> None:
    view = "application/vnd.jupyter.widget-view+json"
    widget = code(
        "import ipywidgets\nipywidgets.HTML('a')",
        new_output(
            "execute_result",
            {view: {"model_id": "x", "version_major": 2, "version_minor": 0}, "text/plain": "old"},
            execution_count=1,
        ),
        tags=(),
    )
    mingled = code(
        "import sys\nfor n in range(3):\n    print(n)\n    print(-n, file=sys.stderr)",
        new_output("stream", name="stderr", text="0\n-1\n-2\n"),
        printed("0\n1\n2\n"),
    )
    path = written(tmp_path / "a.ipynb", widget, mingled)

    (fault,) = faults(path)
    assert fault.startswith("cell 1: text/plain differs")


def test_much_output_and_a_figure_and_progress(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.ipynb",
        code("print('x' * 10_000_000)", printed("y")),
        code("import matplotlib.pyplot as plt\nplt.plot([1, 3])\nplt.show()"),
        code("for n in range(5):\n    print(f'{n}', end='\\r')", printed("0\r1\r2\r3\r4\r")),
    )
    found = faults(path)

    assert found[0].startswith("cell 1: stdout differs")
    assert found[1].startswith("cell 2: an output is new")
    assert all(len(fault) < 500 for fault in found)


def run(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agentcell", "check", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_odd_names_links_and_a_terminal_that_knows_no_letters(tmp_path: Path) -> None:
    good = code("print(open('值.txt', encoding='utf-8').read())", printed("七\n"))
    path = written(tmp_path / "two words 中文" / "笔记 1.ipynb", good)
    (path.parent / "值.txt").write_text("七", encoding="utf-8")
    (path.parent / "loop").symlink_to(path.parent)
    done = run("two words 中文", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("ok (") == 1
    assert sorted(one.name for one in path.parent.iterdir()) == ["loop", "值.txt", "笔记 1.ipynb"]


def test_ctrl_c_ends_the_check_and_its_kernels(tmp_path: Path) -> None:
    written(tmp_path / "1.ipynb", code("open('here', 'w').close()\nimport time; time.sleep(600)"))
    written(tmp_path / "2.ipynb", code("open('next', 'w').close()"))
    before = children()
    checking = subprocess.Popen(
        [sys.executable, "-m", "agentcell", "check", "."],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while not (tmp_path / "here").exists() and time.monotonic() < end:
        time.sleep(0.1)
    started = children() - before
    os.killpg(checking.pid, signal.SIGINT)
    out, err = checking.communicate(timeout=30)

    assert checking.returncode == 130
    assert err == "agentcell check: stopped, as you asked\n"
    assert out == ""
    assert not (tmp_path / "next").exists()
    time.sleep(0.5)
    assert len(started) >= 2
    assert not started & children()


def test_checks_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    written(tmp_path / "a.ipynb", code("print(1)", printed("1\n")))
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "agentcell", "check", "."],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]

    assert [one.wait(timeout=120) for one in both] == [0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["a.ipynb"]


LOADS = "%load_ext agentcell\n%agent record recordings/a.jsonl"


def test_what_is_saved_after_recording_is_what_a_replay_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(
        tmp_path / "a.ipynb",
        new_markdown_cell("# Title"),
        code(LOADS),
        code("%%agent openai-chat/one -o said\nHello?"),
        code("import os\nprint(os.environ['AGENTCELL_MODE'], said)"),
    )
    with ChatServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-Zq8vW3nR5tY7uB1x")
        server.reply("Good ", "day.")
        done = run("--record", "new", ".", cwd=tmp_path)
        asked = len(server.requests)
    saved = path.read_bytes()

    assert (done.returncode, done.stderr) == (0, "")
    assert asked == 1
    assert b"replay Good day." in saved
    assert faults(path) == ()
    (report,) = record([path])  # nothing is asked, and the file is not touched
    assert report.is_fine
    assert path.read_bytes() == saved
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.ipynb", "recordings"]


def test_a_notebook_that_fails_while_it_is_recorded_stays_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path / "a.ipynb", code("1 / 0", printed("old\n")))
    before = path.read_bytes()
    done = run("--record", "all", ".", cwd=tmp_path)

    assert done.returncode == 1
    assert "cell 1: it fails: ZeroDivisionError" in done.stdout
    assert path.read_bytes() == before


def test_recording_and_not_running_is_refused(tmp_path: Path) -> None:
    done = run("--record", "new", "--no-run", ".", cwd=tmp_path)

    assert done.returncode == 2
    assert "--no-run" in done.stderr
