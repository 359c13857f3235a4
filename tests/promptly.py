"""What a test calls prompt, on a machine however busy, and how it counts what work costs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

PROMPTLY = 10.0
"""Seconds. What these tests say is not waited for would take a minute, or never end; how short a
wait really is, in tenths of a second, is measured by the benchmarks and not by tests."""


def cpu_seconds(work: Callable[[], object], *, tries: int = 5) -> float:
    """Return what the quickest run of `work` took, for the ratio of two of them.

    No garbage is collected meanwhile: among thousands of other tests that takes longer the more
    objects the work makes, and then what costs in proportion to its length seems not to.
    """
    spent = []
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(tries):
            began = time.process_time()
            work()
            spent.append(time.process_time() - began)
    finally:
        if was_on:
            gc.enable()
    return min(spent)
