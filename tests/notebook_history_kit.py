"""A notebook's history for tests: lives of its kernel, and what went out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import agent_kit
from agentcell.assets.asset import ImageAsset
from agentcell.history.notebook import NotebookHistory
from agentcell.messages import MediaMessageBlock, Message, content_text
from agentcell.session import Session
from scripted import ScriptedModel

FILE = ".agentcell/session.sqlite"

Opened = Callable[..., Session]


def lives(folder: Path) -> Opened:
    """Return what makes a new life of the kernel each time it is called."""

    def make(notebook: str = "a.ipynb", **options: Any) -> Session:
        history = NotebookHistory(folder, notebook=notebook, **options)
        return Session(ScriptedModel(), history=history)

    return make


def photo(number: int = 0, size: int = 0) -> ImageAsset:
    return ImageAsset.from_bytes(
        agent_kit.png(1, 2, number % 250, noise=bytes([1 + number % 250]) * size), filename="p.png"
    )


def texts(messages: list[Message]) -> list[str]:
    return [content_text(message["content"]) for message in messages]


def media(messages: list[Message]) -> list[MediaMessageBlock]:
    return [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if isinstance(block, MediaMessageBlock)
    ]


def asked(session: Session, text: str, **options: Any) -> list[str]:
    """Ask, and return what went out."""
    model = session.model
    assert isinstance(model, ScriptedModel)
    session.ask(text, **options)
    return texts(model.requests[-1])


def marks(session: Session) -> str:
    return " ".join(turn.question + "*" * turn.stale for turn in session.turns)
