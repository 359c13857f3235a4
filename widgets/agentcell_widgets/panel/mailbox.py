"""Messages as they come -> work on `agentcell.loop.LOOP`, in order, off the shell's thread.

A message of the page is handled while a cell runs only if nothing of it waits for the shell's
thread: the thread that receives it hands it over here and is free again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from agentcell.loop import LOOP

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""What is done with a message. It raises nothing."""


class Mailbox:
    """One panel's work, in the order in which it came; what is urgent waits for nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Work] = deque()
        self._is_busy = False

    def put(self, work: Work, *, at_once: bool = False) -> None:
        """Have `work` done soon.

        Parameters
        ----------
        at_once
            It does not wait for what came before.
        """
        if at_once:
            asyncio.run_coroutine_threadsafe(work(), LOOP.loop())
            return
        with self._lock:
            self._waiting.append(work)
            if self._is_busy:
                return
            self._is_busy = True
        asyncio.run_coroutine_threadsafe(self._all(), LOOP.loop())

    def close(self) -> None:
        """Do nothing more of what still waits."""
        with self._lock:
            self._waiting.clear()

    async def _all(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_busy = False
                    return
                work = self._waiting.popleft()
            await work()
