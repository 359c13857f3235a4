"""What an agent is given → its parts, checked."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcell.adapters.registry import resolve
from agentcell.errors import AgentError
from agentcell.prompts.fields import FieldWarning
from agentcell.prompts.skill import Skill, load_skill
from agentcell.prompts.template import find_slots, near_miss
from agentcell.warned import warn

_NAME = re.compile(r"[A-Za-z0-9_-]+")


def checked_name(name: object, of: str = "An agent") -> str:
    """Return the name of an agent, a node or a graph, if it is one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        example = '"receipt_agent"; role_name may be any text' if of == "An agent" else '"receipts"'
        raise AgentError(
            f"{of} is named {str(name)[:60]!r}; letters A to Z, digits, _ and - were expected.",
            fix=f"name it, for example {example}.",
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


def at_least(name: str, value: Any, least: int, *, whole: bool = False) -> None:
    """Refuse what is no number, or less than `least`, or infinite."""
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value < math.inf:
        noun = "a whole number" if whole else "a number"
        raise AgentError(
            f"{name} is {str(value)[:40]!r}; {noun}, at least {least}, was expected.",
            fix=f"set {name} to {least} or more.",
        )


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
            warn(
                f"Agent '{agent}': the template's {{{name}}} is no declared field;"
                f" is {{{meant}}} meant?",
                FieldWarning,
            )
