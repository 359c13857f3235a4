"""Pictures that are made in the background, to a handle that can be waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, closing

from agentcell.budget import Confirm
from agentcell.errors import GenerationError, Stopped
from agentcell.imaging.events import Generated, GenerationEvent
from agentcell.imaging.generation import Generation
from agentcell.loop import LOOP
from agentcell_magics.budget_command import CostApproval
from agentcell_magics.generate_display import MakingDisplay
from agentcell_magics.handle import Handle, told
from agentcell_magics.making import Asked, Happening, making


class AsyncGeneration(Handle[Generation]):
    """The handle of pictures or a clip that is made in the background.

    ``await handle`` and `result` give the `Generation`, or raise what went wrong. Its display,
    where it was shown, follows it. Made by ``%generate --async``.

    Parameters
    ----------
    name
        What `%agent running` calls it.
    begin
        Begins the job; called with whom to ask about its cost.
    display
        Follows it.
    cell
        The cell that asks.
    became
        Returns what `result` raises after a stop: what became of the job.
    is_shown
        Whether the cell that runs now began the display.
    """

    def __init__(  # noqa: PLR0913 (each is a fact of its own)
        self,
        name: str,
        begin: Callable[[Confirm | None], AsyncIterator[GenerationEvent]],
        display: MakingDisplay,
        *,
        cell: str | None,
        became: Callable[[MakingDisplay], Stopped],
        is_shown: Callable[[], bool],
    ) -> None:
        super().__init__(name)
        self._begin = begin
        self._display = display
        self._cell = cell
        self._became = became
        self._is_shown = is_shown
        self._generation: Generation | None = None
        self._approval = CostApproval(can_ask=False)

    def __repr__(self) -> str:
        return f"AsyncGeneration({self.name!r}, {self.status})"

    @property
    def job_id(self) -> str:
        """The job's name in `%generate jobs`; empty before there is one."""
        return self._display.job_id

    @property
    def asker(self) -> tuple[str | None, int]:
        """The cell that asks."""
        return self._cell, 1

    def describe(self) -> str:
        """Return who makes what, and how far it is."""
        return self._display.told

    def _take(self, event: Happening) -> None:
        if isinstance(event, Asked):
            event.reply(self._approval(event.question))
        elif isinstance(event, Generated):
            self._generation = event.generation
        else:
            self._display.take(event)

    async def _go(self) -> None:
        async with aclosing(making(self._begin, self._display.planned)) as events:
            async for event in events:
                self._take(event)

    def _go_here(self) -> None:
        work = making(self._begin, self._display.planned)
        with closing(LOOP.iterate(work)) as events:  # type: ignore[type-var]
            for event in events:
                self._take(event)

    def _stopped(self, seconds: float) -> Stopped:  # noqa: ARG002 (the display counts them)
        return self._became(self._display)

    def _end(self, error: Exception | None) -> None:
        with self._display.lock:  # who waits for the outcome shows the display again after this
            if self.done:
                return
            if self._generation is not None:  # also where a stop came after the last event
                self._outcome.set_result(self._generation)
                self._display.finish(self._generation)
            else:
                error = error or GenerationError("Nothing was made.", fix="ask again.")
                self._outcome.set_exception(error)
                self._display.end(told(error))

    def _show_again(self) -> None:
        self._display.show_again()

    def _ipython_display_(self) -> None:
        if not self._is_shown():
            self._display.show()
