"""What a batch costs besides its requests: ``python batch.py [rows]``.

10,000 rows over 16 threads against a server on loopback that is a process of its own. The adapter
alone, on as many threads, is what each row must cost; what `Agent.map` adds is measured in the same
run, as CPU of this process. Memory is that of rows from an iterator.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentcell import Agent, LegacyOpenAIModel
from agentcell.testing import FakeModel

ROWS = 10_000
THREADS = 16

HOLD = {"milliseconds a row": 1.0, "journal, milliseconds a row": 2.0, "memory, bytes a row": 20.0}

SERVER = """
import sys
from agentcell.testing import ChatServer
server = ChatServer("yes")
server._record = lambda request: None  # ten thousand requests are not kept
with server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def serving() -> Iterator[str]:
    """Run a server in a process of its own."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the server has no pipes")
        yield process.stdout.readline().strip()
        process.stdin.close()


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield inputs, none of which is kept."""
    return ({"n": number} for number in range(count))


def asker(model: Any) -> Agent:
    """Return the agent of this benchmark."""
    return Agent(
        "asker",
        "Answer with one word.",
        model=model,
        prompt_template="This is row {n}. Is it good?",
        pull_keys={"n": "the row"},
    )


def cpu(work: Callable[[], object]) -> tuple[float, float]:
    """Return CPU seconds of this process, and seconds."""
    gc.collect()
    began, cpu_began = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu_began, time.perf_counter() - began


def memory(count: int) -> tuple[int, int]:
    """Return the peak of Python's memory for so many rows of an iterator, and the process's."""
    model = FakeModel("yes")
    model.requests = deque(maxlen=1)  # type: ignore[assignment]  # as a model that keeps nothing
    agent = asker(model)
    agent.map(rows(100), workers=THREADS, progress=False)  # all is imported
    gc.collect()
    tracemalloc.start()
    texts = ({"n": "x" * 1000} for _ in range(count))
    for _ in agent.imap(texts, workers=THREADS, progress=False):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    """Measure, print, and return 1 if something is too much."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with serving() as url, tempfile.TemporaryDirectory() as folder:
        model = LegacyOpenAIModel("m", base_url=url)
        agent = asker(model)
        messages = agent.observe({"n": 1})[2]
        agent.map(rows(100), workers=THREADS, progress=False)  # warm

        def alone() -> None:
            with ThreadPoolExecutor(THREADS) as pool:
                for _ in pool.map(lambda _: model.invoke(messages), range(count)):
                    pass

        def steps() -> None:
            with ThreadPoolExecutor(THREADS) as pool:
                for _ in pool.map(agent.step, list(rows(count))):
                    pass

        bare, bare_seconds = cpu(alone)
        step, _ = cpu(steps)
        mapped, seconds = cpu(lambda: agent.map(rows(count), workers=THREADS, progress=False))
        path = Path(folder) / "a.jsonl"
        kept, _ = cpu(lambda: agent.map(rows(count), workers=THREADS, progress=False, journal=path))
        again, _ = cpu(
            lambda: agent.map(rows(count), workers=THREADS, progress=False, journal=path)
        )
    few, _ = memory(2_000)
    many, process = memory(20_000)
    each = 1000 / count
    found = {
        "milliseconds a row": (mapped - bare) * each,
        "journal, milliseconds a row": (kept - bare) * each,
        "memory, bytes a row": (many - few) / (20_000 - 2_000),
    }
    print(f"{count:,} rows, {THREADS} threads")
    print(f"adapter alone          {bare * each:8.3f} ms CPU a row, {bare_seconds:.1f} s")
    print(f"agent.step in a pool   {step * each:8.3f} ms CPU a row")
    print(f"agent.map              {mapped * each:8.3f} ms CPU a row, {seconds:.1f} s")
    print(f"... with a journal     {kept * each:8.3f} ms CPU a row")
    print(f"... all from a journal {again * each:8.3f} ms CPU a row")
    print(f"imap, peak of memory   {few:,} bytes for 2,000 rows, {many:,} for 20,000")
    print(f"process                {process:,} KB at most")
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))
    missed = [name for name, value in found.items() if value > HOLD[name]]
    for name in missed:
        print(f"too much: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
