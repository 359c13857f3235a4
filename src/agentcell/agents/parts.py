"""What an agent is given → its parts, checked."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcell.adapters.model import Model, ModelCapabilities
from agentcell.adapters.registry import resolve
from agentcell.errors import AgentError
from agentcell.messages import Message
from agentcell.prompts.fields import FieldWarning
from agentcell.prompts.skill import Skill, load_skill
from agentcell.prompts.template import find_slots, near_miss

_NAME = re.compile(r"[A-Za-z0-9_-]+")


def checked_name(name: object) -> str:
    """Return an agent's name, if it is one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise AgentError(
            f"An agent is named {str(name)[:60]!r}; letters A to Z, digits, _ and - were expected.",
            fix='name it, for example "receipt_agent"; role_name may be any text.',
        )
    return name


def checked_model(model: Any) -> Any:
    """Return a model; a name like ``"openai/gpt-4.1"`` is looked up."""
    if isinstance(model, str):
        return resolve(model)
    if not callable(getattr(model, "invoke", None)):
        raise AgentError(
            f"The model is {str(model)[:60]!r}; a Model was expected.",
            fix='give one, for example model=OpenAIModel("gpt-4.1").',
        )
    return model


def askable(model: Any) -> Any:
    """Return a model that can be asked in every way, made of one that has only `invoke`."""
    ways = ("ainvoke", "stream", "astream")
    return model if all(callable(getattr(model, one, None)) for one in ways) else _Invoked(model)


class _Invoked(Model):
    """A model made of an object that has `invoke` and nothing else."""

    def __init__(self, inner: Any) -> None:
        kind = type(inner).__name__
        name = getattr(inner, "model_name", None) or getattr(inner, "name", None) or kind
        super().__init__(str(name), capabilities=_capabilities(inner))
        self._inner = inner

    def __repr__(self) -> str:
        return f"{type(self._inner).__name__}({self.model_name[:80]!r})"

    def invoke(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Ask the object."""
        made: dict[str, Any] = self._inner.invoke(
            messages=messages, tools=tools, settings=settings, **kwargs
        )
        return made


def _capabilities(inner: object) -> ModelCapabilities:
    """Return what an object says it takes; one that says nothing is handed everything."""
    own = getattr(inner, "capabilities", None)
    if isinstance(own, ModelCapabilities):
        return own
    return ModelCapabilities(
        image_input=True, pdf_input=True, system_media="sent", tool_result_media="sent"
    )


def at_least(name: str, value: Any, least: int) -> Any:
    """Return a number that is no less than `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
        raise AgentError(
            f"{name} is {str(value)[:40]!r}; a number, at least {least}, was expected.",
            fix=f"set {name} to {least} or more.",
        )
    return value


def lines(text: str | Sequence[str] | None) -> str:
    """Return a text, or several as lines of one."""
    return text if isinstance(text, str) else "\n".join(text or ())


def read_skills(skills: Any) -> Iterator[Skill]:
    """Yield one or several skills; folders are read."""
    for one in [skills] if isinstance(skills, (Skill, str, os.PathLike)) else skills or ():
        yield one if isinstance(one, Skill) else load_skill(one)


def is_history(memory: object) -> bool:
    """Whether `memory` gives earlier messages."""
    return callable(getattr(memory, "get_messages", None))


def hint_at_slips(
    agent: str, template: str, fields: Mapping[str, Any], attributes: Mapping[str, Any] | None
) -> None:
    """Warn of a name in a template that is nearly a declared one which the template lacks."""
    named = {slot.name for slot in find_slots(template)}
    known = {*fields, *(attributes or ()), "role_name"}
    for name in sorted(named):
        meant = near_miss(name, known) if fields else None
        if meant and meant not in named:
            warnings.warn(
                f"Agent '{agent}': the template's {{{name}}} is no declared field;"
                f" is {{{meant}}} meant?",
                FieldWarning,
                stacklevel=3,
            )
