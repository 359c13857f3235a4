"""Every cell of docs/images.md runs as written, without a key."""

from __future__ import annotations

import re
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell_magics.generate_options import COMMANDS, GENERATE_OPTIONS

TEXT = (Path(__file__).parent.parent / "docs" / "images.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_every_cell_runs(shell: InteractiveShell) -> None:
    for cell in CELLS:
        with capture_output():
            assert shell.run_cell(cell).success, cell

    assert shell.user_ns["light"].paths[0].is_file()
    assert shell.user_ns["snow"].parents


def test_every_option_and_command_is_on_the_page() -> None:
    flags = [option.flags[-1] for option in GENERATE_OPTIONS]
    flags[flags.index("--n")] = "-n"
    flags[flags.index("--model")] = "-m"

    assert [flag for flag in flags if f"{flag} " not in TEXT and f"{flag}`" not in TEXT] == []
    assert [name for name in COMMANDS if f"%generate {name}" not in TEXT] == []
