"""Messages of a turn that may have been stopped anywhere → the same, as every provider takes them.

No provider takes a call of a tool without its result, nor a result without its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentcell.messages import Message

STOPPED_MARK = "[The answer was stopped here.]"
"""What a model reads at the end of an answer that the person stopped."""

STOPPED_RESULT = "The call was stopped before it had a result."
"""What a model reads for the result of a call that was stopped."""


def closed(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield `messages` with a result for each call, and without results of no call.

    Parameters
    ----------
    messages
        Of one turn, in order; not changed.
    """
    open_calls: dict[str, str] = {}
    for message in messages:
        if message.get("role") == "tool":
            if open_calls.pop(message.get("tool_call_id", ""), None) is not None:
                yield message
            continue
        yield from _stopped(open_calls)
        open_calls = {call.id: call.name for call in message.get("tool_calls") or ()}
        yield message
    yield from _stopped(open_calls)


def stopped(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield `messages`, closed, so that they end in an answer which says that it was stopped.

    Parameters
    ----------
    messages
        Of one turn, in order; not changed.
    """
    *before, last = closed(messages)
    yield from before
    if last.get("role") == "assistant" and isinstance(last["content"], str):
        text = f"{last['content']}\n\n{STOPPED_MARK}".lstrip()
        yield {**last, "content": text}
    else:
        yield last
        yield {"role": "assistant", "content": STOPPED_MARK}


def _stopped(calls: dict[str, str]) -> Iterator[Message]:
    for identity, name in calls.items():
        yield {
            "role": "tool",
            "tool_call_id": identity,
            "name": name,
            "content": STOPPED_RESULT,
        }
