"""Every cell of docs/prompts.md runs as written, against a server on loopback."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import media
from agentcell.testing import Call, GeminiServer, Reply

HERE = Path(__file__).parent
TEXT = (HERE.parent / "docs" / "prompts.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
PROMPT = re.search(r"`task.prompt`:\n\n```\n(.*?)```", TEXT, re.DOTALL)


def test_every_cell_runs(
    shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PROMPT is not None
    (tmp_path / "task.prompt").write_text(PROMPT[1], encoding="utf-8")
    (tmp_path / "receipt.png").write_bytes(media.png())
    replies: list[Any] = [
        "12.10.",
        "12.10, too.",
        Reply(calls=[Call("price", '{"item": "coffee"}', "c")]),
    ]
    shown = []
    with GeminiServer(*replies, "3.20.") as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.setenv("GEMINI_API_KEY", "AIzaSyTestKeyOfNobody1234567890abcdefg")
        for cell in CELLS:
            with capture_output() as captured:
                result = shell.run_cell(cell)
            assert result.success, (cell, result.error_in_exec)
            shown.append(captured.stdout)

    assert len(server.bodies) == 4
    said = [str(body["contents"][0]["parts"]) for body in server.bodies]
    assert "Lunch 8.90" in said[0]
    assert "What is the total?" in said[1]
    assert all("inlineData" in one for one in said[:2])
    assert any("model_start\ntool_start\ntool_end\nmodel_start\n" in one for one in shown)
    assert shell.user_ns["result"]["content"] == "12.10, too."
    (trace,) = (tmp_path / "traces").glob("*.jsonl")
    assert '"stop_reason":"completed"' in trace.read_text(encoding="utf-8")
