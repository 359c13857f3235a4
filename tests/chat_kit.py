"""A session's chat panel, and what its page hears and says."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image

from agentcell import ImageAsset, ModelCapabilities, Session
from agentcell.testing import FakeModel
from agentcell_widgets.chat import ChatPanel
from panels import GUARD, Page

NO_PICTURES = ModelCapabilities(image_input=False, pdf_input=False)


def picture(color: str = "red") -> ImageAsset:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), color).save(file, "PNG")
    return ImageAsset.from_bytes(file.getvalue(), filename=f"{color}.png")


class Chat:
    """A panel, and its page as a test speaks for it."""

    def __init__(self, *answers: Any, model: Any = None, **options: Any) -> None:
        self.model = model or FakeModel(*answers)
        self.session = Session(self.model)
        self.panel = ChatPanel(self.session, **options)
        self.page = Page(self.panel)

    def turns(self, name: str = "main") -> list[str]:
        return [turn.question for turn in self.session.conversation(name).turns]

    def kinds(self) -> list[str]:
        return [content["kind"] for content, _ in self.page.sent if content["kind"] != "reply"]

    def wait(self, said: Callable[[], bool]) -> None:
        end = time.monotonic() + GUARD
        while not said():
            assert time.monotonic() < end, self.kinds()
            time.sleep(0.01)

    def free(self) -> None:
        self.wait(lambda: not self.panel.chat.is_busy)

    def say(self, text: str) -> dict[str, Any]:
        """Ask, and return what is told at the end."""
        self.page.sent.clear()
        self.page.ask("submit", {"text": text})
        ended = self.page.event("ended")
        self.free()
        return ended

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [content["payload"] for content, _ in self.page.sent if content["kind"] == kind]


Chats = Callable[..., Chat]


@contextmanager
def opened_chats() -> Iterator[Chats]:
    """Give what opens a panel, of a model that answers so; each is closed at the end."""
    made: list[Chat] = []

    def make(*answers: Any, **options: Any) -> Chat:
        made.append(Chat(*answers, **options))
        return made[-1]

    try:
        yield make
    finally:
        for chat in made:
            chat.panel.close()


def weather(town: str) -> str:
    """Return the weather of a town."""
    return f"Rain in {town}."


def png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "blue").save(file, "PNG")
    return file.getvalue()
