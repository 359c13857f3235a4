"""What was observed → an answer that holds the declared outputs, asked for again if need be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcell.adapters.events import Citation, Usage
from agentcell.agents.exchange import Step, ToolLog
from agentcell.agents.observe import Observation
from agentcell.agents.output import answer_error, read_answer, repair_note
from agentcell.agents.parts import at_least
from agentcell.agents.repairing import Wanted, repairing
from agentcell.agents.tools import Tool
from agentcell.assets.wording import short
from agentcell.interrupting import calmly
from agentcell.messages import Message
from agentcell.warned import warn

UNREMEMBERED = "as you asked; nothing of this step is remembered."
"""What became of a step that was interrupted."""


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

    def delay(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt, counted from 1, that failed."""
        return float(self.retry_delay * self.retry_backoff ** (attempt - 1))


def answering(
    seen: Observation,
    tools: Mapping[str, Tool],
    settings: Mapping[str, Any] | None,
    *,
    asking: Asking,
    takes_media: bool,
) -> Generator[Step, Any, StepFinished]:
    """Yield what is to be done until the answer holds what it must; return it.

    Raises
    ------
    AnswerError
        After `asking.max_retries` answers that cannot be used.
    """
    outputs = seen.outputs
    wanted = Wanted(
        read=lambda text, reason: read_answer(text, outputs, reason),
        note=lambda problem: repair_note(problem.problem, outputs),
        error=lambda text, problem: answer_error(text, problem, outputs),
    )
    ended = yield from repairing(
        seen.messages,
        tools,
        settings,
        wanted=wanted,
        attempts=asking.max_retries,
        delay=asking.delay,
        log=ToolLog(asking.max_rounds),
        tags=seen.tags,
        takes_media=takes_media,
    )
    return StepFinished(
        output=ended.output,
        text=ended.text,
        messages=ended.messages,
        usage=ended.result["usage"],
        finish_reason=ended.result["finish_reason"],
        model=ended.result["model"],
        citations=tuple(ended.result["citations"]),
    )


def remembered(seen: Observation, ended: StepFinished, history: Any) -> StepFinished:
    """Give a step that succeeded to the history, if that takes it; return the step.

    Warns
    -----
    AnswerWarning
        If the answer stops at the limit of its tokens, or the history cannot take it.
    """
    if ended.finish_reason == "length":
        warn("The answer stops at the limit of its tokens: raise max_tokens.", AnswerWarning)
    answer: Message = {"role": "assistant", "content": ended.text}
    try:
        _keep(history, [seen.turn, answer])
    except Exception as problem:  # noqa: BLE001 (whatever it is, the answer is there and paid for)
        warn(
            f"The turn is not in the history: {type(history).__name__} failed with"
            f" {type(problem).__name__}: {str(problem)[:200]}",
            AnswerWarning,
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
    with calmly(UNREMEMBERED):
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
