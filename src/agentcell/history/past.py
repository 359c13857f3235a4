"""The turns before a question, and which of them go out with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agentcell.history.turns import Turn
from agentcell.messages import (
    Block,
    MediaMessageBlock,
    Message,
    TextMessageBlock,
    content_text,
    media_blocks,
)
from agentcell.prompts.tags import announcement, find_tags

MOST_TURNS = 50
"""As many earlier turns go out with a question."""

_STEP = 25
"""The first turn that goes out stays the same for about so many questions, since providers keep
the beginning of a conversation and charge less for it when it comes again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a question follows.

    Parameters
    ----------
    turns
        Those that go out with it, oldest first.
    system
        The instructions in force; None if none were ever given.
    skills
        The skills in force, as `Turn.skills` has them.
    is_cut
        Whether there are older turns, which stay away.
    follows
        The last change of the session until now.
    """

    turns: tuple[Turn, ...] = ()
    system: str | None = None
    skills: tuple[Block, ...] = ()
    is_cut: bool = False
    follows: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the person should know of it, a sentence each."""
        if not self.is_cut:
            return ()
        count = len(self.turns)
        return (f"Only the last {count} turns go out with this question; older ones stay away.",)


def first_to_go(places: Sequence[int], most: int) -> int:
    """Return which of the places before a question is the first whose turn goes out.

    Parameters
    ----------
    places
        Ascending; one more than `most` if there are so many.
    """
    if len(places) <= most:
        return 0
    start = len(places) - most
    if most < 2 * _STEP:
        return start
    steps = [place // _STEP for place in places]
    ends = range(start, len(places) - _STEP + 1)
    return next((at for at in ends if steps[at] != steps[at - 1]), start)


def with_mentioned(
    messages: list[Message], block_of: Callable[[str], MediaMessageBlock | None]
) -> list[Message]:
    """Return `messages` with the attachments that they name, but that stood in older ones.

    Parameters
    ----------
    messages
        What goes out of earlier turns.
    block_of
        Gives an attachment by its tag, None if there is none or it must not go out.
    """
    here = {block.fingerprint for block in media_blocks(messages)}
    tags = {block.tag for block in media_blocks(messages)}
    blocks: dict[str, MediaMessageBlock] = {}
    for tag in _named(messages):
        block = None if tag in tags else block_of(tag)
        if block is not None and block.fingerprint not in here:
            blocks.setdefault(block.fingerprint, block)
    if not blocks:
        return messages
    added = [one for b in blocks.values() for one in (TextMessageBlock(announcement(b)), b)]
    first, *rest = messages
    content = first["content"]
    own = [TextMessageBlock(content)] if isinstance(content, str) else content
    return [{**first, "content": [*added, *own]}, *rest]


def _named(messages: Iterable[Message]) -> dict[str, None]:
    texts = (content_text(message.get("content")) for message in messages)
    return dict.fromkeys(tag for text in texts for _, _, tag in find_tags(text))
