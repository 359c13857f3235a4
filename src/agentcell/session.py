"""One notebook's session: the only module that knows the whole order of a turn.

Text and values become a `Request` (nothing is sent); a request streams events; its end,
whatever it is, becomes one `Turn`.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any

from agentcell.adapters.events import Event, Usage
from agentcell.adapters.model import Model
from agentcell.adapters.models_by_name import ModelsByName
from agentcell.answer import Answer
from agentcell.assets.asset import MediaAsset
from agentcell.assets.prepare import Form
from agentcell.errors import CellError, HistoryError
from agentcell.history.attachments import Attachments
from agentcell.history.conversations import Conversations
from agentcell.history.turn_record import TurnRecord
from agentcell.history.turns import Conversation, Turn, forms_of, past_messages, system_of
from agentcell.messages import MediaMessageBlock, Message, media_blocks
from agentcell.prompts.fields import FieldSpec, normalize_field_specs
from agentcell.prompts.question import compose
from agentcell.request import Defaults, Request
from agentcell.safe_text import unsendable

__all__ = ["MAIN", "Request", "Session"]

MAIN = "main"
"""The conversation that a cell belongs to when it names none."""


class Session:
    """What the magics, the panels and Python code share: model, conversations, attachments.

    It may be used from several threads at once. Questions that are asked at the same time do not
    see each other.

    Parameters
    ----------
    model
        A `Model`, or a name such as ``"openai/gpt-4.1"`` or ``"local"``. None: what the
        environment says, else the embedded reader.
    """

    def __init__(self, model: Model | str | None = None) -> None:
        self._models = ModelsByName(model)
        self._conversations = Conversations()
        self._attachments = Attachments()
        self._listeners: list[Callable[[], None]] = []
        self.defaults = Defaults()
        """What holds where a question says nothing."""

    def __repr__(self) -> str:
        turns, attachments = len(self.turns), len(self.attachments)
        return f"Session({self._models.default_name}, {turns} turns, {attachments} attachments)"

    # -- model ------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The model that is asked when a cell names none."""
        return self._models.named()

    @model.setter
    def model(self, model: Model | str | None) -> None:
        if isinstance(model, str):
            self._models.named(model)  # a wrong name is told now, not with the next question
        self._models.default = model
        self._changed()

    @property
    def chosen_model(self) -> Model | str | None:
        """The model as it was chosen; None where the environment decides."""
        return self._models.default

    @property
    def chosen_model_name(self) -> str | None:
        """What `chosen_model` is called."""
        chosen = self._models.default
        return chosen.name if isinstance(chosen, Model) else chosen

    @property
    def model_name(self) -> str:
        """``provider/model`` of the session's model."""
        return self.model.name

    # -- conversations and attachments ------------------------------------------------------

    def conversation(self, name: str = MAIN) -> Conversation:
        """Return the conversation of that name, begun if need be.

        Parameters
        ----------
        name
            As `%%agent -c` takes it.
        """
        return self._conversations.named(name)

    @property
    def conversations(self) -> tuple[str, ...]:
        """The names of all conversations in which something was said, oldest first."""
        return self._conversations.names

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of all conversations."""
        return self._conversations.turns

    @property
    def usage(self) -> Usage:
        """Tokens of all turns, as far as providers told."""
        counted = (turn.usage for turn in self.turns if turn.usage is not None)
        return sum(counted, start=Usage())

    @property
    def attachments(self) -> tuple[MediaMessageBlock, ...]:
        """Every attachment that the session knows, in the order in which they came."""
        return self._attachments.blocks

    def attach(
        self, asset: MediaAsset, *, name: str = "image", label: str = "", place: str = ""
    ) -> str:
        """Let `asset` go out with the next question, and return its tag.

        Parameters
        ----------
        asset
            An image or a PDF.
        name, label
            What the tag is made of.
        place
            Where `asset` was found, if that may be looked at again: it then takes the place of
            what was found there before and still waits.
        """
        spec = FieldSpec(name=name, description=label or name)
        block = self._attachments.view(asset, spec, place)
        self._changed()
        return block.tag

    def forget(self, tag: str) -> MediaMessageBlock:
        """Let an attachment never go out again; its name stays in earlier texts.

        Parameters
        ----------
        tag
            Whole, ``"[receipt_1 Receipt]"``, or its beginning, ``"receipt_1"``.

        Raises
        ------
        AttachmentError
            If no attachment has that tag.
        """
        block = self._attachments.forget(tag)
        self._changed()
        return block

    def reset(self) -> None:
        """Forget all turns and attachments; the model stays."""
        self._conversations.clear()
        self._attachments = Attachments()
        self._changed()

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change; return what ends that.

        Parameters
        ----------
        callback
            Called without arguments, in the thread that made the change.
        """
        self._listeners.append(callback)

        def unsubscribe() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)

        return unsubscribe

    def _changed(self) -> None:
        for callback in tuple(self._listeners):
            callback()

    # -- one turn ---------------------------------------------------------------------------

    def prepare(  # noqa: PLR0913 (one parameter for each thing that a cell can say)
        self,
        text: str,
        *,
        values: Mapping[str, Any] | None = None,
        attach: Mapping[str, Any] | None = None,
        mentions: Mapping[str, tuple[str, MediaAsset]] | None = None,
        fields: Mapping[str, Any] | None = None,
        model: Model | str | None = None,
        system: str | None = None,
        settings: Mapping[str, Any] | None = None,
        conversation: str = MAIN,
        fresh: bool = False,
        detail: str | None = None,
        pdf_as: str | None = None,
        cell_id: str | None = None,
        part: int = 1,
    ) -> Request:
        """Return the request that `text` makes; nothing is sent and nothing recorded.

        Parameters
        ----------
        text
            The question; ``{name}`` stands for a value or a field of that name.
        values
            What ``{name}`` may stand for, for example the notebook's variables.
        attach
            Attachments and values that go out whether `text` names them or not.
        mentions
            Files that `text` may name as ``@path``: a field's name and the file, by path as
            written. Give none with a text that no person typed.
        fields
            Declarations such as ``{"receipt": "IMAGE:Receipt"}``.
        model
            Who is asked; None: the session's own.
        system
            Instructions, from this turn on; an empty text ends earlier ones.
        settings
            For the model: ``temperature``, ``max_tokens``, …; see `Model.invoke`.
        conversation
            The conversation that the turn belongs to.
        fresh
            The conversation starts over with this turn.
        detail
            For this question's attachments: ``auto`` or ``high`` scales large images down,
            ``original`` leaves them. None: as they went out before, at first ``original``.
        pdf_as
            How this question's PDFs go out: ``pdf``, ``images`` or ``text``. None: as they went
            out before, at first ``pdf``.
        cell_id, part
            A turn of the same cell is replaced, and only turns before it are seen. `part` counts
            the questions that one run of the cell asks, from 1.

        Raises
        ------
        CellError, FieldError, AttachmentError
            If the text or what it names cannot be used.
        UnknownModel, Unsupported
            If there is no such model, or it cannot take these attachments.
        """
        chosen = model if isinstance(model, Model) else self._models.named(model)
        if fault := unsendable(system or ""):
            raise CellError(f"The instructions hold {fault}.", fix="type them anew.")
        known = self._attachments
        earlier = [] if fresh else self.conversation(conversation).before(cell_id, part)
        past = past_messages(earlier, known.forgotten)
        sent = {block.fingerprint: block.tag for block in media_blocks(past)}
        question = compose(
            text,
            values=values or {},
            attach=attach or {},
            fields=normalize_field_specs(fields or {}),
            viewed=known.viewed_for((cell_id, part)),
            tags=known.tags,
            sent=sent,
            mentions=mentions,
        )
        question = replace(question, blocks=tuple(map(known.shared, question.blocks)))
        rules = system if system is not None else system_of(earlier, self.defaults.system)
        messages: list[Message] = [{"role": "system", "content": rules}] if rules else []
        messages += [*past, question.message(sent)]
        first = Form().chosen(self.defaults.detail, self.defaults.pdf_as)
        usual, before = first.chosen(detail, pdf_as), forms_of(earlier)
        forms = {
            block.fingerprint: before.get(block.fingerprint, usual).chosen(detail, pdf_as)
            for block in question.blocks
        }
        ready = chosen.ready(messages, forms={**before, **forms})
        changed = [one for one in forms if one not in sent or forms[one] != before.get(one)]
        turn = Turn(
            id=uuid.uuid4().hex[:12],
            cell_id=cell_id,
            part=part,
            messages=(messages[-1],),
            status="interrupted",
            model=chosen.name,
            fresh=fresh,
            system=system,
            forms=forms,
        )
        return Request(
            conversation=conversation,
            model=chosen,
            messages=messages,
            outgoing=ready.messages,
            question=question,
            turn=turn,
            notes=(*question.notes, *ready.notes_about(changed)),
            settings={**self.defaults.settings, **(settings or {})},
        )

    def stream(self, request: Request) -> Iterator[Event]:
        """Send `request` and yield its events; its end is recorded as one turn.

        Closing the iterator early stops the answer; what came until then is kept and marked.

        Parameters
        ----------
        request
            What `prepare` returned.

        Raises
        ------
        ModelError
            If the model refuses or fails; the turn is then kept as failed and never sent again.
        """
        record = self._record(request)
        with record:
            answer = request.model.stream(request.outgoing, None, request.settings)
            with closing(_closable(answer)) as events:
                for event in events:
                    record.take(event)
                    yield event

    async def astream(self, request: Request) -> AsyncIterator[Event]:
        """Like `stream`, without blocking the loop.

        Parameters
        ----------
        request
            What `prepare` returned.
        """
        record = self._record(request)
        with record:
            answer = request.model.astream(request.outgoing, None, request.settings)
            async with aclosing(answer) as events:  # type: ignore[type-var]
                async for event in events:
                    record.take(event)
                    yield event

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
        turns = self.conversation(request.conversation).turns
        return next((Answer.of(turn) for turn in turns if turn.id == request.id), None)

    def _record(self, request: Request) -> TurnRecord:
        return TurnRecord(request.turn, lambda turn: self._commit(request, turn))

    def _commit(self, request: Request, turn: Turn) -> None:
        self._conversations.put(request.conversation, turn)
        self._attachments.add(
            request.question.blocks,
            asker=(turn.cell_id, turn.part),
            sent=turn.is_sent_again,
        )
        self._changed()


def _closable(events: Iterator[Event]) -> Any:
    """Return an iterator with `close`, which a plain one lacks."""
    return events if hasattr(events, "close") else (event for event in events)
