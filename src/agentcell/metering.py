"""The calls of a model that one question makes → what it cost; and whether a call may go out."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

from agentcell.adapters.events import Event, Finished, Retrying, Usage, Waiting
from agentcell.adapters.model import Model
from agentcell.adapters.pricing import call_cost, cost
from agentcell.adapters.recording.model import RecordingModel
from agentcell.agents.exchange import Ask
from agentcell.budget import Budget, Confirm, CostQuestion, Foreseen, foreseen, question
from agentcell.errors import Stopped
from agentcell.history.notebook import NotebookHistory
from agentcell.history.spent import Spent, put_spent, total_spent
from agentcell.history.turns import Turn
from agentcell.loop import LOOP

_NOTHING = Decimal(0)

Messages: TypeAlias = Any


class Ledger:
    """What a session's turns cost, and what is expected of those that are on their way.

    Safe to share between threads.

    Parameters
    ----------
    history
        Keeps it, beside the turns.
    """

    def __init__(self, history: NotebookHistory) -> None:
        self._history = history
        self._booked: set[str] = set()
        self._own = Spent()
        self._others = Spent()  # of earlier lives of the kernel, and of other kernels
        self._expected: dict[str, Decimal] = {}
        self.lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Ledger({self.total()}, {len(self._expected)} questions on their way)"

    def total(self) -> Spent:
        """Return what all turns cost; also where the file that kept it is gone meanwhile."""
        with self.lock:  # else a turn that is booked meanwhile would be counted twice
            kept, own, before = total_spent(self._history), self._own, self._others
            self._others = Spent(
                usd=max(before.usd, kept.usd - own.usd),
                unknown=max(before.unknown, kept.unknown - own.unknown),
            )
            return self._others + own

    def spent_but(self, turn_id: str, *, looks: bool = True) -> Decimal:
        """Return what is spent or expected, without that of one turn.

        Parameters
        ----------
        turn_id
            The turn's.
        looks
            Whether it is looked up what other kernels spent; else what `total` last found holds.
        """
        with self.lock:
            others = (usd for name, usd in self._expected.items() if name != turn_id)
            spent = self.total() if looks else self._others + self._own
            return spent.usd + sum(others, start=_NOTHING)

    def expect(self, turn_id: str, usd: Decimal) -> None:
        """Let other questions know what a turn is expected to cost."""
        with self.lock:
            self._expected[turn_id] = usd

    @contextlib.contextmanager
    def unless_broken_off(self, turn_id: str) -> Iterator[None]:
        """Let what is expected of a turn stand only if what is done within comes to its end."""
        try:
            yield
        except BaseException:
            self._expected.pop(turn_id, None)
            raise

    def book(self, turn_id: str, spent: Spent) -> None:
        """Keep what a turn cost; a second time for the same turn changes nothing more."""
        with self.lock:
            if spent != Spent() and turn_id not in self._booked:
                put_spent(self._history, turn_id, spent)
                self._booked.add(turn_id)
                self._own += spent
            self._expected.pop(turn_id, None)


class Meter:
    """Stands before a model for one question: lets its calls go out, and counts their cost.

    Parameters
    ----------
    model
        Who is asked.
    turn_id
        The turn that the question becomes.
    ledger
        The session's.
    budget
        Returns what may be spent, as it is now; None: anything.
    confirm
        See `Confirm`. None: nobody is asked, and only a question that would pass the budget, or
        whose cost nobody knows, is refused.
    """

    def __init__(
        self,
        model: Model,
        turn_id: str,
        ledger: Ledger,
        *,
        budget: Callable[[], Budget | None],
        confirm: Confirm | None = None,
    ) -> None:
        self._model = model
        self._turn_id = turn_id
        self._ledger = ledger
        self._budget = budget
        self._confirm = confirm
        self._is_admitted = False
        self._is_calling = False
        self._foreseen = Foreseen()
        self._is_replayed = False
        self._came = False
        self._usage: Usage | None = None
        self._told = Spent()
        self._paid = Spent()

    # -- before ----------------------------------------------------------------------------

    def admit(self, ask: Callable[[], Ask]) -> None:
        """Let the first call go out, or not; the person may be asked.

        Parameters
        ----------
        ask
            Returns what goes out; called only where there is a budget.

        Raises
        ------
        BudgetExceeded
            If it would pass the budget, or nobody can say whether it may be asked.
        Stopped
            If the person says no.
        """
        with self._ledger.unless_broken_off(self._turn_id):
            asked = self._asked_about(ask)
            if asked is not None and self._confirm is not None:
                said = self._confirm(asked)
                if inspect.isawaitable(said):
                    said = LOOP.run(_awaited(said))
                self._go_on(asked, said)

    async def aadmit(self, ask: Callable[[], Ask]) -> None:
        """Like `admit`; a sync `confirm` runs in a thread."""
        with self._ledger.unless_broken_off(self._turn_id):
            asked = self._asked_about(ask)
            if asked is not None and (confirm := self._confirm) is not None:
                is_async = inspect.iscoroutinefunction(confirm)
                said = await confirm(asked) if is_async else await asyncio.to_thread(confirm, asked)
                self._go_on(asked, said)

    def _asked_about(self, ask: Callable[[], Ask]) -> CostQuestion | None:
        if self._budget() is None:
            return None
        first = ask()
        asked = self._judged(first.messages, first.tools, first.settings)
        self._is_admitted = asked is None
        if asked is not None and self._confirm is None:
            if asked.why == "unknown":
                raise asked.refusal("nobody can be asked here")
            self._expect()
            self._is_admitted = True
            return None
        return asked

    def _go_on(self, asked: CostQuestion, said: object) -> None:
        if said is not True:
            if isinstance(said, str) and said.strip():
                raise asked.refusal(said)
            raise Stopped("before anything was sent, as you asked: it was not to cost that.")
        self._expect()
        self._is_admitted = True

    def _judged(
        self, messages: Messages, tools: Any, settings: Any, *, during: bool = False
    ) -> CostQuestion | None:
        """Return what is to be asked; where nothing is, other questions know of this one."""
        budget = self._budget()
        if budget is None or self._replays(messages, tools, settings):
            self._foreseen = Foreseen()
            return None
        self._foreseen = foreseen(self._model, messages, tools, settings)
        with self._ledger.lock:  # of two questions at once, the second knows of the first
            spent = self._ledger.spent_but(self._turn_id) + self._paid.usd
            asked = question(self._model.name, budget, spent, self._foreseen, during=during)
            if asked is None:
                self._expect()
        return asked

    def _expect(self) -> None:
        expected = self._foreseen.cost.expected.total if self._foreseen.cost else _NOTHING
        self._ledger.expect(self._turn_id, self._paid.usd + expected)

    def _replays(self, messages: Messages, tools: Any, settings: Any) -> bool:
        model = self._model
        return isinstance(model, RecordingModel) and model.is_answered(messages, tools, settings)

    # -- what the model does -----------------------------------------------------------------

    def stream(self, messages: Messages, tools: Any, settings: Any) -> Iterator[Event]:
        """Do as `Model.stream`, if the call may go out.

        Raises
        ------
        BudgetExceeded
            If it would pass the budget.
        """
        self._begin(messages, tools, settings)
        return self._model.stream(messages, tools, settings)

    def astream(self, messages: Messages, tools: Any, settings: Any) -> AsyncIterator[Event]:
        """Do as `Model.astream`, if the call may go out; see `stream`."""
        self._begin(messages, tools, settings)
        return self._model.astream(messages, tools, settings)

    def _begin(self, messages: Messages, tools: Any, settings: Any) -> None:
        self._end_call(is_over=True)
        if not self._is_admitted:
            self._judged(messages, tools, settings, during=True)
        self._is_admitted = False
        self._is_replayed = self._replays(messages, tools, settings)
        self._is_calling, self._came, self._usage = True, False, None

    def take(self, event: Event) -> None:
        """Count one event of the answer."""
        if isinstance(event, (Retrying, Waiting)):
            return
        self._came = True
        if isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Finished):
            self._end_call(is_over=True, recorded=event.cost)

    def _end_call(self, *, is_over: bool, recorded: str | None = None) -> None:
        """Count what a call cost, if one is on its way.

        Parameters
        ----------
        is_over
            Whether it came to an end, be it an error; if not, what it cost is not known unless
            the service said so.
        recorded
            What the answer cost when it was recorded, see `Finished`; None: not recorded.
        """
        if not self._is_calling:
            return
        self._is_calling = False
        if is_over and not self._came:
            return  # refused, or not reached
        price = call_cost(self._model, self._usage, recorded)
        spent = Spent(usd=self._least(), unknown=1) if price is None else Spent(usd=price)
        self._told += spent
        if not self._is_replayed:
            self._paid += spent

    def _least(self) -> Decimal:
        """Return what a call cost at the least, of which not all was counted."""
        usage = self._usage
        if usage is not None and usage.input_tokens is not None:
            known = cost(self._model, replace(usage, output_tokens=usage.output_tokens or 0))
            return _NOTHING if known is None else known.total
        foreseen_ = self._foreseen.cost
        return foreseen_.low.total if foreseen_ is not None and self._came else _NOTHING

    # -- after -----------------------------------------------------------------------------

    def ended(self, turn: Turn) -> Turn:
        """Return the turn with its cost, and let the ledger know; a second time does the same.

        Parameters
        ----------
        turn
            As it ended.
        """
        self.settle(is_over=turn.status != "interrupted")
        known = self._told
        # Of an answer that broke off a recording does not tell the cost, and each replay must say
        # the same, whatever server stands behind it.
        is_open = isinstance(self._model, RecordingModel) and turn.status != "complete"
        return replace(turn, cost=None if known.unknown or is_open else known.usd)

    def settle(self, *, is_over: bool) -> None:
        """Let the ledger know what all calls cost; a second time changes nothing.

        Parameters
        ----------
        is_over
            Whether the last one came to an end, be it an error.
        """
        self._end_call(is_over=is_over)
        paid = Spent(usd=self._paid.usd, unknown=min(self._paid.unknown, 1))
        self._ledger.book(self._turn_id, paid)


async def _awaited(value: Any) -> Any:
    return await value
