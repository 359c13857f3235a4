"""What a dry run found, to a card: what would go, part by part, and what that would cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentcell.agents.acting import ApprovalMode
from agentcell.amounts import dollars
from agentcell.dry_attachment import HOW_TEXTS, DryAttachment
from agentcell.dry_run import DryMessage, DryRun
from agentcell.history.reader_words import cut
from agentcell_magics import cards
from agentcell_magics.cards import Bundle
from agentcell_magics.wording import say

_LONGEST = 4_000
"""Characters of the question, and of the instructions, that are shown."""

_LONGEST_EARLIER = 500
"""The same of a message of an earlier turn."""

_MOST_EARLIER = 20
"""As many messages of earlier turns are shown: the last ones."""

_MOST_ATTACHMENTS = 40
_LONGEST_SETTING = 300

_APPROVE = {
    "ask": "asks you before each call",
    "run": "runs unasked",
    "refuse": "is refused, and the model is told",
}


def dry_run_card(run: DryRun, approve: ApprovalMode | None = None) -> Bundle:
    """Return the card.

    Parameters
    ----------
    run
        See `Session.dry_run`.
    approve
        Whether tools run; None: as each of them wants it.
    """
    return cards.rows("Dry run: nothing was sent", list(_facts(run, approve)))


def _facts(run: DryRun, approve: ApprovalMode | None) -> Iterator[tuple[str, str]]:
    yield "model", run.model
    yield "conversation", run.conversation
    if settings := [_setting(name, value) for name, value in run.settings.items()]:
        yield "settings", "\n".join(settings)
    if run.tools:
        yield (
            "tools",
            "\n".join(
                f"{tool.name} ({say(_APPROVE[mode])})"
                for tool in run.tools
                for mode in [approve or ("ask" if tool.needs_approval else "run")]
            ),
        )
    if run.schema:
        yield "schema", run.schema
    for attachment in run.attachments[:_MOST_ATTACHMENTS]:
        yield attachment.tag, "\n".join(_attachment(attachment))
    if (more := len(run.attachments) - _MOST_ATTACHMENTS) > 0:
        yield "attachments", say("{count} more", count=f"{more:,}")
    yield from _messages(run)
    yield from _sums(run)


def _setting(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"{name}: {cut(text, _LONGEST_SETTING)}"


def _attachment(one: DryAttachment) -> Iterator[str]:
    place = "message {number}" if one.is_new else "message {number}, from before"
    where = say(place, number=one.place)
    yield f"{one.given} ({where})"
    if one.refusal:
        yield say("refused: {reason}", reason=one.refusal)
        return
    sent = one.sent
    if sent == (one.given,) or not sent:
        yield say("goes {how}", how=say(HOW_TEXTS[one.how]))
    else:
        pages = f"{len(sent)} × " if len(sent) > 1 else ""
        yield say("goes {how}, {what}", how=say(HOW_TEXTS[one.how]), what=f"{pages}{sent[0]}")
    yield from one.notes
    if one.tokens is not None:
        yield str(one.tokens)


def _messages(run: DryRun) -> Iterator[tuple[str, str]]:
    earlier = [n for n, one in enumerate(run.messages, start=1) if one.origin == "history"]
    hidden = set(earlier[: max(0, len(earlier) - _MOST_EARLIER)])
    if hidden:
        counts = [run.messages[n - 1].tokens for n in hidden]
        tokens = sum(count.tokens for count in counts if count is not None)
        about = say(", about {count} tokens", count=f"{tokens:,}") if tokens else ""
        first, last = min(hidden), max(hidden)
        yield (
            say("messages {first} to {last}", first=first, last=last),
            say("{count} messages of earlier turns{about}", count=f"{len(hidden):,}", about=about),
        )
    for number, message in enumerate(run.messages, start=1):
        if number not in hidden:
            yield say("message {number}", number=number), _message(message)


def _message(message: DryMessage) -> str:
    longest = _LONGEST_EARLIER if message.origin == "history" else _LONGEST
    head = (
        say("{role}, from before", role=message.role)
        if message.origin == "history"
        else message.role
    )
    said = [cut(message.text, longest)] if message.text else []
    if message.calls:
        said.append(say("calls {tools}", tools=", ".join(message.calls)))
    text = f"{head}: " + "\n".join(said)
    return f"{text}\n{message.tokens}" if message.tokens is not None else text


def _sums(run: DryRun) -> Iterator[tuple[str, str]]:
    if run.tokens is not None:
        others = [part for part in run.tokens.parts if part.kind in {"tools", "thinking"}]
        for part in others:
            name = "for the provider" if part.kind == "thinking" else "for the tools"
            name = "for the schema" if part.name == "schema" else name
            yield (
                name,
                say(
                    "about {count} tokens ({low} to {high})",
                    count=f"{part.tokens:,}",
                    low=f"{part.low:,}",
                    high=f"{part.high:,}",
                ),
            )
        yield "all together", str(run.tokens)
        yield "cost", str(run.foreseen)
    if run.budget is not None:
        left = max(run.budget.usd - run.spent, run.budget.usd * 0)
        verdict = "" if run.asks is None else say("; you would be asked first")
        yield (
            "budget",
            say("{dollars}, {left} left", dollars=dollars(run.budget.usd), left=dollars(left))
            + verdict,
        )
    if run.refusal is not None:
        yield "refused", run.refusal.problem
