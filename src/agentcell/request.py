"""A question with all that it needs, to what a session sends and records; and its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcell.adapters.model import Model
from agentcell.agents.acting import Approve
from agentcell.agents.answer_schema import AnswerSchema
from agentcell.agents.tools import Tool
from agentcell.assets.prepare import Form
from agentcell.budget import Confirm
from agentcell.errors import AgentcellError
from agentcell.history.turns import Turn
from agentcell.messages import Message
from agentcell.prompts.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a session does where a question says nothing.

    Parameters
    ----------
    system
        Instructions of a conversation to which no question gave any.
    settings
        For the model, such as ``temperature``.
    detail, pdf_as
        How attachments go out when they first do; see `Session.prepare`.
    """

    system: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    detail: str | None = None
    pdf_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question, ready to be sent: every check is behind it, nothing has gone out.

    Parameters
    ----------
    messages
        Instructions, earlier turns and the question, with what was attached.
    outgoing
        The same as the model gets it: attachments made to fit.
    question
        The person's text with tags in it, its attachments, and what to tell the person.
    turn
        The turn as it begins: the question, and no answer yet.
    notes
        What was done to attachments, one sentence each.
    tools
        What the model may call, by name.
    approve
        Asked before a tool runs; see `Approve`.
    max_rounds
        How many rounds of tool calls there may be.
    schema
        What the answer must be; None: any text.
    confirm
        Asked where the budget wants it; see `Confirm`.
    refusal
        Of a request that was prepared to be looked at: why it cannot be sent. `outgoing` then
        holds attachments as they are.
    forms
        How attachments go out, earlier ones too, by their fingerprints.
    notes_of
        What was done to each attachment, earlier ones too, by their fingerprints.
    """

    conversation: str
    model: Model
    messages: list[Message]
    outgoing: list[Message]
    question: Question
    turn: Turn
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)
    approve: Approve | None = None
    max_rounds: int = 10
    schema: AnswerSchema | None = None
    confirm: Confirm | None = None
    refusal: AgentcellError | None = None
    forms: Mapping[str, Form] = field(default_factory=dict)
    notes_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The name that its turn will have."""
        return self.turn.id

    def __repr__(self) -> str:
        return f"Request({self.model.name}, {len(self.messages)} messages)"
