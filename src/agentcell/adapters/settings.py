"""Settings as people write them, to settings whose types and ranges are known to be right.

The nine common names are the same for every model. Each adapter maps them to its provider's own
and says of each that it cannot take what to do instead. Nothing is sent as null: None means
"not set", also where it takes back a default.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from agentcell.adapters.schema import Schema
from agentcell.errors import Unsupported
from agentcell.safe_text import shown_value

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model may think, in OpenAI's words (SDK 3.57, read 2026-11-29)."""

DETAILS = ("auto", "low", "high", "original")
"""How closely a model looks at an image, in OpenAI's words (SDK 3.57, read 2026-11-29)."""

MOST_STOPS = 4
"""Chat Completions takes no more (SDK 3.57, read 2026-11-29)."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Whether the model must call a tool: ``auto``, ``none``, ``required``, or the one named."""

    mode: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Checked settings. None means "not set".

    Parameters
    ----------
    temperature
        0 to 2: how freely the model words its answer.
    top_p
        0 to 1: the share of likely words it chooses from.
    max_tokens
        The longest answer, in tokens; at least 1.
    stop
        The answer ends before any of these.
    tool_choice
        See `ToolChoice`.
    seed
        An integer: the same seed tends to give the same answer.
    reasoning
        How much to think: one of `EFFORTS`, and the provider's own fields beside it.
    schema
        The JSON schema that the answer follows.
    detail
        How closely to look at images: one of `DETAILS`.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    tool_choice: ToolChoice | None = None
    seed: int | None = None
    reasoning: Mapping[str, Any] | None = None
    schema: Schema | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked, for the messages of errors."""

    provider: str
    model: str

    @property
    def name(self) -> str:
        """``provider/model``."""
        return f"{self.provider}/{self.model}"

    def refuse(self, problem: str, fix: str) -> NoReturn:
        """Raise `Unsupported`."""
        raise Unsupported(problem, fix=fix, provider=self.provider, model=self.model)


def read_settings(
    settings: Mapping[str, Any],
    asked: Asked,
    *,
    instead: Mapping[str, str] | None = None,
    tool_names: Sequence[str] = (),
) -> Settings:
    """Return `settings` checked.

    Parameters
    ----------
    settings
        By common name.
    asked
        Who is asked.
    instead
        Common names that this model cannot take, each with what to do instead.
    tool_names
        The tools of the request, which `tool_choice` may name.

    Raises
    ------
    Unsupported
        If a name is unknown, a value is of the wrong type or out of range, or the model cannot
        take the setting.
    """
    instead = instead or {}
    values: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in _CHECKS:
            _refuse_unknown(name, asked, instead)
        if value is None:
            continue
        if name in instead:
            asked.refuse(f"{asked.name} takes no setting {name!r}.", instead[name])
        values[name] = _CHECKS[name](name, value, asked)
    choice = values.get("tool_choice")
    if choice is not None:
        values["tool_choice"] = _usable_choice(choice, tool_names, asked)
    return Settings(**values)


def _refuse_unknown(name: object, asked: Asked, instead: Mapping[str, str]) -> NoReturn:
    near = difflib.get_close_matches(str(name), _CHECKS, 1)
    takes = ", ".join(known for known in _CHECKS if known not in instead)
    hint = f"write {near[0]!r}" if near else f"use {takes}"
    asked.refuse(f"Invalid model setting: {name!r} for {asked.name}.", f"{hint}.")


def _number(low: float, high: float) -> Callable[[str, Any, Asked], float]:
    def check(name: str, value: Any, asked: Asked) -> float:
        if _is_number(value) and low <= value <= high:  # NaN is neither
            return float(value)
        return _refuse_value(name, value, f"a number from {low:g} to {high:g}", asked)

    return check


def _is_number(value: object) -> bool:
    # A bool is an int to Python and never a number here; numpy's scalars have __float__.
    if isinstance(value, (bool, str, bytes)) or type(value).__name__ in {"bool", "bool_"}:
        return False
    return hasattr(type(value), "__float__") and not hasattr(type(value), "__len__")


def _is_integer(value: object) -> bool:
    return _is_number(value) and hasattr(type(value), "__index__")


def _count(name: str, value: Any, asked: Asked) -> int:
    if _is_integer(value) and int(value) >= 1:
        return int(value)
    return _refuse_value(name, value, "a whole number, at least 1", asked)


def _seed(name: str, value: Any, asked: Asked) -> int:
    if _is_integer(value) and -(2**63) <= int(value) < 2**63:
        return int(value)
    return _refuse_value(name, value, "a whole number of at most 64 bits", asked)


def _stops(name: str, value: Any, asked: Asked) -> tuple[str, ...]:
    stops = (value,) if isinstance(value, str) else value
    if (
        isinstance(stops, (list, tuple))
        and 1 <= len(stops) <= MOST_STOPS
        and all(isinstance(stop, str) and stop for stop in stops)
    ):
        return tuple(stops)
    return _refuse_value(name, value, f"a text, or 1 to {MOST_STOPS} texts", asked)


def _tool_choice(name: str, value: Any, asked: Asked) -> ToolChoice:
    if isinstance(value, str) and value.strip():
        if value in {"auto", "none", "required"}:
            return ToolChoice(value)
        return ToolChoice("tool", value)
    if isinstance(value, Mapping):
        function = value.get("function")
        chosen = function.get("name") if isinstance(function, Mapping) else value.get("name")
        if isinstance(chosen, str) and chosen:
            return ToolChoice("tool", chosen)
    return _refuse_value(name, value, "'auto', 'none', 'required' or a tool's name", asked)


def _usable_choice(
    choice: ToolChoice, tool_names: Sequence[str], asked: Asked
) -> ToolChoice | None:
    if not tool_names:
        if choice.mode in {"auto", "none"}:
            return None  # says nothing without tools, and services answer 400 to it
        asked.refuse(
            f"tool_choice is {choice.name or choice.mode!r}, but no tools are given.",
            "give tools, or leave tool_choice out.",
        )
    if choice.mode == "tool" and choice.name not in tool_names:
        asked.refuse(
            f"tool_choice names {choice.name!r}, which is none of the tools given.",
            f"choose one of auto, none, required, {', '.join(tool_names)}.",
        )
    return choice


def _reasoning(name: str, value: Any, asked: Asked) -> Mapping[str, Any]:
    fields = {"effort": value} if isinstance(value, str) else value
    if isinstance(fields, Mapping) and fields and fields.get("effort", "low") in EFFORTS:
        return {key: item for key, item in fields.items() if item is not None}
    return _refuse_value(name, value, f"one of {', '.join(EFFORTS)}", asked)


def _schema(_name: str, value: Any, asked: Asked) -> Schema:
    try:
        return Schema.of(value)
    except ValueError as problem:
        return asked.refuse(
            str(problem), "give a JSON schema of an object, or a pydantic model class."
        )


def _detail(name: str, value: Any, asked: Asked) -> str:
    if value in DETAILS:
        return str(value)
    return _refuse_value(name, value, f"one of {', '.join(DETAILS)}", asked)


def _refuse_value(name: str, value: object, expected: str, asked: Asked) -> NoReturn:
    asked.refuse(
        f"{name} is {shown_value(value)}; {expected} was expected.", f"set {name} to {expected}."
    )


_CHECKS: Mapping[str, Callable[[str, Any, Asked], Any]] = {
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "max_tokens": _count,
    "stop": _stops,
    "tool_choice": _tool_choice,
    "seed": _seed,
    "reasoning": _reasoning,
    "schema": _schema,
    "detail": _detail,
}
