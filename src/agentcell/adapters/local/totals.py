"""Several totals of one document -> which of them is the final one."""

# ruff: noqa: PLR2004 (the weights were measured together, and stand where they are used)

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from agentcell.adapters.local.answering import amounts
from agentcell.adapters.local.fact import Fact
from agentcell.adapters.local.lines import values_of
from agentcell.adapters.local.matching import SUMS
from agentcell.adapters.local.question import Question
from agentcell.adapters.local.words import folded

_REPEATS = SUMS | {"tendered", "payment_method"}


@dataclass(frozen=True, slots=True)
class _Context:
    """What the document's other rows say: how often a sum is written, where it is rounded."""

    sums: Counter[Decimal]
    rounded: tuple[int, ...]
    closing: int
    largest: Decimal
    has_change: bool


def prefer_final(
    question: Question, facts: Sequence[Fact], scores: list[float], everything: Sequence[Fact]
) -> None:
    """Raise, of several totals, the one that is final; `scores` is changed.

    That is the one which other rows repeat (what was paid), the one after a row of rounding, or
    the last before the cash and the change; sums of a tax table after those are not.

    Parameters
    ----------
    facts, scores
        What may answer, and how well.
    everything
        All facts of the document.
    """
    if not set(question.terms) & SUMS:
        return
    family = [
        number
        for number, fact in enumerate(facts)
        if scores[number] > 0.4 and set(fact.terms) & SUMS
    ]
    if len(family) < 2:
        return
    context = _context(everything, [facts[number] for number in family])
    for order, number in enumerate(sorted(family, key=lambda number: facts[number].row)):
        scores[number] += 0.04 * order / len(family) + _raise(facts[number], context)


def _last_amount(fact: Fact) -> Decimal | None:
    found = amounts(fact.value)
    return found[-1].number if found else None


def _context(everything: Sequence[Fact], family: Sequence[Fact]) -> _Context:
    repeated = [_last_amount(fact) for fact in everything if set(fact.terms) & _REPEATS]
    closing = [fact.row for fact in everything if set(fact.terms) & {"change", "tendered"}]
    return _Context(
        sums=Counter(number for number in repeated if number is not None),
        rounded=tuple(fact.row for fact in everything if "rounding" in fact.terms),
        closing=min(closing, default=10**9),
        has_change=any("change" in fact.terms and bool(_last_amount(fact)) for fact in everything),
        largest=max(abs(_last_amount(fact) or Decimal(0)) for fact in family),
    )


def _raise(fact: Fact, context: _Context) -> float:
    number = _last_amount(fact)
    raised = 0.0
    is_part = any(found.kind == "percent" for found in values_of(fact.label))
    if is_part:
        return -0.1  # "Total 6% supplies"
    if "paid" in fact.terms and context.has_change:
        raised -= 0.2  # what was handed over
    if fact.row > context.closing:
        raised -= 0.12
    if len({found.number for found in amounts(fact.value)}) > 1:
        raised -= 0.12
    if any(0 < fact.row - row <= 3 for row in context.rounded):
        raised += 0.1
    label = folded(fact.label)
    if "grand" in label or "rounded" in label:
        raised += 0.05
    if number is not None:
        raised += 0.05 if context.sums[number] > 1 else 0.0
        raised += 0.03 if number == context.largest else 0.0
        raised -= 0.0 if number else 0.2
    return raised
