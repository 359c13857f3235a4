"""Messages, before they are sent, to about how many dollars the answer will cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentcell.adapters.anthropic_encoder import DEFAULT_MAX_TOKENS
from agentcell.adapters.estimate import LONGEST_ANSWER, USUAL_ANSWER, Estimate, estimate_tokens
from agentcell.adapters.events import Usage
from agentcell.adapters.model import Model
from agentcell.adapters.outgoing import Outgoing
from agentcell.adapters.price_table import shown
from agentcell.adapters.pricing import Cost, cost, price_of
from agentcell.adapters.registry import resolve
from agentcell.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """What a request and its answer cost: about, at the least, at the most.

    Parameters
    ----------
    tokens
        Of the request.
    answer_tokens
        The most that the answer may have.
    is_bounded
        Whether anything limits the answer to that; else `high` rests on a guess.
    """

    tokens: Estimate
    answer_tokens: int
    is_bounded: bool
    expected: Cost
    low: Cost
    high: Cost

    def __str__(self) -> str:
        if not self.high.total:
            return "free"
        most = f"at most {shown(self.high.total)}"
        if not self.is_bounded:
            most = f"{shown(self.high.total)} for {self.answer_tokens:,} tokens of answer"
        return f"about {shown(self.expected.total)}, {most}"


def estimate_cost(
    messages: list[Message] | Outgoing,
    model: Model | str,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> CostEstimate | None:
    """Return about what asking `model` will cost, None where its price is not known.

    Nothing is taken to come from a cache.

    Parameters
    ----------
    messages, model, tools, settings
        As for `estimate_tokens`; the setting ``max_tokens`` bounds the answer.

    Raises
    ------
    PriceError
        If the file that ``AGENTCELL_PRICES`` names cannot be read.
    BadRequest, Unsupported
        For messages that could not be sent.
    """
    asked = resolve(model) if isinstance(model, str) else model
    price_of(asked)  # says so here if the file of prices is broken; `cost` would not
    tokens = estimate_tokens(messages, asked, tools=tools, settings=settings)
    limit = {**asked.invoke_settings, **(settings or {})}.get("max_tokens")
    is_bounded = isinstance(limit, int) and not isinstance(limit, bool) and limit >= 1
    longest = LONGEST_ANSWER
    if isinstance(limit, int) and is_bounded:
        longest = limit
    elif asked.provider == "anthropic":  # which is never asked without a limit
        is_bounded, longest = True, DEFAULT_MAX_TOKENS
    counts = (
        (tokens.tokens, min(USUAL_ANSWER, longest)),
        (tokens.low, 1),
        (tokens.high, longest),
    )
    costs = [
        cost(asked, Usage(input_tokens=read, output_tokens=written, estimated=True))
        for read, written in counts
    ]
    expected, low, high = costs
    if expected is None or low is None or high is None:
        return None
    return CostEstimate(
        tokens=tokens,
        answer_tokens=longest,
        is_bounded=is_bounded,
        expected=expected,
        low=low,
        high=high,
    )
