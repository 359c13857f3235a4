"""A conversation without attachments → what the small model says, piece by piece."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from agentcell.adapters.content import Turn
from agentcell.adapters.events import Event, TextDelta
from agentcell.adapters.local import reply
from agentcell.adapters.local.exchange import TooLong
from agentcell.adapters.local.voice import Voice
from agentcell.adapters.schema import Schema
from agentcell.adapters.settings import Settings
from agentcell.messages import Message

MAX_TOKENS = 512
"""The longest answer where none is asked for: the small model does not always find an end."""

_MANNERS = "You are a helpful assistant. Answer briefly."
_LONGEST_TEXT = 400
"""Letters of one text in a JSON answer, where we make the schema."""


def sampling(settings: Settings) -> dict[str, Any]:
    """Return the settings that are set, as the server names them."""
    values = {
        "max_tokens": settings.max_tokens,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        # The server's seeds have 32 bits, the largest of which means "any".
        "seed": None if settings.seed is None else settings.seed % (2**32 - 1),
        "stop": list(settings.stop) or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def schema_of_outputs(outputs: dict[str, str]) -> Schema:
    """Return a schema of an object with these texts."""
    text = {"type": "string", "maxLength": _LONGEST_TEXT}
    return Schema.of(
        {
            "type": "object",
            "properties": {name: {**text, "description": says} for name, says in outputs.items()},
            "required": list(outputs),
            "additionalProperties": False,
        }
    )


async def chat(
    voice: Voice, turns: Sequence[Turn], settings: Settings, *, schema: Schema | None
) -> AsyncGenerator[Event]:
    """Yield the model's answer to the last of `turns`.

    Turns that no longer fit are left out, the first ones first, and that is said.

    Raises
    ------
    TooLong
        If the last message alone does not fit.
    ModelError
        See `Speaker.chat`.
    """
    body: dict[str, Any] = {"max_tokens": MAX_TOKENS, "temperature": 0.0, **sampling(settings)}
    if schema is not None:
        form = {"name": schema.name, "schema": schema.document}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    rules = [text for turn in turns if turn.role in ("system", "developer") and (text := turn.text)]
    said = [message for turn in turns if (message := _message(turn))]
    left_out = 0
    while True:
        system: Message = {"role": "system", "content": "\n\n".join(rules) or _MANNERS}
        body["messages"] = [system, *said[left_out:]]
        try:
            async with aclosing(voice.chat(body)) as events:
                noted = not left_out or schema is not None
                async for event in events:
                    if not noted:
                        yield TextDelta(reply.forgotten_note(left_out) + "\n\n")
                        noted = True
                    yield event
        except TooLong as error:
            more = _too_many(said[left_out:], error.tokens, error.limit)
            if not more:
                raise
            left_out += more
        else:
            return


def _message(turn: Turn) -> Message | None:
    """Return a turn as the model's own template knows it: text, from a user or the assistant."""
    text = turn.text
    if not text or turn.role in ("system", "developer"):
        return None
    if turn.role == "tool":
        return {"role": "user", "content": f"Result of a tool:\n{text}"}
    return {"role": turn.role, "content": text}


def _too_many(said: Sequence[Message], tokens: int, limit: int) -> int:
    """Return how many of the first messages to leave out, so that the rest fits and is answered.

    The next one is then the user's; 0 if only one is left.
    """
    room = limit // 4  # reading the whole of it again takes the small model half a minute
    lengths = [len(message["content"].encode()) + 30 for message in said]
    letters_per_token = max(sum(lengths) / tokens, 0.1)
    excess = (tokens - room) * letters_per_token
    count = 0
    while count < len(said) - 1 and (excess > 0 or said[count]["role"] != "user"):
        excess -= lengths[count]
        count += 1
    return count
