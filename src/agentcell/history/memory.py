"""Messages of a conversation, kept in this process → the last of them, ready to send again."""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self

from agentcell.assets.asset import MediaAsset
from agentcell.errors import HistoryError
from agentcell.history.merge import blocks_of, copied, estimated_tokens, merge_media
from agentcell.history.provider import HistoryProvider
from agentcell.history.records import AssetFolder, from_record, to_record, write_whole
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock

__all__ = ["HistoryMemory", "merge_media"]

_VERSION = 1
"""Of what `save` writes."""


class HistoryMemory(HistoryProvider):
    """Keeps a conversation's messages in memory. It may be shared between threads.

    Parameters
    ----------
    top_k
        How many messages (or turns, see `unit`) `get_messages` returns; 0 means all, a negative
        number none.
    memory_size
        How many messages are kept; the oldest goes first. 0 or less: all.
    context_label
        What this memory is called.
    merge_historical_media
        Whether an attachment that comes again is returned once, and by its first tag after that.
    unit
        What `top_k` counts. A turn is a user's message and all that follows it.
    token_budget
        Estimated tokens that the returned messages may take together; the oldest turns stay
        away, the last one never does. None: no limit.

    Examples
    --------
    >>> memory = HistoryMemory(top_k=2)
    >>> memory.insert("user", "Which shop?")
    >>> memory.insert("assistant", "Corner Shop.")
    >>> memory.get_messages()
    [{'role': 'user', 'content': 'Which shop?'}, {'role': 'assistant', 'content': 'Corner Shop.'}]
    """

    def __init__(  # noqa: PLR0913 (each is a setting of its own)
        self,
        top_k: int = 10,
        memory_size: int = 1000,
        context_label: str = "CONVERSATION_HISTORY",
        *,
        merge_historical_media: bool = True,
        unit: Literal["messages", "turns"] = "messages",
        token_budget: int | None = None,
    ) -> None:
        if unit not in ("messages", "turns"):
            raise HistoryError(
                f"unit is {unit!r}; 'messages' or 'turns' was expected.", fix="use one of the two."
            )
        self.top_k = top_k
        self.memory_size = memory_size
        self.context_label = context_label
        self.merge_historical_media = merge_historical_media
        self.unit = unit
        self.token_budget = token_budget
        self._lock = threading.Lock()
        self._messages: list[Message] = []

    def __repr__(self) -> str:
        return f"HistoryMemory({len(self)} messages, top_k={self.top_k})"

    def __len__(self) -> int:
        return len(self._messages)

    def __getstate__(self) -> dict[str, Any]:
        # For pickle and every kind of copy: a lock has none, and the list is not shared.
        return {**self.__dict__, "_lock": None, "_messages": self._stored()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = copy.copy(self)  # messages are replaced, never changed; assets are immutable
        memo[id(self)] = twin
        return twin

    def insert(self, role: str, response: Any, **parts: Any) -> None:
        """Add one message.

        Parameters
        ----------
        role
            ``"user"``, ``"assistant"``, ``"tool"``, …
        response
            Its content: text, or a list of blocks.
        parts
            Further keys of the message, for example ``tool_calls``.
        """
        self.extend([{"role": role, "content": response, **parts}])

    def extend(self, messages: Iterable[Message]) -> None:
        """Add several messages at once, so that no other thread's come between them.

        Parameters
        ----------
        messages
            Each a dict with ``role`` and ``content``.
        """
        added = [copied(message) for message in messages]
        with self._lock:
            self._messages += added
            if self.memory_size > 0:
                del self._messages[: -self.memory_size]

    def update(self, key: str, value: Any) -> None:
        """Replace the content of the last message of the role `key`.

        Parameters
        ----------
        key
            A role.
        value
            The new content: text, or a list of blocks.

        Raises
        ------
        HistoryError
            If there is none.
        """
        with self._lock:
            at = self._last(key)
            if at is None:
                raise HistoryError(
                    f"There is no message of the role {key!r} to update.",
                    fix="use insert() to add one.",
                )
            self._messages[at] = copied({**self._messages[at], "content": value})

    def delete(self, key: str | None = None, index: int = -1) -> None:
        """Remove the last message of the role `key`, or the one at `index`.

        Parameters
        ----------
        key
            A role. Where no message has it nothing happens.
        index
            If not -1, this message is removed, whatever `key` is.

        Raises
        ------
        IndexError
            If there is no message at `index`.
        """
        with self._lock:
            if index != -1:
                self._messages.pop(index)
                return
            at = self._last(key) if key is not None else len(self._messages) - 1
            if at is not None and at >= 0:
                self._messages.pop(at)

    def reset(self) -> None:
        """Remove every message."""
        with self._lock:
            self._messages.clear()

    def forget(self, attachment: MediaAsset | str) -> int:
        """Take an attachment out of every message; its place says so. Return how many there were.

        Parameters
        ----------
        attachment
            The asset, its tag or its fingerprint.
        """
        count = 0
        with self._lock:
            for at, message in enumerate(self._messages):
                content = message["content"]
                if not isinstance(content, list):
                    continue
                gone = [block for block in content if _is_block_of(block, attachment)]
                if gone:
                    count += len(gone)
                    blocks = [_without(block) if block in gone else block for block in content]
                    self._messages[at] = {**message, "content": blocks}
        return count

    def get_messages(self, query: str | None = None, *, top_k: int = -1) -> list[Message]:
        """Return the last messages, oldest first.

        Parameters
        ----------
        query
            Not used by this provider: it returns what is recent, whatever is asked.
        top_k
            How many messages or turns; -1 means the constructor's number, 0 all.

        Returns
        -------
        list of dict
            Copies: changing them does not change the memory. A tool's result whose call is no
            longer among them is left out, since no provider takes one.
        """
        del query
        count = self.top_k if top_k == -1 else top_k
        if count < 0:
            return []
        messages = self._stored()
        if self.unit == "turns":
            messages = [message for turn in _window(_turns(messages), count) for message in turn]
        else:
            messages = _window(messages, count)
        while messages and messages[0].get("role") == "tool":
            del messages[0]
        if self.token_budget is not None:
            messages = _within(messages, self.token_budget)
        if self.merge_historical_media:
            return merge_media(messages)
        return [copied(message) for message in messages]

    def former_tags(self) -> dict[str, list[str]]:
        """Return every tag that each attachment has had, oldest first, by its fingerprint."""
        tags: dict[str, list[str]] = {}
        for message in self._stored():
            for block in blocks_of(message):
                known = tags.setdefault(block.fingerprint, [])
                if block.tag not in known:
                    known.append(block.tag)
        return tags

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Keep the conversation in a folder: ``messages.json``, and attachments in ``assets/``.

        Parameters
        ----------
        folder
            Made if it is not there. An earlier conversation in it is replaced.

        Raises
        ------
        HistoryError
            If the folder cannot be written, or a message holds what is no JSON.
        """
        place = Path(folder)
        store = AssetFolder(place / "assets")
        try:
            place.mkdir(parents=True, exist_ok=True)
            records = [to_record(message, store) for message in self._stored()]
            text = json.dumps(
                {"version": _VERSION, "messages": records}, ensure_ascii=False, indent=1
            )
            write_whole(place / "messages.json", text.encode("utf-8", "surrogatepass"))
        except (OSError, TypeError, ValueError) as error:
            raise HistoryError(
                f"The conversation cannot be kept in '{place}': {error}.",
                fix="choose a folder that can be written; messages hold text and JSON values.",
            ) from error

    @classmethod
    def load(cls, folder: str | os.PathLike[str], **options: Any) -> Self:
        """Return a memory with the conversation that `save` kept in a folder.

        Parameters
        ----------
        folder
            What `save` was given.
        options
            The constructor's.

        Raises
        ------
        HistoryError
            If there is none, or it cannot be read.
        """
        place = Path(folder) / "messages.json"
        store = AssetFolder(place.parent / "assets")
        try:
            kept = json.loads(place.read_bytes().decode("utf-8", "surrogatepass"))
            records = list({_VERSION: kept}[kept["version"]]["messages"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HistoryError(
                f"There is no conversation that can be read in '{folder}'.",
                fix="give the folder that save() was given.",
            ) from error
        memory = cls(**options)
        memory.extend(from_record(record, store) for record in records)
        return memory

    def _stored(self) -> list[Message]:
        with self._lock:
            return list(self._messages)  # a message is replaced, never changed

    def _last(self, role: str) -> int | None:
        places = range(len(self._messages) - 1, -1, -1)
        return next((at for at in places if self._messages[at].get("role") == role), None)


def _turns(messages: list[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if message.get("role") == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _window(items: list[Any], count: int) -> list[Any]:
    return items[-count:] if count else items


def _within(messages: list[Message], budget: int) -> list[Message]:
    turns = _turns(messages)
    costs = [sum(estimated_tokens(message) for message in turn) for turn in turns]
    while len(turns) > 1 and sum(costs) > budget:
        del turns[0], costs[0]
    return [message for turn in turns for message in turn]


def _is_block_of(block: object, attachment: MediaAsset | str) -> bool:
    if not isinstance(block, MediaMessageBlock):
        return False
    if isinstance(attachment, MediaAsset):
        return block.fingerprint == attachment.fingerprint()
    return attachment in (block.tag, block.fingerprint)


def _without(block: MediaMessageBlock) -> TextMessageBlock:
    return TextMessageBlock(f"(The attachment {block.tag} was removed from this conversation.)")
