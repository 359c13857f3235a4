"""An agent, or a prompt with slots → what is done with each row of a batch."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcell.adapters.model import Model
from agentcell.agents.answer_schema import AnswerSchema
from agentcell.agents.exchange import ToolLog
from agentcell.agents.invoked import askable
from agentcell.agents.output import Malformed, answer_error, read_answer, without_thoughts
from agentcell.agents.repairing import repairing
from agentcell.agents.rounds import normal_result, whole
from agentcell.assets.tables import is_empty
from agentcell.assets.wording import a_type
from agentcell.batch.result import ANSWER_COLUMN
from agentcell.batch.work import Asked
from agentcell.errors import FieldError
from agentcell.messages import Message, TextMessageBlock
from agentcell.prompts.fields import FieldSpec
from agentcell.prompts.question import compose
from agentcell.prompts.session_tags import SessionTags
from agentcell.prompts.tags import TagRegistry
from agentcell.prompts.template import find_slots

_ATTEMPTS = 2
"""How often an answer by a schema is asked for: a wrong one is repaired once."""


class AgentWork:
    """Takes one step of an agent for each row.

    No row sees another: the agent's memory is read as it is, and nothing is added to it. In
    another process it is read as it was when the batch began.

    Parameters
    ----------
    agent
        Whose step it is; not changed.
    settings
        For the model, over the agent's own.
    """

    def __init__(self, agent: Any, settings: Mapping[str, Any] | None = None) -> None:
        self._agent = copy.copy(agent)
        if agent.history is not None:
            self._agent._history = _OnlyRead(agent.history)  # noqa: SLF001 (this copy is ours)
        self._settings = settings
        self.model: Any = agent._asked()  # noqa: SLF001 (the agent's own other half)
        self.names = tuple(agent._standing.outputs) or (ANSWER_COLUMN,)  # noqa: SLF001

    def asked(self, row: Any) -> Asked:
        """Return what a row asks first."""
        step = next(self._steps(row))
        return Asked(messages=step.messages, tools=step.tools, settings=step.settings)

    def run(self, row: Any, model: Any) -> Any:
        """Take the step."""
        return whole(model, self._steps(row), self._agent.approve).output

    def read(self, result: Mapping[str, Any]) -> Any:
        """Return the outputs of one whole answer."""
        outputs = self._agent._standing.outputs  # noqa: SLF001
        text = without_thoughts(result["content"])
        try:
            return read_answer(text, outputs, result["finish_reason"])
        except Malformed as problem:
            raise answer_error(text, problem, outputs) from None

    def kept(self, value: Any) -> Any:
        """Return the outputs, which are JSON values."""
        return value

    def restored(self, kept: Any) -> Any:
        """Return them as they were."""
        return kept

    def _steps(self, row: Any) -> Any:
        if not isinstance(row, Mapping):
            raise FieldError(
                f"{a_type(row, start=True)} was given as a row; a mapping of an agent's inputs was"
                " expected.",
                fix='give for example {"question": "…"}.',
            )
        seen = self._agent._observe(row, None, None)  # noqa: SLF001
        return self._agent._answer(seen, self._settings)  # noqa: SLF001


class _OnlyRead:
    """A memory that is read and not written; it travels as what it holds."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def get_messages(self, query: str | None = None, *, top_k: int = -1) -> list[Message]:
        """Return what the memory returns."""
        return list(self._inner.get_messages(query, top_k=top_k))

    def former_tags(self) -> dict[str, Any]:
        """Return the tags of attachments that it no longer holds."""
        former = getattr(self._inner, "former_tags", None)
        return dict(former()) if former is not None else {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (_as_read, (self.get_messages(), self.former_tags()))


@dataclass(frozen=True, slots=True)
class _AsRead:
    """What a memory held when it was read."""

    messages: list[Message] = field(repr=False)
    tags: dict[str, Any] = field(repr=False)

    def get_messages(self, query: str | None = None, *, top_k: int = -1) -> list[Message]:  # noqa: ARG002
        """Return all of it."""
        return list(self.messages)

    def former_tags(self) -> dict[str, Any]:
        """Return the tags of attachments that it no longer holds."""
        return dict(self.tags)


def _as_read(messages: list[Message], tags: dict[str, Any]) -> _AsRead:
    return _AsRead(messages, tags)


class PromptWork:
    """Asks one question for each row: a text in which ``{column}`` stands for the row's value.

    Parameters
    ----------
    model
        Who is asked; anything with `invoke`.
    prompt
        The text. What stands in braces and names no column stays as typed; an empty cell is an
        empty text.
    columns
        The names that slots may have; None: those of each row.
    system
        Instructions.
    settings
        For the model.
    schema
        What the answer must be, see `AnswerSchema`; None: any text.
    fields
        Declarations of columns, as ``{"photo": "IMAGE:Photo"}`` makes them.
    attach
        Attachments and values that go out with every row, by name.
    detail, pdf_as
        How attachments go out, see `Model.ready`; None: as the model takes them.

    Raises
    ------
    FieldError
        If a column stands in braces whose name cannot.
    """

    def __init__(  # noqa: PLR0913 (each is a part of the question)
        self,
        model: Any,
        prompt: str,
        *,
        columns: Sequence[str] | None = None,
        system: str = "",
        settings: Mapping[str, Any] | None = None,
        schema: AnswerSchema | None = None,
        fields: Mapping[str, FieldSpec] | None = None,
        attach: Mapping[str, Any] | None = None,
        detail: str | None = None,
        pdf_as: str | None = None,
    ) -> None:
        self.model = askable(model)
        self._prompt = prompt
        self._columns = None if columns is None else frozenset(columns)
        check_braces(prompt, columns or ())
        self._named = frozenset(slot.name for slot in find_slots(prompt))
        self._before: list[Message] = [{"role": "system", "content": system}] if system else []
        self._attach = dict(attach or {})
        given = {"detail": detail, "pdf_as": pdf_as}
        self._form = {name: value for name, value in given.items() if value is not None}
        self._settings = dict(settings or {})
        self._schema = schema
        is_object = schema is not None and not schema.is_wrapped
        properties = schema.document.get("properties", {}) if schema and is_object else {}
        self.names = tuple(properties) or (ANSWER_COLUMN,)
        self._fields = dict(fields or {})

    def asked(self, row: Any) -> Asked:
        """Return what a row asks."""
        values = self._values(row)
        known = values.keys() | self._attach
        used = {name: spec for name, spec in self._fields.items() if name in known}
        question = compose(
            self._prompt,
            values=values,
            attach=self._attach,
            fields=used,
            viewed=(),
            tags=SessionTags(),
            sent={},
        )
        message, settings = question.message(()), self._settings
        if self._schema is not None:
            if _answers_by_schema(self.model):
                settings = {**settings, "schema": self._schema.document}
            else:
                message = _with_text(message, self._schema.instructions())
        messages = [*self._before, message]
        if self._form:
            messages = self.model.ready(messages, **self._form).messages
        return Asked(messages=messages, settings=settings or None)

    def run(self, row: Any, model: Any) -> Any:
        """Ask, and once more for an answer that is not what the schema wants."""
        asked = self.asked(row)
        if self._schema is None:
            got = model.invoke(messages=asked.messages, tools=None, settings=asked.settings)
            return normal_result(model, got)["content"]
        steps = repairing(
            asked.messages,
            {},
            asked.settings,
            wanted=self._schema.wanted(),
            attempts=_ATTEMPTS,
            log=ToolLog(0),
            tags=TagRegistry(),
            takes_media=False,
        )
        return whole(model, steps, None).output

    def read(self, result: Mapping[str, Any]) -> Any:
        """Return the value of one whole answer."""
        text = str(result["content"])
        if self._schema is None:
            return text
        said = without_thoughts(text)
        try:
            return self._schema.read(said, result["finish_reason"])
        except Malformed as problem:
            raise self._schema.wanted().error(said, problem) from None

    def kept(self, value: Any) -> Any:
        """Return an answer as JSON values."""
        if self._schema is None:
            return value
        from pydantic_core import to_jsonable_python

        return to_jsonable_python(value)

    def restored(self, kept: Any) -> Any:
        """Return the value that was kept."""
        return kept if self._schema is None else self._schema.restored(kept)

    def _values(self, row: Any) -> Mapping[str, Any]:
        if not isinstance(row, Mapping):
            raise FieldError(
                f"{a_type(row, start=True)} was given as a row; a mapping by column was expected.",
                fix='give for example {"text": "…"}.',
            )
        missing = (self._columns or frozenset()) & self._named - row.keys()
        told = {name: "" if is_empty(value) else value for name, value in row.items()}
        return {**dict.fromkeys(missing, ""), **told}


def _answers_by_schema(model: Any) -> bool:
    return isinstance(model, Model) and model.capabilities.structured_output


def _with_text(message: Message, text: str) -> Message:
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": f"{content}\n\n{text}"}
    return {**message, "content": [*content, TextMessageBlock(text)]}


def check_braces(prompt: str, columns: Sequence[str]) -> None:
    """Refuse ``{unit price}``: it would go to the model as typed, in every row.

    Raises
    ------
    FieldError
        If a column stands in braces whose name cannot.
    """
    for name in columns:
        braced = f"{{{name}}}"
        if braced in prompt and not find_slots(braced):
            clean = re.sub(r"\W+", "_", name).strip("_")
            clean = clean if find_slots(f"{{{clean}}}") else f"column_{clean}".rstrip("_")
            raise FieldError(
                f"The column {name!r} cannot stand in braces; a name of letters, digits and _ can.",
                fix=f"rename it: df.rename(columns={{{name!r}: {clean!r}}}).",
            )
