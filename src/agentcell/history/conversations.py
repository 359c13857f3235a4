"""Turns of a session, to its conversations by name."""

from __future__ import annotations

import threading

from agentcell.history.turns import Conversation, Turn


class Conversations:
    """A session's conversations. Safe to share between threads."""

    def __init__(self) -> None:
        self._named: dict[str, Conversation] = {}
        self._lock = threading.Lock()

    def named(self, name: str) -> Conversation:
        """Return the conversation of that name, begun if need be."""
        with self._lock:
            return self._named.setdefault(name, Conversation(name))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those in which something was said, oldest first."""
        with self._lock:
            return tuple(name for name, one in self._named.items() if one.turns)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, one conversation after the other."""
        with self._lock:
            return tuple(turn for one in self._named.values() for turn in one.turns)

    def put(self, name: str, turn: Turn) -> None:
        """Add `turn` to a conversation, and take what it replaces out of all others."""
        own = self.named(name)
        with self._lock:
            for other in self._named.values():
                if other is not own:  # the cell named another conversation before
                    other.drop(turn)
            own.put(turn)

    def clear(self) -> None:
        """Forget them all."""
        with self._lock:
            self._named.clear()
