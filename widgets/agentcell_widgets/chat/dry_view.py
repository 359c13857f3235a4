"""A dry run → what the panel shows of it: rows of names and values."""

from __future__ import annotations

from collections.abc import Iterator

from agentcell.adapters.estimate import Estimate
from agentcell.adapters.price_table import shown
from agentcell.amounts import dollars
from agentcell.budget import Foreseen
from agentcell.dry_attachment import HOW_TEXTS, Count, DryAttachment
from agentcell.dry_run import DryMessage, DryRun
from agentcell.history.reader_words import cut
from agentcell.safe_text import plain
from agentcell.wording import say
from agentcell_widgets.chat.views import View
from agentcell_widgets.panel.media_words import translated

LONGEST_REQUEST = 60_000
"""Characters of the request that are shown."""

_LONGEST_TEXT = 4_000
_LONGEST_EARLIER = 300
_MOST_EARLIER = 12
_MOST_ATTACHMENTS = 40
_LONGEST_SETTING = 300


def dry_view(run: DryRun, as_sent: str) -> View:
    """Return the rows, why it cannot be sent if so, and the request itself.

    Parameters
    ----------
    run
        See `Session.dry_run`.
    as_sent
        The request as JSON; empty where it cannot be sent.
    """
    refusal = None if run.refusal is None else plain(run.refusal.problem)
    return {
        "rows": [[plain(name), plain(value)] for name, value in _rows(run)],
        "refusal": refusal,
        "request": cut(plain(as_sent), LONGEST_REQUEST),
    }


def _rows(run: DryRun) -> Iterator[tuple[str, str]]:
    yield say("model"), run.model
    yield say("conversation"), run.conversation
    if run.settings:
        lines = [
            f"{name}: {cut(str(value), _LONGEST_SETTING)}" for name, value in run.settings.items()
        ]
        yield say("settings"), "\n".join(lines)
    if run.tools:
        yield say("tools"), ", ".join(tool.name for tool in run.tools)
    for attachment in run.attachments[:_MOST_ATTACHMENTS]:
        yield attachment.tag, "\n".join(_attachment(attachment))
    if (more := len(run.attachments) - _MOST_ATTACHMENTS) > 0:
        yield say("attachments"), say("and {count} more", count=f"{more:,}")
    yield from _messages(run)
    if run.tokens is not None:
        yield say("all together"), _counted(run.tokens)
        yield say("cost"), _price(run.foreseen)
    if run.is_replayed:
        yield say("recording"), say("answers it: nobody is asked or paid")
    if run.budget is not None:
        left = max(run.budget.usd - run.spent, run.budget.usd * 0)
        yield (
            say("budget"),
            say("{left} of {budget} left", left=dollars(left), budget=dollars(run.budget.usd)),
        )


def _attachment(one: DryAttachment) -> Iterator[str]:
    yield translated(one.given)
    if one.refusal:
        yield say("refused: {reason}", reason=one.refusal)
        return
    if one.sent and one.sent != (one.given,):
        pages = f"{len(one.sent)} × " if len(one.sent) > 1 else ""
        yield say(
            "goes {how}, {what}",
            how=say(HOW_TEXTS[one.how]),
            what=f"{pages}{translated(one.sent[0])}",
        )
    else:
        yield say("goes {how}", how=say(HOW_TEXTS[one.how]))
    yield from one.notes
    if one.tokens is not None:
        yield _counted(one.tokens)


def _counted(found: Count | Estimate) -> str:
    return say(
        "about {count} tokens ({low} to {high})",
        count=f"{found.tokens:,}",
        low=f"{found.low:,}",
        high=f"{found.high:,}",
    )


def _price(found: Foreseen) -> str:
    if found.is_free or (found.cost is not None and not found.cost.high.total):
        return say("free")
    if found.cost is None:
        return say("cost unknown")
    facts = {
        "expected": shown(found.cost.expected.total),
        "most": shown(found.cost.high.total),
        "count": f"{found.cost.answer_tokens:,}",
    }
    if found.cost.is_bounded:
        return say("about {expected}, at most {most}", **facts)
    return say("about {expected}, {most} for {count} tokens of answer", **facts)


def _messages(run: DryRun) -> Iterator[tuple[str, str]]:
    earlier = [one for one in run.messages if one.origin == "history"]
    hidden = max(0, len(earlier) - _MOST_EARLIER)
    if hidden:
        yield say("earlier"), say("and {count} more", count=f"{hidden:,}")
    for message in (*_of(run, "instructions"), *earlier[hidden:], *_of(run, "question")):
        longest = _LONGEST_EARLIER if message.origin == "history" else _LONGEST_TEXT
        name = say(_ORIGINS[message.origin])
        said = cut(message.text, longest)
        if message.calls:
            said = f"{said}\n{', '.join(message.calls)}".strip()
        role = message.role if message.origin == "history" else ""
        yield f"{name}: {role}" if role else name, said


def _of(run: DryRun, origin: str) -> list[DryMessage]:
    return [one for one in run.messages if one.origin == origin]


_ORIGINS = {"instructions": "instructions", "history": "earlier", "question": "question"}
