"""What was asked → taken back, brought back, forgotten, or written down for others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentcell.history.branches import FormerRun
from agentcell.history.turns import Turn
from agentcell.session.kept import Kept

if TYPE_CHECKING:
    from agentcell.history.restored import Restored


class Past(Kept):
    """A session's turns, changed afterwards; see `Session`."""

    def undo(self, conversation: str | None = None) -> Turn:
        """Take back the last change, and return the turn that is gone with it.

        A turn that it had replaced comes back.

        Parameters
        ----------
        conversation
            Its name; None: that which changed last.

        Raises
        ------
        HistoryError
            If there is no turn.
        """
        change = self.history.undo(conversation)
        self._changed(change)
        assert change.turn is not None  # noqa: S101 (an undo that does nothing is an error)
        return change.turn

    def restore(self, name: str = "last") -> Turn | FormerRun:
        """Bring back a turn by its id, or a former life of the kernel by its name.

        Parameters
        ----------
        name
            See `NotebookHistory.restore`.

        Raises
        ------
        HistoryError
            If there is neither.
        """
        done = self.history.restore(name)
        if isinstance(done, FormerRun):
            self._known = None  # its attachments are known again
            self._changed()
            return done
        self._changed(done)
        turn = done.turn or self.history.find(name)
        assert turn is not None  # noqa: S101 (it is in force, now or already)
        return turn

    def forget_turn(self, turn_id: str) -> Turn:
        """Delete a turn for good, with its former versions, and return it.

        Parameters
        ----------
        turn_id
            Its `Turn.id`.

        Raises
        ------
        HistoryError
            If there is none.
        """
        turn = self.history.forget(turn_id)
        self._changed()
        return turn

    def branch(self, turn_id: str, *, before: bool = False, name: str = "") -> str:
        """Begin a conversation with copies of a turn and those before it; return its name.

        What is asked there leaves the former conversation as it is. The copies cost nothing.

        Parameters
        ----------
        turn_id
            Its `Turn.id`.
        before
            Copy only the turns before it.
        name
            Of the new conversation. Empty: the former's with a number, ``main-2``.

        Raises
        ------
        HistoryError
            If there is no such turn, or a conversation of that name.
        """
        from agentcell.history.forked import fork

        new = fork(self.history, turn_id, before=before, name=name)
        self._changed()
        return new

    def restore_saved(
        self, path: str | os.PathLike[str], *, if_new: bool = False, by_cell: bool = True
    ) -> Restored:
        """Bring back the turns that a saved notebook's outputs tell of; they are marked imported.

        Parameters
        ----------
        path
            The notebook's file.
        if_new
            Do nothing where turns of this notebook were kept before, be they forgotten since.
        by_cell
            Whether the file's ids of cells are those that questions come with.

        Raises
        ------
        HistoryError
            If the file cannot be used.
        """
        from agentcell.history.lookup import is_known
        from agentcell.history.restored import Restored, restore_saved

        if if_new and is_known(self.history):
            return Restored()
        done = restore_saved(self.history, path, by_cell=by_cell)
        if done.turns:
            self._known = None  # its attachments are known again
            self._changed()
        return done

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        conversation: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the turns into a file for people, and return its path.

        Parameters
        ----------
        path
            Its ending says what it becomes: ``.md``, ``.html``, or ``.ipynb`` for a notebook whose
            cells ask the same again. Pictures and attachments go into a folder beside it.
        conversation
            The name of one; None: all.
        overwrite
            Whether files that are there may be replaced.

        Raises
        ------
        HistoryError
            If there is nothing to write, the ending says nothing, a file is there, or it cannot
            be written.
        """
        from agentcell.history.export import export

        return export(self.history, path, conversation=conversation, overwrite=overwrite)
