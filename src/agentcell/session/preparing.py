"""A text and what it names, to a `Request`: every check is done here, and nothing is sent."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentcell import asking
from agentcell.adapters.model import Model
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.recording import RecordingModel
from agentcell.agents import session_skills
from agentcell.agents.acting import Approve
from agentcell.agents.answer_schema import AnswerSchema
from agentcell.agents.shown_results import showing_results
from agentcell.assets.asset import MediaAsset
from agentcell.assets.prepare import Form
from agentcell.budget import Confirm
from agentcell.errors import AgentcellError, CellError
from agentcell.history.notebook import MAIN
from agentcell.history.past import Past as Earlier
from agentcell.history.past import with_mentioned
from agentcell.history.turns import Turn, forms_of, past_messages
from agentcell.messages import MediaMessageBlock, Message, media_blocks
from agentcell.prompts.fields import normalize_field_specs
from agentcell.prompts.question import Question, compose
from agentcell.request import Request
from agentcell.safe_text import unsendable
from agentcell.session.image_tools import ImageTools


class Preparing(ImageTools):
    """A session's questions before they go out; see `Session`."""

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
        examples: Sequence[Message] = (),
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
            ``original`` leaves them, and a service that can be told how closely to look is told
            it. None: as they went out before; at first they go as they are, and nothing is told.
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
        examples
            Messages that stand before the question in this request alone, such as a prompt
            file's: later turns do not see them.
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
        named = asking.tools_for(chosen, tools)
        named |= self._offered(chosen, named)
        chosen = showing_results(chosen, named.values())
        known = self._attachments
        earlier = self.history.past(conversation, cell_id, part, fresh=fresh)
        past = past_messages(earlier.turns, known.forgotten)
        known.learn(media_blocks(past))
        for block in media_blocks([{"content": list(earlier.skills)}]):
            known.tags.adopt(block.tag, block.fingerprint)
        if earlier.is_cut:
            past = with_mentioned(past, known.block)
        sent = {block.fingerprint: block.tag for block in media_blocks(past)}
        viewed = known.viewed_for((cell_id, part))
        question = compose(
            text,
            values=values or {},
            attach=attach or {},
            fields=normalize_field_specs(fields or {}),
            viewed=viewed,
            tags=known.tags,
            sent=sent,
            mentions=mentions,
        )
        details = {block.fingerprint: block.asset.detail for block in question.blocks}
        details |= {asset.fingerprint(): asset.detail for _, asset in viewed}  # the last decides
        question = replace(question, blocks=tuple(map(known.shared, map(_plain, question.blocks))))
        usual_rules = self.defaults.system if earlier.system is None else earlier.system
        rules = usual_rules if system is None else system
        taught = session_skills.skill_blocks(skills, known.tags)
        in_force = earlier.skills if taught is None else taught
        told = self._with_guidance(rules, named)
        messages = [
            *session_skills.system_message(told, in_force),
            *past,
            *examples,
            question.message(sent),
        ]
        by_schema = None if schema is None else AnswerSchema.of(schema)
        seen = (*media_blocks(past), *question.blocks)
        before = self._forms_until_now(conversation, earlier, seen)
        usual = Form().chosen(self.defaults.detail, self.defaults.pdf_as).chosen(detail, pdf_as)
        forms = {
            block.fingerprint: before.get(block.fingerprint, usual)
            .chosen(details[block.fingerprint], None)
            .chosen(detail, pdf_as)
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
            tools=named,
            approve=approve,
            max_rounds=max_rounds,
            schema=by_schema,
            confirm=confirm,
            refusal=refusal,
            forms={**before, **forms},
            notes_of=ready.notes_of,
        )

    def compose(
        self,
        text: str,
        *,
        values: Mapping[str, Any] | None = None,
        attach: Mapping[str, Any] | None = None,
        mentions: Mapping[str, tuple[str, MediaAsset]] | None = None,
    ) -> Question:
        """Return `text` with what it names, attachments by the tags that they have in questions.

        For a prompt that is no question, such as that of a picture. Nothing is sent or recorded,
        and nothing that waits for the next question goes out with it.

        Parameters
        ----------
        text, values, attach, mentions
            As for `prepare`.

        Raises
        ------
        CellError, FieldError, AttachmentError
            If the text or what it names cannot be used.
        """
        known = self._attachments
        return compose(
            text,
            values=values or {},
            attach=attach or {},
            fields={},
            viewed=(),
            tags=known.tags,
            sent={},
            mentions=mentions,
        )

    def recorded(self, model: Model | str | None = None) -> Model:
        """Return a model for agents and graphs of one's own, recorded as the session's questions.

        Where the session records, its answers are kept in the same file; where it replays, they
        come from there. What it costs is not counted to the session.

        Parameters
        ----------
        model
            A `Model`, or the name of one; None: the session's own.

        Raises
        ------
        UnknownModel
            If there is no such model.

        Examples
        --------
        >>> from agentcell import Agent, Session
        >>> Agent("helper", model=Session().recorded("local")).name
        'helper'
        """
        return self._asked_model(model)

    def _forms_until_now(
        self, conversation: str, earlier: Earlier, blocks: Iterable[MediaMessageBlock]
    ) -> dict[str, Form]:
        """Return how attachments went out until now, by their fingerprints."""
        before = forms_of(earlier.turns)
        for block in blocks if earlier.is_cut else ():
            if form := self.history.form(conversation, block.fingerprint):
                before.setdefault(block.fingerprint, form)
        return before

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


def _plain(block: MediaMessageBlock) -> MediaMessageBlock:
    """Return `block` without a detail of its own: its turn says how it goes."""
    return replace(block, asset=replace(block.asset, detail="")) if block.asset.detail else block
