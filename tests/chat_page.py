"""A notebook with a chat panel in it, as a person sees it: what tests of the panel share."""

from __future__ import annotations

import textwrap
from typing import Any

from playwright.sync_api import Locator, Page, expect

from labkit import Notebook, OpenNotebook

START = """
import io, time
from PIL import Image, ImageDraw
from agentcell import ImageAsset, Session, tool
from agentcell.testing import Call, ChatServer, FakeModel, Reply
from agentcell.widgets import ChatPanel
def png(color='seagreen', size=(300, 200)):
    file = io.BytesIO(); image = Image.new('RGB', size, color)
    ImageDraw.Draw(image).ellipse((40, 30, 180, 160), fill='gold')
    image.save(file, 'PNG'); return file.getvalue()
def weather(town: str) -> str:
    'Return the weather of a town.'
    return f'Rain in {town}.'
WEATHER = Call('weather', '{"town": "Oslo"}')
"""

STREAMED = """
session = Session(FakeModel(Reply(*['word '] * 400, delay=0.05)))
panel = ChatPanel(session); panel
"""


class ChatPage:
    """One panel in the first cell of a notebook."""

    def __init__(self, open_notebook: OpenNotebook, made: str, *cells: str) -> None:
        first = START + textwrap.dedent(made)
        self.notebook: Notebook = open_notebook([first, *cells])
        self.page: Page = self.notebook.page
        self.notebook.run(0)
        self.panel = self.notebook.output(0).get_by_role("region", name="Chat")
        self.words = self.panel.get_by_label("Your question")
        self.turns = self.panel.locator("article")
        self.notice = self.panel.locator(":scope > .agentcell-notice")
        self.send_button = self.panel.get_by_role("button", name="Send", exact=True)
        self.stop_button = self.panel.get_by_role("button", name="Stop")
        expect(self.panel.get_by_label("Model", exact=True)).not_to_have_value("")

    def ask(self, text: str) -> None:
        """Write a question and send it with Enter."""
        self.words.fill(text)
        self.words.press("Enter")

    def ended(self, count: int = 1) -> Locator:
        """Wait until so many turns stand there and nothing runs; return the last."""
        expect(self.turns).to_have_count(count)
        expect(self.panel.locator(".agentcell-chat-live")).to_have_count(0)
        expect(self.send_button).to_be_visible()
        return self.turns.last

    def button(self, name: str, **options: Any) -> Locator:
        """Return a button of the panel by what a screen reader says."""
        return self.panel.get_by_role("button", name=name, **options)

    def printed(self, index: int) -> str:
        """Run a cell and return what it printed."""
        self.notebook.run(index)
        return self.notebook.output(index).inner_text().strip()
