"""Turns of a conversation, to the messages that the next question goes out with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from agentcell.adapters.events import Citation, Usage
from agentcell.assets.prepare import Form
from agentcell.history.closing import STOPPED_MARK, closed, stopped
from agentcell.history.merge import merge_media
from agentcell.messages import (
    Block,
    MediaMessageBlock,
    Message,
    TextMessageBlock,
    content_text,
    media_blocks,
)

__all__ = ["STOPPED_MARK", "Status", "Turn", "forms_of", "past_messages", "skills_of", "system_of"]

Status: TypeAlias = Literal["complete", "interrupted", "failed"]


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
    skills
        The same of skills: their text and media; None leaves those before in force.
    forms
        How its attachments went out, by their fingerprints; later questions keep to it.
    finish_reason
        ``stop``, ``length``, …; empty if the answer has no end.
    seconds
        From sending to the end.
    error
        Why it failed; empty otherwise.
    at
        When it ended, in seconds since 1970; 0 before that.
    follows
        The last change of the session that its question saw.
    stale
        Whether a turn before it was asked again after it: this one still follows the former.
    imported
        Whether it was read from a saved notebook, in which anyone may have written it.
    cost
        US dollars, by the prices of its day; None where that is not known, 0 for what is free.
    """

    id: str
    cell_id: str | None
    messages: tuple[Message, ...]
    status: Status
    model: str
    part: int = 1
    fresh: bool = False
    system: str | None = None
    skills: tuple[Block, ...] | None = None
    forms: Mapping[str, Form] = field(default_factory=dict)
    finish_reason: str = ""
    usage: Usage | None = None
    citations: tuple[Citation, ...] = ()
    seconds: float = 0.0
    error: str = ""
    at: float = 0.0
    follows: int = 0
    stale: bool = False
    imported: bool = False
    cost: Decimal | None = None

    @property
    def question(self) -> str:
        """What was asked, as text with tags."""
        content = self.messages[0]["content"]
        return content if isinstance(content, str) else content_text(content[-1])

    @property
    def answer(self) -> str:
        """What was answered, as far as it came."""
        last = self.messages[-1]
        is_answer = len(self.messages) > 1 and last.get("role") == "assistant"
        return content_text(last["content"]) if is_answer else ""

    @property
    def attachments(self) -> tuple[MediaMessageBlock, ...]:
        """What was sent with the question itself."""
        return tuple(media_blocks(self.messages[:1]))

    @property
    def is_sent_again(self) -> bool:
        """Whether later questions carry it: it was answered, in part at least."""
        if self.status == "interrupted":  # after a word of the answer, or a call of a tool
            said = self.messages[1:]
            return any(one.get("tool_calls") or content_text(one["content"]) for one in said)
        return self.status == "complete"

    def sent_again(self) -> Iterator[Message]:
        """Yield what a later question carries of this turn; nothing of a failed one."""
        if self.status == "complete":
            yield from closed(self.messages)
        elif self.is_sent_again:
            yield from stopped(self.messages)


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


def skills_of(turns: Iterable[Turn]) -> tuple[Block, ...]:
    """Return what the skills in force after `turns` say and show."""
    given = [turn.skills for turn in turns if turn.skills is not None]
    return given[-1] if given else ()


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
