"""Every cell of docs/tools.md runs as written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell.testing.fake_model import FakeModel
from agentcell.testing.replies import Call
from agentcell_magics import current_session

HERE = Path(__file__).parent
TEXT = (HERE.parent / "docs" / "tools.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)

ANSWERS: list[Any] = [
    Call("weather", '{"town": "Oslo"}'),
    "Yes.",
    Call("pay", '{"amount": 5, "to": "Ada"}'),
    "Paid.",
    Call("add", '{"a": 1, "b": 2}'),
    "Three.",
    '{"total": 27.95, "shop": "ALDI"}',
    "A list of what was bought.",
    "Once upon a time.",
]


def test_every_cell_runs(shell: InteractiveShell, tmp_path: Path) -> None:
    server = f"import runpy, sys\nsys.path.insert(0, {str(HERE)!r})\n"
    server += f"runpy.run_path({str(HERE / 'mcp_tools_server.py')!r}, run_name='__main__')\n"
    (tmp_path / "shelf.py").write_text(server, encoding="utf-8")
    (tmp_path / "skills" / "brief").mkdir(parents=True)
    (tmp_path / "skills" / "brief" / "SKILL.md").write_text("Be brief.", encoding="utf-8")
    current_session().model = model = FakeModel(*ANSWERS)

    for cell in CELLS:
        with capture_output() as captured:
            result = shell.run_cell(cell)
        assert result.success, cell
        assert "refused" not in captured.stdout
    last = result.result
    shell.user_ns["shelf"].close()

    assert last == "Once upon a time."
    assert shell.user_ns["receipt"].shop == "ALDI"
    assert len(model.requests) == len(ANSWERS)
    assert [m["content"] for m in model.requests[-1].messages if m["role"] == "tool"] == [
        "rain in Oslo",
        "paid 5.0 to Ada",
        "3",
    ]
