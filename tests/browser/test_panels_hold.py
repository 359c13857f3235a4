"""What must hold of every panel, whatever happens around it: restarts, odd files, lost focus."""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, expect

from labkit import Notebook, OpenNotebook

SETUP = """
from agentcell import Session
from agentcell.testing import FakeModel
from agentcell.widgets import AttachmentsPanel, ChatPanel, GenerationPanel, HistoryPanel
from IPython.display import display
session = Session(FakeModel('Yes.'))
"""

WIDER = """e => [...e.querySelectorAll('*'), e].filter(n =>
    !n.closest('.agentcell-unseen, pre, table, .agentcell-chat-hint, option') &&
    n.getBoundingClientRect().right > e.getBoundingClientRect().right + 1)
  .map(n => n.className)"""

NOTICE = ".agentcell-notice[role=status]"

ENDED = "This panel ended with its kernel. Fix: run its cell again."

CLASSES = {
    "Attachments": "AttachmentsPanel",
    "Chat": "ChatPanel",
    "Pictures and clips": "GenerationPanel",
    "History": "HistoryPanel",
}


def region(notebook: Notebook, title: str, cell: int = 0) -> Locator:
    return notebook.output(cell).get_by_role("region", name=title)


def restart(notebook: Notebook) -> None:
    notebook.page.evaluate(
        """async () => { const panel = window.jupyterapp.shell.currentWidget;
            await panel.context.sessionContext.session.kernel.restart(); }"""
    )
    notebook.wait_idle()


def test_after_a_restart_of_the_kernel_each_panel_says_that_it_ended(
    open_notebook: OpenNotebook,
) -> None:
    made = "".join(f"display({one}(session))\n" for one in CLASSES.values())
    notebook = open_notebook([SETUP + made])
    notebook.run(0)
    for title in CLASSES:
        expect(region(notebook, title)).to_be_visible()
    words = region(notebook, "Chat").get_by_label("Your question")
    words.fill("Are you there?")
    restart(notebook)
    for title in CLASSES:
        panel = region(notebook, title)
        expect(panel.locator(NOTICE)).to_have_text(ENDED)
    words.press("Enter")
    expect(words).to_have_value("Are you there?")
    expect(region(notebook, "Chat").locator(".agentcell-waiting")).to_be_hidden()
    notebook.screenshot("panels-after-restart")


LONG = """
session = Session(FakeModel(
    'word **bold** and [a](https://a.example/b). ' * 24_000, 'y' * 10_000, 'שלום עולם ' * 20))
display(ChatPanel(session), HistoryPanel(session))
"""


def test_long_texts_and_long_words_come_whole_and_fit_and_others_read_from_the_right(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP + LONG])
    notebook.run(0)
    chat, history = region(notebook, "Chat"), region(notebook, "History")
    for number, question in enumerate(("A book?", "Q" * 10_000, "مرحبا بالعالم")):
        chat.get_by_label("Your question").fill(question)
        chat.get_by_label("Your question").press("Enter")
        expect(chat.locator("article")).to_have_count(number + 1)
        expect(chat.get_by_role("button", name="Send", exact=True)).to_be_visible()
    book = chat.locator(".agentcell-chat-answer").first
    assert book.evaluate("e => e.textContent.match(/bold/g).length") == 24_000
    hebrew = chat.locator("article").last.locator(".agentcell-chat-answer p")
    assert hebrew.evaluate(
        "e => [getComputedStyle(e).direction, getComputedStyle(e).textAlign]"
    ) == [
        "rtl",
        "start",
    ]
    history.locator(".agentcell-row").nth(1).click()
    expect(history.get_by_role("article")).to_contain_text("yyyy")
    notebook.screenshot("panels-long")
    for panel in (chat, history):
        panel.evaluate("e => { e.parentElement.style.width = '400px' }")
        assert panel.evaluate(WIDER) == []


FOCUS = "e => e.contains(document.activeElement) && document.activeElement.checkVisibility()"


def press(panel: Locator, name: str) -> None:
    """Press a button by the keyboard."""
    button = panel.get_by_role("button", name=name)
    button.focus()
    button.press("Enter")


def stays(panel: Locator, page: Page) -> None:
    """Wait until the keyboard is in the panel, on something to be seen, and stays there."""
    page.wait_for_function(FOCUS, arg=panel.element_handle())
    page.wait_for_timeout(150)
    assert panel.evaluate(FOCUS)


TALK = """
from agentcell.history.turns import Turn
for number in range(45):
    said = ({'role': 'user', 'content': f'Question {number}'},
            {'role': 'assistant', 'content': 'Yes.'})
    session.history.put('main', Turn(id=f't{number}', cell_id=None, messages=said,
                                     status='complete', model='m'))
display(ChatPanel(session), HistoryPanel(session))
"""


def test_the_keyboard_keeps_its_place_when_what_it_was_on_goes_away(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP + TALK, "session.ask('And in a cell?');"])
    notebook.run(0)
    chat, history = region(notebook, "Chat"), region(notebook, "History")
    press(chat, "Show earlier turns")
    expect(chat.get_by_role("button", name="Show earlier turns")).to_be_hidden()
    stays(chat, notebook.page)
    last = chat.locator("article").last.get_by_role("button", name="Branch")
    last.focus()
    last.press("Enter")
    expect(chat).to_contain_text("You go on in main-2.")
    stays(chat, notebook.page)

    history.locator(".agentcell-row").first.click()
    press(history, "Forget")
    notebook.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        ".requestExecute({code: \"session.ask('In a cell?')\"}).done"
    )
    expect(history.get_by_role("heading", name="History (91)")).to_be_visible()
    notebook.page.wait_for_timeout(300)
    expect(history.get_by_role("button", name="Delete for good?")).to_be_focused()
    press(history, "Delete for good?")
    expect(history).to_contain_text("Deleted for good")
    stays(history, notebook.page)


SLOW = """
import asyncio, io
from decimal import Decimal
from PIL import Image
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import Accepted, Ended, Made
class Slow(ImageBackend):
    name, can_resume, go = 'slow', True, asyncio.Event()
    def price(self, wish): return Decimal('0.04') * wish.count
    async def run(self, wish, *, key):
        yield Accepted('req-1')
        await self.go.wait()
    async def resume(self, request_id, wish):
        file = io.BytesIO(); Image.new('RGB', (60, 40), 'navy').save(file, 'PNG')
        yield Made(kind='image', data=file.getvalue())
        yield Ended(model='slow-1', cost=Decimal('0.04'))
session.generator.backends.add(Slow())
GenerationPanel(session)
"""


def test_the_generation_panel_keeps_the_keyboard_through_all_of_a_wish(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP + SLOW])
    notebook.run(0)
    panel, page = region(notebook, "Pictures and clips"), notebook.page
    prompt = panel.get_by_label("What is to be seen")
    panel.get_by_label("Maker").fill("slow")
    prompt.fill("a kingfisher")
    prompt.press("Enter")
    agree = panel.get_by_role("button", name="Generate for $0.04")
    expect(agree).to_be_focused()
    panel.get_by_label("Count").fill("3")
    expect(agree).to_be_hidden()  # the price was of another wish
    prompt.press("Enter")
    agree = panel.get_by_role("button", name="Generate for $0.12")
    expect(agree).to_be_focused()
    agree.press("Enter")
    stays(panel, page)
    press(panel, "Stop a kingfisher")
    expect(panel.get_by_role("button", name="Stop a kingfisher")).to_be_hidden()
    stays(panel, page)
    press(panel, "Resume a kingfisher")
    expect(panel.get_by_role("button", name="Enlarge")).to_have_count(1)
    stays(panel, page)
    press(panel, "Start from")
    press(panel, "Remove ")
    stays(panel, page)


def test_a_dropped_folder_and_a_file_that_is_empty_are_told_of_with_what_came(
    open_notebook: OpenNotebook, tmp_path: Path
) -> None:
    (tmp_path / "holiday").mkdir()
    (tmp_path / "nothing.png").touch()
    Image.new("RGB", (40, 30), "navy").save(tmp_path / "sea.png")
    notebook = open_notebook([SETUP + "AttachmentsPanel(session)"])
    notebook.run(0)
    panel = region(notebook, "Attachments")
    box = panel.bounding_box()
    assert box is not None
    line = notebook.page.context.new_cdp_session(notebook.page)
    names = ("nothing.png", "holiday", "sea.png")
    data = {"items": [], "files": [str(tmp_path / one) for one in names], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + 40, "y": box["y"] + 40}
        line.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})
    line.detach()

    expect(panel.get_by_role("listitem")).to_have_count(1)
    notice = panel.locator(NOTICE)
    expect(notice).to_contain_text("holiday is a folder. Fix: choose the files in it.")
    expect(notice).to_contain_text("nothing.png is empty.")


CYCLES = """
import gc
from ipywidgets.widgets import widget
import comm
kinds = (AttachmentsPanel, ChatPanel, GenerationPanel, HistoryPanel)
def cycle():
    for kind in kinds:
        panel = kind(session); display(panel); panel.close()
def counts():
    gc.collect()
    return len(widget._instances), len(comm.get_comm_manager().comms), len(session._listeners)
cycle(); before = counts()
"""


def test_all_panels_opened_and_closed_50_times_leave_nothing_behind(
    open_notebook: OpenNotebook,
) -> None:
    again = "for _ in range(50):\n    cycle()"
    notebook = open_notebook([SETUP + CYCLES, again, "print(before, counts())"])
    notebook.run_all()
    before, after = notebook.output(2).inner_text().strip().split(") (")

    assert before.strip("()") == after.strip("()")
    expect(notebook.page.locator(".agentcell-panel")).to_have_count(0)


HOSTILE_PROMPTS = """
from hostile import HOSTILE
for number, prompt in enumerate(HOSTILE[:40]):
    try:
        session.generate(prompt, model='procedural', size='64x64')
    except Exception as error:
        pass
GenerationPanel(session)
"""

MARKUP = """area => [...area.querySelectorAll('*')].filter(e =>
    e.matches('img:not([src^="blob:"]), script, iframe, object, embed, style, link, form, ' +
      'svg:not(.agentcell-icon), a') || [...e.attributes].some(a => a.name.startsWith('on')))
  .map(e => e.outerHTML.slice(0, 200))"""


def test_hostile_prompts_are_words_in_the_generation_panel(
    open_notebook: OpenNotebook, external: list[str]
) -> None:
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r})"
    notebook = open_notebook([here + "\n" + SETUP + HOSTILE_PROMPTS])
    notebook.run(0)
    panel = region(notebook, "Pictures and clips")
    expect(panel.locator(".agentcell-generation-result img").first).to_be_visible()

    assert panel.evaluate(MARKUP) == []
    assert panel.evaluate(WIDER) == []
    assert notebook.page.evaluate("() => window.ran") is None
    assert external == []
