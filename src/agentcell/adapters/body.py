"""Messages and an encoder, to the pieces of a request's body, large attachments not among them.

`encode` makes a body with every attachment in it as base64, which for a 50 MB picture costs ten
times its size in memory. To send one, large attachments are lent to the encoder as stand-ins: the
same asset with 24 random bytes as its content. Where the base64 of those stands in the JSON, the
attachment's own is written, piece by piece, while the body goes out.
"""

from __future__ import annotations

import json
import re
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from agentcell.assets.asset import MediaAsset
from agentcell.assets.content import Content
from agentcell.errors import AttachmentError
from agentcell.messages import MediaMessageBlock, Message

INLINE_BYTES = 256 * 1024
"""Attachments below this are encoded at once: they cost less than a look at their pieces."""

READ_BYTES = 96 * 1024 * 3
"""Bytes of an attachment that are encoded at a time; of whole threes, so that the texts join."""

_TOKEN_BYTES = 24  # of whole threes: its base64 needs no padding. Nobody can guess as many.


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent. It may be sent as often as need be, each time from its start.

    Parameters
    ----------
    pieces
        Bytes as they are, and contents that go out as base64.
    """

    pieces: tuple[bytes | Content, ...]

    @property
    def size_bytes(self) -> int:
        """How long it is on the wire."""
        return sum(
            len(piece) if isinstance(piece, bytes) else self._wire_size(piece)
            for piece in self.pieces
        )

    @property
    def is_plain(self) -> bool:
        """Whether it holds nothing that is encoded on the way."""
        return all(isinstance(piece, bytes) for piece in self.pieces)

    def check(self) -> None:
        """Refuse, before a request, an attachment that is no longer what it was.

        Raises
        ------
        AttachmentError
            If the copy that was made of it is gone or was changed.
        """
        for piece in self.pieces:
            if isinstance(piece, Content):
                piece.open().close()

    def data(self) -> bytes:
        """Return all of it."""
        return b"".join(self.chunks())

    def chunks(self) -> Iterator[bytes]:
        """Yield it from its start, in chunks.

        Raises
        ------
        AttachmentError
            If an attachment is no longer what it was when it was attached.
        """
        for piece in self.pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                yield from self._wire(piece)

    def _wire_size(self, content: Content) -> int:
        return (content.size_bytes + 2) // 3 * 4

    def _wire(self, content: Content) -> Iterator[bytes]:
        encode = _encoder()
        with closing(checked(content)) as pieces:
            for piece in pieces:
                yield encode(piece)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the `chunks`. To read one takes less time than to leave the loop for it would."""
        for chunk in self.chunks():
            yield chunk

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size_bytes:,} bytes)"


def written(messages: list[Message], encode: Callable[[list[Message]], Mapping[str, Any]]) -> Body:
    """Return what `encode` makes of `messages`, ready to be sent.

    Parameters
    ----------
    encode
        Returns the body of the request, the attachments in it as base64.

    Raises
    ------
    TypeError, ValueError, RecursionError
        For what is no JSON.
    """
    lent, contents = _with_stand_ins(messages)
    data = _json(encode(lent))
    if not contents:
        return Body((data,))
    parts = re.split(b"(%s)" % b"|".join(map(re.escape, contents)), data)
    if not contents.keys() <= set(parts):
        # Encoded in a way of its own, or left out: what then stands there nobody here can tell.
        return Body((_json(encode(messages)),))
    return Body(tuple(contents.get(part, part) for part in parts))


def _json(body: Mapping[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")  # half a character cannot be sent


def _with_stand_ins(messages: list[Message]) -> tuple[list[Message], dict[bytes, Content]]:
    """Return `messages` with stand-ins, and by the base64 of each what it stands for."""
    contents: dict[bytes, Content] = {}

    def lent(block: Any) -> Any:
        if isinstance(block, MediaMessageBlock):
            asset = lent(block.asset)
            return block if asset is block.asset else replace(block, asset=asset)
        if not isinstance(block, MediaAsset) or (block.size_bytes or 0) < INLINE_BYTES:
            return block
        token = secrets.token_bytes(_TOKEN_BYTES)
        content = block.content
        contents[b64encode(token)] = content
        return replace(block, snapshot=Content(content.digest, content.size_bytes, token))

    def changed(message: Message) -> Message:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, (MediaMessageBlock, MediaAsset)):
            return {**message, "content": lent(content)}
        if isinstance(content, (list, tuple)):
            blocks = [lent(block) for block in content]
            if any(new is not old for new, old in zip(blocks, content, strict=True)):
                return {**message, "content": blocks}
        return message

    replaced = [changed(message) for message in messages]
    return (replaced if contents else messages), contents


def checked(content: Content) -> Generator[bytes]:
    """Yield an attachment in pieces of whole threes of bytes.

    Raises
    ------
    AttachmentError
        Before its last piece, if it is no longer what it was when it was attached.
    """
    left = content.size_bytes
    with content.open() as source:
        while left > 0:
            piece = source.read(min(READ_BYTES, left))
            left -= len(piece)
            if not piece or (left <= 0 and not content.is_unchanged(source)):
                raise AttachmentError(
                    f"The copy of an attachment of {content.size_bytes:,} bytes was changed"
                    " while it was sent.",
                    fix="attach the file again.",
                )
            yield piece


def _encoder() -> Callable[[bytes], bytes]:
    """Return pybase64's encoder, ten times as fast as Python's own, or else that."""
    try:
        from pybase64 import b64encode as quick
    except ImportError:
        return b64encode
    return quick
