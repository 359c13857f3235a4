"""A finished answer: a string that also knows how it came about."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Self

from agentcell.adapters.events import Citation, Usage
from agentcell.history.turns import Turn
from agentcell.safe_text import plain, safe_markdown

_SHOWN = 200


class Answer(str):
    """A model's answer. It is its text; the rest stands in its attributes.

    Parameters
    ----------
    text
        What was answered, as far as it came.
    model
        ``provider/model`` as asked.
    status
        ``complete``, ``interrupted`` or ``failed``.
    finish_reason
        ``stop``, ``length``, ``content_filter``, ``refusal``; empty if interrupted.
    usage
        Tokens, as the provider counted them; None if it did not say.
    seconds
        From sending to the end.
    citations
        Where statements come from.
    turn_id
        The turn's name in the session.
    value
        What was asked for by a schema; None where there was none.
    cost
        US dollars; None where that is not known, 0 for what is free.
    """

    __slots__ = (
        "citations",
        "cost",
        "finish_reason",
        "model",
        "seconds",
        "status",
        "turn_id",
        "usage",
        "value",
    )

    model: str
    status: str
    finish_reason: str
    usage: Usage | None
    seconds: float
    citations: tuple[Citation, ...]
    turn_id: str
    value: Any
    cost: Decimal | None

    def __new__(  # noqa: D102, PLR0913 (one for each attribute)
        cls,
        text: str,
        *,
        model: str = "",
        status: str = "complete",
        finish_reason: str = "stop",
        usage: Usage | None = None,
        seconds: float = 0.0,
        citations: tuple[Citation, ...] = (),
        turn_id: str = "",
        value: Any = None,
        cost: Decimal | None = None,
    ) -> Self:
        answer = super().__new__(cls, text)
        answer.model = model
        answer.status = status
        answer.finish_reason = finish_reason
        answer.usage = usage
        answer.seconds = seconds
        answer.citations = citations
        answer.turn_id = turn_id
        answer.value = value
        answer.cost = cost
        return answer

    @classmethod
    def of(cls, turn: Turn, value: Any = None) -> Answer:
        """Return the answer of a turn, as far as it came.

        Parameters
        ----------
        turn
            As the session keeps it.
        value
            What was asked for by a schema.
        """
        return cls(
            turn.answer,
            model=turn.model,
            status=turn.status,
            finish_reason=turn.finish_reason,
            usage=turn.usage,
            seconds=turn.seconds,
            citations=turn.citations,
            turn_id=turn.id,
            value=value,
            cost=turn.cost,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (str(self), {name: getattr(self, name) for name in self.__slots__}))

    def __repr__(self) -> str:
        text = str(self)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        return f"Answer({shown!r})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/markdown": safe_markdown(str(self)), "text/plain": plain(str(self))}


def _rebuilt(text: str, facts: dict[str, Any]) -> Answer:
    return Answer(text, **facts)
