from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TEST = """
import os
from agentcell.testing import FakeModel

def test_it(agentcell_recording):
    model = FakeModel("the first", "the second")
    said = agentcell_recording(model).invoke([{"role": "user", "content": "Say"}])["content"]
    print("said", said, "asked", len(model.requests), "mode", os.environ.get("AGENTCELL_MODE"))
"""


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"),
            *arguments,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_test_is_recorded_once_and_replayed_from_then_on(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(TEST, encoding="utf-8")
    missed = run(tmp_path)
    recorded = run(tmp_path, "--agentcell-mode=record")
    replayed = run(tmp_path)

    assert "RecordingMiss" in missed
    assert "said the first asked 1 mode record" in recorded
    assert "said the first asked 0 mode None" in replayed
    assert (tmp_path / "recordings" / "test_a.jsonl").exists()


def test_another_mode_is_refused(tmp_path: Path) -> None:
    assert "invalid choice: 'play'" in run(tmp_path, "--agentcell-mode=play")
