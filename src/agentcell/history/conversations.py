"""A notebook's history, to one of its conversations by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcell.history.turns import Turn

if TYPE_CHECKING:
    from agentcell.history.notebook import NotebookHistory


class Conversation:
    """Turns in the order of their cells. Running a cell again replaces its turns in place.

    Parameters
    ----------
    history
        Keeps the turns; this is a view.
    name
        As `%%agent -c` takes it.
    """

    def __init__(self, history: NotebookHistory, name: str) -> None:
        self._history = history
        self.name = name

    def __repr__(self) -> str:
        return f"Conversation({self.name[:80]!r}, {len(self)} turns)"

    def __len__(self) -> int:
        return self._history.count(self.name)

    @property
    def turns(self) -> list[Turn]:
        """All of its turns, oldest first."""
        return self._history.turns(self.name)

    def before(self, cell_id: str | None, part: int = 1) -> list[Turn]:
        """Return the turns that go out with a question from this cell: since the last fresh start.

        Parameters
        ----------
        cell_id, part
            Of the question; see `Turn`.
        """
        return list(self._history.past(self.name, cell_id, part).turns)

    def put(self, turn: Turn) -> None:
        """Add `turn`, in place of what its cell asked before; a second time does nothing.

        Parameters
        ----------
        turn
            As it ended.
        """
        self._history.put(self.name, turn)
