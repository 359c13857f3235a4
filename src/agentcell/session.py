"""One notebook's session: the only module that knows the whole order of a turn.

Text and values become a `Request` (nothing is sent); a request streams events; its end,
whatever it is, becomes one `Turn`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from typing import Any

from agentcell.adapters.events import Event, Gathering, Usage
from agentcell.adapters.model import Model
from agentcell.adapters.registry import resolve
from agentcell.answer import Answer
from agentcell.assets.asset import MediaAsset
from agentcell.errors import AgentcellError, AttachmentError, HistoryError
from agentcell.history.turns import Conversation, Status, Turn, past_messages, system_of
from agentcell.messages import MediaMessageBlock, Message, media_blocks
from agentcell.prompts.fields import FieldSpec, normalize_field_specs
from agentcell.prompts.question import Question, compose
from agentcell.prompts.tags import TagRegistry

MAIN = "main"
"""The conversation that a cell belongs to when it names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question, ready to be sent: every check is behind it, nothing has gone out.

    Parameters
    ----------
    messages
        Instructions, earlier turns and the question, with what was attached.
    outgoing
        The same as the model gets it: attachments made to fit.
    notes
        What was done to attachments, one sentence each.
    question
        The person's text with tags in it, its attachments, and what to tell the person.
    """

    id: str
    cell_id: str | None
    conversation: str
    fresh: bool
    model: Model
    messages: list[Message]
    outgoing: list[Message]
    question: Question
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    system: str | None = None

    def __repr__(self) -> str:
        return f"Request({self.model.name}, {len(self.messages)} messages)"


@dataclass(slots=True, kw_only=True)
class _Viewed:
    """An attachment that waits for the next question, and the cell that then asked it."""

    asset: MediaAsset
    spec: FieldSpec
    used: bool = False
    cell_id: str | None = None


class Session:
    """What the magics, the panels and Python code share: model, conversations, attachments.

    Parameters
    ----------
    model
        A `Model`, or a name such as ``"openai/gpt-4.1"`` or ``"local"``. None: what the
        environment says, else the embedded reader.
    """

    def __init__(self, model: Model | str | None = None) -> None:
        self._models: dict[str | None, Model] = {}
        self._default: Model | str | None = model
        self._conversations: dict[str, Conversation] = {}
        self._tags = TagRegistry()
        self._blocks: dict[str, MediaMessageBlock] = {}
        self._viewed: list[_Viewed] = []
        self._forgotten: set[str] = set()
        self._listeners: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        turns = sum(len(c.turns) for c in self._conversations.values())
        return f"Session({self.model_name}, {turns} turns, {len(self.attachments)} attachments)"

    # -- model ------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The model that is asked when a cell names none."""
        return self.model_named(None)

    @model.setter
    def model(self, model: Model | str | None) -> None:
        if isinstance(model, str):
            self.model_named(model)  # a wrong name is told now, not with the next question
        self._default = model
        self._models.pop(None, None)
        self._changed()

    @property
    def model_name(self) -> str:
        """``provider/model`` of the session's model."""
        return self.model.name

    def model_named(self, name: str | None) -> Model:
        """Return the model of that name, always the same object; None means the session's own.

        Raises
        ------
        UnknownModel
            If no provider or alias has that name.
        """
        if name is None and isinstance(self._default, Model):
            return self._default
        if name not in self._models:
            wanted = name if name is not None else self._default
            self._models[name] = resolve(wanted if isinstance(wanted, str) else None)
        return self._models[name]

    # -- conversations and attachments ------------------------------------------------------

    def conversation(self, name: str = MAIN) -> Conversation:
        """Return the conversation of that name, begun if need be."""
        return self._conversations.setdefault(name, Conversation(name))

    @property
    def conversations(self) -> tuple[str, ...]:
        """The names of all conversations, oldest first."""
        return tuple(self._conversations)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of all conversations."""
        return tuple(turn for c in self._conversations.values() for turn in c.turns)

    @property
    def usage(self) -> Usage:
        """Tokens of all turns, as far as providers told."""
        total = Usage()
        for turn in self.turns:
            if turn.usage is not None:
                total += turn.usage
        return total

    @property
    def attachments(self) -> tuple[MediaMessageBlock, ...]:
        """Every attachment that the session knows, in the order in which they came."""
        known = self._blocks.values()
        return tuple(block for block in known if block.fingerprint not in self._forgotten)

    def attach(self, asset: MediaAsset, *, name: str = "image", label: str = "") -> str:
        """Let `asset` go out with the next question, and return its tag."""
        spec = FieldSpec(name=name, description=label or name)
        self._forgotten.discard(asset.fingerprint())
        self._viewed.append(_Viewed(asset=asset, spec=spec))
        tag, _ = self._tags.reserve(asset, spec.name, spec.description)
        self._remember(MediaMessageBlock(asset, spec.name, tag, spec.description))
        self._changed()
        return tag

    def forget(self, tag: str) -> MediaMessageBlock:
        """Let an attachment never go out again; its name stays in earlier texts.

        Raises
        ------
        AttachmentError
            If no attachment has that tag.
        """
        found = [b for b in self.attachments if tag in {b.tag, b.tag.strip("[]").split(" ")[0]}]
        if not found:
            known = ", ".join(block.tag for block in self.attachments) or "none"
            raise AttachmentError(
                f"No attachment is called {tag!r}.", fix=f"name one of these: {known}."
            )
        self._forgotten.add(found[0].fingerprint)
        self._viewed = [v for v in self._viewed if v.asset.fingerprint() not in self._forgotten]
        self._changed()
        return found[0]

    def reset(self) -> None:
        """Forget all turns and attachments; the model stays."""
        self._conversations.clear()
        self._blocks.clear()
        self._viewed.clear()
        self._forgotten.clear()
        self._tags = TagRegistry()
        self._changed()

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change; return what ends that."""
        self._listeners.append(callback)

        def unsubscribe() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)

        return unsubscribe

    def _changed(self) -> None:
        for callback in tuple(self._listeners):
            callback()

    def _remember(self, block: MediaMessageBlock) -> None:
        self._blocks.setdefault(block.tag, block)

    # -- one turn ---------------------------------------------------------------------------

    def prepare(  # noqa: PLR0913 (one parameter for each thing that a cell can say)
        self,
        text: str,
        *,
        values: Mapping[str, Any] | None = None,
        attach: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        model: Model | str | None = None,
        system: str | None = None,
        settings: Mapping[str, Any] | None = None,
        conversation: str = MAIN,
        fresh: bool = False,
        detail: str = "original",
        pdf_as: str = "pdf",
        cell_id: str | None = None,
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
        fields
            Declarations such as ``{"receipt": "IMAGE:Receipt"}``.
        system
            Instructions, from this turn on; an empty text ends earlier ones.
        fresh
            The conversation starts over with this turn.
        detail
            ``auto`` or ``high`` scales large images down, ``original`` leaves them.
        pdf_as
            How PDFs go out: ``pdf``, ``images`` or ``text``.
        cell_id
            A turn of the same cell is replaced, and only turns before it are seen.

        Raises
        ------
        CellError, FieldError, AttachmentError
            If the text or what it names cannot be used.
        UnknownModel, Unsupported
            If there is no such model, or it cannot take these attachments.
        """
        chosen = model if isinstance(model, Model) else self.model_named(model)
        viewed = [v for v in self._viewed if not v.used or (cell_id and v.cell_id == cell_id)]
        earlier = [] if fresh else self.conversation(conversation).before(cell_id)
        past = past_messages(earlier, frozenset(self._forgotten))
        known = frozenset(block.fingerprint for block in media_blocks(past))
        question = compose(
            text,
            values=values or {},
            attach=attach or {},
            fields=normalize_field_specs(fields or {}),
            viewed=[(v.spec, v.asset) for v in viewed],
            tags=self._tags,
            sent=known,
        )
        rules = system if system is not None else system_of(earlier)
        messages: list[Message] = [{"role": "system", "content": rules}] if rules else []
        messages += past
        messages.append(question.message(known=known))
        ready = chosen.ready(messages, detail=detail, pdf_as=pdf_as)
        return Request(
            id=uuid.uuid4().hex[:12],
            cell_id=cell_id,
            conversation=conversation,
            fresh=fresh,
            model=chosen,
            messages=messages,
            outgoing=ready.messages,
            question=question,
            notes=(*question.notes, *ready.notes),
            settings=dict(settings or {}),
            system=system,
        )

    def stream(self, request: Request) -> Iterator[Event]:
        """Send `request` and yield its events; its end is recorded as one turn.

        Closing the iterator early stops the answer; what came until then is kept and marked.
        """
        record = _Record(self, request)
        answer = request.model.stream(request.outgoing, None, request.settings)
        with record, closing(_closable(answer)) as events:
            for event in events:
                record.take(event)
                yield event

    async def astream(self, request: Request) -> AsyncIterator[Event]:
        """Like `stream`, without blocking the loop."""
        record = _Record(self, request)
        answer = request.model.astream(request.outgoing, None, request.settings)
        with record:
            async with aclosing(answer) as events:  # type: ignore[type-var]
                async for event in events:
                    record.take(event)
                    yield event

    def ask(self, text: str, **options: Any) -> Answer:
        """Ask and return the whole answer. `options` are those of `prepare`."""
        request = self.prepare(text, **options)
        for _ in self.stream(request):
            pass
        return self._whole(request)

    async def aask(self, text: str, **options: Any) -> Answer:
        """Like `ask`, without blocking the loop."""
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
        """Return what came of `request` after its end; None if it was never begun."""
        turns = self.conversation(request.conversation).turns
        return next((Answer.of(turn) for turn in turns if turn.id == request.id), None)

    def _commit(self, request: Request, turn: Turn) -> None:
        self.conversation(request.conversation).put(turn)
        for block in request.question.blocks:
            self._remember(block)
            if turn.status != "failed":
                self._forgotten.discard(block.fingerprint)
        if turn.status != "failed":
            self._use_viewed(request)
        self._changed()

    def _use_viewed(self, request: Request) -> None:
        sent = {block.fingerprint for block in request.question.blocks}
        for viewed in self._viewed:
            if not viewed.used and viewed.asset.fingerprint() in sent:
                viewed.used, viewed.cell_id = True, request.cell_id


class _Record:
    """Gathers one turn's events and commits the turn once, however it ends."""

    def __init__(self, session: Session, request: Request) -> None:
        self._session = session
        self._request = request
        self._gathering = Gathering()
        self._started = time.monotonic()

    def take(self, event: Event) -> None:
        self._gathering.take(event)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if kind is None:
            try:
                result = self._gathering.result()
            except AgentcellError as truncated:
                self._commit("failed", error=str(truncated.problem))
                raise
            self._commit("complete", message=result["assistant_message"])
        elif issubclass(kind, Exception):
            self._commit("failed", error=f"{kind.__name__}: {getattr(error, 'problem', error)}")
        else:  # an interrupt, a cancelled task, a closed iterator
            self._commit("interrupted")

    def _commit(self, status: Status, *, message: Message | None = None, error: str = "") -> None:
        request, gathering = self._request, self._gathering
        text = "".join(gathering.text)
        answer = message or ({"role": "assistant", "content": text} if text else None)
        finished = gathering.finished
        turn = Turn(
            id=request.id,
            cell_id=request.cell_id,
            messages=(request.messages[-1], *([answer] if answer else ())),
            status=status,
            model=request.model.name,
            fresh=request.fresh,
            system=request.system,
            finish_reason=finished.reason if finished else "",
            usage=gathering.usage,
            citations=tuple(gathering.citations),
            seconds=time.monotonic() - self._started,
            error=error,
        )
        self._session._commit(request, turn)  # noqa: SLF001 (one idea in two classes)


def _closable(events: Iterator[Event]) -> Any:
    """Return an iterator with `close`, which a plain one lacks."""
    return events if hasattr(events, "close") else (event for event in events)
