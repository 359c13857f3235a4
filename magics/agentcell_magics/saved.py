"""The running notebook's own file → turns that come back from it, where their history is gone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentcell.errors import CellError
from agentcell_magics import cards
from agentcell_magics.cells import cell_id, notebook_place
from agentcell_magics.line import shown
from agentcell_magics.live import show
from agentcell_magics.wording import say

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.session import Session

_COUNTED_CELL = "vscode-notebook-cell:"
_MOST_TAGS = 6


def recall(session: Session, shell: InteractiveShell) -> None:
    """Before a notebook's first question: take its turns from its file, if nothing was ever kept.

    Only where the host tells lasting ids of cells: what runs a notebook from the top, such as
    nbclient, tells none, and means to ask anew. Whatever the file holds, no cell fails by it.
    """
    file = notebook_file(shell)
    if file is None or not has_lasting_ids(shell) or session.history.notebook != file.name:
        return
    try:
        session.restore_saved(file, if_new=True)
    except Exception:  # noqa: BLE001 (a file that anyone may have written; the question goes on)
        return


def restore_notebook(session: Session, words: list[str]) -> None:
    """Take turns from a saved notebook, the running one's own file if none is named.

    Raises
    ------
    CellError
        If it is not known which file.
    HistoryError
        If it cannot be used.
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if len(words) > 1:
        raise CellError(
            f"%agent restore notebook takes one file, but {len(words)} words were given:"
            f" {shown(' '.join(words))}",
            fix="keep one; put quotes round a name with blanks.",
        )
    file = Path(words[0]).expanduser() if words else notebook_file(shell)
    if file is None:
        raise CellError(
            "The host does not tell which file this notebook is.",
            fix="name it: %agent restore notebook FILE.ipynb.",
        )
    done = session.restore_saved(file, by_cell=has_lasting_ids(shell))
    said = say(
        "{count} turn came from {file}, marked as imported."
        if done.turns == 1
        else "{count} turns came from {file}, marked as imported.",
        count=f"{done.turns:,}",
        file=file.name,
    )
    if done.already:
        said += " " + say("{count} stay as they are here.", count=f"{done.already:,}")
    if done.missing:
        tags = ", ".join(done.missing[:_MOST_TAGS])
        more = len(done.missing) - _MOST_TAGS
        tags += ", " + say("and {count} more", count=more) if more > 0 else ""
        said += " " + say("No longer here: {tags}.", tags=tags)
    show(cards.line(said))


def notebook_file(shell: InteractiveShell | None) -> Path | None:
    """Return the running notebook's file; None where the host does not tell."""
    if shell is None:
        return None
    folder, name = notebook_place(shell, None)
    return folder / name if folder is not None and name.endswith(".ipynb") else None


def has_lasting_ids(shell: InteractiveShell | None) -> bool:
    """Whether the running cell has an id that its file knows too."""
    name = None if shell is None else cell_id(shell)
    return name is not None and not name.startswith(_COUNTED_CELL)
