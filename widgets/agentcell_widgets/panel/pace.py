"""Changes, as many as there are -> some work, at most so often; the last change is never missed."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable

from agentcell.loop import LOOP

_log = logging.getLogger(__name__)


class Pace:
    """Calls `work` in a thread of its own soon after `poke`: at once the first time, then paced.

    Parameters
    ----------
    work
        What is to be done after a change.
    interval
        Seconds between two times at least.
    """

    def __init__(self, work: Callable[[], None], *, interval: float) -> None:
        self._work = work
        self._interval = interval
        self._lock = threading.Lock()
        self._is_due = self._is_busy = self._is_stopped = False

    def poke(self) -> None:
        """Say that something changed. It returns at once, from any thread."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_due = True
            if self._is_busy:
                return
            self._is_busy = True
        asyncio.run_coroutine_threadsafe(self._follow(), LOOP.loop())

    def stop(self) -> None:
        """Do nothing more."""
        with self._lock:
            self._is_stopped = True

    async def _follow(self) -> None:
        while True:
            with self._lock:
                if self._is_stopped or not self._is_due:
                    self._is_busy = False
                    return
                self._is_due = False
            try:
                await asyncio.to_thread(self._work)
            except Exception:  # noqa: BLE001 (nobody waits for it; the next change is followed)
                _log.debug("A change could not be followed.", exc_info=True)
            await asyncio.sleep(self._interval)
