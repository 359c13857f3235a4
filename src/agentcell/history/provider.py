"""What a source of past messages must offer: one method."""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentcell.messages import Message


class HistoryProvider(ABC):
    """Gives earlier messages to an agent. One that also has `insert` records new ones."""

    @abstractmethod
    def get_messages(self, query: str | None = None, *, top_k: int = -1) -> list[Message]:
        """Return earlier messages, oldest first.

        Parameters
        ----------
        query
            What is being asked now; a provider may choose by it.
        top_k
            How many messages at most; -1 means the provider's own default, 0 means all.
        """
