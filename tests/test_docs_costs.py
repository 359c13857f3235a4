"""Every cell of docs/costs.md runs as written, without a key."""

from __future__ import annotations

import re
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell import Budget
from agentcell.adapters.pricing import forget_price
from agentcell_magics import current_session

TEXT = (Path(__file__).parent.parent / "docs" / "costs.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_every_cell_runs(shell: InteractiveShell) -> None:
    shown = []
    try:
        for cell in CELLS:
            with capture_output() as captured:
                assert shell.run_cell(cell).success, cell
            shown.append("\n".join(str(one.data.get("text/plain", "")) for one in captured.outputs))
    finally:
        forget_price("openai/my-model")

    assert "max_output_tokens: 200" in shown[0]
    assert "$2.00" in shown[3]
    assert current_session().budget == Budget(usd=2, ask_above="0.1")
    assert shell.user_ns["answer"].cost == 0
