"""The shell and its notebook → the history that its session keeps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentcell.errors import HistoryError
from agentcell.history.notebook import NotebookHistory
from agentcell_magics.cells import notebook_place

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

SETTING = "AGENTCELL_HISTORY"
"""The environment variable that says where turns are kept: ``notebook`` or ``memory``."""


def notebook_history(shell: InteractiveShell, folder: Path | None) -> NotebookHistory:
    """Return the history of the notebook that runs in `shell`; nothing is opened yet.

    Parameters
    ----------
    folder
        The notebook's, where the host does not name it. None: turns are kept in memory then.

    Raises
    ------
    HistoryError
        If the environment's setting is none.
    """
    setting = os.environ.get(SETTING, "").strip().lower() or "notebook"
    if setting not in {"notebook", "memory"}:
        raise HistoryError(
            f"{SETTING} is {setting[:40]!r}; notebook or memory was expected.",
            fix=f"set {SETTING}=memory, or take it out of the environment.",
        )
    if setting == "memory":
        return NotebookHistory(tell=_show)
    place, name = notebook_place(shell, folder)
    return NotebookHistory(place, notebook=name, tell=_show)


def _show(text: str) -> None:
    from agentcell_magics import cards
    from agentcell_magics.live import show

    show(cards.line(text))
