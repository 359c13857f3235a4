"""The chat panel as a person uses it in JupyterLab: asking, stopping, tools, branches, files."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from chat_page import STREAMED, ChatPage
from labkit import OpenNotebook

ANSWER = """
Here it **is**:

| item | price |
|---|---:|
| nails | $5.00 |

```python
print(6 * 7)
```
"""


def picture_file(folder: Path, name: str = "plot.png") -> Path:
    path = folder / name
    Image.new("RGB", (64, 48), "tomato").save(path)
    return path


# -- asking and stopping -----------------------------------------------------------------------


def test_an_answer_streams_and_then_stands_there_formatted(
    open_notebook: OpenNotebook, external: list[str]
) -> None:
    chat = ChatPage(
        open_notebook,
        f"""
        session = Session(FakeModel(Reply(*{ANSWER!r}, thinking=['Let me ', 'see.'], delay=0.01)))
        session.attach(ImageAsset.from_bytes(png(), filename='receipt.png'), name='receipt')
        ChatPanel(session)""",
    )
    expect(chat.panel.get_by_role("list", name="Attached to the next")).to_contain_text("receipt_1")
    chat.ask("What is it?")
    expect(chat.panel.locator(".agentcell-chat-words-live")).to_contain_text("Here")
    expect(chat.words).to_have_value("")
    turn = chat.ended()

    expect(turn.locator("strong", has_text="is")).to_be_visible()
    expect(turn.get_by_role("table")).to_contain_text("$5.00")
    expect(turn).to_contain_text("fake/model · 11 tokens in, 7 out")
    turn.get_by_text("Thinking").click()
    expect(turn.get_by_text("Let me see.")).to_be_visible()
    picture = turn.get_by_role("img")
    picture.evaluate("e => e.decode()")
    assert picture.evaluate("e => e.naturalWidth") == 300
    expect(chat.notice).to_have_text("The answer is complete.")
    assert external == []
    chat.notebook.screenshot("chat-panel")


def test_formulas_are_drawn_by_the_host_and_prices_stay_prices(
    open_notebook: OpenNotebook, external: list[str]
) -> None:
    said = "It costs $5.00 or $6.00; $E = mc^2$ and \\\\[ \\\\frac{a}{b} = c \\\\] hold."
    chat = ChatPage(open_notebook, f"session = Session(FakeModel({said!r}))\nChatPanel(session)")
    chat.ask("Well?")
    turn = chat.ended()

    expect(turn.locator("mjx-container")).to_have_count(2)
    expect(turn).to_contain_text("It costs $5.00 or $6.00;")
    assert external == []


GROWS = """list => { window.touched = {added: 0, removed: 0, grown: 0};
  new MutationObserver(records => { for (const one of records) {
    if (one.type === 'characterData') window.touched.grown += 1;
    window.touched.added += one.addedNodes.length;
    window.touched.removed += one.removedNodes.length; } })
  .observe(list, {subtree: true, childList: true, characterData: true}); }"""


def test_what_streams_touches_one_node_for_each_message(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(
        open_notebook,
        """
        session = Session(FakeModel('Yes.', Reply(*['word '] * 30_000, delay=0.002)))
        for number in range(30): session.ask(f'Question {number}', model=FakeModel('Yes. ' * 50))
        _ = session.ask('Last')
        ChatPanel(session)""",
    )
    expect(chat.turns).to_have_count(31)
    chat.ask("Speak.")
    chat.panel.locator(".agentcell-chat-words-live").wait_for()
    chat.panel.locator(".agentcell-chat-list").evaluate(GROWS)
    live = chat.panel.locator(".agentcell-chat-words-live")
    before = live.evaluate("e => e.textContent.length")
    chat.page.wait_for_function(
        "([e, n]) => e.textContent.length > n + 2000", arg=[live.element_handle(), before]
    )
    touched = chat.page.evaluate("() => ({...window.touched})")
    chat.stop_button.click()
    chat.ended(32)

    assert touched["grown"] > 3
    assert touched["added"] <= 1 + touched["grown"] // 2  # a new text node now and then
    assert touched["removed"] == 0


AT_ONCE = 500.0
"""Milliseconds from the click on Stop to the answer's end in the page, while a cell runs."""

MOST_TRIES = 6
"""Other work on the machine may hold up some of them."""

STOPPED = """panel => new Promise(resolve => {
  const stop = [...panel.querySelectorAll('button')].find(b => b.textContent === 'Stop');
  const began = performance.now();
  new MutationObserver((_, watch) => {
    if (panel.querySelector('.agentcell-chat-live')) return;
    watch.disconnect();
    resolve(performance.now() - began);
  }).observe(panel, {subtree: true, childList: true});
  stop.click();
})"""


@pytest.mark.parametrize(
    "cell",
    [
        "import time; time.sleep(300)",
        "import time\nend = time.time() + 300\nwhile time.time() < end: pass",
    ],
    ids=["a cell that waits", "a cell that computes"],
)
def test_while_a_cell_runs_it_answers_and_its_stop_is_heard_at_once(
    open_notebook: OpenNotebook, cell: str
) -> None:
    chat = ChatPage(open_notebook, STREAMED, cell, "print(session.turns[-1].status)")
    chat.notebook.run(1, wait=False)
    chat.page.wait_for_function("() => window.cellsRan === false")
    expect(chat.notebook.cell(1)).to_contain_text("[*]")
    waits: list[float] = []
    while len(waits) < MOST_TRIES and min(waits, default=math.inf) > AT_ONCE:
        chat.ask("Speak.")
        expect(chat.panel.locator(".agentcell-chat-words-live")).to_contain_text("word word word")
        waits.append(chat.panel.evaluate(STOPPED))
        chat.ended(len(waits))
    still_runs = chat.notebook.cell(1).locator(".jp-InputPrompt").inner_text()
    print("stopped after", ", ".join(f"{wait:.0f} ms" for wait in waits))  # noqa: T201 (a figure)

    assert min(waits) <= AT_ONCE
    assert "*" in still_runs
    expect(chat.turns.last).to_contain_text("stopped")
    chat.notebook.command("notebook:interrupt-kernel")
    chat.notebook.wait_idle()
    assert chat.printed(2) == "interrupted"


def test_escape_stops_and_what_came_is_kept(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(open_notebook, STREAMED)
    chat.ask("Speak.")
    expect(chat.panel.locator(".agentcell-chat-words-live")).to_contain_text("word word")
    chat.words.press("Escape")
    turn = chat.ended()

    expect(turn).to_contain_text("word word")
    expect(turn).to_contain_text("stopped")
    expect(chat.notice).to_have_text("The answer was stopped.")


def test_an_interrupt_of_the_kernel_stops_the_cell_and_not_the_panel(
    open_notebook: OpenNotebook,
) -> None:
    chat = ChatPage(open_notebook, STREAMED, "import time; time.sleep(300)")
    chat.notebook.run(1, wait=False)
    chat.ask("Speak.")
    expect(chat.panel.locator(".agentcell-chat-words-live")).to_contain_text("word word")
    chat.notebook.command("notebook:interrupt-kernel")
    expect(chat.notebook.output(1)).to_contain_text("KeyboardInterrupt")

    live = chat.panel.locator(".agentcell-chat-words-live")
    length = live.evaluate("e => e.textContent.length")
    chat.page.wait_for_function(
        "([e, n]) => e.textContent.length > n", arg=[live.element_handle(), length]
    )
    chat.stop_button.click()
    chat.ended()


def test_enter_sends_shift_enter_breaks_and_a_composed_word_is_not_sent(
    open_notebook: OpenNotebook,
) -> None:
    chat = ChatPage(open_notebook, "session = Session(FakeModel('Yes.'))\nChatPanel(session)", "1")
    chat.words.fill("one")
    chat.words.press("Shift+Enter")
    chat.page.keyboard.type("two")
    expect(chat.words).to_have_value("one\ntwo")
    composed = "e => e.dispatchEvent(new KeyboardEvent('keydown', %s))"
    options = "{key: 'Enter', bubbles: true, cancelable: true, isComposing: true}"
    chat.words.evaluate(composed % options)
    chat.words.evaluate(composed % "{key: 'Enter', keyCode: 229, bubbles: true, cancelable: true}")
    expect(chat.turns).to_have_count(0)
    chat.words.press("Enter")
    turn = chat.ended()

    assert turn.locator(".agentcell-chat-question").inner_text() == "one\ntwo"
    assert chat.notebook.output(1).inner_text() == ""  # Shift+Enter ran no cell


def test_what_a_cell_asks_shows_in_the_panel_and_what_the_panel_asks_in_the_session(
    open_notebook: OpenNotebook,
) -> None:
    chat = ChatPage(
        open_notebook,
        """
        get_ipython().run_line_magic('load_ext', 'agentcell')
        from agentcell_magics import current_session
        session = current_session(); session.model = FakeModel('From the cell.', 'From the panel.')
        ChatPanel(session)""",
        "%%agent\nWho speaks?",
        "print([turn.question for turn in session.turns])",
    )
    chat.notebook.run(1)
    expect(chat.turns).to_have_count(1)
    expect(chat.turns.first).to_contain_text("From the cell.")
    expect(chat.turns.first).to_contain_text("asked in a cell")
    chat.ask("And now?")
    chat.ended(2)

    assert chat.printed(2) == "['Who speaks?', 'And now?']"


# -- what goes wrong ---------------------------------------------------------------------------


def test_a_service_s_error_is_shown_where_the_answer_would_stand(
    open_notebook: OpenNotebook,
) -> None:
    chat = ChatPage(
        open_notebook,
        """
        from agentcell.adapters.openai_chat import LegacyOpenAIModel
        server = ChatServer().__enter__()
        server.fail(401, 'Wrong key: sk-very-secret-key').reply('Now ', 'it works.')
        key = 'sk-very-secret-key'
        session = Session(LegacyOpenAIModel('m', api_key=key, base_url=server.url))
        ChatPanel(session)""",
    )
    chat.ask("Hello?")
    turn = chat.ended()
    expect(turn.locator(".agentcell-error")).to_contain_text("Fix:")
    expect(chat.notice).to_have_text("The answer failed.")
    assert "sk-very" not in chat.panel.inner_text()
    chat.notebook.screenshot("chat-panel-error")
    turn.get_by_role("button", name="Retry").click()

    expect(chat.turns.last).to_contain_text("Now it works.")
    chat.ended()


def test_a_question_that_cannot_be_sent_stays_in_its_field(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(
        open_notebook,
        """
        from agentcell import ModelCapabilities
        able = ModelCapabilities(image_input=False, pdf_input=False)
        session = Session(FakeModel(capabilities=able))
        session.attach(ImageAsset.from_bytes(png()), name='plot')
        ChatPanel(session)""",
    )
    chat.ask("What is it?")

    expect(chat.notice).to_contain_text("does not support")
    expect(chat.words).to_have_value("What is it?")
    expect(chat.turns).to_have_count(0)


# -- tools -------------------------------------------------------------------------------------


def test_a_call_waits_for_the_person_and_is_run_or_rejected(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(
        open_notebook,
        """
        session = Session(FakeModel(WEATHER, 'It rains.', WEATHER, 'I may not look.'))
        ChatPanel(session, tools=[weather], approve='ask')""",
    )
    chat.ask("The weather?")
    asked = chat.panel.get_by_role("group", name="May it run this?")
    expect(asked).to_contain_text("weather(town='Oslo')")
    chat.notebook.screenshot("chat-panel-approve")
    asked.get_by_role("button", name="Run", exact=True).click()
    turn = chat.ended()
    expect(turn).to_contain_text("It rains.")
    expect(turn.locator("details", has_text="weather")).to_contain_text("ok")
    turn.get_by_text("weather(town='Oslo')").first.click()
    expect(turn.get_by_text("Rain in Oslo.")).to_be_visible()

    chat.ask("Again?")
    asked.get_by_role("button", name="Reject").press("Enter")
    turn = chat.ended(2)
    expect(turn).to_contain_text("I may not look.")
    expect(turn.locator("details", has_text="weather")).to_contain_text("refused")
    expect(chat.words).to_be_focused()


# -- retry, edit, branch, conversations --------------------------------------------------------


def test_retry_edit_branch_and_conversations(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(
        open_notebook,
        """
        session = Session(FakeModel('One.', 'Two.', 'One again.', 'Edited.', 'Branched.', 'New.'))
        ChatPanel(session)""",
        "print({name: [(t.question, t.answer) for t in session.conversation(name).turns]"
        " for name in session.conversations})",
    )
    chat.ask("First")
    chat.ended(1)
    chat.ask("Second")
    chat.ended(2)

    chat.turns.first.get_by_role("button", name="Retry").click()
    expect(chat.turns.first).to_contain_text("One again.")
    expect(chat.turns.nth(1)).to_contain_text("Stale")
    chat.ended(2)

    chat.turns.nth(1).get_by_role("button", name="Edit").click()
    expect(chat.words).to_be_focused()
    expect(chat.words).to_have_value("Second")
    expect(chat.panel).to_contain_text("You edit an earlier question")
    chat.ask("Second, better")
    expect(chat.turns.last).to_contain_text("Edited.")
    chat.ended(2)
    picker = chat.panel.get_by_label("Conversation", exact=True)
    expect(picker).to_have_value("main-2")

    chat.turns.first.get_by_role("button", name="Branch").click()
    expect(picker).to_have_value("main-3")
    expect(chat.turns).to_have_count(1)
    chat.ask("Else")
    chat.ended(2)

    picker.select_option("main")
    expect(chat.turns.nth(1)).to_contain_text("Two.")
    chat.button("New conversation").click()
    expect(chat.turns).to_have_count(0)
    expect(picker).to_have_value("main-4")
    chat.ask("Fresh")
    chat.ended(1)

    found = chat.printed(1)
    assert found == str(
        {
            "main": [("First", "One again."), ("Second", "Two.")],
            "main-2": [("First", "One again."), ("Second, better", "Edited.")],
            "main-3": [("First", "One again."), ("Else", "Branched.")],
            "main-4": [("Fresh", "New.")],
        }
    )


def test_an_edit_can_be_left(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(open_notebook, "session = Session(FakeModel('Yes.'))\nChatPanel(session)")
    chat.ask("First")
    chat.ended().get_by_role("button", name="Edit").click()
    chat.words.press("Escape")

    expect(chat.words).to_have_value("")
    expect(chat.button("Leave it")).to_be_hidden()


def test_another_model_is_chosen_by_its_name(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(
        open_notebook,
        "session = Session(FakeModel('Yes.'))\nChatPanel(session)",
        "print(session.model_name)",
    )
    field = chat.panel.get_by_label("Model", exact=True)
    field.fill("nobody/at-all")
    field.press("Tab")
    expect(chat.notice).to_contain_text("nobody")
    expect(field).to_have_value("fake/model")
    offered = chat.panel.locator("datalist option").evaluate_all("all => all.map(o => o.value)")
    assert any(name.startswith("openai/") for name in offered)
    field.focus()
    expect(field).to_have_value("")  # so that the list offers all of them
    field.press("Tab")
    expect(field).to_have_value("fake/model")
    field.fill("local")
    field.press("Enter")

    expect(chat.notice).to_contain_text("Questions go to local/")
    assert chat.printed(1).startswith("local/")


# -- files -------------------------------------------------------------------------------------


def test_files_are_picked_dropped_pasted_and_taken_back(
    open_notebook: OpenNotebook, tmp_path: Path
) -> None:
    chat = ChatPage(
        open_notebook,
        "session = Session(FakeModel('Three.'))\nChatPanel(session)",
        "print([block.tag for block in session.turns[-1].attachments])",
    )
    strip = chat.panel.get_by_role("list", name="Attached to the next question")
    chat.panel.locator("input[type=file]").set_input_files(picture_file(tmp_path, "picked.png"))
    expect(strip.get_by_role("listitem")).to_have_count(1)

    data = io.BytesIO()
    Image.new("RGB", (30, 20), "navy").save(data, "PNG")
    made = """([name, bytes]) => { const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], name, {type: 'image/png'}));
        return transfer; }"""
    transfer = chat.page.evaluate_handle(made, ["dropped.png", list(data.getvalue())])
    for kind in ("dragenter", "dragover", "drop"):
        chat.panel.dispatch_event(kind, {"dataTransfer": transfer})
    expect(strip.get_by_role("listitem")).to_have_count(2)

    data = io.BytesIO()
    Image.new("RGB", (20, 30), "gold").save(data, "PNG")
    chat.words.evaluate(
        """(field, bytes) => { const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], 'pasted.png', {type: 'image/png'}));
        field.dispatchEvent(new ClipboardEvent('paste',
          {clipboardData: transfer, bubbles: true, cancelable: true})); }""",
        list(data.getvalue()),
    )
    expect(strip.get_by_role("listitem")).to_have_count(3)

    bad = tmp_path / "setup.exe"
    bad.write_bytes(b"MZ" * 500)
    chat.panel.locator("input[type=file]").set_input_files(bad)
    expect(chat.notice).to_contain_text("setup.exe")
    expect(strip.get_by_role("listitem")).to_have_count(3)

    chat.button("Take back [image_2 dropped]").click()
    expect(strip.get_by_role("listitem")).to_have_count(2)
    chat.ask("How many?")
    chat.ended()
    assert chat.printed(1) == "['[image_1 picked]', '[image_3 pasted]']"


# -- copying and inserting ---------------------------------------------------------------------


def test_answers_and_code_are_copied_and_code_becomes_a_cell(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(
        open_notebook, f"session = Session(FakeModel({ANSWER!r}))\nChatPanel(session)", "1"
    )
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.ask("Code?")
    turn = chat.ended()
    turn.get_by_role("button", name="Copy the answer").click()
    expect(chat.notice).to_have_text("Copied.")
    assert chat.page.evaluate("() => navigator.clipboard.readText()").strip() == ANSWER.strip()
    turn.get_by_role("button", name="Copy code").click()
    chat.page.wait_for_function(
        "async () => (await navigator.clipboard.readText()) === 'print(6 * 7)'"
    )
    turn.get_by_role("button", name="Insert as a cell").click()
    expect(chat.notice).to_have_text("Inserted as a new cell.")

    assert chat.notebook.cell_count() == 3
    assert chat.printed(1) == "42"


def test_where_the_clipboard_is_refused_another_way_is_found(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(open_notebook, "session = Session(FakeModel('Yes.'))\nChatPanel(session)")
    chat.ask("Well?")
    turn = chat.ended()
    chat.page.evaluate(
        """() => { window.refused = navigator.clipboard.writeText;
        navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }"""
    )
    turn.get_by_role("button", name="Copy the answer").click()

    expect(chat.notice).to_have_text("Copied.")
    chat.page.evaluate("() => { navigator.clipboard.writeText = window.refused; }")


# -- a look at what would go -------------------------------------------------------------------


def test_what_would_be_sent_is_shown_and_nothing_is_sent(open_notebook: OpenNotebook) -> None:
    chat = ChatPage(
        open_notebook,
        "session = Session(FakeModel('Yes.'))\nChatPanel(session)",
        "print(len(session.model.requests))",
    )
    chat.words.fill("What is it?")
    chat.button("What would be sent").click()
    dialog = chat.panel.get_by_role("dialog", name="What would be sent")
    expect(dialog).to_contain_text("Nothing was sent.")
    expect(dialog.get_by_role("row", name="question")).to_contain_text("What is it?")
    dialog.get_by_text("The request as sent").click()
    body = dialog.locator("details pre").inner_text()
    assert json.loads(body)
    chat.notebook.screenshot("chat-panel-dry-run")
    chat.page.keyboard.press("Escape")

    expect(dialog).to_have_count(0)
    expect(chat.button("What would be sent")).to_be_focused()
    expect(chat.words).to_have_value("What is it?")
    assert chat.printed(1) == "0"
