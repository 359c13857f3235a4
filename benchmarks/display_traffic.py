"""What showing a streamed answer costs: bytes and messages on a kernel's output channel, its CPU.

Run it: ``python benchmarks/display_traffic.py``. A server on loopback streams, a real kernel shows.
All bytes on the wire count, headers included. The exit code is 1 if a limit is passed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import kernels
import traffic

MOST_TIMES = 5.0
"""How often the length of an answer that comes fast may go over the channel."""

MOST_BYTES_PER_SECOND = 24_000
"""And besides, of one that people read along with."""

MOST_MESSAGES_PER_SECOND = 15

CASES = {
    "2,000 tokens at 1,000/s": (traffic.markdown(15_000), 2_000, 1_000),
    "2,000 short tokens at 1,000/s": (traffic.markdown(8_000), 2_000, 1_000),
    "2,000 tokens of Chinese at 1,000/s": ("合计 83.00 元，谢谢惠顾。\n\n" * 200, 2_000, 1_000),
    "2,000 tokens at 100/s": (traffic.markdown(15_000), 2_000, 100),
    "60 kB at 1,000/s": (traffic.markdown(60_000), 8_000, 1_000),
    "200 kB at 5,000/s": (traffic.markdown(200_000), 26_000, 5_000),
    "20 tokens at 10/s": (traffic.markdown(150), 20, 10),
}


def main() -> int:
    failed = 0
    print(
        f"{'':36} {'answer':>8} {'channel':>9} {'times':>6} {'msgs':>5} {'wall s':>7} {'CPU s':>6}"
    )
    for name, (text, tokens, rate) in CASES.items():
        with tempfile.TemporaryDirectory() as folder, kernels.running(Path(folder)) as kernel:
            got = traffic.measured(kernel, text, tokens, rate)
        whole = text in got.ran.data("text/plain")
        few = got.messages < MOST_MESSAGES_PER_SECOND * got.seconds + 12
        most = MOST_TIMES * got.answer_bytes
        if rate < 1_000:
            most += MOST_BYTES_PER_SECOND * got.seconds
        good = whole and few and got.traffic_bytes <= most
        failed += not good
        print(
            f"{name:36} {got.answer_bytes:8,} {got.traffic_bytes:9,} {got.times:6.2f} "
            f"{got.messages:5} {got.seconds:7.2f} {got.cpu_seconds:6.2f}"
            + ("" if good else "  FAILED" + ("" if whole else ": not whole"))
        )
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    sys.exit(main())
