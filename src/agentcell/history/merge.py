"""Earlier messages → the same with each attachment once, its later places named by its tag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock, content_text
from agentcell.prompts.tags import announced_tag, same_as

MEDIA_TOKENS = 800
"""What an attachment is taken to cost in a token budget; providers charge about 260 to 1,600."""


def merge_media(messages: Iterable[Message]) -> list[Message]:
    """Return copies of `messages` in which each attachment stands once.

    The first block of an attachment stays; later ones become a text block holding its first tag.
    A later tag stays understandable: where the block was announced under it, the announcement
    says what it is the same as; where it was not, mentions of it become the first tag.

    Parameters
    ----------
    messages
        Oldest first; not changed.
    """
    merged = [copied(message) for message in messages]
    first: dict[str, str] = {}
    renamed: dict[str, str] = {}
    for message in merged:
        content = message.get("content")
        if not isinstance(content, list):
            continue
        for at, block in enumerate(content):
            if not isinstance(block, MediaMessageBlock):
                continue
            tag = first.get(block.fingerprint)
            if tag is None:
                first[block.fingerprint] = block.tag
                continue
            content[at] = TextMessageBlock(tag)
            if block.tag == tag:
                continue
            above = content[at - 1] if at else None
            if isinstance(above, TextMessageBlock) and announced_tag(above.text) == block.tag:
                content[at - 1] = TextMessageBlock(same_as(above.text))
            else:
                renamed[block.tag] = tag
    for tag in first.values():
        renamed.pop(tag, None)
    return [_with_tags(message, renamed) for message in merged] if renamed else merged


def estimated_tokens(message: Message) -> int:
    """Return about how many tokens a message takes: 1 for 4 ASCII or 1 other characters.

    An attachment counts as `MEDIA_TOKENS`.
    """
    text = content_text(message.get("content"))
    wide = sum(1 for character in text if ord(character) > 0x7F)  # noqa: PLR2004 (end of ASCII)
    calls = sum(len(str(call)) for call in message.get("tool_calls") or ())
    media = sum(MEDIA_TOKENS for _ in blocks_of(message))
    return 4 + wide + (len(text) - wide + calls) // 4 + media


def copied(message: Message) -> Message:
    """Return a copy of a message whose blocks may be replaced; the blocks are shared."""
    content = message.get("content")
    return {**message, "content": list(content)} if isinstance(content, list) else dict(message)


def blocks_of(message: Message) -> Iterator[MediaMessageBlock]:
    """Yield a message's attachments, in order."""
    content = message.get("content")
    if isinstance(content, list):
        yield from (block for block in content if isinstance(block, MediaMessageBlock))


def _with_tags(message: Message, renamed: dict[str, str]) -> Message:
    def text(old: str) -> str:
        for tag, new in renamed.items():
            old = old.replace(tag, new)
        return old

    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": text(content)}
    if isinstance(content, list):
        blocks = [
            TextMessageBlock(text(one.text)) if isinstance(one, TextMessageBlock) else one
            for one in content
        ]
        return {**message, "content": blocks}
    return message
