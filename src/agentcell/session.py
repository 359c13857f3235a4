"""One notebook's session: the only module that knows the whole order of a turn.

Text and values become a `Request` (nothing is sent); a request streams events; its end,
whatever it is, becomes one `Turn`.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentcell import asking
from agentcell.adapters.events import Usage
from agentcell.adapters.model import Model
from agentcell.adapters.models_by_name import ModelsByName
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.recording import Recorder, RecordingModel
from agentcell.agents import session_skills
from agentcell.agents.acting import Approve
from agentcell.agents.answer_schema import AnswerSchema
from agentcell.answer import Answer
from agentcell.asking import AskEvent
from agentcell.assets.asset import MediaAsset
from agentcell.assets.prepare import Form
from agentcell.budget import Budget, Confirm
from agentcell.dry_run import DryRun, dry_run
from agentcell.errors import AgentcellError, CellError, HistoryError, PriceError
from agentcell.history.attachments import Attachments
from agentcell.history.branches import FormerRun
from agentcell.history.conversations import Conversation
from agentcell.history.notebook import MAIN, NotebookHistory
from agentcell.history.past import with_mentioned
from agentcell.history.spent import Spent
from agentcell.history.store import Change
from agentcell.history.turns import Turn, forms_of, past_messages
from agentcell.messages import MediaMessageBlock, Message, media_blocks
from agentcell.metering import Ledger, Meter
from agentcell.prompts.fields import FieldSpec, normalize_field_specs
from agentcell.prompts.question import compose
from agentcell.request import Defaults, Request
from agentcell.safe_text import unsendable

if TYPE_CHECKING:
    from agentcell.history.restored import Restored

__all__ = ["MAIN", "Request", "Session"]


class Session:
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

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        history: NotebookHistory | str | os.PathLike[str] | None = None,
    ) -> None:
        self._models = ModelsByName(model)
        self.history = history if isinstance(history, NotebookHistory) else NotebookHistory(history)
        self._known: Attachments | None = None
        self._reading = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._stale_listeners: list[Callable[[Mapping[str, bool]], None]] = []
        self.recorder = Recorder()
        """Where answers are recorded or replayed, if anywhere."""
        self.defaults = Defaults()
        """What holds where a question says nothing."""
        self._budget: Budget | Literal["environment"] | None = "environment"
        self._ledger = Ledger(self.history)

    def __repr__(self) -> str:
        turns, attachments = self.history.count(), len(self._attachments)
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
        return self.history.conversation(name)

    @property
    def conversations(self) -> tuple[str, ...]:
        """The names of all conversations in which something was said, oldest first."""
        return self.history.conversations

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of all conversations; each says whether it is `stale`."""
        return tuple(self.history.turns())

    @property
    def stale(self) -> frozenset[str]:
        """The ids of turns that follow one which was asked again after them."""
        return frozenset(self.history.stale())

    @property
    def usage(self) -> Usage:
        """Tokens of all turns, as far as providers told."""
        return sum((usage for _, usage in self.history.usages()), start=Usage())

    @property
    def cost(self) -> Spent:
        """What was paid until now, by the providers' own counts of tokens.

        Every turn counts that this notebook ever asked, also one that failed, was stopped, taken
        back or forgotten; one that is replayed from a recording costs nothing.
        """
        return self._ledger.total()

    @property
    def budget(self) -> Budget | None:
        """What may be spent: a question that would pass it is refused. None: anything.

        Until it is set, the environment says it; see `Budget.from_environment`.
        """
        return Budget.from_environment() if self._budget == "environment" else self._budget

    @budget.setter
    def budget(self, budget: Budget | None) -> None:
        if budget is not None and not isinstance(budget, Budget):
            raise PriceError(
                f"The budget is {budget!r:.60}; a Budget was expected.",
                fix='write for example session.budget = Budget(usd="2.00"); None ends it.',
            )
        if budget != self._budget:
            self._budget = budget
            self._changed()

    @property
    def attachments(self) -> tuple[MediaMessageBlock, ...]:
        """Every attachment that the session knows, in the order in which they came."""
        return self._attachments.blocks

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all attachments; their contents are not read for it."""
        return self._attachments.names

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
        self.history.reset()
        self._known = None
        self._changed()

    # -- what is taken back, brought back, forgotten ----------------------------------------

    def undo(self, conversation: str | None = None) -> Turn:
        """Take back the last change, and return the turn that is gone with it.

        A turn that it had replaced comes back.

        Parameters
        ----------
        conversation
            Its name; None: that which changed last.

        Raises
        ------
        HistoryError
            If there is no turn.
        """
        change = self.history.undo(conversation)
        self._changed(change)
        assert change.turn is not None  # noqa: S101 (an undo that does nothing is an error)
        return change.turn

    def restore(self, name: str = "last") -> Turn | FormerRun:
        """Bring back a turn by its id, or a former life of the kernel by its name.

        Parameters
        ----------
        name
            See `NotebookHistory.restore`.

        Raises
        ------
        HistoryError
            If there is neither.
        """
        done = self.history.restore(name)
        if isinstance(done, FormerRun):
            self._known = None  # its attachments are known again
            self._changed()
            return done
        self._changed(done)
        turn = done.turn or self.history.find(name)
        assert turn is not None  # noqa: S101 (it is in force, now or already)
        return turn

    def forget_turn(self, turn_id: str) -> Turn:
        """Delete a turn for good, with its former versions, and return it.

        Parameters
        ----------
        turn_id
            Its `Turn.id`.

        Raises
        ------
        HistoryError
            If there is none.
        """
        turn = self.history.forget(turn_id)
        self._changed()
        return turn

    def restore_saved(
        self, path: str | os.PathLike[str], *, if_new: bool = False, by_cell: bool = True
    ) -> Restored:
        """Bring back the turns that a saved notebook's outputs tell of; they are marked imported.

        Parameters
        ----------
        path
            The notebook's file.
        if_new
            Do nothing where turns of this notebook were kept before, be they forgotten since.
        by_cell
            Whether the file's ids of cells are those that questions come with.

        Raises
        ------
        HistoryError
            If the file cannot be used.
        """
        from agentcell.history.lookup import is_known
        from agentcell.history.restored import Restored, restore_saved

        if if_new and is_known(self.history):
            return Restored()
        done = restore_saved(self.history, path, by_cell=by_cell)
        if done.turns:
            self._known = None  # its attachments are known again
            self._changed()
        return done

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        conversation: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the turns into a file for people, and return its path.

        Parameters
        ----------
        path
            Its ending says what it becomes: ``.md``, ``.html``, or ``.ipynb`` for a notebook whose
            cells ask the same again. Pictures and attachments go into a folder beside it.
        conversation
            The name of one; None: all.
        overwrite
            Whether files that are there may be replaced.

        Raises
        ------
        HistoryError
            If there is nothing to write, the ending says nothing, a file is there, or it cannot
            be written.
        """
        from agentcell.history.export import export

        return export(self.history, path, conversation=conversation, overwrite=overwrite)

    def on_stale(self, callback: Callable[[Mapping[str, bool]], None]) -> Callable[[], None]:
        """Call `callback` when turns become stale or cease to be; return what ends that.

        Parameters
        ----------
        callback
            Called with ids of turns and whether each is stale now, in the thread that made the
            change. They are those after the change, no more than 1,000.
        """
        return _joined(self._stale_listeners, callback)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change; return what ends that.

        Parameters
        ----------
        callback
            Called without arguments, in the thread that made the change.
        """
        return _joined(self._listeners, callback)

    def _changed(self, change: Change | None = None) -> None:
        if change is not None and change.stale:
            for tell in tuple(self._stale_listeners):
                tell(change.stale)
        for callback in tuple(self._listeners):
            callback()

    @property
    def _attachments(self) -> Attachments:
        with self._reading:
            if self._known is None:
                self._known = Attachments(self.history)
            return self._known

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
        tools: Any = None,
        approve: Approve | None = None,
        max_rounds: int = 10,
        schema: Any = None,
        skills: Any = None,
        confirm: Confirm | None = None,
        look: bool = False,
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
        tools
            What the model may call in this turn: functions, tools, MCP servers; one or several.
        approve
            Asked before each call with the `ToolCall` and the `Tool`: True allows it. None: tools
            that need approval do not run, all others do.
        max_rounds
            How many rounds of tool calls there may be.
        schema
            What the answer must be: a pydantic model, a dataclass, a TypedDict, another type, or
            a JSON schema; see `AnswerSchema`. The answer's `value` is one.
        skills
            Skills, or their folders, from this turn on; an empty list ends earlier ones.
        confirm
            Asked with a `CostQuestion` where the budget wants it: True lets the question go.
            None: nobody is asked; what would pass the budget, or nobody knows the price of, is
            refused.
        look
            Whether the request is only looked at, as by `dry_run`: why attachments cannot be sent
            then stands in its `refusal`, and is raised by `stream`.

        Raises
        ------
        CellError, FieldError, AttachmentError
            If the text or what it names cannot be used.
        ToolError, SkillError, AgentError
            If a tool, a skill or the schema cannot be used.
        UnknownModel, Unsupported
            If there is no such model, or it cannot take these attachments.
        """
        chosen = self._asked_model(model, look=look)
        if fault := unsendable(system or ""):
            raise CellError(f"The instructions hold {fault}.", fix="type them anew.")
        known = self._attachments
        earlier = self.history.past(conversation, cell_id, part, fresh=fresh)
        past = past_messages(earlier.turns, known.forgotten)
        known.learn(media_blocks(past))
        for block in media_blocks([{"content": list(earlier.skills)}]):
            known.tags.adopt(block.tag, block.fingerprint)
        if earlier.is_cut:
            past = with_mentioned(past, known.block)
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
        usual_rules = self.defaults.system if earlier.system is None else earlier.system
        rules = usual_rules if system is None else system
        taught = session_skills.skill_blocks(skills, known.tags)
        in_force = earlier.skills if taught is None else taught
        messages = [*session_skills.system_message(rules, in_force), *past, question.message(sent)]
        by_schema = None if schema is None else AnswerSchema.of(schema)
        first = Form().chosen(self.defaults.detail, self.defaults.pdf_as)
        usual, before = first.chosen(detail, pdf_as), forms_of(earlier.turns)
        for block in (*media_blocks(past), *question.blocks) if earlier.is_cut else ():
            if form := self.history.form(conversation, block.fingerprint):
                before.setdefault(block.fingerprint, form)
        forms = {
            block.fingerprint: before.get(block.fingerprint, usual).chosen(detail, pdf_as)
            for block in question.blocks
        }
        going = asking.sent_to(chosen, messages, by_schema)
        ready, refusal = Outgoing(messages=going), None
        try:
            ready = chosen.ready(going, forms={**before, **forms})
        except AgentcellError as error:
            if not look:
                raise
            refusal = error
        changed = [one for one in forms if one not in sent or forms[one] != before.get(one)]
        turn = Turn(
            id=self._turn_id(chosen, messages),
            cell_id=cell_id,
            part=part,
            messages=(messages[-1],),
            status="interrupted",
            model=chosen.name,
            fresh=fresh,
            system=system,
            skills=taught,
            forms=forms,
            follows=earlier.follows,
        )
        return Request(
            conversation=conversation,
            model=chosen,
            messages=messages,
            outgoing=ready.messages,
            question=question,
            turn=turn,
            notes=(
                *question.notes,
                *ready.notes_about(changed),
                *earlier.notes,
                *session_skills.skill_notes(chosen, taught),
            ),
            settings={**self.defaults.settings, **(settings or {})},
            tools=asking.tools_for(chosen, tools),
            approve=approve,
            max_rounds=max_rounds,
            schema=by_schema,
            confirm=confirm,
            refusal=refusal,
            forms={**before, **forms},
            notes_of=ready.notes_of,
        )

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

    def _asked_model(self, model: Model | str | None, *, look: bool = False) -> Model:
        """Return the model to ask, with the recording round it where one is in use.

        A recording knows who was asked where no cell names a model, so that a notebook replays
        on a machine with other keys.
        """
        if isinstance(model, Model):
            return self.recorder.around(model)
        recording = self.recorder.recording
        if recording is not None and model is None and self._models.default is None:
            if self.recorder.mode not in {"record", "rerecord"}:
                model = recording.default_model or None
            elif not look:  # what is only looked at changes no file
                recording.default_model = self.model_name
        return self.recorder.around(self._models.named(model))

    def _turn_id(self, model: Model, messages: list[Message]) -> str:
        """Return a name for a new turn; where answers are recorded, the same with every replay."""
        if not isinstance(model, RecordingModel):
            return uuid.uuid4().hex[:12]
        return next(name for name in model.names(messages) if self.history.find(name) is None)

    def _commit(self, request: Request, meter: Meter, turn: Turn) -> None:
        turn = meter.ended(turn)
        change = self.history.put(request.conversation, turn)
        self._attachments.add(
            (*request.question.blocks, *media_blocks(turn.messages[1:])),  # and the tools' own
            asker=(turn.cell_id, turn.part),
            sent=turn.is_sent_again,
        )
        self._changed(change)


def _joined(listeners: list[Any], callback: Any) -> Callable[[], None]:
    listeners.append(callback)

    def unsubscribe() -> None:
        if callback in listeners:
            listeners.remove(callback)

    return unsubscribe
