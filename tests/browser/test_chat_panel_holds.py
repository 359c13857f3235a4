"""What must hold of the chat panel: safety, keyboard, widths, what stays, many turns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from axe import violations
from chat_page import START, STREAMED, ChatPage
from classic import opened, run
from hostile import HOSTILE, LIES_BESIDE
from labkit import Lab, OpenNotebook, use_theme

TALK = """
ANSWER = '''Here it **is**, see [the shop](https://shop.example/a):

| item | price |
|---|---:|
| nails | $5.00 |

```python
frame = {"a very long line of code that is wider than a telephone": [5.00, 22.95, 1.00, 2.00]}
```
'''
session = Session(FakeModel(Reply('Let me look.', calls=[WEATHER], thinking=['Hm.']), ANSWER))
session.attach(ImageAsset.from_bytes(png(), filename='receipt.png'), name='receipt')
panel = ChatPanel(session, tools=[weather], approve='ask'); panel
"""

LIVE = """area => [...area.querySelectorAll('*')].filter(e =>
    e.matches('img:not([src^="blob:"]), image, script, iframe, object, embed, style, link, meta, ' +
      'base, form, video, audio, template, svg:not(.agentcell-icon)') ||
    [...e.attributes].some(a => a.name.startsWith('on') || /^\\s*(java|vb)script:/i.test(a.value) ||
      (/^(style|background|poster|srcset|action|formaction)$/.test(a.name) &&
        /url\\(|:\\/\\//.test(a.value)))
  ).map(e => e.outerHTML.slice(0, 200))"""

HIDING = """area => [...area.querySelectorAll('a[href]')]
    .map(a => [a.textContent, a.getAttribute('href')])
    .filter(([text, href]) => ![href, decodeURI(href)].some(
      one => one === text || one === `mailto:${text}` || one === `http://${text}`))"""

WIDER = """e => [...e.querySelectorAll('*'), e].filter(n =>
    !n.closest('.agentcell-unseen, pre, table, .agentcell-chat-hint') &&
    n.getBoundingClientRect().right > e.getBoundingClientRect().right + 1)
  .map(n => n.className)"""


def talked(open_notebook: OpenNotebook, *cells: str) -> ChatPage:
    """A panel with a turn that has a picture, thinking, a call, a table and code."""
    chat = ChatPage(open_notebook, TALK, *cells)
    chat.ask("What is it?")
    chat.button("Run", exact=True).click()
    chat.ended()
    return chat


# -- what a model, a file or a person says -----------------------------------------------------


def test_hostile_answers_prompts_and_tool_names_are_words_and_nothing_else(
    lab: Lab, open_notebook: OpenNotebook, external: list[str]
) -> None:
    (lab.root / "secret.txt").write_text(LIES_BESIDE, encoding="utf-8")
    chat = ChatPage(
        open_notebook,
        f"""
        import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
        from hostile import HOSTILE
        texts = [text[:2_000].replace(chr(0), '') for text in HOSTILE]
        texts = [text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')
                 for text in texts]
        session = Session(FakeModel())
        for text in texts:
            call = Call(text, '{{"a": 1}}')
            try:
                session.ask('? ' + text, model=FakeModel(Reply(text, calls=[call]), text),
                            tools=[weather])
            except Exception as error: print(type(error))
        ChatPanel(session)""",
    )
    while (earlier := chat.button("Show earlier turns")).is_visible():
        count = chat.turns.count()
        earlier.click()
        chat.page.wait_for_function(
            "([e, n]) => e.querySelectorAll('article').length > n",
            arg=[chat.panel.element_handle(), count],
        )
    assert chat.turns.count() == len(HOSTILE)
    chat.ask(f"Live: {HOSTILE[0]}")
    chat.ended(len(HOSTILE) + 1)
    chat.panel.evaluate("e => e.querySelectorAll('details').forEach(d => { d.open = true; })")

    assert chat.panel.evaluate(LIVE) == []
    assert chat.panel.evaluate(HIDING) == []
    assert chat.page.evaluate("() => window.ran") is None
    assert LIES_BESIDE not in chat.panel.inner_text()
    assert external == []


# -- keyboard, screen readers, widths, themes, languages ---------------------------------------


def test_every_control_is_reached_by_tab_shows_its_focus_and_the_notebook_hears_no_key(
    open_notebook: OpenNotebook,
) -> None:
    chat = talked(open_notebook, "1")
    session_reads = chat.panel.get_by_label("Conversation", exact=True)
    session_reads.focus()
    seen = []
    for _ in range(40):
        seen.append(
            chat.page.evaluate(
                """() => { const e = document.activeElement, s = getComputedStyle(e);
                return [e.closest('.agentcell-panel') !== null,
                    e.getAttribute('aria-label') ?? e.textContent, s.outlineStyle]; }"""
            )
        )
        chat.page.keyboard.press("Tab")
    inside = [(name, outline) for is_inside, name, outline in seen if is_inside]
    names = {name for name, _ in inside}

    assert {"New conversation", "Model", "Transcript", "Copy the answer", "Retry"} <= names
    assert {"Edit", "Branch", "Copy code", "Insert as a cell", "Thinking"} <= names
    assert {"Your question", "Attach files", "What would be sent", "Send"} <= names
    assert [name for name, outline in inside if outline == "none"] == []
    chat.turns.first.get_by_role("button", name="Retry").focus()
    for key in ("d", "d", "b", "x"):  # the notebook would cut or add cells
        chat.page.keyboard.press(key)
    assert chat.notebook.cell_count() == 2


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_reads_and_is_accessible_in_both_themes_from_400_to_1600_pixels(
    open_notebook: OpenNotebook, page: Page, theme: str
) -> None:
    chat = talked(open_notebook)
    use_theme(page, theme)
    colors = chat.panel.locator(".agentcell-panel-body").evaluate(
        "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    )
    text, background = (sum(map(int, c.strip("rgba()").split(",")[:3])) for c in colors)
    assert (text > background + 300) if theme == "dark" else (background > text + 300)
    try:
        chat.ask("And now?")
        chat.ended(2)
        for width in (400, 800, 1600):
            page.set_viewport_size({"width": 1900, "height": 1000})
            resize = "(e, width) => { e.parentElement.style.width = `${width}px`; }"
            chat.panel.evaluate(resize, width)
            chat.panel.scroll_into_view_if_needed()
            assert chat.panel.evaluate(WIDER) == []
            assert violations(page, ".agentcell-panel") == []
            chat.notebook.screenshot(f"chat-panel-{theme}-{width}")
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
        use_theme(page, "light")


def test_what_comes_is_told_once_and_politely(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(open_notebook, STREAMED)
    log = chat.panel.get_by_role("log", name="Transcript")
    chat.ask("Speak.")
    expect(chat.notice).to_contain_text("Asking fake/model")

    assert log.get_attribute("aria-live") == "off"
    assert chat.notice.get_attribute("role") == "status"
    assert chat.turns.first.get_attribute("aria-busy") == "true"
    chat.stop_button.press("Enter")
    expect(chat.notice).to_have_text("The answer was stopped.")
    expect(chat.words).to_be_focused()


def test_nothing_moves_for_who_wants_no_motion(open_notebook: OpenNotebook, page: Page) -> None:
    chat = ChatPage(open_notebook, STREAMED)
    chat.ask("Speak.")
    dot = chat.panel.locator(".agentcell-chat-dot")
    moves = "e => getComputedStyle(e).animationName"
    assert dot.evaluate(moves) == "agentcell-chat-pulse"
    page.emulate_media(reduced_motion="reduce")
    try:
        assert dot.evaluate(moves) == "none"
    finally:
        page.emulate_media(reduced_motion="no-preference")
    chat.stop_button.click()
    chat.ended()


CHINESE = """
from agentcell.wording import choose
choose('zh')
session = Session(FakeModel('好的。'))
ChatPanel(session)
"""


def test_it_speaks_chinese(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook([START + CHINESE])
    notebook.run(0)
    panel = notebook.output(0).get_by_role("region", name="对话")
    panel.get_by_label("您的问题").fill("好吗？")
    panel.get_by_role("button", name="发送", exact=True).click()
    expect(panel.get_by_role("status").last).to_have_text("回答已完成。")
    words = panel.evaluate(
        """e => [...e.querySelectorAll('button, textarea, input, .agentcell-chat-head')]
        .map(n => n.getAttribute('aria-label') ?? n.textContent)"""
    )

    assert [word for word in words if word.isascii() and word.strip()] == []
    assert panel.get_attribute("lang") == "zh"
    notebook.screenshot("chat-panel-chinese")


# -- what stays, and what goes -----------------------------------------------------------------


def test_without_a_kernel_the_saved_notebook_shows_the_transcript_and_its_pictures(
    open_notebook: OpenNotebook, page: Page
) -> None:
    chat = talked(open_notebook)
    notebook = chat.notebook
    expect(notebook.output(0).locator(".agentcell-static").first).to_be_hidden()
    page.wait_for_function(
        "() => { const panel = window.jupyterapp.shell.currentWidget;"
        " const outputs = panel.content.widgets[0].model.outputs.toJSON();"
        " return JSON.stringify(outputs).includes('$5.00') &&"
        " JSON.stringify(outputs).includes('image/jpeg'); }"
    )
    expect(notebook.output(0).locator(".jp-RenderedImage")).to_be_hidden()
    saved = notebook.save()
    notebook.close()
    again = open_notebook(name=notebook.name, kernel=False)
    outputs: list[Any] = saved["cells"][0]["outputs"]

    assert len(json.dumps(outputs)) < 50_000
    output = again.output(0)
    expect(output.locator(".agentcell-static")).to_be_visible()
    expect(output).to_contain_text("What is it?")
    expect(output).to_contain_text("[receipt_1 receipt]")
    expect(output.get_by_role("table")).to_contain_text("$5.00")
    shown = output.locator(".jp-RenderedImage img")
    assert shown.evaluate("e => e.decode().then(() => e.naturalWidth)") > 100
    again.screenshot("chat-panel-reopened")


CYCLES = """
import gc, threading
from ipywidgets.widgets import widget
import comm
def counts():
    gc.collect()
    return (len(widget._instances), len(comm.get_comm_manager().comms), len(session._listeners),
            threading.active_count())
def cycle():
    panel = ChatPanel(session, tools=[weather]); display(panel); panel.close()
session = Session(FakeModel('Yes.')); cycle(); before = counts()
"""


def test_50_times_opened_and_closed_leave_nothing_behind(
    open_notebook: OpenNotebook, page: Page
) -> None:
    loop = "for _ in range(50):\n    cycle()"
    last = "import json; ChatPanel(session).close(); print(json.dumps([before, counts()]))"
    notebook = open_notebook([START + CYCLES, loop, last])
    notebook.run_all()
    before, after = json.loads(notebook.output(2).inner_text())
    expect(notebook.output(1)).to_contain_text("Chat: closed.")

    assert before[:3] == after[:3]
    assert after[3] <= before[3] + 6  # the pool of agentcell's loop, for all panels
    expect(page.locator(".agentcell-panel")).to_have_count(0)


SCROLLS = """log => new Promise(resolve => {
  const gaps = []; let last = performance.now(); let steps = 0;
  const step = () => {
    const now = performance.now(); gaps.push(now - last); last = now;
    log.scrollTop -= 400; steps += 1;
    if (steps < 60) requestAnimationFrame(step);
    else resolve(gaps.sort((a, b) => a - b)[Math.floor(gaps.length * 0.9)]);
  };
  requestAnimationFrame(step);
})"""


def fastest(log: Locator) -> float:
    """Return the milliseconds of a frame while it scrolls, of the time when least else ran."""
    return min(float(log.evaluate(SCROLLS)) for _ in range(4))


def test_500_turns_open_quickly_load_as_one_looks_back_and_scroll_smoothly(
    open_notebook: OpenNotebook,
) -> None:
    chat = ChatPage(
        open_notebook,
        """
        from agentcell.history.turns import Turn
        text = '# Head\\n\\n' + 'A sentence of an answer. ' * 20 + '\\n\\n```\\ncode\\n```\\n'
        session = Session(FakeModel('Yes.'))
        for number in range(500):
            said = ({'role': 'user', 'content': f'Question {number}'},
                    {'role': 'assistant', 'content': text})
            session.history.put('main', Turn(id=f't{number}', cell_id=None, messages=said,
                                             status='complete', model='m'))
        ChatPanel(session)""",
    )
    expect(chat.turns).to_have_count(40)
    expect(chat.turns.last).to_contain_text("Question 499")
    log = chat.panel.get_by_role("log")
    chat.page.wait_for_function(
        "e => e.scrollHeight - e.scrollTop - e.clientHeight < 5", arg=log.element_handle()
    )
    few = fastest(log)
    for count in range(80, 521, 40):
        top = chat.turns.first.element_handle()
        chat.button("Show earlier turns").click()
        expect(chat.turns).to_have_count(min(count, 500))
        assert top.evaluate("e => e.isConnected")  # what was there stays, and is not drawn anew
    expect(chat.button("Show earlier turns")).to_be_hidden()
    log.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    many = fastest(log)
    print(f"a frame in {few:.0f} ms with 40 turns, in {many:.0f} ms with 500")  # noqa: T201

    assert many < 3 * few + 50
    assert chat.turns.first.evaluate("e => getComputedStyle(e).contentVisibility") == "auto"


# -- Notebook 7 --------------------------------------------------------------------------------


@pytest.fixture
def classic(lab: Lab, browser: Browser) -> Iterator[Page]:
    """A page of its own, in which Notebook 7 opens a notebook with a panel."""
    cells = [START + TALK, "import time; time.sleep(300)"]
    with opened(lab, browser, cells, "chat-panel-notebook-7") as page:
        yield page


def test_in_notebook_7_it_asks_stops_while_a_cell_runs_and_inserts_a_cell(classic: Page) -> None:
    page = classic
    cells = page.locator(".jp-Notebook .jp-Cell")
    run(page, 0)
    panel = page.get_by_role("region", name="Chat")
    words = panel.get_by_label("Your question")
    words.wait_for()
    words.fill("What is it?")
    words.press("Enter")
    panel.get_by_role("button", name="Run", exact=True).click()
    turn = panel.locator("article").last
    expect(turn.get_by_role("table")).to_contain_text("$5.00")
    turn.get_by_role("button", name="Insert as a cell").click()
    expect(panel.locator(":scope > .agentcell-notice")).to_have_text("Inserted as a new cell.")
    expect(cells).to_have_count(3)
    expect(cells.nth(1)).to_contain_text("a very long line of code")
    run(page, 2)
    expect(cells.nth(2).locator(".jp-InputPrompt")).to_contain_text("*")
    words.fill("While it runs?")
    words.press("Enter")
    expect(panel.locator("article")).to_have_count(2)
    expect(panel.locator(".agentcell-chat-live")).to_have_count(0)
    expect(cells.nth(2).locator(".jp-InputPrompt")).to_contain_text("*")
