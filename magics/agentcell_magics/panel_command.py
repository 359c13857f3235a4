"""`%agent panel`: opens a panel over the session, one of each kind for a cell."""

from __future__ import annotations

import difflib
import weakref
from typing import TYPE_CHECKING, Any

from agentcell.errors import CellError
from agentcell_magics import cards
from agentcell_magics.cells import cell_id, is_terminal, variables
from agentcell_magics.line import shown
from agentcell_magics.live import show
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.session import Session

KINDS = ("attachments", "chat", "generate", "history")
"""What may be opened; `chat` where nothing is said."""

CLOSE = "close"

_Place = tuple[str, str | None]
"""A kind, and the cell that opened it."""

_open: weakref.WeakKeyDictionary[Session, dict[_Place, Any]] = weakref.WeakKeyDictionary()


def panel(session: Session, arguments: list[str]) -> None:
    """Open the panel that is named, or close all that were opened so.

    A cell that runs again gets a new panel in the place of its former one, which is closed.

    Raises
    ------
    CellError
        If there is no such panel, or no page that could show one.
    """
    name = _named(arguments)
    opened = _open.setdefault(session, {})
    if name == CLOSE:
        count = len(opened)
        for one in opened.values():
            one.close()
        opened.clear()
        show(cards.line(say("Panels closed: {count}.", count=count)))
        return
    from IPython.core.getipython import get_ipython

    shell: InteractiveShell | None = get_ipython()
    if shell is None or is_terminal(shell):
        instead = "attachments" if name == "attachments" else "history"
        raise CellError(
            "A panel needs a notebook's page; a terminal has none.",
            fix=f"use %agent {instead}, or %%agent to ask.",
        )
    place = name, cell_id(shell)
    if (former := opened.pop(place, None)) is not None:
        former.close()
    made = _MAKERS[name](session, shell)
    opened[place] = made
    from IPython.display import display

    display(made)


def _named(arguments: list[str]) -> str:
    """Return the panel that is meant."""
    if len(arguments) > 1:
        raise CellError(
            f"%agent panel takes one name, but {len(arguments)} were given.", fix="keep one."
        )
    name = arguments[0] if arguments else "chat"
    if name in (*KINDS, CLOSE):
        return name
    fix = f"use one of {', '.join(KINDS)}; or close, which closes them all."
    if close := difflib.get_close_matches(name, (*KINDS, CLOSE), n=1):
        fix = f"did you mean %agent panel {close[0]}?"
    raise CellError(f"There is no panel {shown(name)!r}.", fix=fix)


def _attachments(session: Session, shell: InteractiveShell) -> Any:
    from agentcell_widgets import AttachmentsPanel

    return AttachmentsPanel(session, variables=lambda: variables(shell))


def _chat(session: Session, shell: InteractiveShell) -> Any:
    from agentcell_widgets import ChatPanel

    return ChatPanel(session, variables=lambda: variables(shell))


def _generate(session: Session, _: InteractiveShell) -> Any:
    from agentcell_widgets import GenerationPanel

    return GenerationPanel(session)


def _history(session: Session, _: InteractiveShell) -> Any:
    from agentcell_widgets import HistoryPanel

    return HistoryPanel(session)


_MAKERS: dict[str, Callable[[Session, InteractiveShell], Any]] = {
    "attachments": _attachments,
    "chat": _chat,
    "generate": _generate,
    "history": _history,
}
