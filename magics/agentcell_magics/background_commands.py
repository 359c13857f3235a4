"""`%agent running` and `%agent cancel`: what is answered in the background, and its stop."""

from __future__ import annotations

from agentcell.errors import CellError
from agentcell.session import Session
from agentcell_magics import cards
from agentcell_magics.background import background
from agentcell_magics.live import show
from agentcell_magics.wording import say


def show_running(session: Session, arguments: list[str]) -> None:
    """Show the questions that are answered in the background.

    Raises
    ------
    CellError
        If something is given.
    """
    if arguments:
        raise CellError("%agent running takes nothing more.", fix="write %agent running alone.")
    facts = [(handle.name, handle.describe()) for handle in background(session).running]
    if facts:
        show(cards.rows("Answered in the background", facts))
    else:
        show(cards.line("Nothing is answered in the background."))


def cancel(session: Session, arguments: list[str]) -> None:
    """Stop one of them, or all.

    Raises
    ------
    CellError
        If none of that name is running, or it is not said which.
    """
    if len(arguments) > 1:
        raise CellError("%agent cancel takes one name, or all.", fix="keep one.")
    stopped = background(session).cancel(arguments[0] if arguments else None)
    names = ", ".join(handle.name for handle in stopped)
    show(cards.line(say("Stopped: {names}. What came until then is kept.", names=names)))
