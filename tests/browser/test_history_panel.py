"""The history panel as a person uses it: 10,000 turns, search, keyboard, restore, export."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from axe import violations
from labkit import Lab, Notebook, OpenNotebook, use_theme

SETUP = """from agentcell import Session
from agentcell.testing import FakeModel
from agentcell.widgets import HistoryPanel
TABLE = 'The **total** is $27.95.\\n\\n| item | price |\\n|---|---|\\n| nails | 5.00 |\\n'
session = Session(model=FakeModel(TABLE))
def ask(question, cell, name='main'):
    request = session.prepare(question, cell_id=cell, conversation=name)
    for _ in session.stream(request): pass
ask('What is the total of the receipt?', 'c0ffee01-1')
ask('Which shop is it from?', 'c0ffee02-2')
ask('Is the tax right?', 'c0ffee03-3')
ask('What is the total of this receipt, in euros?', 'c0ffee01-1')
ask('Deductible?', 'c0ffee04-4', 'taxes')
panel = HistoryPanel(session)
panel"""

ASK = "ask('A new one', 'c0ffee09-9')"

MANY = """from agentcell.history.turns import Turn
for number in range(10_000):
    session.history.put('main', Turn(id=f'turn-{number:06}', cell_id=f'cell-{number}',
        messages=({'role': 'user', 'content': f'question {number} '},
                  {'role': 'assistant', 'content': f'answer {number} ' * 30}),
        status='complete', model='fake/x'))
session._changed()"""

WIDER = """e => [...e.querySelectorAll('*'), e].filter(
    n => n.getBoundingClientRect().right > e.getBoundingClientRect().right + 1 &&
    !n.closest('.agentcell-answer, .agentcell-list')).length"""


def region(notebook: Notebook, index: int = 0) -> Locator:
    return notebook.output(index).get_by_role("region", name="History")


def detail(notebook: Notebook) -> Locator:
    return region(notebook).get_by_role("article")


def rows(notebook: Notebook) -> Locator:
    return region(notebook).locator(".agentcell-row")


@pytest.fixture
def notebook(open_notebook: OpenNotebook) -> Notebook:
    notebook = open_notebook([SETUP, ASK, MANY])
    notebook.run(0)
    expect(rows(notebook)).to_have_count(4)
    expect(rows(notebook).first).to_contain_text("Deductible?")
    return notebook


def test_turns_are_listed_with_cell_and_stale_mark_and_read(
    notebook: Notebook, external: list[str]
) -> None:
    expect(region(notebook)).to_contain_text("History (4)")
    expect(rows(notebook).nth(1)).to_contain_text("main 1")
    expect(rows(notebook).nth(2)).to_contain_text("Is the tax right?")
    expect(rows(notebook).nth(2)).to_contain_text("stale")
    rows(notebook).nth(2).click()

    expect(detail(notebook)).to_contain_text("Is the tax right?")
    expect(detail(notebook).get_by_role("cell", name="nails")).to_be_visible()
    expect(detail(notebook)).to_contain_text("cell c0ffee03")
    notebook.screenshot("history-panel")
    assert external == []


def test_a_turn_that_is_asked_later_appears_at_the_top(notebook: Notebook) -> None:
    notebook.run(1)

    expect(region(notebook)).to_contain_text("History (5)")
    expect(rows(notebook).first).to_contain_text("A new one")


def test_a_search_and_a_conversation_narrow_the_list(notebook: Notebook) -> None:
    region(notebook).get_by_role("searchbox").fill("TOTAL euros")
    expect(rows(notebook)).to_have_count(1)
    expect(region(notebook)).to_contain_text("1 found")
    region(notebook).get_by_role("searchbox").fill("no such word")
    expect(region(notebook)).to_contain_text("Nothing was found.")
    region(notebook).get_by_role("searchbox").fill("")
    expect(rows(notebook)).to_have_count(4)
    region(notebook).get_by_role("combobox", name="Conversation").select_option("taxes")
    expect(rows(notebook)).to_have_count(1)
    expect(rows(notebook).first).to_contain_text("taxes 1")


def test_the_keyboard_walks_the_list_and_the_notebook_hears_no_key(notebook: Notebook) -> None:
    page = notebook.page
    region(notebook).get_by_role("listbox", name="Turns").focus()
    page.keyboard.press("ArrowDown")
    expect(detail(notebook)).to_contain_text("Deductible?")
    page.keyboard.press("End")
    expect(detail(notebook)).to_contain_text("Which shop is it from?")
    page.keyboard.press("ArrowUp")
    expect(detail(notebook)).to_contain_text("Is the tax right?")
    for key in ("d", "d", "b", "x"):
        page.keyboard.press(key)
    selected = region(notebook).locator('.agentcell-row[aria-selected="true"]')

    expect(selected).to_contain_text("Is the tax right?")
    active = region(notebook).get_by_role("listbox").get_attribute("aria-activedescendant")
    assert active == selected.get_attribute("id")
    assert notebook.cell_count() == 3
    page.keyboard.press("Tab")  # to the turn that is read
    assert page.evaluate("() => document.activeElement.tagName") == "ARTICLE"


def test_a_replaced_turn_is_brought_back(notebook: Notebook) -> None:
    region(notebook).get_by_role("checkbox", name="replaced and taken back too").check()
    expect(rows(notebook)).to_have_count(5)
    rows(notebook).filter(has_text="the total of the receipt?").click()
    detail(notebook).get_by_role("button", name="Restore").click()

    expect(region(notebook).get_by_role("status")).to_contain_text("Here again: “What is the total")
    region(notebook).get_by_role("checkbox", name="replaced and taken back too").uncheck()
    expect(rows(notebook).filter(has_text="the total of the receipt?")).to_have_count(1)
    expect(rows(notebook).filter(has_text="in euros")).to_have_count(0)


def test_a_turn_is_forgotten_only_after_a_second_word(notebook: Notebook) -> None:
    rows(notebook).first.click()
    forget = detail(notebook).get_by_role("button", name="Forget")
    forget.click()
    detail(notebook).get_by_role("button", name="Cancel").click()
    expect(rows(notebook)).to_have_count(4)
    forget.press("Enter")
    notebook.page.keyboard.press("Enter")  # the focus went to the second question

    expect(rows(notebook)).to_have_count(3)
    expect(region(notebook).get_by_role("status")).to_contain_text("Deleted for good")
    expect(detail(notebook)).to_contain_text("Choose a turn")


def test_the_last_is_taken_back_by_a_button(notebook: Notebook) -> None:
    region(notebook).get_by_role("button", name="Take back the last").click()

    expect(region(notebook).get_by_role("status")).to_contain_text("Taken back: “Deductible?”")
    expect(rows(notebook)).to_have_count(3)


def test_turns_are_exported_beside_the_notebook(notebook: Notebook, lab: Lab) -> None:
    path = region(notebook).get_by_role("textbox", name="File to export to")
    path.fill("answers.html")
    path.press("Enter")
    status = region(notebook).get_by_role("status")
    expect(status).to_contain_text("Written to answers.html.")
    assert "Deductible?" in (lab.root / "answers.html").read_text(encoding="utf-8")

    region(notebook).get_by_role("button", name="Export").click()
    expect(status).to_contain_text("is there already")
    region(notebook).get_by_role("checkbox", name="replace it").check()
    path.press("Enter")
    expect(status).to_contain_text("Written to answers.html.")
    path.fill("answers.doc")
    path.press("Enter")
    expect(status).to_contain_text("ends in .md, .html or .ipynb")


def test_10_000_turns_scroll_with_few_rows_in_the_page(notebook: Notebook) -> None:
    notebook.run(2)
    expect(region(notebook)).to_contain_text("History (10,004)")
    expect(rows(notebook).first).to_contain_text("question 9999")
    listed = region(notebook).get_by_role("listbox")
    counts = []
    for part in (0.1, 0.5, 0.9, 1.0):
        listed.evaluate("(e, part) => { e.scrollTop = e.scrollHeight * part; }", part)
        wanted = 10_003 if part == 1.0 else round(10_004 * part)
        expect(listed.locator(f"[aria-posinset='{wanted}']")).to_contain_text("main")
        counts.append(rows(notebook).count())
    expect(rows(notebook).last).to_contain_text("Which shop")

    assert max(counts) < 25
    notebook.page.keyboard.press("Home")
    listed.focus()
    notebook.page.keyboard.press("Home")
    expect(detail(notebook)).to_contain_text("question 9999")
    region(notebook).get_by_role("searchbox").fill("question 4321")
    expect(region(notebook)).to_contain_text("1 found")


BUSY = """import time
end = time.monotonic() + 60
while session.history.count() == 4 and time.monotonic() < end:
    sum(range(1000))
print('while the cell ran:', time.monotonic() < end)"""


def test_it_answers_while_a_cell_runs(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP, BUSY])
    notebook.run(0)
    expect(rows(notebook)).to_have_count(4)
    notebook.run(1, wait=False)
    region(notebook).get_by_role("button", name="Take back the last").click()

    expect(rows(notebook)).to_have_count(3)
    expect(notebook.output(1)).to_contain_text("while the cell ran: True", timeout=90_000)


EVIL_TURNS = """import sys
sys.path.insert(0, {tests!r})
from hostile import HOSTILE
for number, text in enumerate(HOSTILE):
    session.model = FakeModel(text[:20_000] or 'x')
    ask(text.replace(chr(0), '')[:4000].encode('utf-8', 'replace').decode() or 'x',
        f'<b>{{number}}', '<i>evil</i>')
panel = HistoryPanel(session)
panel"""

LIVE = """area => [...area.querySelectorAll('*')].filter(e =>
    e.matches('img, image, script, iframe, object, embed, style, link, meta, base, video, audio, ' +
      'template') ||
    [...e.attributes].some(a => a.name.startsWith('on') || /^\\s*javascript:/i.test(a.value))
  ).map(e => e.outerHTML.slice(0, 200))"""

HIDING = """area => [...area.querySelectorAll('a[href]')]
    .map(a => [a.textContent, a.getAttribute('href')])
    .filter(([text, href]) => ![href, decodeURI(href)].some(
      one => one === text || one === `mailto:${text}` || one === `http://${text}`))"""


WALK = """async (area, [live, hiding, count]) => {
    const list = area.querySelector('[role="listbox"]'), found = [];
    const looks = [eval(live), eval(hiding)];
    for (let number = count; number > 0; number -= 1) {
        list.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
        const end = Date.now() + 20_000;
        while (area.querySelector('article h4')?.textContent !== `<i>evil</i> ${number}`) {
            if (Date.now() > end) return [`turn ${number} was not shown`];
            await new Promise(done => setTimeout(done, 5));
        }
        for (const look of looks) found.push(...look(area));
    }
    return found; }"""
"""Choose turn after turn, and look at what the page holds of each."""


def test_hostile_questions_and_answers_are_words_and_nothing_else(
    open_notebook: OpenNotebook, page: Page, external: list[str]
) -> None:
    from hostile import HOSTILE

    evil = EVIL_TURNS.format(tests=str(Path(__file__).parent.parent))
    notebook = open_notebook([SETUP, evil])
    notebook.run(0)
    notebook.run(1)
    shown = region(notebook, 1)
    expect(shown).to_contain_text(f"History ({len(HOSTILE) + 4})")
    expect(shown.locator(".agentcell-row").first).to_contain_text(f"{len(HOSTILE)}")
    found = shown.evaluate(WALK, [LIVE, HIDING, len(HOSTILE)])

    assert found == []
    assert page.evaluate("() => window.ran") is None
    assert external == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_reads_and_is_accessible_in_both_themes_at_400_and_1600_pixels(
    notebook: Notebook, page: Page, theme: str
) -> None:
    use_theme(page, theme)
    panel = region(notebook)
    rows(notebook).nth(2).click()
    expect(detail(notebook).get_by_role("cell", name="nails")).to_be_visible()
    try:
        page.set_viewport_size({"width": 1900, "height": 900})
        for width in (400, 1600):
            panel.evaluate("(e, width) => { e.parentElement.style.width = `${width}px`; }", width)
            panel.scroll_into_view_if_needed()
            assert panel.evaluate(WIDER) == 0
            assert violations(page, ".agentcell-panel") == []
            notebook.screenshot(f"history-panel-{theme}-{width}")
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
        use_theme(page, "light")


def test_without_a_kernel_the_saved_notebook_reads(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([SETUP])
    notebook.run_all()
    expect(rows(notebook)).to_have_count(4)
    saved = notebook.save()
    notebook.close()
    again = open_notebook(name=notebook.name, kernel=False)

    assert len(str(saved)) < 50_000
    expect(again.output(0).locator(".agentcell-static")).to_be_visible()
    expect(again.output(0)).to_contain_text("What is the total of this receipt, in euros?")


PRICES = """
from agentcell import Session
from agentcell.testing import FakeModel
from agentcell.widgets import HistoryPanel
session = Session(FakeModel('It costs $5.00, or $6.00 with tea.'))
for question in ('What is the price?', 'And for two, with all that belongs to it?'):
    session.ask(question);
HistoryPanel(session)
"""

ENDS = "es => es.map(e => [e.getBoundingClientRect().top, e.getBoundingClientRect().bottom])"


def test_without_a_kernel_prices_are_no_formulas_and_turns_stand_one_below_the_other(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook(["from IPython.display import Math; Math('x^2')", PRICES])
    notebook.run_all()
    expect(region(notebook, 1).locator(".agentcell-row")).to_have_count(2)
    notebook.save()
    notebook.close()
    again = open_notebook(name=notebook.name, kernel=False)
    static = again.output(1).locator(".agentcell-static")

    expect(again.output(0).locator("mjx-container")).to_be_visible()  # formulas are drawn by now
    expect(static).to_contain_text("And for two")
    assert static.inner_text().count("It costs $5.00, or $6.00 with tea.") == 2
    first, second = static.locator("strong").evaluate_all(ENDS)
    assert second[0] > first[1]
    assert static.locator("li").evaluate_all(ENDS)[0][1] <= second[0]
    again.screenshot("history-panel-reopened")


def test_panels_are_opened_by_the_magic_and_a_cell_that_runs_again_has_one(
    open_notebook: OpenNotebook,
) -> None:
    count = (
        "from ipywidgets.widgets import widget\n"
        "print(sum(type(w).__name__.endswith('Panel') for w in widget._instances.values()))"
    )
    cells = [
        "%load_ext agentcell",
        "%agent panel history",
        "shot = __import__('PIL.Image').Image.new('RGB', (9, 9))\n%agent panel attachments",
        count,
        "%agent panel close",
    ]
    notebook = open_notebook(cells)
    notebook.run_all()
    notebook.run(3)
    expect(notebook.output(3)).to_have_text("0")  # `close` ran before, with all cells
    for _ in range(3):
        notebook.run(1)
    notebook.run(3)
    expect(notebook.output(3)).to_have_text("1")
    expect(region(notebook, 1)).to_contain_text("History (0)")
    notebook.run(4)
    expect(notebook.output(1)).to_contain_text("History: closed.")
