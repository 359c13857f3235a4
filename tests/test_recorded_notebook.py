"""A notebook is recorded against real servers and replays everywhere, without them or a key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from agentcell.adapters.recording import Recording
from agentcell.checking import check, record
from agentcell.testing import Call, ChatServer, Reply, Request

KEY = "sk-proj-Zq8vW3nR5tY7uB1x"

STOPPED = """\
import os, signal, threading
if os.environ.get("AGENTCELL_MODE") != "replay":
    threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
get_ipython().run_cell_magic("agent", "", "Slow?")"""

CELLS: list[tuple[str, bool]] = [
    (
        """\
%load_ext agentcell
%agent record recordings/all.jsonl
%agent model openai-chat/one
from PIL import Image
dot = Image.new("RGB", (40, 30), "red")
def weather(town: str) -> str:
    "Tell the weather."
    return f"rain in {town}"
def draw():
    "Draw."
    return Image.new("RGB", (30, 20), "green")
Rain = dict[str, bool]""",
        False,
    ),
    ("%%agent\nWhat is it? {dot}", False),
    ("%%agent -T weather -T draw\nWeather?", False),
    ("%%agent --schema Rain -o rain\nRain?", False),
    ("rain", False),
    ("%%agent --fresh\nRefuse?", False),
    ("%%agent --fresh\nBusy?", True),
    ("%%agent --fresh\nBusy once?", False),
    (STOPPED, True),
    ("%%agent --async -o one -c one\nTell one.", False),
    ("%%agent --async -o two -c two\nTell two.", False),
    ("print(one.result(), two.result())", False),
    ("%agent history", False),
]


ANSWERS = {
    "What is it?": Reply("A **red** ", "dot.", thinking=("hm",), usage=(900, 7)),
    "Weather?": Reply(
        "Let me see.", calls=(Call("weather", '{"town": "Oslo"}', id="1"), Call("draw", id="2"))
    ),
    "Rain?": Reply('{"rains": ', "true}"),
    "Refuse?": Reply(refusal="I will not."),
    "Busy": Reply("Free now."),
    "Slow?": Reply("So ", "it ", "begins", stall=3),
    "Tell one.": Reply(*["one "] * 12, delay=0.02),
    "Tell two.": Reply(*["two "] * 12, delay=0.02),
}


def answer(request: Request) -> Reply:
    """Say what belongs to the question, whichever comes first."""
    asked = str(request.body["messages"][-1]["content"])
    found = next((reply for question, reply in ANSWERS.items() if question in asked), None)
    return found or Reply("It rains in ", "**Oslo**.")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return a notebook as its author saves it, and what the recording pass itself showed."""
    path = tmp_path_factory.mktemp("author") / "all.ipynb"
    cells = [new_code_cell(source) for source, _ in CELLS]
    for cell, (_, fails) in zip(cells, CELLS, strict=True):
        cell.metadata["tags"] = ["raises-exception"] if fails else []
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    busy = {"Busy?": 99, "Busy once?": 1}

    def reply(request: Request) -> Reply:
        asked = str(request.body["messages"][-1]["content"])
        for question, left in busy.items():
            if question in asked and left:
                busy[question] = left - 1
                return Reply(status=429, headers={"retry-after": "0"}, raw='{"error": {}}')
        return answer(request)

    with ChatServer(*[reply] * 60) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", KEY)
        (first,) = check([path], mode="rerecord", timeout=60)
        assert first.faults == ()
        asked = len(server.requests)
        (report,) = record([path], timeout=60)
        # What did not come to its end is asked for again where that may be.
        assert len(server.requests) - asked <= 8
    assert report.faults == ()
    return path, first.executed


def outputs(notebook: Any) -> list[Any]:
    return [cell.get("outputs", []) for cell in notebook.cells]


def test_the_recording_pass_shows_what_the_replay_shows(recorded: tuple[Path, Any]) -> None:
    path, first = recorded
    saved = outputs(nbformat.read(path, as_version=4))

    for number, (before, now) in enumerate(zip(outputs(first), saved, strict=True), start=1):
        assert before == now, f"cell {number}"


def test_the_notebook_shows_each_kind_of_answer(recorded: tuple[Path, Any]) -> None:
    text = recorded[0].read_text(encoding="utf-8")

    for said in ("red", "It rains in", "I will not.", "RateLimited", "Free now.", "So it "):
        assert said in text
    assert "one one" in text
    assert "two two" in text
    assert "one two one" not in text


def test_nothing_secret_and_no_picture_is_in_the_recording(recorded: tuple[Path, Any]) -> None:
    file = recorded[0].parent / "recordings" / "all.jsonl"
    text = file.read_text(encoding="utf-8")

    assert KEY not in text
    assert "authorization" not in text.lower()
    assert "base64" not in text
    assert len(Recording(file)) >= 9


ELSEWHERE = {
    "another language and time": {
        "LANG": "zh_CN.UTF-8",
        "LANGUAGE": "zh",
        "TZ": "Asia/Shanghai",
        "PYTHONHASHSEED": "7",
    },
    "other keys": {"ANTHROPIC_API_KEY": "sk-ant-x", "GEMINI_API_KEY": "x", "OPENAI_API_KEY": "y"},
}


@pytest.mark.parametrize("where", list(ELSEWHERE))
def test_it_replays_byte_for_byte_in_another_folder_and_environment(
    recorded: tuple[Path, Any],
    tmp_path: Path,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "an other 文件夹"
    shutil.copytree(recorded[0].parent, folder)
    file = folder / "recordings" / "all.jsonl"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))  # as git for Windows may
    for name, value in ELSEWHERE[where].items():
        monkeypatch.setenv(name, value)
    saved = outputs(nbformat.read(folder / "all.ipynb", as_version=4))
    for _ in range(2):
        (report,) = check([folder / "all.ipynb"], timeout=60)
        assert report.faults == ()
        assert outputs(report.executed) == saved
    assert sorted(one.name for one in folder.iterdir()) == ["all.ipynb", "recordings"]


def test_strict_nbval_passes_without_a_plug_in_of_ours(
    recorded: tuple[Path, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "there"
    shutil.copytree(recorded[0].parent, folder)
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider"),
            *("--nbval-current-env", "--nbval-cell-timeout=60", "-c", os.devnull, "all.ipynb"),
        ],
        cwd=folder,
        env={**os.environ, "AGENTCELL_MODE": "replay"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout[-4000:]
