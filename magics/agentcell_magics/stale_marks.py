"""Turns that became stale → a mark in the line under their answers, wherever that line stands.

A display is updated in place, so the mark is in the page and in the saved notebook; it goes with
the line when the cell runs again.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcell.history.lookup import stale_ones
from agentcell_magics import cards
from agentcell_magics.live import show

if TYPE_CHECKING:
    from agentcell.history.turns import Turn
    from agentcell.session import Session
    from agentcell_magics.cards import Bundle

MOST_MARKED = 1_000
"""As many lines can be marked: the last ones that were shown."""

SAID = "Stale: an earlier cell ran again since."


@dataclass(slots=True)
class _Line:
    """A line that can be drawn anew, and how it is drawn now."""

    cell: tuple[str | None, int]
    conversation: str
    draw: Callable[[bool], None]
    is_stale: bool = False


class StaleMarks:
    """The lines under the answers of one session, by their turns. Safe to share between threads."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, _Line] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._lines)

    def show(self, turn: Turn, conversation: str, bundle: Bundle, *, updates: bool) -> None:
        """Show the line under an answer; it is marked when its turn becomes stale.

        Parameters
        ----------
        turn
            Whose answer it is.
        conversation
            The turn's.
        bundle
            The line without a mark.
        updates
            Whether a display may be updated; if not, nothing is ever marked.
        """
        if not updates:
            show(bundle)
            return
        handle: Any = show(bundle, display_id=uuid.uuid4().hex)

        def draw(stale: bool) -> None:
            handle.update(marked(bundle) if stale else bundle, metadata={}, raw=True)

        self.watch(turn, conversation, draw)

    def watch(self, turn: Turn, conversation: str, draw: Callable[[bool], None]) -> None:
        """Call `draw` when a turn becomes stale, and when it ceases to be.

        Parameters
        ----------
        turn
            It takes the place of what its cell showed before.
        conversation
            The turn's.
        draw
            Called with whether it is stale now, in the thread that made the change.
        """
        line = _Line((turn.cell_id, turn.part), conversation, draw)
        with self._lock:
            self._lines[turn.id] = line
            if len(self._lines) > MOST_MARKED:
                self._lines.popitem(last=False)

    def runs_again(self, cell_id: str | None) -> None:
        """Let go of the lines of a cell that runs: the page shows them no more."""
        if cell_id is None:
            return
        with self._lock:
            gone = [one for one, line in self._lines.items() if line.cell[0] == cell_id]
            for turn_id in gone:
                del self._lines[turn_id]

    def take(self, stale: Mapping[str, bool]) -> None:
        """Draw anew what changed.

        Parameters
        ----------
        stale
            See `Session.on_stale`.
        """
        with self._lock:
            for turn_id, is_stale in stale.items():
                line = self._lines.get(turn_id)
                if line is not None and line.is_stale is not is_stale:
                    with contextlib.suppress(Exception):  # no page: the turn is kept all the same
                        line.draw(is_stale)
                    line.is_stale = is_stale

    def look_again(self, session: Session) -> None:
        """Draw anew what changed in a way that the session does not tell, such as by a deletion."""
        with self._lock:
            names = {line.conversation for line in self._lines.values()}
        for name in names:
            self.take(stale_ones(session.history, name, last=MOST_MARKED))


def marked(bundle: Bundle) -> Bundle:
    """Return the line with its mark above it."""
    mark = cards.line(SAID)
    return {mime: f"{mark[mime]}\n\n{text}" for mime, text in bundle.items()}


_MARKS: weakref.WeakKeyDictionary[Session, StaleMarks] = weakref.WeakKeyDictionary()


def stale_marks(session: Session) -> StaleMarks:
    """Return the marks of a session."""
    marks = _MARKS.get(session)
    if marks is None:
        marks = _MARKS[session] = StaleMarks()
        session.on_stale(marks.take)
    return marks
