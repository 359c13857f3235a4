"""`NotebookHistory`: a notebook's turns, in memory or in a folder beside it."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agentcell.adapters.events import Usage
from agentcell.assets.prepare import Form
from agentcell.errors import HistoryError, HistoryWarning
from agentcell.history import attachment_table, branches
from agentcell.history.branches import FormerRun
from agentcell.history.conversations import Conversation
from agentcell.history.message_by_message import MessageByMessage
from agentcell.history.past import MOST_TURNS, Past
from agentcell.history.shelf import Shelf
from agentcell.history.store import Change, TurnStore
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock

_T = TypeVar("_T")

MAIN = "main"
"""The conversation that a cell belongs to when it names none."""


class NotebookHistory(MessageByMessage):
    """Keeps a notebook's turns. It may be shared between threads, and its files by kernels.

    A turn of a cell is in force in every life of the kernel; running the cell again replaces it
    in place. A turn without a cell (in a console, or where the host names none) belongs to the
    life of the kernel in which it was asked; a later one can `restore` it. What is replaced or
    taken back stays in the file. Where the folder cannot be used, turns are kept in memory, and
    one warning says so.

    Parameters
    ----------
    folder
        Holds the notebook; the files go into ``.agentcell`` in it, and are made with the first
        turn. None: all is kept in memory.
    notebook
        The name of the notebook's file: several in a folder share the files without mixing. A
        renamed notebook keeps its history, a copied one begins with a copy of it.
    conversation
        The one that `get_messages` and `insert` mean.
    max_turns
        As many earlier turns go out with a question at most; 0 is all.
    cells_last
        Whether the host gives a cell the same id in every life of the kernel. If not, all turns
        belong to one of them.
    tell
        Takes a sentence about trouble. None: it becomes a `HistoryWarning`.

    Examples
    --------
    >>> history = NotebookHistory()
    >>> history.insert("user", "Which shop?")
    >>> history.insert("assistant", "Corner Shop.")
    >>> history.get_messages()
    [{'role': 'user', 'content': 'Which shop?'}, {'role': 'assistant', 'content': 'Corner Shop.'}]
    """

    def __init__(  # noqa: PLR0913 (each is a fact of its own)
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        notebook: str = "console",
        conversation: str = MAIN,
        max_turns: int = MOST_TURNS,
        cells_last: bool = True,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        if isinstance(max_turns, bool) or not isinstance(max_turns, int) or max_turns < 0:
            raise HistoryError(
                f"max_turns is {max_turns!r}; a whole number from 0 on was expected.",
                fix="use 0 for all turns, or for example 50.",
            )
        if folder is not None and not isinstance(folder, (str, os.PathLike)):
            raise HistoryError(
                f"A {type(folder).__name__} was given for a history's folder; a path was expected.",
                fix="give the folder's path, or a NotebookHistory.",
            )
        super().__init__(conversation)
        self.notebook = notebook
        self.max_turns = max_turns
        self.run = uuid.uuid4().hex
        home = None if folder is None else Path(folder).expanduser().absolute()
        self._shelf = Shelf(
            home, notebook=notebook, run=self.run, tell=tell or _warn, cells_last=cells_last
        )

    def __repr__(self) -> str:
        where = str(self.folder)[-80:] if self.folder else "memory"
        return f"NotebookHistory({where!r}, notebook={self.notebook[-80:]!r})"

    @property
    def folder(self) -> Path | None:
        """The ``.agentcell`` that holds the files, or will; None while all is in memory."""
        return self._shelf.home

    # -- turns ------------------------------------------------------------------------------

    def conversation(self, name: str = MAIN) -> Conversation:
        """Return a conversation, begun or not.

        Parameters
        ----------
        name
            As `%%agent -c` takes it.
        """
        return Conversation(self, name)

    @property
    def conversations(self) -> tuple[str, ...]:
        """The names of those in which something was said, oldest first."""
        return self._shelf.work(lambda store: store.names())

    def turns(self, name: str | None = None, *, last: int = 0) -> list[Turn]:
        """Return turns, oldest first; each says whether it is `stale`.

        Parameters
        ----------
        name
            Of a conversation; None: of all, one after the other.
        last
            How many of each, from the end; 0 is all.
        """
        names = self.conversations if name is None else (name,)
        return [
            turn
            for one in names
            for turn in self._shelf.work(lambda store, one=one: store.turns(one, last=last))  # type: ignore[misc]
        ]

    def count(self, name: str | None = None) -> int:
        """Return the number of turns.

        Parameters
        ----------
        name
            Of a conversation; None: of all.
        """
        names = self.conversations if name is None else (name,)
        return self._shelf.work(lambda store: sum(map(store.count, names)))

    def stale(self, name: str | None = None) -> list[str]:
        """Return the ids of stale turns: an earlier one was asked again after them.

        Parameters
        ----------
        name
            Of a conversation; None: of all.
        """
        names = self.conversations if name is None else (name,)
        return self._shelf.work(lambda store: [turn for one in names for turn in store.stale(one)])

    def find(self, turn_id: str) -> Turn | None:
        """Return a turn in force, without its mark; None if there is none of that id.

        Parameters
        ----------
        turn_id
            Its `Turn.id`.
        """
        return self._shelf.work(lambda store: store.find(turn_id))

    def past(
        self,
        name: str,
        cell_id: str | None = None,
        part: int = 1,
        *,
        fresh: bool = False,
        most: int | None = None,
    ) -> Past:
        """Return what a question follows.

        Parameters
        ----------
        name
            Of the conversation.
        cell_id, part
            Of the question; see `Turn`.
        fresh
            The question begins the conversation anew: it follows nothing.
        most
            How many turns at most, 0 is all; None: `max_turns`.
        """
        count = self.max_turns if most is None else most
        return self._shelf.work(
            lambda store: store.past(name, cell_id, part, most=count, fresh=fresh)
        )

    def put(self, name: str, turn: Turn) -> Change:
        """Keep a turn, in place of what its cell asked before; a second time does nothing.

        Parameters
        ----------
        name
            Of the conversation.
        turn
            As it ended. `Turn.at` is now, if it says nothing.
        """
        return self._shelf.put(name, turn)

    def usages(self, *, replaced: bool = False) -> list[tuple[str, Usage]]:
        """Return model and tokens of each turn for which a provider told them.

        Parameters
        ----------
        replaced
            Also of turns that were replaced or taken back: they were paid for.
        """
        return self._shelf.work(lambda store: store.usages(replaced=replaced))

    # -- taken back, brought back, forgotten ------------------------------------------------

    def undo(self, name: str | None = None) -> Change:
        """Take back the last change; what its turn had replaced comes back.

        Parameters
        ----------
        name
            Of a conversation; None: of that which changed last.

        Raises
        ------
        HistoryError
            If there is no turn.
        """
        return self._shelf.change(lambda store: branches.undo(store, name))

    def versions(self, turn_id: str) -> list[Turn]:
        """Return what the same cell asked before, replaced or taken back since, oldest first.

        Parameters
        ----------
        turn_id
            Of any of them.

        Raises
        ------
        HistoryError
            If there is none of that id.
        """
        return self._shelf.work(lambda store: branches.versions(store, turn_id))

    def restore(self, name: str = "last") -> Change | FormerRun:
        """Bring back what is no longer in force.

        Parameters
        ----------
        name
            The id of a turn that was replaced or taken back; or the name of a `FormerRun`, or
            ``last`` for the last of these: its turns then stand before those of this life of
            the kernel.

        Raises
        ------
        HistoryError
            If there is neither.
        """
        return self._shelf.change(lambda store: _restored(store, name))

    @property
    def former_runs(self) -> list[FormerRun]:
        """Earlier lives of the kernel whose turns had no cell, oldest first."""
        return self._shelf.work(branches.former_runs)

    def forget(self, turn_id: str) -> Turn:
        """Delete a turn for good, its former versions too, and attachments no other turn holds.

        Parameters
        ----------
        turn_id
            Its `Turn.id`.

        Raises
        ------
        HistoryError
            If there is none of that id.
        """
        return self._shelf.change(lambda store: branches.forget(store, turn_id))

    def reset(self) -> None:
        """Delete every turn and attachment that is in force, or was in this conversation's place.

        Former lives of the kernel stay, and can be restored.
        """
        self.drop_pending()
        self._shelf.change(branches.reset)

    # -- attachments ------------------------------------------------------------------------

    def tags(self) -> list[tuple[str, str]]:
        """Return tag and fingerprint of each attachment, in the order in which they came."""
        return self._shelf.work(attachment_table.tags)

    def block(self, tag: str) -> MediaMessageBlock | None:
        """Return an attachment; None if there is none of that tag, or its content is gone.

        Parameters
        ----------
        tag
            Whole: ``[receipt_1 Receipt]``.
        """
        return self._shelf.work(lambda store: attachment_table.block(store, tag))

    def content(self, fingerprint: str) -> bytes | None:
        """Return an attachment's content; None if it is not here.

        Parameters
        ----------
        fingerprint
            See `MediaAsset.fingerprint`.
        """
        return self._shelf.work(lambda store: store.assets.get(fingerprint))

    def form(self, name: str, fingerprint: str) -> Form | None:
        """Return how an attachment went out last in a conversation; None if it never did.

        Parameters
        ----------
        name
            Of the conversation.
        fingerprint
            See `MediaAsset.fingerprint`.
        """
        return self._shelf.work(lambda store: attachment_table.form(store, name, fingerprint))

    @property
    def forgotten(self) -> frozenset[str]:
        """Fingerprints of attachments that must not go out again."""
        return self._shelf.work(attachment_table.forgotten)

    def set_forgotten(self, fingerprint: str, *, forgotten: bool = True) -> None:
        """Keep in mind that an attachment must not go out again, or that it may.

        Parameters
        ----------
        fingerprint
            See `MediaAsset.fingerprint`.
        forgotten
            Which of the two.
        """
        self._shelf.work(
            lambda store: attachment_table.set_forgotten(store, fingerprint, is_forgotten=forgotten)
        )

    def work(
        self, task: Callable[[TurnStore], _T], *, make: bool = False, quiet: bool = False
    ) -> _T:
        """Return what `task` makes of the store; in trouble it is called again with another one.

        Parameters
        ----------
        task
            What is to be done.
        make
            Make the file, if there is none yet.
        quiet
            Leave it to the next task to tell of trouble.
        """
        return self._shelf.work(task, make=make, quiet=quiet)

    def close(self) -> None:
        """Let go of the files; they are opened again when they are needed."""
        self._shelf.close()


def _restored(store: TurnStore, name: str) -> Change | FormerRun:
    if branches.is_turn(store, name):
        return branches.restore(store, name)
    return branches.restore_run(store, name)


def _warn(text: str) -> None:
    warnings.warn(text, HistoryWarning, stacklevel=5)
