"""A notebook's history of 100,000 turns: opening it, the last 50, appending, re-running, undoing.

Run it: ``python benchmarks/history.py [TURNS]``. Each turn holds about 400 bytes of text. Times are
CPU of this process; medians. Every write is durable (it waits for the disk; that wait is no CPU).
The exit code is 1 if a limit is passed.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentcell.history.database import Database
from agentcell.history.notebook import NotebookHistory
from agentcell.history.turns import Turn

LIMITS = {
    "open": 20.0,
    "last 50, first time": 1.0,
    "last 50, again": 1.0,
    "past of a question": 1.0,
    "append": 0.5,
    "re-run of the last cell": 5.0,
    "re-run of the middle cell": 5.0,
    "re-run of the first cell": 5.0,
    "undo of an append": 5.0,
    "undo of a re-run in the middle": 5.0,
}
"""Milliseconds."""

COPIES = (
    """WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO turn SELECT i, conversation, 't' || i, 'c' || i, i, part, state, NULL, i, i, 0,
    ended + i, status, fresh, system, skills, model, usage FROM turn, n""",
    """WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO body SELECT i,
    replace(replace(json, 't1', 't' || i), '"c1"', '"c' || i || '"') FROM body, n""",
    "UPDATE counter SET value = ? WHERE name = 'changes'",
)
"""They make all other turns of the first one."""

TEXT = "What does the receipt say about it? " * 5


def turn(name: str, cell: str | None) -> Turn:
    return Turn(
        id=name,
        cell_id=cell,
        messages=(
            {"role": "user", "content": f"{TEXT}{name}"},
            {"role": "assistant", "content": TEXT},
        ),
        status="complete",
        model="scripted/model",
        finish_reason="stop",
        seconds=1.0,
    )


def fill(folder: Path, count: int) -> None:
    """Write `count` turns as the history itself would: one is written, then copied."""
    history = NotebookHistory(folder, notebook="a.ipynb")
    history.put("main", turn("t1", "c1"))
    history.close()
    database = Database(folder / ".agentcell" / "session.sqlite")
    with database.transaction():
        for statement in COPIES:
            database.write(statement, count)
    database.close()


def timed(work: Callable[..., Any], *values: Any, **options: Any) -> float:
    """Return milliseconds of CPU."""
    began = time.process_time()
    work(*values, **options)
    return (time.process_time() - began) * 1_000


def measure(folder: Path, count: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in LIMITS}
    for _ in range(15):
        history = NotebookHistory(folder, notebook="a.ipynb")
        found["open"].append(timed(history.tags))
        found["last 50, first time"].append(timed(history.turns, "main", last=50))
        found["last 50, again"].append(timed(history.turns, "main", last=50))
        found["past of a question"].append(timed(history.past, "main", "new"))
        history.close()
    history = NotebookHistory(folder, notebook="a.ipynb")
    history.tags()
    for number in range(300):
        new = turn(f"n{number}", f"x{number}")
        found["append"].append(timed(history.put, "main", new))
    for number in range(20):
        for name, cell in (
            ("last", "x299"),
            ("middle", f"c{count // 2 + number}"),
            ("first", f"c{number + 1}"),
        ):
            new = turn(f"{name}{number}", cell)
            again = timed(history.put, "main", new)
            found[f"re-run of the {name} cell"].append(again)
    for number in range(20):
        history.put("main", turn(f"u{number}", f"u{number}"))
        found["undo of an append"].append(timed(history.undo))
        history.put("main", turn(f"v{number}", f"c{count // 2 + number}"))
        found["undo of a re-run in the middle"].append(timed(history.undo))
    return found


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    passed = False
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), count)
        size = (Path(folder) / ".agentcell" / "session.sqlite").stat().st_size
        print(f"{count:,} turns, {size / 1e6:.0f} MB")
        for name, times in measure(Path(folder), count).items():
            middle, worst = statistics.median(times), max(times)
            over = middle > LIMITS[name]
            passed = passed or over
            print(
                f"{name:32} {middle:7.3f} ms (most {worst:7.3f}), limit {LIMITS[name]:4.1f}"
                f"{'  OVER' if over else ''}"
            )
    return int(passed)


if __name__ == "__main__":
    sys.exit(main())
