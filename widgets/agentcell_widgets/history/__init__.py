"""A session's turns -> a list to look back in: search, read, bring back, forget, export."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from agentcell.errors import AgentcellError, HistoryError
from agentcell.history.branches import FormerRun
from agentcell.history.listing import Entry, entries, search, turns_of
from agentcell.history.turn_words import one_line
from agentcell.safe_text import as_html, as_literal, plain
from agentcell.session import Session
from agentcell.wording import say, word
from agentcell_widgets.history.rows import row_of, whole_turn
from agentcell_widgets.history.zh import ZH
from agentcell_widgets.panel import Message, Panel, Static, css, esm, handles, that_fit

__all__ = ["HistoryPanel"]

MOST_ROWS = 200
"""Rows that a page gets at a time."""

_MOST_TURNS = 10_000_000
_LONGEST_ID = 200
_LONGEST_NAME = 1_000
_LONGEST_SEARCH = 500
_STATIC_TURNS = 20
_STATIC_TEXT = 300
_LONGEST_TITLE = 80

EMPTY = "No turns yet."

Asked = tuple[str, str, bool]
"""A conversation's name or "" for all, words to search for, and whether gone turns are shown."""


class HistoryPanel(Panel):
    """Shows what was asked and answered in a session, and lets a person change it afterwards.

    Parameters
    ----------
    session
        The session behind it.

    Notes
    -----
    The page is told ``state``: ``version``, ``count``, ``conversations`` and ``runs``. It asks
    ``rows`` (``conversation``, ``search``, ``gone``, ``first``, ``count``) for the piece of the
    list that it shows, ``turn`` (``id``) for one turn, and ``undo``, ``restore`` (``name``),
    ``forget`` (``id``) and ``export`` (``path``, ``conversation``, ``overwrite``).
    """

    NAME = "history"
    TITLE = "History"
    WORDS = ZH

    _esm = esm(__file__, "windowed_list.js", "history.js")
    _css = css(__file__, "history.css")

    def __init__(self, session: Session) -> None:
        self._version = 0
        self._counting = threading.Lock()
        self._searches = 0
        self._listed: tuple[tuple[int, Asked], list[Entry]] | None = None
        super().__init__(session)

    def changed(self) -> None:
        """Take note that lists may be different now, and have it told."""
        with self._counting:
            self._version += 1
        super().changed()

    def state(self) -> Mapping[str, Any]:
        """Return what stands around the list; the page asks for its rows piece by piece."""
        history = self.session.history
        return {
            "version": self._version,
            "count": history.count(),
            "conversations": [
                {"name": name, "count": history.count(name)} for name in history.conversations
            ],
            "runs": [
                {
                    "name": run.name,
                    "count": run.turns,
                    "question": plain(one_line(run.question, _STATIC_TEXT)),
                }
                for run in reversed(history.former_runs)
            ],
        }

    def static(self) -> Static:
        """Return the last turns, in words."""
        history = self.session.history
        count = history.count()
        if not count:
            empty = word(EMPTY)
            return Static(html=f"<p>{as_html(empty)}</p>", markdown=as_literal(empty), text=empty)
        last = entries(history)[:_STATIC_TURNS]
        said = [
            (
                one_line(f"{plain(entry.conversation)} {entry.number}", _LONGEST_TITLE),
                one_line(plain(turn.question), _STATIC_TEXT),
                one_line(plain(turn.answer), _STATIC_TEXT),
            )
            for entry, turn in zip(last, turns_of(history, last), strict=True)
            if turn is not None
        ]
        rows = [_row(*one) for one in said]
        rows = rows[: that_fit(rows)]
        title = say("Turns: the last {turns} of {count}", turns=len(rows), count=f"{count:,}")
        items = "".join(html for html, _, _ in rows)
        return Static(
            html=f"<p>{as_html(title)}</p><ul>{items}</ul>",
            markdown="\n\n".join([as_literal(title), *(one for _, one, _ in rows)]),
            text="\n".join([title, *(line for _, _, line in rows)]),
        )

    # -- looked at

    @handles("rows", at_once=True)
    def _rows(self, message: Message) -> dict[str, Any]:
        """Return a piece of the list; an older search that still runs ends."""
        conversation = message.text("conversation", longest=_LONGEST_NAME, default="")
        words = message.text("search", longest=_LONGEST_SEARCH, default="")
        asked = conversation, " ".join(words.split()), message.flag("gone", default=False)
        first = message.number("first", least=0, most=_MOST_TURNS)
        count = message.number("count", least=1, most=MOST_ROWS)
        version, found = self._list(asked)
        piece = found[first : first + count]
        turns = turns_of(self.session.history, piece)
        rows = [row_of(entry, turn) for entry, turn in zip(piece, turns, strict=True)]
        return {"version": version, "total": len(found), "first": first, "rows": rows}

    def _list(self, asked: Asked) -> tuple[int, list[Entry]]:
        version = self._version
        known = self._listed
        if known is not None and known[0] == (version, asked):
            return version, known[1]
        conversation, words, gone = asked
        history = self.session.history
        found = entries(history, conversation=conversation or None, gone=gone)
        if words:
            self._searches += 1
            mine = self._searches
            found = search(history, found, words, goes_on=lambda: mine == self._searches)
            if mine != self._searches:
                return version, found
        self._listed = (version, asked), found
        return version, found

    @handles("turn")
    def _turn(self, message: Message) -> dict[str, Any]:
        """Return one turn whole, its answer as HTML that is safe."""
        name = message.text("id", longest=_LONGEST_ID)
        found = next(
            (one for one in entries(self.session.history, gone=True) if one.id == name), None
        )
        turn = turns_of(self.session.history, [found])[0] if found else None
        if found is None or turn is None:
            raise HistoryError("That turn is there no more.", fix="choose another.")
        return whole_turn(found, turn)

    # -- changed

    @handles("undo")
    def _undo(self, message: Message) -> dict[str, Any]:
        name = message.text("conversation", longest=_LONGEST_NAME, default="")
        turn = self.session.undo(name or None)
        return {"notice": say("Taken back: {question}", question=_quoted(turn.question))}

    @handles("restore")
    def _restore(self, message: Message) -> dict[str, Any]:
        """Bring back a turn, or a former life of the kernel."""
        done = self.session.restore(message.text("name", longest=_LONGEST_ID))
        if isinstance(done, FormerRun):
            return {
                "notice": say("{count} turns of {name} are back.", count=done.turns, name=done.name)
            }
        return {"notice": say("Here again: {question}", question=_quoted(done.question))}

    @handles("forget")
    def _forget(self, message: Message) -> dict[str, Any]:
        turn = self.session.forget_turn(message.text("id", longest=_LONGEST_ID))
        return {"notice": say("Deleted for good: {question}", question=_quoted(turn.question))}

    @handles("export")
    def _export(self, message: Message) -> dict[str, Any]:
        path = message.text("path", longest=4_096).strip()
        conversation = message.text("conversation", longest=_LONGEST_NAME, default="")
        if not path:
            raise HistoryError(
                "No file is named.", fix="type one that ends in .md, .html or .ipynb."
            )
        try:
            file = self.session.export(
                path,
                conversation=conversation or None,
                overwrite=message.flag("overwrite", default=False),
            )
        except AgentcellError as error:
            if "--force" not in error.fix:
                raise
            fix = word("choose another name, or tick that it may be replaced.")
            raise HistoryError(error.problem, fix=fix) from error
        return {"notice": say("Written to {file}.", file=plain(file.as_posix()))}


def _quoted(question: str) -> str:
    return f"“{one_line(plain(question), 80)}”"


def _row(name: str, question: str, answer: str) -> tuple[str, str, str]:
    """Return one turn as HTML, as Markdown and in words."""
    answered = f"{as_html(question)}<br>{as_html(answer)}"
    return (
        f"<li><strong>{as_html(name)}</strong> {answered}</li>",
        f"- **{as_literal(name)}** {as_literal(question)}\n\n  {as_literal(answer)}",
        f"{name}: {question}\n  {answer}",
    )
