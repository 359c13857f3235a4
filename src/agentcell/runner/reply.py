"""What a function that asks a model returned → a `Model.invoke` result, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from agentcell.adapters.events import ModelResponseType, Usage
from agentcell.agents.rounds import normal_result
from agentcell.assets.wording import a_type
from agentcell.errors import ModelError
from agentcell.messages import ToolCall
from agentcell.openai_shape import read_call

_COUNTS = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    Parameters
    ----------
    message
        The assistant's, with `ToolCall` objects.
    usage
        None where nobody counted.
    cost
        US dollars, where whoever asked says so.
    """

    message: dict[str, Any] = field(repr=False)
    usage: Usage | None = None
    cost: Decimal | None = None

    @property
    def calls(self) -> list[ToolCall]:
        """The tools that the model wants called."""
        return list(self.message.get("tool_calls") or ())

    @property
    def text(self) -> str:
        """What the model said."""
        return str(self.message.get("content") or "")


def reply_of(returned: Any, asked: Any) -> Reply:
    """Return the answer in what a function returned.

    Parameters
    ----------
    returned
        A text; what `Model.invoke` returns; or a mapping with ``content`` and ``tool_calls`` as
        OpenAI writes them, and perhaps ``usage`` (or ``prompt_tokens`` and
        ``completion_tokens``) and ``cost``; or OpenAI's whole answer, with ``choices``.
    asked
        The function, for errors.

    Raises
    ------
    ModelError
        If it is none of these.
    """
    if isinstance(returned, str):
        return Reply({"role": "assistant", "content": returned})
    if not isinstance(returned, Mapping):
        raise _unread(returned, asked)
    if isinstance(returned.get("type"), ModelResponseType):
        result = normal_result(asked, dict(returned))
        usage = result.get("usage")
        return Reply(
            dict(result["assistant_message"]),
            usage if isinstance(usage, Usage) else None,
            _cost(returned.get("cost")),
        )
    returned = _first_choice(returned)
    content, calls = returned.get("content"), returned.get("tool_calls") or ()
    read = [_call(*one) for one in enumerate(calls, 1)] if _is_list(calls) else [None]
    says_nothing = content is None and not read
    if not isinstance(content, (str, type(None))) or None in read or says_nothing:
        raise _unread(returned, asked)
    message: dict[str, Any] = {"role": "assistant", "content": content or ""}
    if read:
        message["tool_calls"] = read
    if returned.get("opaque"):
        message["opaque"] = list(returned["opaque"])
    return Reply(message, _usage(returned), _cost(returned.get("cost")))


def _first_choice(returned: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message in OpenAI's whole answer, with its usage; anything else as it is."""
    choices = returned.get("choices")
    first = choices[0] if _is_list(choices) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    if not isinstance(message, Mapping):
        return returned
    return {**returned, **message}


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _call(number: int, call: Any) -> ToolCall | None:
    """Return one call; one without an id has its number for it, which the run makes its own."""
    if isinstance(call, Mapping) and not (call.get("id") or call.get("call_id")):
        call = {**call, "id": f"call_{number}"}
    return read_call(call)


def _usage(returned: Mapping[str, Any]) -> Usage | None:
    given = returned.get("usage")
    if isinstance(given, Usage):
        return given
    counts = given if isinstance(given, Mapping) else returned
    found: dict[str, int] = {}
    for name, spellings in _COUNTS.items():
        for spelling in spellings:
            value = counts.get(spelling)
            if isinstance(value, int) and not isinstance(value, bool):
                found.setdefault(name, value)
    return (
        Usage(input_tokens=found.get("input_tokens"), output_tokens=found.get("output_tokens"))
        if found
        else None
    )


def _cost(value: Any) -> Decimal | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return cost if cost.is_finite() and cost >= 0 else None


def _unread(returned: Any, asked: Any) -> ModelError:
    name = getattr(asked, "__name__", type(asked).__name__)
    keys = f" with {', '.join(map(str, returned))[:60]}" if isinstance(returned, Mapping) else ""
    return ModelError(
        f"{name} returned {a_type(returned)}{keys}; an answer was expected.",
        fix='return a text, or {"content": "…", "tool_calls": […], "usage": {…}}.',
    )
