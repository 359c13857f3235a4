"""Wishes that were sent from the panel -> what the page shows of each while it is made."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import threading
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

from agentcell.adapters.redaction import known_keys, redacted
from agentcell.errors import AgentcellError
from agentcell.imaging.events import Accepted, Generated, PartialImage, Planned, Progressed
from agentcell.imaging.generation import Generation
from agentcell.loop import LOOP
from agentcell.safe_text import plain

_LONGEST_SAID = 400

MOST_AT_ONCE = 8
"""Wishes that may be on the way from one panel."""


@dataclass(slots=True, kw_only=True)
class Run:
    """One wish on its way.

    Parameters
    ----------
    id
        What the page calls it.
    prompt
        What is to be seen.
    state
        ``starting``, ``sent``, the service's own word, ``done``, ``failed`` or ``stopped``.
    part
        From 0 to 1, where the service tells.
    problem, fix
        Why it failed.
    preview
        The newest unfinished picture, as bytes.
    previews
        How many there were: the page asks again when it grows.
    """

    id: str
    prompt: str
    job_id: str = ""
    state: str = "starting"
    part: float | None = None
    problem: str = ""
    fix: str = ""
    preview: bytes = field(default=b"", repr=False)
    previews: int = 0
    generation: Generation | None = None
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self.ended is not None

    @property
    def seconds(self) -> int:
        """How long it took until now."""
        return int((self.ended or time.monotonic()) - self.began)


class Runs:
    """The wishes of one panel, each followed on `agentcell.loop.LOOP`.

    Parameters
    ----------
    changed
        Called after every change, from any thread.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._runs: dict[str, Run] = {}
        self._futures: dict[str, concurrent.futures.Future[None]] = {}

    @property
    def all(self) -> tuple[Run, ...]:
        """Those that are on the way, and those that failed or were stopped and not dismissed."""
        with self._lock:
            return tuple(self._runs.values())

    @property
    def is_full(self) -> bool:
        """Whether no more may be sent for now."""
        return sum(not run.is_over for run in self.all) >= MOST_AT_ONCE

    def get(self, name: str) -> Run | None:
        """Return the wish that the page calls so."""
        with self._lock:
            return self._runs.get(name)

    def start(self, prompt: str, events: AsyncGenerator[Any], *, job_id: str = "") -> Run:
        """Follow `events` in the background.

        Parameters
        ----------
        prompt
            What is to be seen.
        events
            What `Generator.stream` or `resume` gave.
        job_id
            Of a job that is resumed.
        """
        run = Run(id=f"run-{next(self._numbers)}", prompt=prompt, job_id=job_id)
        with self._lock:
            self._runs[run.id] = run
        future = asyncio.run_coroutine_threadsafe(self._follow(run, events), LOOP.loop())
        with self._lock:
            self._futures[run.id] = future
        self._changed()
        return run

    def stop(self, name: str) -> None:
        """End the wait for a wish; what became of it stands in the ledger."""
        with self._lock:
            future = self._futures.get(name)
        if future is not None:
            future.cancel()

    def dismiss(self, name: str) -> None:
        """Show a wish that is over no more."""
        with self._lock:
            run = self._runs.get(name)
            if run is not None and run.is_over:
                del self._runs[name]
        self._changed()

    def close(self) -> None:
        """End the wait for all."""
        for run in self.all:
            self.stop(run.id)

    async def _follow(self, run: Run, events: AsyncGenerator[Any]) -> None:
        try:
            async with contextlib.aclosing(events) as coming:
                async for event in coming:
                    self._take(run, event)
        except asyncio.CancelledError:
            run.state = "stopped"
        except AgentcellError as error:
            run.state, run.problem, run.fix = "failed", error.problem, error.fix
            run.job_id = getattr(error, "job_id", "") or run.job_id
        except Exception as error:
            run.state = "failed"
            said = redacted(plain(str(error)), *known_keys())[:_LONGEST_SAID]
            run.problem = f"{type(error).__name__} while it was made: {said}"
            raise
        finally:
            run.ended = time.monotonic()
            run.preview = b""
            with self._lock:
                self._futures.pop(run.id, None)
                if run.generation is not None:  # it is among the results now
                    self._runs.pop(run.id, None)
            self._changed()

    def _take(self, run: Run, event: Any) -> None:
        match event:
            case Planned():
                run.job_id = event.job_id
            case Accepted():
                run.state = "sent"
            case Progressed():
                run.state, run.part = event.state or run.state, event.part
            case PartialImage():
                run.preview, run.previews = event.data, run.previews + 1
            case Generated():
                run.generation, run.state, run.part = event.generation, "done", 1.0
        self._changed()
