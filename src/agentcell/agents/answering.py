"""What was observed → an answer that holds the declared outputs, asked for again if need be."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcell.adapters.events import Citation, Retrying, Usage
from agentcell.agents.exchange import Step, ToolLog, exchange
from agentcell.agents.observe import Observation
from agentcell.agents.output import (
    Malformed,
    answer_error,
    read_answer,
    repair_note,
    without_thoughts,
)
from agentcell.agents.parts import at_least
from agentcell.agents.tools import Tool
from agentcell.assets.wording import short
from agentcell.messages import Message


class AnswerWarning(UserWarning):
    """An answer is there, and not whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """The end of a step; comes last in a stream.

    Parameters
    ----------
    output
        What `Agent.step` returns.
    text
        The answer as the model wrote it, without thoughts.
    messages
        What followed the question: tool calls and results, the answer.
    usage
        Summed over every call of the step; None where no provider said.
    """

    output: dict[str, Any] = field(repr=False)
    text: str = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)
    usage: Usage | None = None
    finish_reason: str = "stop"
    model: str = ""
    citations: tuple[Citation, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"StepFinished({short(self.text, 80)!r}, {short(self.finish_reason, 40)})"


@dataclass(frozen=True, slots=True)
class Asking:
    """How often an answer is asked for, the seconds between, and the rounds of tool calls."""

    max_retries: int
    retry_delay: float
    retry_backoff: float
    max_rounds: int

    def __post_init__(self) -> None:
        at_least("max_retries", self.max_retries, 1, whole=True)
        at_least("retry_delay", self.retry_delay, 0)
        at_least("retry_backoff", self.retry_backoff, 0)
        at_least("max_rounds", self.max_rounds, 0, whole=True)


def answering(
    seen: Observation,
    tools: Mapping[str, Tool],
    settings: Mapping[str, Any] | None,
    *,
    asking: Asking,
    takes_media: bool,
) -> Generator[Step, Any, StepFinished]:
    """Yield what is to be done until the answer holds what it must; return it.

    Only the model is asked again: a tool that was called before gives what it gave.

    Raises
    ------
    AnswerError
        After `asking.max_retries` answers that cannot be used.
    """
    log = ToolLog(asking.max_rounds)
    sent = seen.messages
    usage: Usage | None = None
    for attempt in range(1, asking.max_retries + 1):
        ended = yield from exchange(
            sent, tools, settings, log=log, tags=seen.tags, takes_media=takes_media
        )
        result = ended.result
        usage = result["usage"] if usage is None else usage + (result["usage"] or Usage())
        text = without_thoughts(result["content"])
        try:
            output = read_answer(text, seen.outputs, result["finish_reason"])
        except Malformed as problem:
            if problem.final or attempt == asking.max_retries:
                raise answer_error(text, problem, seen.outputs) from None
            wait = asking.retry_delay * asking.retry_backoff ** (attempt - 1)
            yield Retrying(attempt + 1, wait, f"the answer cannot be used: {problem.problem}")
            log.repairing = True
            note = {"role": "user", "content": repair_note(problem.problem, seen.outputs)}
            sent = [*sent, *(ended.messages if text else ended.messages[:-1]), note]
            continue
        return StepFinished(
            output=output,
            text=text,
            messages=(*sent[len(seen.messages) :], *ended.messages),
            usage=usage,
            finish_reason=result["finish_reason"],
            model=result["model"],
            citations=tuple(result["citations"]),
        )
    raise AssertionError("the last attempt returns or raises")


def remembered(seen: Observation, ended: StepFinished, history: Any) -> StepFinished:
    """Give a step that succeeded to the history, if that takes it; return the step.

    Warns
    -----
    AnswerWarning
        If the answer stops at the limit of its tokens, or the history cannot take it.
    """
    if ended.finish_reason == "length":
        warnings.warn(
            "The answer stops at the limit of its tokens: raise max_tokens.",
            AnswerWarning,
            stacklevel=3,
        )
    answer: Message = {"role": "assistant", "content": ended.text}
    try:
        _keep(history, [seen.turn, answer])
    except Exception as problem:  # noqa: BLE001 (whatever it is, the answer is there and paid for)
        warnings.warn(
            f"The turn is not in the history: {type(history).__name__} failed with"
            f" {type(problem).__name__}: {str(problem)[:200]}",
            AnswerWarning,
            stacklevel=3,
        )
    return ended


def _keep(history: Any, messages: list[Message]) -> None:
    if hasattr(history, "extend"):  # at once, so that no other thread's turn comes between
        history.extend(messages)
    elif hasattr(history, "insert"):
        for message in messages:
            history.insert(message["role"], message["content"])


def remembering(events: Iterator[Any], seen: Observation, history: Any) -> Iterator[Any]:
    """Pass on `events`; the step that ends them is given to the history."""
    for event in events:
        if isinstance(event, StepFinished):
            remembered(seen, event, history)
        yield event


async def aremembering(
    events: AsyncIterator[Any], seen: Observation, history: Any
) -> AsyncIterator[Any]:
    """Like `remembering`, asynchronous; closed early, it closes `events`."""
    try:
        async for event in events:
            if isinstance(event, StepFinished):
                remembered(seen, event, history)
            yield event
    finally:
        await events.aclose()  # type: ignore[attr-defined]
