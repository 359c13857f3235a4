"""A person at a terminal: a real `ipython` in a pseudo terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from promptly import PROMPTLY

pexpect = pytest.importorskip("pexpect", reason="IPython brings it where there are terminals")

PROMPT = r"In \[\d+\]: "
MORE = r"   \.\.\.: "

SETUP = (
    "from agentcell.magics import current_session; from scripted import ScriptedModel;"
    r" model = ScriptedModel(['The total ', 'is **27.95**.\n', 'Bye \x1b[31mnow\x07']);"
    " current_session().model = model"
)


class Terminal:
    """Types lines, and returns what appears until the next prompt."""

    def __init__(self, folder: Path) -> None:
        environment = {
            **os.environ,
            "TERM": "dumb",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ["PYTHONPATH"]]),
        }
        self.process = pexpect.spawn(
            sys.executable,
            ["-m", "IPython", "--simple-prompt", "--colors=nocolor", "--no-banner"],
            cwd=str(folder),
            env=environment,
            encoding="utf-8",
            timeout=30,
            dimensions=(40, 200),
        )
        self.process.expect(PROMPT)

    def line(self, text: str) -> str:
        self.process.sendline(text)
        return self._shown()

    def type_cell(self, *lines: str) -> None:
        for text in (*lines, ""):
            self.process.sendline(text)
            self.process.expect(MORE)
        self.process.sendline("")

    def cell(self, *lines: str) -> str:
        self.type_cell(*lines)
        return self._shown()

    def _shown(self) -> str:
        self.process.expect(PROMPT)
        return str(self.process.before).replace("\r\n", "\n").strip()


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    folder = tmp_path_factory.mktemp("terminal")
    Image.new("RGB", (60, 90), "white").save(folder / "receipt.png")
    terminal = Terminal(folder)
    terminal.line("%load_ext agentcell")
    terminal.line(SETUP)
    yield terminal
    terminal.process.close(force=True)


def test_a_question_is_answered_in_plain_lines_each_once(terminal: Terminal) -> None:
    shown = terminal.cell(
        '%%agent -a receipt=receipt.png -i receipt="IMAGE:Receipt"', "What is on {receipt}?"
    )

    *lines, footer = shown.splitlines()
    assert lines == [
        "[receipt_1 Receipt] PNG image, 60 × 90 px, 174 bytes",
        "Asked: What is on [receipt_1 Receipt]?",
        "The total is **27.95**.",
        "Bye now",
    ]
    assert footer.startswith("scripted/model · 10 tokens in, 3 out · ")


def test_quiet_is_the_answer_alone(terminal: Terminal) -> None:
    assert terminal.cell("%%agent -q", "Hi") == "The total is **27.95**.\nBye now"


def test_an_error_is_two_lines(terminal: Terminal) -> None:
    shown = terminal.cell("%%agent -a nope.png", "Hi")

    assert shown.splitlines()[0].startswith("AttachmentError: There is no file nope.png in ")
    assert shown.splitlines()[1].startswith("Fix: ")


def test_further_lines_of_a_row_stand_under_the_first(terminal: Terminal) -> None:
    terminal.cell("%%agent -a b=receipt.png --fresh -q", "Hi")
    lines = terminal.line("%agent").splitlines()

    first = next(n for n, line in enumerate(lines) if "attachments" in line)
    assert lines[first + 1].index("[b_1") == lines[first].index("[receipt_1")


def test_pieces_appear_as_they_come_and_control_c_stops_them(terminal: Terminal) -> None:
    terminal.line("model.pieces = [f'word{n} ' for n in range(500)]; model.wait = 0.05")
    terminal.type_cell("%%agent -o said", "Speak")
    terminal.process.expect("word9 ")
    began = time.monotonic()
    terminal.process.sendintr()
    terminal.process.expect(PROMPT)
    seconds = time.monotonic() - began
    shown = str(terminal.process.before)

    assert seconds < PROMPTLY
    assert "Stopped: after " in shown
    assert "Traceback" not in shown
    assert "'interrupted'" in terminal.line("said.status")
