"""Small real pictures and PDFs, and a model that answers what it is told to."""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Callable
from typing import Any

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import ModelResponseType
from agentcell.adapters.model import Model
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock


def png(red: int, green: int, blue: int, *, noise: bytes = b"") -> bytes:
    """A PNG of one pixel; `noise` is carried in a private chunk, to make the file large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    pixel = zlib.compress(bytes((0, red, green, blue)))
    parts = [
        b"\x89PNG\r\n\x1a\n",
        chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)),
        *([chunk(b"noIs", noise)] if noise else []),
        chunk(b"IDAT", pixel),
        chunk(b"IEND", b""),
    ]
    return b"".join(parts)


def pdf(text: str = "Hello") -> bytes:
    """A PDF of one page."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    body = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    body += b"".join(b"%010d 00000 n \n" % place for place in places)
    body += b"trailer << /Root 1 0 R /Size %d >>\n" % (len(objects) + 1)
    return body + b"startxref\n%d\n%%%%EOF\n" % start


def red() -> ImageAsset:
    return ImageAsset.from_bytes(png(255, 0, 0))


def blue() -> ImageAsset:
    return ImageAsset.from_bytes(png(0, 0, 255))


def page() -> PdfAsset:
    return PdfAsset.from_bytes(pdf())


def calls(*wanted: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool calls, as an adapter of one's own returns them."""
    return [{"id": f"c{at}", "name": name, "arguments": a} for at, (name, a) in enumerate(wanted)]


class Replies(Model):
    """Answers with `replies` in order: a text, tool calls, an error, a whole result, or a function.

    A function is given the messages. The last reply repeats. What was sent is in `requests`,
    `tools` and `settings`.
    """

    def __init__(self, *replies: Any, capabilities: ModelCapabilities | None = None) -> None:
        super().__init__("replies", capabilities=capabilities)
        self.replies = replies
        self.requests: list[list[Message]] = []
        self.tools: list[list[dict[str, Any]] | None] = []
        self.settings: list[dict[str, Any] | None] = []
        self._lock = threading.Lock()

    def invoke(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None = None,
        settings: dict[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, Any]:
        with self._lock:
            reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
            self.requests.append(messages)
            self.tools.append(tools)
            self.settings.append(settings)
        if isinstance(reply, Callable):  # type: ignore[arg-type]
            reply = reply(messages)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, dict):
            return reply
        is_text = isinstance(reply, str)
        kind = ModelResponseType.CONTENT if is_text else ModelResponseType.TOOL_CALL
        return {"type": kind, "content": reply}


def shown(message: Message) -> Message:
    """A message as the oracle writes it: blocks as ``{"text"}`` and ``{"media_tag"}``."""
    content = message["content"]
    if isinstance(content, list):
        content = [
            {"media_tag": block.tag}
            if isinstance(block, MediaMessageBlock)
            else {"text": block.text}
            for block in content
            if isinstance(block, (MediaMessageBlock, TextMessageBlock))
        ]
    return {"role": message["role"], "content": content}


def media(message: Message) -> list[MediaMessageBlock]:
    content = message["content"]
    if isinstance(content, str):
        return []
    return [block for block in content if isinstance(block, MediaMessageBlock)]
