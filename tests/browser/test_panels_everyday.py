"""Panels in a person's hands: odd names, much of everything, mixed clipboards, slips."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from labkit import Notebook, OpenNotebook

SETUP = """
import io
from PIL import Image
from agentcell import ImageAsset, Session
from agentcell.testing import FakeModel
from agentcell.widgets import AttachmentsPanel, ChatPanel, GenerationPanel, HistoryPanel
from IPython.display import display
def picture(number):
    file = io.BytesIO(); Image.new('RGB', (40 + number, 30), 'seagreen').save(file, 'PNG')
    return ImageAsset.from_bytes(file.getvalue(), filename=f'{number}.png')
"""


def region(notebook: Notebook, title: str, cell: int = 0) -> Locator:
    return notebook.output(cell).get_by_role("region", name=title)


def notice(panel: Locator) -> Locator:
    return panel.locator(".agentcell-notice[role=status]")


def at_width(panel: Locator, pixels: int) -> None:
    panel.evaluate("(e, width) => { e.parentElement.style.width = `${width}px`; }", pixels)


# -- how it stands there -----------------------------------------------------------------------

TABLE = r"""
columns = 20
table = '\n'.join(['|' + '|'.join(f' Quantity{n} ' for n in range(columns)) + '|',
                   '|' + '---|' * columns, '|' + '|'.join(f' {n} ' for n in range(columns)) + '|'])
session = Session(FakeModel(table)); session.ask('A table?')
display(ChatPanel(session), HistoryPanel(session))
"""

BROKEN = """panel => [...panel.querySelectorAll('th')].filter(cell => {
    const words = document.createRange(); words.selectNodeContents(cell.firstChild);
    return words.getClientRects().length > 1; }).length"""


def test_words_of_a_wide_table_stay_whole_and_the_table_scrolls_by_keys(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP + TABLE])
    notebook.run(0)
    region(notebook, "History").locator(".agentcell-row").first.click()
    for title in ("Chat", "History"):
        panel = region(notebook, title)
        at_width(panel, 400)
        wide = panel.locator(".agentcell-wide")
        expect(wide.locator("th")).to_have_count(20)
        assert panel.evaluate(BROKEN) == 0
        assert wide.evaluate("e => e.scrollWidth > e.clientWidth")
        wide.focus()
        wide.press("End")
        wide.press("ArrowRight")
        notebook.page.wait_for_function("e => e.scrollLeft > 0", arg=wide.element_handle())


def test_where_one_writes_stands_above_its_buttons_at_every_width(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP + "ChatPanel(Session(FakeModel('Yes.')))"])
    notebook.run(0)
    panel = region(notebook, "Chat")
    edges = """panel => ['.agentcell-chat-input', '.agentcell-chat-composer > .agentcell-chat-row']
      .map(one => panel.querySelector(one).getBoundingClientRect())
      .map(box => [box.left, box.right].map(Math.round))"""
    for width in (400, 700, 1000, 1600):
        at_width(panel, width)
        field, row = panel.evaluate(edges)
        assert field == row


MANY = """
session = Session(FakeModel('Yes.'))
for number in range(100): session.attach(picture(number), name='photo')
display(AttachmentsPanel(session), ChatPanel(session))
"""


def test_a_hundred_attachments_scroll_in_the_panel_and_what_is_said_stays_in_sight(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP + MANY, "session.attach(picture(200), name='last');"])
    notebook.run(0)
    panel, chat = region(notebook, "Attachments"), region(notebook, "Chat")
    cards = panel.get_by_role("listitem")
    expect(cards).to_have_count(100)
    for one in (panel, chat):
        assert one.evaluate("e => e.getBoundingClientRect().height") < 1_000

    panel.get_by_label("Path, address or variable").fill("nowhere.png")
    panel.get_by_role("button", name="Attach", exact=True).click()
    expect(notice(panel)).to_contain_text("nowhere.png")
    expect(notice(panel)).to_be_in_viewport(ratio=1)

    notebook.run(1)
    expect(cards).to_have_count(101)
    notebook.page.wait_for_function(
        "([list, card]) => card.getBoundingClientRect().bottom <="
        " list.getBoundingClientRect().bottom + 1",
        arg=[panel.get_by_role("list").element_handle(), cards.last.element_handle()],
    )


RESULTS = """
session = Session(FakeModel('Yes.'))
for number in range(24): session.generate(f'a boat {number}', model='procedural', size='64x64')
GenerationPanel(session)
"""


def test_above_many_results_it_stands_why_a_wish_cannot_be_made(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP + RESULTS])
    notebook.run(0)
    panel = region(notebook, "Pictures and clips")
    expect(panel.get_by_role("button", name="Enlarge")).to_have_count(24)
    assert panel.evaluate("e => e.getBoundingClientRect().height") < 1_400
    panel.get_by_label("Maker").fill("nobody")
    panel.get_by_label("What is to be seen").fill("a ship")
    panel.get_by_role("button", name="Generate", exact=True).click()

    expect(notice(panel)).to_contain_text("nobody")
    expect(notice(panel)).to_be_in_viewport(ratio=1)


# -- names that anybody may give ---------------------------------------------------------------

NAMES = ["<img src=x onerror='window.ran = 1'>", "x" * 400, "two\nlines", " ", "../../etc", "مرحبا"]


def test_a_conversation_of_any_name_is_picked_and_read(open_notebook: OpenNotebook) -> None:
    made = f"""
session = Session(FakeModel('Yes.'))
for number, name in enumerate({NAMES!r}): session.ask(f'Number {{number}}', conversation=name)
display(ChatPanel(session), HistoryPanel(session))
"""
    notebook = open_notebook([SETUP + made])
    notebook.run(0)
    chat, history = region(notebook, "Chat"), region(notebook, "History")
    picker = chat.get_by_label("Conversation", exact=True)
    expect(picker.locator("option")).to_have_count(len(NAMES) + 1)  # and the one that is shown
    for number, name in enumerate(NAMES):
        picker.select_option(value=name)
        expect(chat.locator("article")).to_have_count(1)
        expect(chat.locator("article")).to_contain_text(f"Number {number}")
        filtered = history.locator("select")
        filtered.select_option(value=name)
        expect(history.locator(".agentcell-row")).to_have_count(1)
        expect(history.locator(".agentcell-row")).to_contain_text(f"Number {number}")
    shown = picker.locator("option").all_inner_texts()
    assert max(map(len, shown)) <= 60
    assert all(one.strip() for one in shown)
    assert notebook.page.evaluate("() => window.ran") is None


# -- what a clipboard holds --------------------------------------------------------------------

COPY = """async kinds => {
    const canvas = document.createElement('canvas'); canvas.width = 30; canvas.height = 20;
    canvas.getContext('2d').fillRect(0, 0, 30, 20);
    const picture = await new Promise(made => canvas.toBlob(made, 'image/png'));
    const parts = {'image/png': picture};
    for (const [type, words] of Object.entries(kinds)) parts[type] = new Blob([words], {type});
    await navigator.clipboard.write([new ClipboardItem(parts)]); }"""


def paste(page: Page, where: Locator, **kinds: str) -> None:
    page.bring_to_front()
    page.evaluate(COPY, {f"text/{kind}": words for kind, words in kinds.items()})
    where.focus()
    page.keyboard.press("Control+v")


def test_of_words_and_a_picture_in_one_clipboard_none_is_lost(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP + "ChatPanel(Session(FakeModel('Yes.')))"])
    notebook.run(0)
    notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel = region(notebook, "Chat")
    words = panel.get_by_label("Your question")
    waiting = panel.get_by_role("list", name="Attached to the next question").get_by_role(
        "listitem"
    )

    words.fill("Look: ")
    paste(notebook.page, words, plain="a black box")
    expect(waiting).to_have_count(1)
    expect(words).to_have_value("Look: a black box")

    # A spreadsheet's cells come as words, as a table, and as a picture of it.
    words.fill("")
    paste(notebook.page, words, plain="1\t2", html="<table><tr><td>1</td><td>2</td></tr></table>")
    expect(words).to_have_value("1\t2")
    expect(notice(panel)).to_contain_text("Pasted as words.")
    expect(waiting).to_have_count(1)

    panel.get_by_role("button", name="Take back").click()
    expect(waiting).to_have_count(0)
    log = panel.get_by_role("log")
    paste(notebook.page, log, plain="1\t2", html="<table><tr><td>1</td><td>2</td></tr></table>")
    expect(waiting).to_have_count(1)


def test_a_file_that_a_file_manager_copied_is_attached_without_its_name_as_words(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook([SETUP + "ChatPanel(Session(FakeModel('Yes.')))"])
    notebook.run(0)
    notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel = region(notebook, "Chat")
    words = panel.get_by_label("Your question")
    paste(
        notebook.page, words, plain="/home/me/Pictures/image.png"
    )  # as Chromium names the picture

    expect(panel.get_by_role("list", name="Attached to the next")).to_contain_text("image")
    expect(words).to_have_value("")


# -- slips of the hand -------------------------------------------------------------------------

THREE = """
session = Session(FakeModel('Yes.'))
for number in range(3): session.attach(picture(number), name=f'photo{number}')
display(AttachmentsPanel(session), ChatPanel(session), GenerationPanel(session))
"""


def test_a_removal_is_undone_by_its_button_or_by_ctrl_z(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP + THREE, "print([one.tag for one in session.waiting])"])
    notebook.run(0)
    panel, chat = region(notebook, "Attachments"), region(notebook, "Chat")
    cards = panel.get_by_role("listitem")
    expect(cards).to_have_count(3)
    panel.get_by_role("button", name="Remove [photo1_1 photo1]").click()
    expect(cards).to_have_count(2)
    undo = panel.get_by_role("button", name="Undo")
    undo.focus()
    undo.press("Enter")
    expect(cards).to_have_count(3)
    expect(cards.nth(1)).to_contain_text("[photo1_1 photo1]")
    expect(cards.nth(1).get_by_role("textbox")).to_be_focused()
    expect(undo).to_have_count(0)

    remove = panel.get_by_role("button", name="Remove [photo2_1 photo2]")
    remove.focus()
    remove.press("Enter")
    expect(cards).to_have_count(2)
    panel.press("Control+z")
    expect(cards).to_have_count(3)
    panel.press("Control+z")  # nothing is left to undo

    chat.get_by_role("button", name="Take back [photo0_1 photo0]").click()
    waiting = chat.get_by_role("list", name="Attached to the next question").get_by_role("listitem")
    expect(waiting).to_have_count(2)
    chat.get_by_role("button", name="Undo").click()
    expect(waiting).to_have_count(3)
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("photo0_1")
    expect(notebook.output(1)).to_contain_text("photo2_1")


def test_a_picture_to_start_from_comes_back_with_its_mask(open_notebook: OpenNotebook) -> None:
    made = """
session = Session(FakeModel('Yes.'))
session.generate('a boat', model='procedural', size='64x64')
GenerationPanel(session)
"""
    notebook = open_notebook([SETUP + made])
    notebook.run(0)
    panel = region(notebook, "Pictures and clips")
    panel.get_by_role("button", name="Start from").click()
    panel.get_by_role("button", name="Paint what may change").click()
    dialog = panel.get_by_role("dialog")
    canvas = dialog.locator("canvas")
    canvas.focus()
    canvas.press("Space")
    dialog.get_by_role("button", name="Use this mask").click()
    expect(panel.get_by_role("button", name="Remove the mask")).to_be_visible()

    references = panel.locator(".agentcell-generation-references > li")
    panel.get_by_role("button", name="Remove procedural").click()
    expect(references).to_have_count(0)
    panel.get_by_role("button", name="Undo").click()
    expect(references).to_have_count(1)
    expect(panel.get_by_role("button", name="Remove the mask")).to_be_visible()
