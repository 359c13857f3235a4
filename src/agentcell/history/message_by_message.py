"""Messages that come one by one → turns, and turns → messages: a history as agents use it."""

from __future__ import annotations

import threading
import uuid
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from agentcell.history.merge import copied
from agentcell.history.past import Past
from agentcell.history.provider import HistoryProvider
from agentcell.history.store import Change
from agentcell.history.turns import Status, Turn, past_messages
from agentcell.messages import Message


class MessageByMessage(HistoryProvider):
    """A `HistoryProvider` whose messages are those of a conversation's turns.

    Parameters
    ----------
    conversation
        Its name.
    """

    def __init__(self, conversation: str) -> None:
        self.main = conversation
        self._pending: list[Message] = []
        self._pending_lock = threading.RLock()

    @abstractmethod
    def past(
        self, name: str, cell_id: str | None = None, part: int = 1, *, most: int | None = None
    ) -> Past:
        """Return what a question follows."""

    @abstractmethod
    def put(self, name: str, turn: Turn) -> Change:
        """Keep a turn."""

    @property
    @abstractmethod
    def forgotten(self) -> frozenset[str]:
        """Fingerprints of attachments that must not go out again."""

    def get_messages(self, query: str | None = None, *, top_k: int = -1) -> list[Message]:
        """Return the last messages of the conversation, oldest first.

        Parameters
        ----------
        query
            Not used by this provider.
        top_k
            How many messages; -1 means those that go out with a question, 0 all.
        """
        del query
        past = self.past(self.main, most=None if top_k == -1 else 0)
        with self._pending_lock:
            messages = [*past_messages(past.turns, self.forgotten), *map(copied, self._pending)]
        messages = messages[max(0, len(messages) - top_k) :] if top_k > 0 else messages
        while messages and messages[0].get("role") == "tool":
            del messages[0]
        return messages if top_k >= -1 else []

    def insert(self, role: str, response: Any, **parts: Any) -> None:
        """Add one message; with the answer, a question becomes a turn.

        Parameters
        ----------
        role, response, parts
            As for `HistoryMemory.insert`.
        """
        self.extend([{"role": role, "content": response, **parts}])

    def extend(self, messages: Iterable[Message]) -> None:
        """Add several messages at once.

        Parameters
        ----------
        messages
            Each a dict with ``role`` and ``content``.
        """
        with self._pending_lock:
            for message in map(copied, messages):
                asks = message["role"] == "user"
                if asks and any(waiting["role"] == "user" for waiting in self._pending):
                    self._keep("interrupted")
                self._pending.append(message)
                if message["role"] == "assistant" and not message.get("tool_calls"):
                    self._keep("complete")

    def drop_pending(self) -> None:
        """Forget messages that are no whole turn yet."""
        with self._pending_lock:
            self._pending.clear()

    def _keep(self, status: Status) -> None:
        turn = Turn(
            id=uuid.uuid4().hex[:12],
            cell_id=None,
            messages=tuple(self._pending),
            status=status,
            model="",
        )
        self.put(self.main, turn)
        self._pending = []
