"""The shell and its notebook → the history that its session keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentcell.history.notebook import NotebookHistory
from agentcell_magics.cells import cells_last, notebook_place

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def notebook_history(shell: InteractiveShell, folder: Path | None, kind: str) -> NotebookHistory:
    """Return the history of the notebook that runs in `shell`; nothing is opened yet.

    Parameters
    ----------
    folder
        The notebook's, where the host does not name it. None: turns are kept in memory then.
    kind
        Where turns are kept: ``notebook`` or ``memory``.
    """
    if kind == "memory":
        return NotebookHistory(tell=_show)
    place, name = notebook_place(shell, folder)
    return NotebookHistory(place, notebook=name, tell=_show, cells_last=cells_last(name))


def _show(text: str) -> None:
    from agentcell_magics import cards
    from agentcell_magics.live import show

    show(cards.line(text))
