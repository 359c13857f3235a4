"""docs/adapters.md: each block of code is run as it stands there."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agentcell.adapters.registry import providers
from agentcell.testing import ChatServer

PAGE = (Path(__file__).parent.parent / "docs" / "adapters.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's files, and its package as if it were installed."""
    folder = tmp_path_factory.mktemp("page")
    for kind, text in BLOCKS:
        if kind:
            name = re.match(r"# (\S+\.\w+)\n", text)
            assert name, f"a block does not say which file it is: {text[:40]}"
            (folder / name[1]).write_text(text, encoding="utf-8")
    told = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{told['name'].replace('-', '_')}-{told['version']}.dist-info"
    info.mkdir()
    head = f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: {told['version']}\n"
    (info / "METADATA").write_text(head)
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
        for group, named in told["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(points))
    return folder


def run(folder: Path, *command: str) -> str:
    path = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])
    ran = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_tests_on_the_page_pass(project: Path) -> None:
    said = run(project, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider")

    assert re.search(r"\d\d passed, \d\d skipped", said)
    assert "does not apply: no server speaks its protocol" in said


def test_the_cell_on_the_page_is_answered(project: Path) -> None:
    (cell,) = [text for kind, text in BLOCKS if not kind]
    code = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "agentcell")
shell.run_cell({cell!r})
shell.history_manager.end_session()
"""
    assert "You said: Is anybody there?" in run(project, "-c", code)


def test_the_rest_of_the_page_runs(project: Path) -> None:
    assert "applies  it_is_a_model_with_a_name" in run(project, "by_hand.py")
    code = "import register; from agentcell import Session; print(Session('parrot').ask('Hi'))"
    assert run(project, "-c", code).strip() == "You said: Hi"


def test_each_method_in_the_table_is_one() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE, flags=re.MULTILINE)
    named = {word for row in rows for word in re.findall(r"`(\w+)", row)}

    assert {"reply", "fail", "stall", "cut", "reset", "end_early", "requests"} <= named
    with ChatServer() as server:
        for name in named:
            assert hasattr(server, name)
    planned = {"reply", "reply_tool_call", "fail", "fail_midway", "stall", "cut", "reset"}
    public = {name for name, _ in inspect.getmembers(ChatServer, inspect.isfunction)}
    assert planned <= public & named


def test_the_providers_of_the_page_are_nobodys_yet() -> None:
    assert {"parrot", "my-service"}.isdisjoint(info.name for info in providers())
