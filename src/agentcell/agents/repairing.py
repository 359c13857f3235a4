"""An answer that cannot be used → the same question again, with a note of what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcell.adapters.events import Retrying, Usage
from agentcell.agents.exchange import Step, ToolLog, exchange
from agentcell.agents.output import Malformed, without_thoughts
from agentcell.agents.tools import Tool
from agentcell.messages import Message
from agentcell.prompts.tags import TagRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an answer must be.

    Parameters
    ----------
    read
        Makes what is wanted of an answer's text and its finish reason; raises `Malformed`.
    note
        Tells the model what is wrong with its answer.
    error
        Makes the error of an answer's text that stayed unusable.
    """

    read: Callable[[str, str], Any]
    note: Callable[[Malformed], str]
    error: Callable[[str, Malformed], Exception]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """An answer that is what it must be.

    Parameters
    ----------
    output
        What was read from it.
    text
        The answer, without thoughts.
    result
        The last `Model.invoke` result; its ``usage`` is the sum over all calls.
    messages
        All that followed the question: tool rounds, answers that could not be used with the notes
        about them, the answer.
    """

    output: Any = field(repr=False)
    text: str = field(repr=False)
    result: dict[str, Any] = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)


def repairing(  # noqa: PLR0913 (each is a fact of its own about the exchange)
    messages: Sequence[Message],
    tools: Mapping[str, Tool],
    settings: Mapping[str, Any] | None,
    *,
    wanted: Wanted,
    attempts: int,
    log: ToolLog,
    tags: TagRegistry,
    takes_media: bool,
    delay: Callable[[int], float] = lambda _: 0.0,
    added: list[Message] | None = None,
) -> Generator[Step, Any, Usable]:
    """Yield what is to be done until an answer is what it must be; return it.

    Only the model is asked again: a tool that was called before gives what it gave.

    Parameters
    ----------
    messages, tools, settings, log, tags, takes_media
        As for `exchange`.
    attempts
        How often at most an answer is asked for.
    delay
        Seconds before asking again, by the number of the attempt that failed.
    added
        As for `exchange`; answers that could not be used, and notes about them, do not stay there.

    Raises
    ------
    Exception
        `wanted.error`, after the last attempt.
    """
    added = [] if added is None else added
    sent = list(messages)
    usage: Usage | None = None
    for attempt in range(1, attempts + 1):
        ended = yield from exchange(
            sent, tools, settings, log=log, tags=tags, takes_media=takes_media, added=added
        )
        result = ended.result
        usage = result["usage"] if usage is None else usage + (result["usage"] or Usage())
        text = without_thoughts(result["content"])
        try:
            output = wanted.read(text, result["finish_reason"])
        except Malformed as problem:
            if problem.final or attempt == attempts:
                raise wanted.error(text, problem) from None
            reason = f"the answer cannot be used: {problem.problem}"
            yield Retrying(attempt + 1, delay(attempt), reason)
            log.repairing = True
            added.pop()  # the answer
            note = {"role": "user", "content": wanted.note(problem)}
            sent = [*sent, *(ended.messages if text else ended.messages[:-1]), note]
            continue
        return Usable(
            output=output,
            text=text,
            result={**result, "usage": usage},
            messages=(*sent[len(messages) :], *ended.messages),
        )
    raise AssertionError("the last attempt returns or raises")
