"""`%agent budget`, the question about a cost, and what a cell and the status say of costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentcell.amounts import amount, dollars, plain_amount
from agentcell.budget import Budget
from agentcell.errors import CellError, PriceError
from agentcell.safe_text import plain
from agentcell_magics import cards
from agentcell_magics.line import shown
from agentcell_magics.live import show
from agentcell_magics.person import ask_person
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from agentcell.answer import Answer
    from agentcell.budget import CostQuestion
    from agentcell.session import Session

_NOBODY = "nobody can be asked here"
_ABOVE = "--ask-above"


class CostApproval:
    """Asks the person about the cost of one cell's question; see `Confirm`.

    Parameters
    ----------
    can_ask
        Whether the person waits at this cell.
    """

    def __init__(self, *, can_ask: bool = True) -> None:
        self._can_ask = can_ask

    def __call__(self, question: CostQuestion) -> bool | str:
        """Return True to send it, False where the person says no, else why nobody was asked."""
        if not self._can_ask:
            return f"{_NOBODY}: it is answered in the background"
        text = plain(str(question)).replace("\n", " ")
        said = ask_person(f"{text[:1].upper()}{text[1:]}. Send it? y = yes, n = no: ")
        return _NOBODY if said == "nobody" else said == "yes"


def budget(session: Session, arguments: list[str]) -> None:
    """Set what may be spent, or end that; without arguments, show it.

    Raises
    ------
    CellError
        If the line cannot be read.
    """
    words, above = _without_above(arguments)
    text = " ".join(words)
    if "off" in map(str.casefold, words):
        if len(words) > 1 or above is not None:
            raise CellError(
                "%agent budget off takes nothing more.", fix="write %agent budget off alone."
            )
        session.budget = None
    elif words or above is not None:
        before = session.budget
        if not words and before is None:
            raise CellError(
                f"{_ABOVE} needs a budget, and there is none.",
                fix=f"write for example %agent budget 2.00 usd {_ABOVE} 0.10.",
            )
        try:
            usd = amount(text) if words or before is None else before.usd
            session.budget = Budget(
                usd=usd,
                ask_above=None if above is None else amount(above, _ABOVE),
            )
        except PriceError as error:
            raise CellError(error.problem, fix=error.fix) from error
    show(cards.rows("Budget", [*budget_facts(session), ("spent", spent_text(session))]))


def _without_above(arguments: list[str]) -> tuple[list[str], str | None]:
    """Return the words of the amount, and what stands after ``--ask-above``."""
    words: list[str] = []
    above: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name, sign, value = word.partition("=")
        if name == _ABOVE:
            above.append(value if sign else next(rest, ""))
        elif word.startswith("--") or (word.startswith("-") and word[1:2].isalpha()):
            raise CellError(
                f"%agent budget has no option {shown(word)!r}.",
                fix=f"write for example %agent budget 2.00 usd {_ABOVE} 0.10.",
            )
        elif above and word.casefold() in {"usd", "dollar", "dollars"} and not words:
            above[-1] += f" {word}"
        else:
            words.append(word)
    if len(above) > 1:
        raise CellError(f"{_ABOVE} is given twice.", fix="keep one.")
    if above and not above[0].strip():
        raise CellError(f"{_ABOVE} needs an amount.", fix=f"write for example {_ABOVE} 0.10.")
    return words, above[0] if above else None


def budget_facts(session: Session) -> list[tuple[str, str]]:
    """Return what may be spent, and what of it is left."""
    set_ = session.budget
    if set_ is None:
        return [("budget", "none: every question goes out")]
    left = max(set_.usd - session.cost.usd, amount(0))
    return [
        ("budget", dollars(set_.usd)),
        ("left", dollars(left)),
        ("asks", say("above {dollars} for one question", dollars=dollars(set_.threshold))),
    ]


def spent_text(session: Session) -> str:
    """Return what was paid until now, as far as it is known."""
    spent = session.cost
    if not spent.unknown:
        return dollars(spent.usd)
    count = say("{count} turn" if spent.unknown == 1 else "{count} turns", count=spent.unknown)
    if spent.usd:
        return say(
            "at least {dollars} ({turns} of unknown cost)", dollars=dollars(spent.usd), turns=count
        )
    return say("unknown ({turns} of unknown cost)", turns=count)


def status_facts(session: Session) -> list[tuple[str, str]]:
    """Return what the session's status says of costs; nothing where all of it was free."""
    spent, set_ = session.cost, session.budget
    facts = [("cost", spent_text(session))] if spent.usd or spent.unknown else []
    if set_ is not None:
        left = max(set_.usd - spent.usd, amount(0))
        facts.append(
            ("budget", say("{dollars}, {left} left", dollars=dollars(set_.usd), left=dollars(left)))
        )
    return facts


def answer_cost(answer: Answer, session: Session) -> str:
    """Return what the line under an answer says of its cost; nothing of what is free.

    Parameters
    ----------
    answer
        As it ended.
    session
        Where there is a budget, a cost that is not known is told too.
    """
    if answer.cost is None:
        return "" if session.budget is None else say("cost unknown")
    return dollars(answer.cost) if answer.cost else ""


def saved_cost(answer: Answer) -> str | None:
    """Return US dollars as an output's metadata have them: ``"0.0042"``; None: not known."""
    return None if answer.cost is None else f"{answer.cost.normalize():f}"


def saved_usage(answer: Answer) -> dict[str, Any] | None:
    """Return the counts of tokens as an output's metadata have them."""
    usage = answer.usage
    if usage is None:
        return None
    counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    more = {
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "estimated": usage.estimated,
    }
    return {**counts, **{name: value for name, value in more.items() if value}}


def configured(usd: str | None, ask_above: str | None) -> Budget | None:
    """Return the budget that settings make; None where there is none.

    Parameters
    ----------
    usd
        An amount, ``off``, or None.
    ask_above
        An amount, or None for a tenth.
    """
    if usd is None or usd.strip().casefold() == "off":
        return None
    return Budget(usd=usd, ask_above=ask_above)


def settings_of(budget: Budget | None) -> dict[str, str]:
    """Return the settings that make a budget; what it leaves open, stays as it is."""
    if budget is None:
        return {"budget": "off"}
    above = budget.ask_above
    more = {} if above is None else {"ask_above": plain_amount(above)}
    return {"budget": plain_amount(budget.usd), **more}
