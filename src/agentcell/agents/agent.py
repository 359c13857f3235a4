"""A model with instructions, declared fields, tools, skills and a memory: one input, one answer.

An agent keeps nothing of a call but what it gives to its memory. One agent may be shared by any
number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

from agentcell.adapters.events import Event
from agentcell.agents.acting import Approve, answered_calls
from agentcell.agents.answering import (
    UNREMEMBERED,
    Asking,
    StepFinished,
    answering,
    aremembering,
    remembered,
    remembering,
)
from agentcell.agents.exchange import Step, ToolFinished, ToolStarted
from agentcell.agents.invoked import askable
from agentcell.agents.mapping import MapsRows
from agentcell.agents.observe import Observation, Standing, observe
from agentcell.agents.output import check_outputs, with_schema
from agentcell.agents.parts import (
    checked_model,
    checked_name,
    hint_at_slips,
    is_history,
    lines,
    read_skills,
)
from agentcell.agents.rounds import (
    astreamed,
    awhole,
    normal_result,
    streamed,
    takes_tool_media,
    whole,
)
from agentcell.agents.shown_results import showing_results
from agentcell.agents.tools import Tool, named_tools
from agentcell.assets.wording import a_type
from agentcell.errors import AgentError
from agentcell.history.provider import HistoryProvider
from agentcell.interrupting import calmly
from agentcell.messages import Message, ToolCall
from agentcell.prompts.fields import FieldSpec, normalize_field_specs
from agentcell.prompts.skill import Skill

_MEMORY_LOCK = threading.Lock()

StepEvent: TypeAlias = Event | ToolStarted | ToolFinished | StepFinished


class Agent(MapsRows):
    """Asks a model, with attachments and tools, and reads the declared outputs from its answer.

    Parameters
    ----------
    name
        ASCII letters, digits, ``_`` and ``-``.
    instructions
        The system prompt; a list is joined by line breaks. ``{role_name}`` and the agent's own
        text attributes are filled in, never a field of the input.
    model
        A `Model`, the name of one (``"openai/gpt-4.1"``), or anything with its `invoke`.
    prompt_template
        The question, with ``{field}`` where a field goes; a list is joined by line breaks. Braces
        that name no field stay as typed.
    pull_keys
        The input's fields: ``{"receipt": "IMAGE:Receipt"}``; see `parse_field_spec`. Further
        inputs are taken too.
    push_keys
        The outputs that the answer must hold. Without any, the answer is free text, returned as
        ``{"answer": text}``, or the keys of the JSON object that it is.
    tools
        Functions, or what `tool` makes of them; one or several.
    memories
        At most one `HistoryProvider`; one that has no `insert` is only read.
    skills
        What `load_skill` returns, or folders.
    attributes
        Values that every input has, unless it gives its own.
    model_settings
        ``temperature``, ``max_tokens``, … for every call.
    role_name
        What the agent calls itself; its name by default.
    hide_unused_fields
        Leave out inputs that the template does not name. Attachments are sent all the same.
    reuse_attachment_tags
        Send an attachment once and name it by one tag, also where it stands in the history
        already. If False, each occurrence has a tag of its own and is sent.
    max_retries
        How often at most an answer is asked for, if it lacks what it must hold; a service that
        fails is retried by its adapter alone.
    retry_delay, retry_backoff
        Seconds before asking again, and by how much they grow each time.
    max_rounds
        How many rounds of tool calls a step may take.
    approve
        Asked before each tool call with the `ToolCall` and the `Tool`: True allows it.

    Raises
    ------
    AgentError
        If the parts do not fit together. It is a `ValueError`.
    FieldError, ToolError, SkillError
        If a field, tool or skill cannot be read.

    Examples
    --------
    >>> from agentcell.adapters.model import Model, ModelResponseType
    >>> class Echo(Model):
    ...     def invoke(self, messages, tools=None, settings=None, **kwargs):
    ...         said = messages[-1]["content"].splitlines()[1]
    ...         return {"type": ModelResponseType.CONTENT, "content": said}
    >>> Agent("echo", "Repeat.", model=Echo("echo"), prompt_template="{word}!").step({"word": "Hi"})
    {'answer': 'Hi!'}
    """

    def __init__(  # noqa: PLR0913 (each is a part of its own)
        self,
        name: str,
        instructions: str | Sequence[str] = "",
        *,
        model: Any = None,
        prompt_template: str | Sequence[str] | None = None,
        pull_keys: Mapping[str, Any] | None = None,
        push_keys: Mapping[str, Any] | None = None,
        tools: Any = None,
        memories: Iterable[HistoryProvider] | HistoryProvider | None = None,
        skills: Iterable[Skill | str | os.PathLike[str]] | Skill | os.PathLike[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        model_settings: Mapping[str, Any] | None = None,
        role_name: str | None = None,
        hide_unused_fields: bool = False,
        reuse_attachment_tags: bool = True,
        max_retries: int = 3,
        retry_delay: float = 0.0,
        retry_backoff: float = 2.0,
        max_rounds: int = 10,
        approve: Approve | None = None,
    ) -> None:
        self.name = checked_name(name)
        self.model = checked_model(model)
        self._asking = Asking(max_retries, retry_delay, retry_backoff, max_rounds)
        self.approve = approve
        self.model_settings = dict(model_settings or {})
        self.tools: Mapping[str, Tool] = named_tools(tools)
        self._standing = Standing(
            role_name=role_name or name,
            instructions=lines(instructions),
            prompt_template=lines(prompt_template),
            fields=normalize_field_specs(pull_keys),
            outputs=normalize_field_specs(push_keys),
            attributes=dict(attributes or {}),
            skills=tuple(read_skills(skills)),
            hide_unused_fields=hide_unused_fields,
            reuse_attachment_tags=reuse_attachment_tags,
        )
        check_outputs(self._standing.outputs)
        self._history: HistoryProvider | None = None
        one: Any = memories
        for memory in [one] if is_history(one) else one or ():
            self.add_memory(memory)
        hint_at_slips(name, self._standing.prompt_template, self._standing.fields, attributes)

    def __repr__(self) -> str:
        parts = [repr(self.name[:60]), f"model={self.model!r:.120}"]
        if self.tools:
            parts.append(f"{len(self.tools)} tools")
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def history(self) -> HistoryProvider | None:
        """Where earlier messages come from, and where new ones go."""
        return self._history

    @property
    def input_fields(self) -> Mapping[str, FieldSpec]:
        """The declared inputs, by name."""
        return self._standing.fields

    @property
    def output_fields(self) -> Mapping[str, FieldSpec]:
        """The declared outputs, by name."""
        return self._standing.outputs

    def add_memory(self, memory: HistoryProvider) -> Self:
        """Give the agent its history.

        Parameters
        ----------
        memory
            A `HistoryProvider`; one that has no `insert` is only read.

        Raises
        ------
        AgentError
            If it has one already, or `memory` has no ``get_messages``.
        """
        if not is_history(memory):
            raise AgentError(
                f"{a_type(memory, start=True)} is no memory; a HistoryProvider was expected.",
                fix="give a HistoryMemory, or an object with get_messages(query, top_k).",
            )
        with _MEMORY_LOCK:
            if self._history is not None:
                raise AgentError(
                    f"Agent '{self.name}' has a history already; it takes at most one"
                    " HistoryProvider.",
                    fix="give one memory.",
                )
            self._history = memory
        return self

    def reset_memories(self) -> None:
        """Empty the history, if it can be emptied."""
        reset = getattr(self._history, "reset", None)
        if reset is not None:
            reset()

    def observe(
        self,
        input: Mapping[str, Any],  # noqa: A002 (what it is called everywhere)
        *,
        fields: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> tuple[str, str, list[Message]]:
        """Return what one step would send, without sending it.

        Parameters
        ----------
        input
            Values by field.
        fields, outputs
            Further declarations for this call, under the agent's own.

        Returns
        -------
        system_prompt, user_prompt : str
        messages : list of dict
            System, history, user. The user's content is text; with new attachments it is a list:
            each attachment's announcement and block, then the text.

        Raises
        ------
        FieldError
            If an input is missing, or not of its field's kind.
        """
        seen = self._observe(input, fields, outputs)
        return seen.system_prompt, seen.user_prompt, seen.messages

    def think(
        self, messages: list[Message], settings: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Ask the model once, with the agent's tools and settings.

        Parameters
        ----------
        messages
            What `observe` returns as such.
        settings
            For this call, over the agent's own.

        Returns
        -------
        dict
            See `Model.invoke`.
        """
        schemas = [tool.schema() for tool in self.tools.values()] or None
        asked = self._settings(settings)
        with calmly():
            got = self.model.invoke(messages=messages, tools=schemas, settings=asked)
        return normal_result(self.model, got)

    def act(self, tool_calls: Iterable[ToolCall | Mapping[str, Any]]) -> list[Message]:
        """Run the tools that a model called.

        Parameters
        ----------
        tool_calls
            `ToolCall` objects, or ``{"id", "name", "arguments"}``.

        Returns
        -------
        list of dict
            A ``tool`` message for each, in order. What goes wrong (an unknown tool, arguments that
            do not fit, an exception) is its content: the model can do better.
        """
        with calmly():
            return answered_calls(tool_calls, self.tools, self.approve)

    def step(
        self,
        input: Mapping[str, Any],  # noqa: A002 (what it is called everywhere)
        *,
        settings: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Ask about one input and return the answer's outputs.

        Parameters
        ----------
        input
            Values by field: text, numbers, `ImageAsset`, `PdfAsset`, lists and mappings of them.
        settings
            For this step, over the agent's own.
        fields, outputs
            Further declarations for this call, under the agent's own.

        Returns
        -------
        dict
            Every declared output, and what else the answer's object holds.

        Raises
        ------
        FieldError
            If an input is missing, or not of its field's kind; at once.
        AnswerError
            If the answer lacks an output after `max_retries` attempts, or tools were called in
            more than `max_rounds` rounds.
        ModelError
            If the model refuses or fails; see `agentcell.errors`.
        """
        with calmly(UNREMEMBERED):
            seen = self._observe(input, fields, outputs)
            ended = whole(self._asked(), self._answer(seen, settings), self.approve)
            return remembered(seen, ended, self._history).output

    async def astep(
        self,
        input: Mapping[str, Any],  # noqa: A002 (what it is called everywhere)
        *,
        settings: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Like `step`, without blocking the loop; sync tools run in a thread.

        Parameters
        ----------
        input, settings, fields, outputs
            As for `step`.
        """
        seen = self._observe(input, fields, outputs)
        ended = await awhole(self._asked(), self._answer(seen, settings), self.approve)
        return remembered(seen, ended, self._history).output

    def stream(
        self,
        input: Mapping[str, Any],  # noqa: A002 (what it is called everywhere)
        *,
        settings: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> Iterator[StepEvent]:
        """Like `step`, as it comes: the model's events, tools, and a `StepFinished` last.

        Where an answer is asked for again, a `Retrying` stands between the two. Closing the
        iterator early closes the connection; nothing of the step is remembered then.

        Parameters
        ----------
        input, settings, fields, outputs
            As for `step`.
        """
        seen = self._observe(input, fields, outputs)
        events = streamed(self._asked(), self._answer(seen, settings), self.approve)
        return remembering(events, seen, self._history)

    def astream(
        self,
        input: Mapping[str, Any],  # noqa: A002 (what it is called everywhere)
        *,
        settings: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[StepEvent]:
        """Like `stream`, asynchronous.

        Parameters
        ----------
        input, settings, fields, outputs
            As for `step`.
        """
        seen = self._observe(input, fields, outputs)
        events = astreamed(self._asked(), self._answer(seen, settings), self.approve)
        return aremembering(events, seen, self._history)

    def _observe(
        self,
        given: Mapping[str, Any],
        fields: Mapping[str, Any] | None,
        outputs: Mapping[str, Any] | None,
    ) -> Observation:
        wanted = normalize_field_specs(outputs)
        check_outputs(wanted)
        more = normalize_field_specs(fields)
        return observe(self._standing, given, self._history, fields=more, outputs=wanted)

    def _answer(
        self, seen: Observation, settings: Mapping[str, Any] | None
    ) -> Generator[Step, Any, StepFinished]:
        current = with_schema(self.model, self._settings(settings), seen.outputs, self.name)
        media = takes_tool_media(self._asked())
        return answering(seen, self.tools, current, asking=self._asking, takes_media=media)

    def _asked(self) -> Any:
        """Return the model in a form that can be asked in every way, and shown what tools show."""
        return askable(showing_results(self.model, self.tools.values()))

    def _settings(self, settings: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return {**self.model_settings, **(settings or {})} or None
