"""How long a recording of 10,000 answers takes to open and to look up: ``python recordings.py``."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from agentcell.adapters.events import Event, Finished, TextDelta
from agentcell.adapters.model import Model
from agentcell.adapters.recording import Entry, Recording, RecordingMiss, RecordingModel
from agentcell.adapters.recording.canonical import canonical, key_of
from agentcell.messages import Message

ENTRIES = 10_000
RUNS = 7

HOLD = {"open": 0.100, "look up": 0.001, "answer": 0.001}
"""Seconds."""


def question(number: int) -> list[Message]:
    """Return the messages of one of the questions."""
    return [{"role": "user", "content": f"Question {number}: what is on receipt {number}?"}]


def written(path: Path) -> list[str]:
    """Write a recording and return its keys."""
    said: tuple[tuple[float, Event], ...] = (
        (0.1, TextDelta("The total is $27.95, paid by card. " * 10)),
        (0.9, Finished(reason="stop")),
    )
    entries = []
    for number in range(ENTRIES):
        asked = canonical("custom/one", question(number), None, None)
        entries.append(Entry(key=key_of(asked), asked=asked, events=said, seconds=0.9))
    lines = sorted(entry.line() for entry in entries)
    path.write_text(
        "\n".join(['{"agentcell":"recording","version":1}', *lines, ""]), encoding="utf-8"
    )
    return [entry.key for entry in entries]


def seconds(work: Callable[[], object]) -> float:
    """Return how long `work` takes, the median of some runs."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return median(times)


def main() -> int:
    """Measure, print, and return 1 if something is too slow."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        keys = written(path)
        recording = Recording(path)
        model = RecordingModel(Model("one"), recording, "replay")
        some = keys[:: ENTRIES // 100]

        def miss() -> None:
            try:
                model.invoke([{"role": "user", "content": "Question 77: what is on it?"}])
            except RecordingMiss:
                return
            raise AssertionError("a miss was expected")

        took = {
            "open": seconds(lambda: len(Recording(path))),
            "look up": seconds(lambda: [recording.get(key) for key in some]) / len(some),
            "answer": seconds(lambda: [model.invoke(question(n)) for n in range(100)]) / 100,
            "tell a miss": seconds(miss),
        }
        print(f"{ENTRIES:,} answers, {path.stat().st_size / 1e6:.1f} MB")
    is_fine = True
    for name, spent in took.items():
        limit = HOLD.get(name)
        verdict = "" if limit is None else f" (limit {limit * 1e3:g} ms)"
        if limit is not None:
            verdict += " ok" if spent < limit else " TOO SLOW"
            is_fine = is_fine and spent < limit
        print(f"{name}: {spent * 1e3:.3f} ms{verdict}")
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
