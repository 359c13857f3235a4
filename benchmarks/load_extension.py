"""What `%load_ext agentcell` adds to a kernel that has ipywidgets: CPU time and memory.

Run it: ``python benchmarks/load_extension.py [KERNELS]``. Each kernel is a new process; the
medians are compared with the limits. The exit code is 1 if one is passed.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import kernels

LIMIT_CPU_MS = 30.0
LIMIT_MB = 5.0

BEFORE = """
import gc, time, ipywidgets, psutil
_process = psutil.Process()
gc.collect()
_cpu, _memory = time.process_time(), _process.memory_info().rss
get_ipython().run_line_magic('load_ext', NAME)
print((time.process_time() - _cpu) * 1000, (_process.memory_info().rss - _memory) / 1e6)
"""


def measure(extension: str) -> tuple[float, float]:
    """Return milliseconds of CPU and megabytes for loading `extension` in a new kernel."""
    compiled_once = {"PYTHONDONTWRITEBYTECODE": ""}  # as everywhere but on some build machines
    with (
        tempfile.TemporaryDirectory() as folder,
        kernels.running(Path(folder), compiled_once) as kernel,
    ):
        ran = kernel.run(BEFORE.replace("NAME", repr(extension)))
    if ran.status != "ok":
        raise SystemExit(ran.text)
    milliseconds, megabytes = map(float, ran.text.split())
    return milliseconds, megabytes


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    measure("agentcell")  # compiles what is new
    measured = [measure("agentcell") for _ in range(count)]
    cpu = statistics.median(milliseconds for milliseconds, _ in measured)
    memory = statistics.median(megabytes for _, megabytes in measured)
    print(f"%load_ext agentcell, medians of {count} kernels that had imported ipywidgets")
    print(f"  CPU     {cpu:6.1f} ms  limit {LIMIT_CPU_MS:.0f}")
    print(f"  memory  {memory:6.1f} MB  limit {LIMIT_MB:.0f}")
    return int(cpu > LIMIT_CPU_MS or memory > LIMIT_MB)


if __name__ == "__main__":
    raise SystemExit(main())
