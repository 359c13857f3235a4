"""A request, to its events and one turn at their end: a session as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from agentcell import asking
from agentcell.answer import Answer
from agentcell.asking import AskEvent
from agentcell.dry_run import DryRun, dry_run
from agentcell.errors import HistoryError
from agentcell.history.turns import Turn
from agentcell.messages import media_blocks
from agentcell.metering import Meter
from agentcell.request import Request

if TYPE_CHECKING:
    pass

from agentcell.session.each import AsksEach


class Session(AsksEach):
    """What the magics, the panels and Python code share: model, conversations, attachments.

    It may be used from several threads at once. Questions that are asked at the same time do not
    see each other.

    Parameters
    ----------
    model
        A `Model`, or a name such as ``"openai/gpt-4.1"`` or ``"local"``. None: what the
        environment says, else the embedded reader.
    history
        Where turns are kept: a `NotebookHistory`, or the folder in which one makes its
        ``.agentcell``. None: in memory, as long as the session.
    """

    def dry_run(self, request: Request) -> DryRun:
        """Return what `request` would send, and what that would cost. Nothing is sent.

        Parameters
        ----------
        request
            What `prepare` returned, best with ``look=True``.
        """
        ask = asking.first_ask(request, self._attachments.tags)
        return dry_run(request, ask, budget=self.budget, spent=self._ledger.spent_but(request.id))

    def stream(self, request: Request) -> Iterator[AskEvent]:
        """Send `request` and yield its events; its end is recorded as one turn.

        Closing the iterator early stops the answer; what came until then is kept and marked.

        Parameters
        ----------
        request
            What `prepare` returned.

        Yields
        ------
        Event, ToolStarted, ToolFinished
            As it goes. With tools or a schema the model may be asked several times: each call
            ends in its `Finished`, and a `Retrying` after one says that its answer was no use.

        Raises
        ------
        ModelError
            If the model refuses or fails; the turn is then kept as failed and never sent again.
        AnswerError
            If tools are called in too many rounds, or the answer is not what the schema wants.
        BudgetExceeded
            If it would pass the budget; before a first call nothing is sent and no turn kept.
        """
        meter = self._meter(request)
        commit = partial(self._commit, request, meter)
        return asking.asked(request, self._attachments.tags, commit, meter)

    def astream(self, request: Request) -> AsyncIterator[AskEvent]:
        """Like `stream`, without blocking the loop; sync tools run in threads.

        Parameters
        ----------
        request
            What `prepare` returned.
        """
        meter = self._meter(request)
        commit = partial(self._commit, request, meter)
        return asking.aasked(request, self._attachments.tags, commit, meter)

    def _meter(self, request: Request) -> Meter:
        if request.refusal is not None:
            raise request.refusal
        return Meter(
            request.model,
            request.id,
            self._ledger,
            budget=lambda: self.budget,
            confirm=request.confirm,
        )

    def as_sent(self, request: Request) -> str:
        """Return what `request` sends, as JSON for people: media as digests, no key.

        Parameters
        ----------
        request
            What `prepare` returned. Nothing is sent.
        """
        from agentcell.adapters.logs import request_as_sent

        ask = asking.first_ask(request, self._attachments.tags)
        return request_as_sent(request.model, ask.messages, ask.tools, ask.settings)

    def ask(self, text: str, **options: Any) -> Answer:
        """Ask and return the whole answer.

        Parameters
        ----------
        text
            The question; see `prepare`.
        options
            Those of `prepare`.

        Raises
        ------
        AgentcellError
            Whatever `prepare` and `stream` raise.
        """
        request = self.prepare(text, **options)
        for _ in self.stream(request):
            pass
        return self._whole(request)

    async def aask(self, text: str, **options: Any) -> Answer:
        """Like `ask`, without blocking the loop.

        Parameters
        ----------
        text, options
            As for `ask`.
        """
        request = self.prepare(text, **options)
        async for _ in self.astream(request):
            pass
        return self._whole(request)

    def _whole(self, request: Request) -> Answer:
        answer = self.answer(request)
        if answer is None:
            raise HistoryError(
                "The conversation was reset while its answer came.", fix="ask again."
            )
        return answer

    def answer(self, request: Request) -> Answer | None:
        """Return what came of `request` after its end; None if it was never begun.

        Parameters
        ----------
        request
            What `prepare` returned.
        """
        turn = self.history.find(request.id)
        if turn is None:
            return None
        is_whole = request.schema is not None and turn.status == "complete"
        value = request.schema.value_in(turn.answer) if request.schema and is_whole else None
        return Answer.of(turn, value)

    def _commit(self, request: Request, meter: Meter, turn: Turn) -> None:
        turn = meter.ended(turn)
        change = self.history.put(request.conversation, turn)
        self._attachments.add(
            (*request.question.blocks, *media_blocks(turn.messages[1:])),  # and the tools' own
            asker=(turn.cell_id, turn.part),
            sent=turn.is_sent_again,
        )
        self._changed(change)
