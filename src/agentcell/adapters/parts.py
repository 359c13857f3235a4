"""The few kinds of part that adapters send, and the turns that hold them. Values, no I/O."""

from __future__ import annotations

import base64
import contextlib
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentcell.assets.asset import MediaAsset
from agentcell.assets.sniff import sniff
from agentcell.messages import ToolCall
from agentcell.modality import FieldModality

ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image or a PDF, by what it is or by where it is.

    Parameters
    ----------
    modality
        IMAGE or PDF.
    source
        One of `agentcell.adapters.model.SOURCES`.
    asset
        The asset, where the part was one; else `url` or `file_id` says where it is.
    url
        An address, or a data URL.
    detail
        How closely an image is to be looked at, where the part says so.
    field_name, tag
        What people and the model call it.
    """

    modality: FieldModality
    source: str
    asset: MediaAsset | None = None
    url: str = ""
    file_id: str = ""
    filename: str = ""
    detail: str = ""
    field_name: str = "content"
    tag: str = ""

    @property
    def mime_type(self) -> str:
        """The type that is known here; empty if only the service can tell.

        Of a data URL it is what its content shows, else what it claims.
        """
        if self.asset is not None:
            return self.asset.mime_type
        match = re.match(r"data:([^;,]*)([^,]*),", self.url)
        if match is None:
            return ""
        head = b""
        if match[2].lower().endswith(";base64"):
            with contextlib.suppress(ValueError):
                head = base64.b64decode(self.url[match.end() : match.end() + _HEAD])
        return sniff(head).mime_type or match[1].lower()


_HEAD = 256
"""Characters of base64 that show what a file is."""


Part: TypeAlias = Text | Media


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message: its role, its parts, and an assistant's tool calls."""

    role: str
    parts: tuple[Part, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    opaque: tuple[Any, ...] = ()
    call_id: str = ""
    """For a tool's result: the call that it answers."""
    name: str = ""
    """For a tool's result: the tool's name, where the message says it."""
    is_error: bool = False
    """For a tool's result: whether the call failed, where the message says so."""

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def media(self) -> tuple[Media, ...]:
        """The media parts, in order."""
        return tuple(part for part in self.parts if isinstance(part, Media))
