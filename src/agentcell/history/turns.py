"""Turns of a conversation, to the messages that the next question goes out with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agentcell.adapters.events import Citation, Usage
from agentcell.assets.prepare import Form
from agentcell.history.memory import merge_media
from agentcell.messages import (
    MediaMessageBlock,
    Message,
    TextMessageBlock,
    content_text,
    media_blocks,
)

Status: TypeAlias = Literal["complete", "interrupted", "failed"]

STOPPED_MARK = "[The answer was stopped here.]"
"""What a model reads at the end of an answer that the person stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question with its attachments and its answer: the unit of history.

    Parameters
    ----------
    cell_id
        The notebook's own name for the cell; None where there is none (a console).
    part
        Which of the cell's questions, counted from 1: a loop in a cell may ask several.
    messages
        The question first, then tool rounds, then the answer as far as it came.
    fresh
        True where the conversation starts over with this turn.
    system
        The instructions that hold from this turn on; None leaves those before in force.
    forms
        How its attachments went out, by their fingerprints; later questions keep to it.
    finish_reason
        ``stop``, ``length``, …; empty if the answer has no end.
    seconds
        From sending to the end.
    error
        Why it failed; empty otherwise.
    """

    id: str
    cell_id: str | None
    messages: tuple[Message, ...]
    status: Status
    model: str
    part: int = 1
    fresh: bool = False
    system: str | None = None
    forms: Mapping[str, Form] = field(default_factory=dict)
    finish_reason: str = ""
    usage: Usage | None = None
    citations: tuple[Citation, ...] = ()
    seconds: float = 0.0
    error: str = ""

    @property
    def question(self) -> str:
        """What was asked, as text with tags."""
        content = self.messages[0]["content"]
        return content if isinstance(content, str) else content_text(content[-1])

    @property
    def answer(self) -> str:
        """What was answered, as far as it came."""
        return content_text(self.messages[-1]["content"]) if len(self.messages) > 1 else ""

    @property
    def attachments(self) -> tuple[MediaMessageBlock, ...]:
        """What was sent with the question itself."""
        return tuple(media_blocks(self.messages[:1]))

    @property
    def is_sent_again(self) -> bool:
        """Whether later questions carry it: it was answered, in part at least."""
        return self.status == "complete" or (self.status == "interrupted" and bool(self.answer))

    def sent_again(self) -> Iterator[Message]:
        """Yield what a later question carries of this turn; nothing of a failed one."""
        if self.status == "complete":
            yield from self.messages
        elif self.is_sent_again:
            yield from self.messages[:-1]
            yield {**self.messages[-1], "content": f"{self.answer}\n\n{STOPPED_MARK}"}


@dataclass(slots=True)
class Conversation:
    """Turns in the order of their cells. Running a cell again replaces its turns in place."""

    name: str
    turns: list[Turn] = field(default_factory=list)

    def before(self, cell_id: str | None, part: int = 1) -> list[Turn]:
        """Return the turns that a question from this cell follows, since the last fresh start."""
        earlier = self.turns[: self._place(cell_id, part)]
        starts = [number for number, turn in enumerate(earlier) if turn.fresh]
        return earlier[starts[-1] :] if starts else earlier

    def put(self, turn: Turn) -> None:
        """Add `turn`, in place of what its cell asked before; a second time does nothing."""
        if any(old.id == turn.id for old in self.turns):
            return
        place = self._place(turn.cell_id, turn.part)
        kept = [old for old in self.turns[place:] if not _is_replaced(old, turn)]
        self.turns = [*self.turns[:place], turn, *kept]

    def drop(self, turn: Turn) -> None:
        """Take out what `turn`, which belongs to another conversation, takes the place of."""
        self.turns = [old for old in self.turns if not _is_replaced(old, turn)]

    def _place(self, cell_id: str | None, part: int) -> int:
        """Return where a turn of this cell stands or would stand."""
        after = len(self.turns)
        if cell_id is None:
            return after
        for number, turn in enumerate(self.turns):
            if turn.cell_id != cell_id:
                continue
            if turn.part >= part:
                return number
            after = number + 1
        return after


def past_messages(turns: Iterable[Turn], forgotten: frozenset[str] = frozenset()) -> list[Message]:
    """Return what a new question carries of `turns`: each attachment once, forgotten ones never.

    Parameters
    ----------
    forgotten
        Fingerprints of attachments that must not go out again.
    """
    messages = [message for turn in turns for message in turn.sent_again()]
    return merge_media([_without(message, forgotten) for message in messages])


def forms_of(turns: Iterable[Turn]) -> dict[str, Form]:
    """Return how the attachments of `turns` go out again, by their fingerprints."""
    sent = (turn.forms for turn in turns if turn.is_sent_again)
    return {fingerprint: form for forms in sent for fingerprint, form in forms.items()}


def system_of(turns: Iterable[Turn], default: str = "") -> str:
    """Return the instructions in force after `turns`; `default` where none were ever given."""
    given = [turn.system for turn in turns if turn.system is not None]
    return given[-1] if given else default


def _is_replaced(old: Turn, new: Turn) -> bool:
    """Whether `old` goes when `new` comes: it is the same question of the same cell.

    With a cell's first question, the cell runs anew: its further ones go as well.
    """
    if old.cell_id is None or old.cell_id != new.cell_id:
        return False
    return new.part in (old.part, 1)


def _without(message: Message, forgotten: frozenset[str]) -> Message:
    content = message["content"]
    if not forgotten or not isinstance(content, list):
        return message
    kept = [
        TextMessageBlock(f"{block.tag} (removed from the conversation)")
        if isinstance(block, MediaMessageBlock) and block.fingerprint in forgotten
        else block
        for block in content
    ]
    return {**message, "content": kept}
