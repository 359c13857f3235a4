"""Questions to the built-in reader, and what it says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agentcell import LocalModel, PdfAsset
from agentcell.adapters.events import (
    Event,
)
from agentcell.messages import MediaMessageBlock, Message, TextMessageBlock
from agentcell.prompts.tags import announcement
from media import pdf

real = pytest.mark.local_model
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

RECEIPTS = Path(__file__).parent / "data" / "receipts"
MARKET = RECEIPTS / "r01_market.png"
TAG = "[receipt_1 Receipt]"
BILL = "Corner Cafe) Tj 0 -26 Td (Tea 2.50) Tj 0 -26 Td (Total 42.00"
"""Lines of a PDF of one page, as they stand in its stream."""


def bill(text: str = BILL, tag: str = TAG) -> MediaMessageBlock:
    return MediaMessageBlock(PdfAsset.from_bytes(pdf(text)), "receipt", tag, "Receipt")


def asking(question: str, *blocks: MediaMessageBlock) -> list[Message]:
    """One user message as a session writes it."""
    content: list[Any] = []
    for each in blocks:
        content += [TextMessageBlock(announcement(each)), each]
    return [{"role": "user", "content": [*content, TextMessageBlock(question)]}]


def answer(model: LocalModel, messages: list[Message], **settings: Any) -> str:
    content = model.invoke(messages, settings=settings or None)["content"]
    assert isinstance(content, str)
    return content


def events(model: LocalModel, messages: list[Message]) -> list[Event]:
    return list(model.stream(messages))
