"""What is said to a model: messages, their blocks, tool calls and tool results. No I/O here.

A message is an OpenAI-shaped dict: ``{"role": …, "content": str | list of blocks}``. An
assistant message may carry ``tool_calls`` (a list of `ToolCall`) and ``opaque`` (what its
provider wants back unchanged: reasoning items, signatures). A tool's answer is
``{"role": "tool", "tool_call_id": …, "name": …, "content": …}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentcell.assets.asset import MediaAsset
from agentcell.modality import FieldModality
from agentcell.safe_text import shortened

_SHOWN = 80
"""Characters of a text that a repr shows."""


@dataclass(frozen=True, slots=True)
class TextMessageBlock:
    """One piece of a message's text.

    Parameters
    ----------
    text
        As it stands.
    type
        Tells it from a media block.
    """

    text: str
    type: Literal["text"] = "text"

    def __repr__(self) -> str:
        return f"TextMessageBlock({shortened(self.text, _SHOWN)!r})"


@dataclass(frozen=True, slots=True)
class MediaMessageBlock:
    """One attachment in a message, with the name that the model and the reader use for it.

    Parameters
    ----------
    asset
        The image or PDF.
    field_name
        The field it came in by, for example ``"receipt_image"``.
    tag
        For example ``"[receipt_image_1 Receipt]"``.
    description
        The field's description; may be empty.
    type
        Tells it from a text block.
    """

    asset: MediaAsset
    field_name: str
    tag: str
    description: str = ""
    type: Literal["media"] = "media"

    def __repr__(self) -> str:
        return f"MediaMessageBlock({shortened(self.tag, _SHOWN)!r}, {self.asset!r})"

    @property
    def modality(self) -> FieldModality:
        """IMAGE or PDF."""
        return self.asset.modality

    @property
    def fingerprint(self) -> str:
        """The asset's identity; see `MediaAsset.fingerprint`."""
        return self.asset.fingerprint()


Block: TypeAlias = TextMessageBlock | MediaMessageBlock
Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool called.

    `arguments` is what the model sent, parsed; a text that is no JSON object is kept under
    `raw_arguments` with `arguments` empty, so that the model can be told.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    raw_arguments: str = ""

    def __repr__(self) -> str:
        arguments = shortened(str(self.raw_arguments or self.arguments), _SHOWN)
        return f"ToolCall({shortened(self.name, _SHOWN)}, {arguments})"


def media_blocks(messages: Iterable[Message]) -> Iterator[MediaMessageBlock]:
    """Yield every attachment in `messages`, in order; what is no message holds none."""
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            yield from (block for block in content if isinstance(block, MediaMessageBlock))


def content_text(content: object) -> str:
    """Return a message's content as text; attachments appear as their tags, joined by newlines."""
    return "\n".join(_texts(content))


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, TextMessageBlock):
        yield content.text
    elif isinstance(content, MediaMessageBlock):
        yield content.tag
    elif isinstance(content, dict):
        for key in ("text", "content"):
            if key in content:
                yield from _texts(content[key])
    elif isinstance(content, (list, tuple)):
        for item in content:
            yield from _texts(item)
