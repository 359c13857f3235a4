"""Every cell of docs/batches.md runs as written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell import LegacyOpenAIModel
from agentcell.agents.mapping import MapsRows
from agentcell.batch import Plan
from agentcell.testing import FakeModel
from agentcell.testing.batch_server import ChatBatchServer
from agentcell_magics import current_session

TEXT = (Path(__file__).parent.parent / "docs" / "batches.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_every_cell_runs(shell: InteractiveShell) -> None:
    def reply(request: Any) -> str:
        return '{"mood": "happy"}' if "mood" in str(request.body) else "Happy."

    with ChatBatchServer(reply) as server:
        server.batches.looks = 0
        current_session().model = FakeModel("Happy.")
        shell.push({"pd": pd, "model": LegacyOpenAIModel("m", base_url=server.url)})
        for cell in CELLS:
            with capture_output():
                result = shell.run_cell(cell)
            assert result.success, cell

    assert list(shell.user_ns["answers"].columns) == ["review", "stars", "answer", "error"]
    assert list(shell.user_ns["result"]) == [{"mood": "happy"}] * 2
    assert shell.user_ns["failed"] == []
    assert len(server.batches.jobs) == 1


def test_every_option_in_the_table_is_one_with_the_default_that_it_tells() -> None:
    table = TEXT.partition("| option |")[2].partition("\n\n")[0]
    named = re.findall(r"`(\w+)=([^`]*?)`", table)
    usual = Plan()

    for name, value in named:
        assert hasattr(usual, name), name
        if name in {"retries", "retry_delay"}:
            assert str(getattr(usual, name)) == value
    assert {name for name, _ in named} <= set(Plan.__dataclass_fields__)


def test_the_option_names_of_map_stand_in_its_docstring() -> None:
    doc = MapsRows.map.__doc__ or ""
    hidden = {"executor", "ordered", "ahead", "cap"}

    assert all(name in doc for name in Plan.__dataclass_fields__ if name not in hidden)
