"""Tools at a terminal: their lines are printed as they end, and the person is asked there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from test_terminal import PROMPT, Terminal

SETUP = (
    "from agentcell_magics import current_session;"
    " from agentcell.testing import FakeModel, Call, Reply;"
    " w = Call('weather', '{\"town\": \"Oslo\"}');"
    " said = [Reply('Let me see.', calls=[w]), w, 'It rains.', w, 'Sun.', 'Once.'];"
    " current_session().model = FakeModel(*said)"
)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    terminal.line("%load_ext agentcell")
    terminal.line("weather = lambda town: 'rain in ' + town")
    terminal.line(SETUP)
    yield terminal
    terminal.process.close(force=True)


def test_tools_are_lines_between_the_texts_and_the_person_is_asked(terminal: Terminal) -> None:
    *lines, footer = terminal.cell("%%agent -T weather", "How is it?").splitlines()
    assert lines == [
        "Let me see.",
        "weather(town='Oslo') · ok",
        "weather(town='Oslo') · ok",
        "It rains.",
    ]
    assert footer.startswith("fake/model · ")

    terminal.type_cell("%%agent -T weather --approve ask", "And now?")
    terminal.process.expect(r"Run weather\(town='Oslo'\)\? y = yes, n = no, a = all in this cell: ")
    terminal.process.sendline("n")
    terminal.process.expect(PROMPT)
    shown = str(terminal.process.before)
    assert "refused: the call was not allowed: the person said no" in shown
    assert "Sun." in shown

    assert "Once." in terminal.cell("%%agent --async -o h", "Tell.")
    assert "Answer('Once.')" in terminal.line("h.result()")
