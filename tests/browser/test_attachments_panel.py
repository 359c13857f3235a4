"""The attachments panel as a person uses it: mouse, keyboard, clipboard, files, themes, widths."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from axe import violations
from labkit import IS_LOADED, Lab, Notebook, OpenNotebook, use_theme

SETUP = """import io
from pathlib import Path
from PIL import Image
from agentcell import ImageAsset, OpenAIModel, PdfAsset, Session
from agentcell.widgets import AttachmentsPanel
def png(color, size=(120, 80)):
    file = io.BytesIO(); Image.new('RGB', size, color).save(file, 'PNG'); return file.getvalue()
def pdf(*colors):
    pages = [Image.new('RGB', (300, 400), color) for color in colors]
    file = io.BytesIO(); pages[0].save(file, 'PDF', save_all=True, append_images=pages[1:])
    return file.getvalue()
session = Session(model=OpenAIModel(model_name='gpt-4.1', api_key='no-key'))
session.attach(ImageAsset.from_bytes(png('seagreen'), filename='plot.png'), name='plot')
session.attach(ImageAsset.from_bytes(png('tomato', (40, 90)), filename='a.png'), name='receipt',
               label='Receipt of a very long purchase on a rainy day in November')
session.attach(PdfAsset.from_bytes(pdf('navy', 'gold', 'white'), filename='book.pdf'), name='book')
shot = Image.new('RGB', (64, 48), 'purple')
values = {'shot': shot, 'number': 7}
panel = AttachmentsPanel(session, variables=lambda: values)
panel"""

EMPTY = SETUP[: SETUP.index("session.attach(")] + SETUP[SETUP.index("shot = ") :]

ADD = "_ = session.attach(ImageAsset.from_bytes(png('navy')), name='late')"
LIST = "print([block.tag for block in session.attachments])"
DIGESTS = """print([(block.asset.filename, block.fingerprint.removeprefix('sha256:'))
    for block in session.attachments])"""

WIDER = """e => [...e.querySelectorAll('*'), e].filter(n => !n.closest('.agentcell-unseen') &&
    n.getBoundingClientRect().right > e.getBoundingClientRect().right + 1).length"""


def region(notebook: Notebook, index: int = 0) -> Locator:
    return notebook.output(index).get_by_role("region", name="Attachments")


def items(notebook: Notebook) -> Locator:
    return region(notebook).locator(".agentcell-card")


def png(color: str, size: tuple[int, int] = (50, 40)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def notebook(open_notebook: OpenNotebook) -> Notebook:
    notebook = open_notebook([SETUP, ADD, LIST])
    notebook.run(0)
    expect(items(notebook)).to_have_count(3)
    expect(region(notebook).locator(".agentcell-look img")).to_have_count(3)
    return notebook


@pytest.fixture
def empty(open_notebook: OpenNotebook) -> Notebook:
    notebook = open_notebook([EMPTY, DIGESTS, LIST])
    notebook.run(0)
    expect(region(notebook)).to_contain_text("No attachments yet.")
    return notebook


def test_the_cards_show_pictures_tags_facts_and_what_they_come_to(
    notebook: Notebook, external: list[str]
) -> None:
    first, last = items(notebook).first, items(notebook).last

    expect(first).to_contain_text("[plot_1 plot]")
    expect(first).to_contain_text("PNG image · 120 × 80 px")
    expect(first).to_contain_text("tokens · ")
    expect(first).to_contain_text("goes as an image")
    expect(last).to_contain_text("PDF · 3 pages")
    expect(last).to_contain_text("goes as a PDF")
    expect(region(notebook)).to_contain_text("for openai/gpt-4.1 · with the next question: about")
    picture = first.get_by_role("img")
    picture.evaluate("e => e.decode()")
    assert picture.evaluate("e => [e.naturalWidth, e.naturalHeight]") == [120, 80]
    notebook.screenshot("attachments-panel")
    assert external == []


def test_what_is_attached_later_appears_and_what_is_removed_is_out_of_the_session(
    notebook: Notebook,
) -> None:
    notebook.run(1)
    expect(items(notebook)).to_have_count(4)
    expect(region(notebook)).to_contain_text("Attachments (4)")

    region(notebook).get_by_role("button", name="Remove [plot_1").click()

    expect(items(notebook)).to_have_count(3)
    expect(region(notebook).get_by_role("status")).to_contain_text("[plot_1 plot] is removed")
    notebook.run(2)
    expect(notebook.output(2)).not_to_contain_text("plot_1")


def test_the_keyboard_does_it_all_and_the_notebook_hears_no_key(notebook: Notebook) -> None:
    keyboard = notebook.page.keyboard
    first = items(notebook).first
    first.get_by_role("button", name="Move [plot_1 plot] later").focus()
    for key in ("d", "d", "b", "x"):  # the notebook would cut or add cells
        keyboard.press(key)
    keyboard.press("Enter")
    expect(items(notebook).first).to_contain_text("[receipt_1")
    expect(region(notebook).get_by_role("status")).to_contain_text("is number 2 of 3 now")
    focused = notebook.page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    keyboard.press("Shift+Enter")  # the notebook would run a cell; here it presses again
    expect(items(notebook).last).to_contain_text("[plot_1")
    notebook.run(2)

    assert focused == "Move [plot_1 plot] later"
    assert notebook.cell_count() == 3
    expect(notebook.output(2)).to_contain_text("['[receipt_1 Receipt")
    expect(notebook.output(2)).to_contain_text("'[plot_1 plot]']")


def test_every_control_is_reached_by_tab_and_shows_its_focus(notebook: Notebook) -> None:
    page = notebook.page
    region(notebook).get_by_role("button", name="Add files").focus()
    seen = []
    for _ in range(30):
        seen.append(
            page.evaluate(
                """() => { const e = document.activeElement, s = getComputedStyle(e);
                return [e.closest('.agentcell-panel') !== null,
                    e.getAttribute('aria-label') ?? e.textContent, s.outlineStyle]; }"""
            )
        )
        page.keyboard.press("Tab")
    inside = [(name, outline) for is_inside, name, outline in seen if is_inside]
    names = {name for name, _ in inside}

    assert {"Attach", "Path, address or variable", "Label of [plot_1 plot]"} <= names
    assert {"Remove [plot_1 plot]", "Enlarge [plot_1 plot]", "Next page of [book_1 book]"} <= names
    assert [name for name, outline in inside[1:] if outline == "none"] == []


def test_a_card_is_dragged_before_another(notebook: Notebook) -> None:
    items(notebook).last.drag_to(items(notebook).first)

    expect(items(notebook).first).to_contain_text("[book_1 book]")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("['[book_1 book]', '[plot_1")


def test_a_label_is_changed_in_place_and_one_that_went_out_is_not(notebook: Notebook) -> None:
    page = notebook.page
    label = region(notebook).get_by_role("textbox", name="Label of [plot_1 plot]")
    label.fill("The <b>new</b> name")
    page.keyboard.press("Enter")

    expect(items(notebook).first).to_contain_text("[plot_2 The <b>new</b> name]")
    expect(region(notebook).get_by_role("status")).to_contain_text("It is called [plot_2 The")
    focused = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert focused == "Label of [plot_2 The <b>new</b> name]"
    page.keyboard.type(" and dd")  # a key of the notebook's
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.value") == "The <b>new</b> name"
    assert notebook.cell_count() == 3


def test_a_document_s_pages_are_flipped_and_looked_at_closely(
    notebook: Notebook, page: Page
) -> None:
    card = items(notebook).last
    card.get_by_role("button", name="Next page").click()
    expect(card.locator(".agentcell-page")).to_have_text("2 / 3")
    expect(card.get_by_role("img", name="page 2 of 3")).to_be_visible()

    card.get_by_role("button", name="Enlarge [book_1 book]").press("Enter")
    dialog = page.get_by_role("dialog", name="[book_1 book]")
    expect(dialog.get_by_role("img", name="page 2 of 3")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(dialog.get_by_role("img", name="page 3 of 3")).to_be_visible()
    before = width_of(dialog)
    page.keyboard.press("+")
    assert width_of(dialog) > before * 1.3
    page.keyboard.press("0")
    assert width_of(dialog) == before
    notebook.screenshot("attachments-panel-zoom")
    assert violations(page, ".agentcell-dialog") == []
    page.keyboard.press("Escape")

    expect(dialog).to_have_count(0)
    focused = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert focused == "Enlarge [book_1 book]"


def width_of(dialog: Locator) -> float:
    width: float = dialog.get_by_role("img").evaluate("e => e.getBoundingClientRect().width")
    return width


def test_files_are_chosen_two_of_one_name_and_one_that_is_refused(
    empty: Notebook, tmp_path: Path
) -> None:
    contents = [png("red"), png("blue")]
    files = []
    for number, content in enumerate(contents):
        file = tmp_path / str(number) / "photo.png"
        file.parent.mkdir()
        file.write_bytes(content)
        files.append(file)
    wrong = tmp_path / "letter.png"
    wrong.write_text("Dear reader", encoding="utf-8")
    with empty.page.expect_file_chooser() as chooser:
        region(empty).get_by_role("button", name="Add files").click()
    chooser.value.set_files([files[0], wrong, files[1]])

    expect(items(empty)).to_have_count(2)
    expect(items(empty).first).to_contain_text("[photo_1 photo.png]")
    expect(items(empty).last).to_contain_text("[photo_2 photo.png]")
    empty.run(1)
    for content in contents:
        expect(empty.output(1)).to_contain_text(hashlib.sha256(content).hexdigest())


def test_a_file_that_is_refused_says_why_and_what_to_do(empty: Notebook) -> None:
    drop(empty, {"letter.png": b"Dear reader"})

    status = region(empty).get_by_role("status")
    expect(status).to_contain_text("letter.png")
    expect(status).to_contain_text("an image or a PDF")
    expect(items(empty)).to_have_count(0)


def test_files_are_dropped(empty: Notebook) -> None:
    data = png("green", (64, 48))
    drop(empty, {"one.png": data, "two.png": png("blue")})

    expect(items(empty)).to_have_count(2)
    expect(items(empty).first).to_contain_text("64 × 48 px")
    empty.run(1)
    expect(empty.output(1)).to_contain_text(f"('one.png', '{hashlib.sha256(data).hexdigest()}')")


def drop(notebook: Notebook, files: dict[str, bytes]) -> None:
    given = [[name, base64.b64encode(data).decode()] for name, data in files.items()]
    transfer = notebook.page.evaluate_handle(
        """files => { const all = new DataTransfer();
        for (const [name, data] of files) {
            const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
            all.items.add(new File([bytes], name)); }
        return all; }""",
        given,
    )
    for kind in ("dragenter", "dragover", "drop"):
        region(notebook).dispatch_event(kind, {"dataTransfer": transfer})


def test_a_screenshot_is_pasted_by_an_event_and_from_the_real_clipboard(empty: Notebook) -> None:
    page = empty.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    region(empty).evaluate(
        """(e, data) => { const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
        const given = new DataTransfer();
        given.items.add(new File([bytes], 'clip.png', {type: 'image/png'}));
        e.dispatchEvent(new ClipboardEvent('paste',
            {clipboardData: given, bubbles: true, cancelable: true})); }""",
        base64.b64encode(png("teal", (33, 22))).decode(),
    )
    expect(items(empty)).to_have_count(1)
    expect(items(empty).first).to_contain_text("33 × 22 px")

    page.evaluate(
        """async data => { const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
        await navigator.clipboard.write([new ClipboardItem(
            {'image/png': new Blob([bytes], {type: 'image/png'})})]); }""",
        base64.b64encode(png("orange", (44, 55))).decode(),
    )
    region(empty).locator("h3").click()
    page.keyboard.press("Control+v")

    expect(items(empty)).to_have_count(2)
    expect(items(empty).last).to_contain_text("44 × 55 px")
    assert empty.cell_count() == 3


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A picture of 40 MB."""
    file = tmp_path_factory.mktemp("large") / "wall.bmp"
    Image.new("RGB", (4000, 3500), "olive").save(file)
    assert file.stat().st_size > 40_000_000
    return file


def test_a_file_of_40_mb_comes_whole_with_its_progress(empty: Notebook, large: Path) -> None:
    with empty.page.expect_file_chooser() as chooser:
        region(empty).get_by_role("button", name="Add files").click()
    chooser.value.set_files(large)
    bar = region(empty).get_by_role("progressbar", name="wall.bmp")
    expect(bar).to_be_visible()
    empty.page.wait_for_function(
        "() => { const e = document.querySelector('.agentcell-upload progress');"
        " return e && e.value > 0.1 && e.value < 1; }"
    )
    empty.screenshot("attachments-panel-upload")

    expect(items(empty)).to_have_count(1, timeout=90_000)
    expect(items(empty).first).to_contain_text("4000 × 3500 px · 42.0 MB")
    expect(bar).to_have_count(0)
    empty.run(1)
    digest = hashlib.sha256(large.read_bytes()).hexdigest()
    expect(empty.output(1)).to_contain_text(digest)


def test_an_upload_is_cancelled_and_nothing_of_it_stays(empty: Notebook, large: Path) -> None:
    with empty.page.expect_file_chooser() as chooser:
        region(empty).get_by_role("button", name="Add files").click()
    chooser.value.set_files(large)
    region(empty).get_by_role("button", name="Cancel wall.bmp").click()

    expect(region(empty).get_by_role("status")).to_contain_text("Canceled: wall.bmp.")
    expect(region(empty).get_by_role("progressbar")).to_have_count(0)
    expect(items(empty)).to_have_count(0)


def test_a_path_an_address_and_a_variable_are_attached_by_name(
    empty: Notebook, lab: Lab, external: list[str]
) -> None:
    (lab.root / "folder").mkdir(exist_ok=True)
    (lab.root / "folder" / "Plan of site.png").write_bytes(png("gray", (70, 30)))
    place = region(empty).get_by_role("combobox", name="Path, address or variable")
    status = region(empty).get_by_role("status")

    place.fill("folder/Plan of site.png")
    place.press("Enter")
    expect(items(empty)).to_have_count(1)
    expect(items(empty).last).to_contain_text("70 × 30 px")
    place.fill("shot")
    region(empty).get_by_role("button", name="Attach").click()
    expect(items(empty)).to_have_count(2)
    expect(items(empty).last).to_contain_text("64 × 48 px")
    place.fill("https://example.org/pictures/17?key=secret")
    place.press("Enter")
    expect(status).to_contain_text("Fix: choose image or PDF beside it.")
    region(empty).get_by_role("combobox", name="What the address leads to").select_option("image")
    place.press("Enter")
    expect(items(empty)).to_have_count(3)
    expect(items(empty).last).to_contain_text("goes by its address")
    expect(items(empty).last).to_contain_text("no preview")
    for wrong, said in [
        ("number", "'number' holds"),
        ("nowhere.png", "nowhere.png"),
        ("{nothing}", "There is no variable 'nothing'"),
        ("  ", "Nothing was named."),
    ]:
        place.fill(wrong)
        place.press("Enter")
        expect(status).to_contain_text(said)

    assert "secret" not in region(empty).inner_text()
    assert empty.page.locator("datalist option").evaluate_all("all => all.map(e => e.value)") == [
        "shot"
    ]
    assert external == []


BUSY = """import time
import threading
end = time.monotonic() + 60
while len(session.attachments) == 3 and time.monotonic() < end:
    sum(range(1000))
print('while the cell ran:', time.monotonic() < end)"""


def test_it_answers_while_a_cell_runs(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, BUSY])
    notebook.run(0)
    expect(items(notebook)).to_have_count(3)
    notebook.run(1, wait=False)
    region(notebook).get_by_role("button", name="Remove [book_1").click()

    expect(items(notebook)).to_have_count(2)
    expect(notebook.output(1)).to_contain_text("while the cell ran: True", timeout=90_000)


EVIL_NAMES = """import sys
sys.path.insert(0, {tests!r})
from hostile import HOSTILE
for number, text in enumerate(HOSTILE):
    name = text.replace('/', '').replace(chr(0), '')[:150] or None
    asset = ImageAsset.from_bytes(png('gray', (10 + number, 10)), filename=name)
    session.attach(asset, name=text[:60] or 'x', label=text[:400])
panel = AttachmentsPanel(session)
panel"""

LIVE = """area => [...area.querySelectorAll('*')].filter(e =>
    e.matches('img:not([src^="blob:"]), script, iframe, object, embed, style, link, meta, base, ' +
      'video, audio, template, image, a') ||
    [...e.attributes].some(a => a.name.startsWith('on') || /^\\s*javascript:/i.test(a.value))
  ).map(e => e.outerHTML.slice(0, 200))"""


def test_hostile_names_and_labels_are_words_and_nothing_else(
    open_notebook: OpenNotebook, page: Page, external: list[str]
) -> None:
    from hostile import HOSTILE

    evil = EVIL_NAMES.format(tests=str(Path(__file__).parent.parent))
    notebook = open_notebook([EMPTY, evil])
    notebook.run(0)
    notebook.run(1)
    expect(region(notebook, 1).locator(".agentcell-card")).to_have_count(len(HOSTILE))
    expect(region(notebook, 1).locator(".agentcell-look img")).to_have_count(len(HOSTILE))
    shown = region(notebook, 1)

    assert shown.evaluate(LIVE) == []
    assert page.evaluate("() => window.ran") is None
    assert external == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_reads_and_is_accessible_in_both_themes_at_400_and_1600_pixels(
    open_notebook: OpenNotebook, page: Page, theme: str
) -> None:
    refusing = """from agentcell import LegacyOpenAIModel
session.model = LegacyOpenAIModel(model_name='gpt-4o', api_key='no-key')"""
    notebook = open_notebook([SETUP, refusing])
    notebook.run(0)
    notebook.run(1)
    use_theme(page, theme)
    expect(items(notebook).last).to_contain_text("refused: ")
    expect(region(notebook).locator(".agentcell-look img")).to_have_count(3)
    panel, card = region(notebook), items(notebook).first
    colors = card.evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")
    text, background = (sum(map(int, c.strip("rgba()").split(",")[:3])) for c in colors)

    assert (text > background + 300) if theme == "dark" else (background > text + 300)
    try:
        for width in (400, 1600):
            page.set_viewport_size({"width": 1900, "height": 900})
            panel.evaluate("(e, width) => { e.parentElement.style.width = `${width}px`; }", width)
            panel.scroll_into_view_if_needed()
            assert panel.evaluate(WIDER) == 0
            assert violations(page, ".agentcell-panel") == []
            notebook.screenshot(f"attachments-panel-{theme}-{width}")
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
        use_theme(page, "light")


CHINESE = """import agentcell.widgets
from agentcell.wording import choose
choose('zh')"""


def test_it_speaks_chinese(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([CHINESE, SETUP])
    notebook.run(0)
    notebook.run(1)
    panel = notebook.output(1).get_by_role("region", name="附件")

    expect(panel).to_contain_text("附件（3）")
    expect(panel).to_contain_text("PNG 图像 · 120 × 80 px")
    expect(panel.get_by_role("button", name="移除 [plot_1 plot]")).to_be_visible()
    words = panel.evaluate(
        """e => [...e.querySelectorAll('button, input, option, .agentcell-going')]
        .map(n => n.getAttribute('aria-label') ?? n.textContent)"""
    )
    assert [word for word in words if word.isascii() and word.strip() and word != "PDF"] == []
    notebook.screenshot("attachments-panel-chinese")


def test_without_a_kernel_the_saved_notebook_reads(open_notebook: OpenNotebook, page: Page) -> None:
    notebook = open_notebook([SETUP, ADD])
    notebook.run_all()
    expect(items(notebook)).to_have_count(4)
    expect(notebook.output(0).locator(".agentcell-static")).to_be_hidden()
    page.wait_for_function(
        "() => { const panel = window.jupyterapp.shell.currentWidget;"
        " const outputs = panel.content.widgets[0].model.outputs.toJSON();"
        " return JSON.stringify(outputs).includes('late_1'); }"
    )
    saved = notebook.save()
    notebook.close()
    outputs: list[Any] = saved["cells"][0]["outputs"]
    again = open_notebook(name=notebook.name, kernel=False)

    assert len(str(saved)) < 50_000
    assert [sorted(one["data"]) for one in outputs][1:] == [
        ["text/html", "text/markdown", "text/plain"]
    ]
    expect(again.output(0).locator(".agentcell-static")).to_be_visible()
    expect(again.output(0)).to_contain_text("[late_1 late]")
    expect(again.output(0)).to_contain_text("120 × 80 px")
    again.screenshot("attachments-panel-reopened")


CYCLES = """import gc, threading
from ipywidgets.widgets import widget
import comm
def counts():
    gc.collect()
    return (len(widget._instances), len(comm.get_comm_manager().comms), len(session._listeners),
            threading.active_count())
def cycle():
    panel = AttachmentsPanel(session); display(panel); panel.close()
cycle(); before = counts()"""


def test_50_times_opened_and_closed_leave_nothing_behind(
    open_notebook: OpenNotebook, page: Page
) -> None:
    loop = "for _ in range(50):\n    cycle()"
    notebook = open_notebook(
        [EMPTY, CYCLES, loop, "import json; print(json.dumps([before, counts()]))"]
    )
    notebook.run_all()
    before, after = json.loads(notebook.output(3).inner_text())
    expect(notebook.output(2)).to_contain_text("Attachments: closed.")

    assert before[:3] == after[:3]
    assert after[3] <= before[3] + 6  # the pool of agentcell's loop, for all panels
    expect(page.locator(".agentcell-panel")).to_have_count(1)


def test_after_a_reload_of_the_page_it_shows_what_is_attached_now(
    notebook: Notebook, open_notebook: OpenNotebook, page: Page, lab: Lab
) -> None:
    notebook.save()
    notebook.run(1)
    expect(items(notebook)).to_have_count(4)
    notebook.save()
    notebook.is_open = False  # the page that it was in goes
    page.reload()
    page.wait_for_function(IS_LOADED, timeout=90_000)
    again = open_notebook(name=notebook.name)

    expect(items(again)).to_have_count(4, timeout=60_000)
    expect(region(again).locator(".agentcell-look img")).to_have_count(4)
    region(again).get_by_role("button", name="Remove [late_1").click()
    expect(items(again)).to_have_count(3)

    again.is_open = False
    page.goto("about:blank")  # a page that was reloaded is none for the next test
    lab.shut_down_kernels()
