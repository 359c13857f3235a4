"""How far a batch is, and how it went → one display, which ends as a card without times."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from typing import Any

from agentcell.agents.batch_work import PromptWork
from agentcell.batch import BatchResult
from agentcell.batch.rows import rows_of
from agentcell.budget import Foreseen, foreseen
from agentcell.errors import Stopped
from agentcell.history.reader_words import tokens
from agentcell.history.spent import Spent
from agentcell.session import Session
from agentcell_magics import cards
from agentcell_magics.cards import Bundle
from agentcell_magics.live import show
from agentcell_magics.wording import say

_SECONDS = 0.5
"""Between two states of the display."""

_MOST_ERRORS = 3
_LONGEST = 160


class EachDisplay:
    """Shows how far a batch is, then how it went; see `agentcell.batch.progress.Progress`.

    Parameters
    ----------
    updates
        Whether a display may be updated; if not, the card comes once, at the end.
    quiet
        Whether only rows without an answer are told of.
    """

    def __init__(self, *, updates: bool, quiet: bool = False) -> None:
        self._updates = updates and not quiet
        self._quiet = quiet
        self._handle: Any = None
        self._count: int | None = None
        self._rows = self._failed = 0
        self._last = 0.0

    def begin(self, count: int | None) -> None:
        """Say that it begins."""
        self._count = count
        self._tell()

    def row(self, *, failed: bool) -> None:
        """Count a row; say so now and then."""
        self._rows += 1
        self._failed += failed
        if time.monotonic() - self._last >= _SECONDS:
            self._tell()

    def end(self) -> None:
        """Nothing is left to say before the card."""

    def finish(self, result: BatchResult, name: str, model: Any) -> None:
        """Show how it went."""
        if self._quiet and not result.failed:
            return
        self._send(summary(result, name, model), {"agentcell": _facts(result, model)})

    def _tell(self) -> None:
        if not self._updates:
            return
        self._last = time.monotonic()
        told = say("{done} of {count} rows", done=f"{self._rows:,}", count=f"{self._count or 0:,}")
        if self._failed:
            told += ", " + say("{count} failed", count=f"{self._failed:,}")
        self._send(cards.line(told))

    def _send(self, data: Bundle, metadata: Bundle | None = None) -> None:
        if not self._updates:
            show(data, metadata)
        elif self._handle is None:
            self._handle = show(data, metadata, display_id=uuid.uuid4().hex)
        else:
            self._handle.update(data, metadata=metadata or {}, raw=True)


def summary(result: BatchResult, name: str, model: Any) -> Bundle:
    """Return the card of a batch that is over, or was stopped."""
    failed = result.failed
    facts = [
        ("model", model.name),
        ("answers", say("{count} in {name}", count=f"{len(result) - len(failed):,}", name=name)),
    ]
    if failed:
        facts.append(("failed", say("{count}, see the column error", count=f"{len(failed):,}")))
        facts += [("", text) for text in _errors(result)]
    if result.cut:
        facts.append(
            ("cut short", say("{count}: raise --max-tokens", count=f"{len(result.cut):,}"))
        )
    if (usage := result.usage) is not None:
        facts.append(("tokens", tokens(usage)))
    spending = result.spending
    if spending.usd or spending.unknown:
        facts.append(("cost", str(Spent(usd=spending.usd)) if not spending.unknown else "unknown"))
    if result.resumed:
        facts.append(("from before", say("{count} answers", count=f"{result.resumed:,}")))
    return cards.rows("Asked about each row", facts)


def dry_run(work: PromptWork, rows: Any, session: Session) -> Bundle:
    """Return the card of a batch that is not sent: how many rows, and what they would cost."""
    given = rows_of(rows)
    facts = [("model", work.model.name), ("rows", f"{given.count or 0:,}")]
    first = next(given.each, None)
    if first is not None:
        asked = work.asked(first)
        coming = foreseen(work.model, asked.messages, asked.tools, asked.settings)
        facts.append(("first row", _shortened(str(_text_of(asked.messages[-1])))))
        facts.append(("cost of the first row", str(coming)))
        facts.append(("all rows, at that", _times(coming, given.count or 0)))
    if session.budget is not None:
        facts.append(("budget", str(session.budget)))
    return cards.rows("Dry run: nothing was sent", facts)


def _times(coming: Foreseen, count: int) -> str:
    if coming.cost is None:
        return str(coming)
    return say("about {usd}", usd=str(Spent(usd=coming.cost.expected.total * count)))


def _text_of(message: Any) -> str:
    from agentcell.messages import content_text

    return content_text(message["content"])


def _errors(result: BatchResult) -> list[str]:
    """Return the commonest errors, each with the number of its rows."""
    told = [one for one in result.failed if not isinstance(one.error, Stopped)]
    most = Counter(_shortened(str(one)) for one in told).most_common(_MOST_ERRORS)
    lines = [text if count == 1 else f"{count:,} × {text}" for text, count in most]
    first = next((one for one in told if most and _shortened(str(one)) == most[0][0]), None)
    if fix := getattr(first and first.error, "fix", ""):
        lines.append(f"{say('Fix')}: {_shortened(fix)}")
    return lines


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _facts(result: BatchResult, model: Any) -> dict[str, Any]:
    """Return what the output's metadata tell."""
    usage = result.usage
    facts: dict[str, Any] = {
        "kind": "batch",
        "model": model.name,
        "rows": len(result),
        "failed": len(result.failed),
    }
    if usage is not None:
        facts["usage"] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    if result.cost is not None:
        facts["cost"] = f"{result.cost.normalize():f}"
    return facts
