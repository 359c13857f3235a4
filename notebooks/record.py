"""Records the notebooks' answers anew and saves what the notebooks then show.

``python notebooks/record.py [NOTEBOOK ...]``. The answers of ``04_…`` are scripted below and given
by a real server on loopback; all others come from the embedded reader or from the notebook itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentcell.adapters.recording import Recording
from agentcell.checking import record
from agentcell.testing import Call, ChatServer

HERE = Path(__file__).parent

SCRIPTED = "04_tools_and_structured_output"

LEFT_OUT = {"06_reproducible_notebooks": "What is the tax on"}
"""Questions whose answers are taken out again: that notebook shows what a miss looks like."""


def main(paths: list[Path]) -> int:
    """Record, then replay and save; return the exit code."""
    for path in paths:
        with scripted(path):
            (report,) = record([path], again=True, before_replay=leave_out)
        print("\n  ".join([report.summary(), *report.faults]))
        if not report.is_fine:
            return 1
    return 0


def leave_out(path: Path) -> None:
    """Take an answer out of a notebook's recording, if one is to be missing."""
    if path.stem not in LEFT_OUT:
        return
    recording = Recording(path.parent / "recordings" / f"{path.stem}.jsonl")
    for entry in list(recording.entries()):
        if LEFT_OUT[path.stem] not in str(entry.asked):
            recording.get(entry.key)
    recording.prune()


@contextmanager
def scripted(path: Path) -> Iterator[None]:
    """Let OpenAI's address be that of a server which gives the notebook's answers."""
    if path.stem != SCRIPTED:
        yield
        return
    with ChatServer() as server:
        server.reply(
            calls=[
                Call("price", '{"item": "coffee"}', id="call_1"),
                Call("price", '{"item": "cake"}', id="call_2"),
            ]
        )
        server.reply("Two coffees and a cake ", "cost **$10.50**.")
        server.reply_tool_call("price", '{"item": "juice"}', call_id="call_3")
        server.reply("There is no juice on today's list; ", "there are coffee, tea and cake.")
        server.reply('{"shop": "Green Valley Market", "date": "2026-03-14", "total": 27.95}')
        os.environ["OPENAI_BASE_URL"] = server.url
        try:
            yield
        finally:
            del os.environ["OPENAI_BASE_URL"]


if __name__ == "__main__":
    given = [Path(name) for name in sys.argv[1:]]
    raise SystemExit(main(given or sorted(HERE.glob("*.ipynb"))))
