"""A model → the same model, each of whose calls is paid for out of the session's budget."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from agentcell.adapters.events import Event, Finished
from agentcell.adapters.model import Model
from agentcell.agents.exchange import Ask
from agentcell.assets.limits import MediaLimits
from agentcell.budget import Budget, Confirm
from agentcell.messages import Message
from agentcell.metering import Ledger, Meter


class MeteredModel(Model):
    """Stands around a model that answers within a turn, not for it: for a specialist.

    Parameters
    ----------
    model
        Who is asked.
    ledger
        The session's.
    budget
        Returns what may be spent, as it is now; None: anything.
    confirm
        See `Confirm`.
    """

    def __init__(
        self,
        model: Model,
        ledger: Ledger,
        *,
        budget: Callable[[], Budget | None],
        confirm: Confirm | None = None,
    ) -> None:
        super().__init__(model.model_name, model.invoke_settings, capabilities=model.capabilities)
        self.model = model
        self.provider = model.provider  # type: ignore[misc]  # it speaks for another
        self._ledger = ledger
        self._budget = budget
        self._confirm = confirm

    def request_limits(self) -> MediaLimits:
        """Return what one request of the model itself may hold."""
        return self.model.request_limits()

    async def astream(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Event]:
        """Yield the answer, if the call may go out; what it cost is booked at its end.

        Parameters
        ----------
        messages, tools, settings, kwargs
            See `Model.invoke`.

        Raises
        ------
        BudgetExceeded
            If it would pass the budget.
        """
        del kwargs
        meter = Meter(
            self.model,
            uuid.uuid4().hex,
            self._ledger,
            budget=self._budget,
            confirm=self._confirm,
        )
        await meter.aadmit(lambda: Ask(messages, tools, settings))
        is_over = False
        try:
            async with aclosing(meter.astream(messages, tools, settings)) as events:  # type: ignore[type-var]
                async for event in events:
                    meter.take(event)
                    is_over = is_over or isinstance(event, Finished)
                    yield event
        finally:
            meter.settle(is_over=is_over)
