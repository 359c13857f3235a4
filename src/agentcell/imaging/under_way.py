"""A job's events -> the same events, and meanwhile the knowledge that somebody waits for it.

A job that a cell or a panel waits for stands in the ledger like one that was cut off. To ask for it
a second time meanwhile would be to give up the first: where its answer is still awaited, it would
count as lost.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncGenerator, Callable

from agentcell.errors import NotResumable
from agentcell.imaging.events import GenerationEvent, Planned


class UnderWay:
    """The jobs that this kernel waits for. Safe to share between threads.

    Parameters
    ----------
    changed
        Called when the wait for one ends, however it does; None: nobody is told.
    """

    def __init__(self, changed: Callable[[], None] | None = None) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._jobs: set[str] = set()

    def __contains__(self, job_id: object) -> bool:
        with self._lock:
            return job_id in self._jobs

    async def follow(
        self, events: AsyncGenerator[GenerationEvent], job_id: str = ""
    ) -> AsyncGenerator[GenerationEvent]:
        """Yield `events`; from the first that names the job until their end it is under way.

        Parameters
        ----------
        events
            Of one job; they are closed.
        job_id
            Of a job that is there already; empty: the events tell.

        Raises
        ------
        NotResumable
            If somebody waits for `job_id` already. Nothing was asked.
        """
        async with contextlib.aclosing(events) as coming:
            if job_id:
                self._take(job_id)
            try:
                async for event in coming:
                    if isinstance(event, Planned) and not job_id:
                        job_id = event.job_id
                        self._take(job_id)
                    yield event
            finally:
                with self._lock:
                    self._jobs.discard(job_id)
                if job_id and self._changed is not None:
                    self._changed()

    def _take(self, job_id: str) -> None:
        with self._lock:
            if job_id in self._jobs:
                raise NotResumable(
                    f"{job_id} is being waited for in this kernel already.",
                    fix="wait for it there, or stop that first.",
                )
            self._jobs.add(job_id)
