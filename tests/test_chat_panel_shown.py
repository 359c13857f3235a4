"""What the chat panel shows before anything is sent, of hostile texts, and of what it leaves."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell import PdfAsset
from agentcell.history.export_html import as_page
from agentcell.testing import Call, FakeModel, Reply
from agentcell.wording import choose
from agentcell_widgets.chat.answer_html import answer_html
from agentcell_widgets.chat.record import MOST_TURNS
from agentcell_widgets.chat.words import PAGE, SAID
from agentcell_widgets.panel import NO_PICTURE
from chat_kit import NO_PICTURES, Chat, Chats, opened_chats, picture, png, weather
from harmless import faults, faults_of_html
from hostile import HOSTILE
from promptly import cpu_seconds

MOST_STATE = 50_000
"""Bytes that a panel's state may take in a saved notebook."""


@pytest.fixture
def chats() -> Iterator[Chats]:
    with opened_chats() as make:
        yield make


# -- a look at what would go -------------------------------------------------------------------


def test_a_dry_run_shows_all_of_it_and_sends_nothing(chats: Chats) -> None:
    chat = chats("Yes.", tools=[weather], system="Be brief.")
    chat.session.attach(picture(), name="plot")
    found = chat.page.ask("dry-run", {"text": "What is it?"})

    rows = dict(found["rows"])
    assert rows["model"] == "fake/model"
    assert rows["tools"] == "weather"
    assert rows["instructions"] == "Be brief."
    assert "with the question" in rows["[plot_1 plot]"]
    assert "What is it?" in rows["question"]
    assert json.loads(found["request"])
    assert chat.model.requests == []
    assert [one["tag"] for one in chat.page.ask("hello")["waiting"]] == ["[plot_1 plot]"]


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("openai/gpt-4.1", {"max_tokens": 100}, r"about \$[\d.]+, at most \$[\d.]+"),
        ("openai/gpt-4.1", {}, r"about \$[\d.]+, \$[\d.]+ for [\d,]+ tokens of answer"),
        ("fake/model", {}, "cost unknown"),
        ("local", {}, "free"),
    ],
)
def test_a_dry_run_says_what_it_would_cost(
    chats: Chats, name: str, settings: dict[str, Any], said: str
) -> None:
    chat = chats("Yes.", settings=settings or None)
    if name != "fake/model":
        chat.session.model = name
    rows = dict(chat.page.ask("dry-run", {"text": "What is it?"})["rows"])

    assert re.fullmatch(said, rows["cost"])
    assert re.fullmatch(r"about [\d,]+ tokens \([\d,]+ to [\d,]+\)", rows["all together"])


def test_a_dry_run_reads_in_chinese_too(chats: Chats) -> None:
    choose("zh")
    try:
        chat = chats("Yes.")
        chat.session.attach(picture(), name="plot")
        sheet, pages = Image.new("RGB", (60, 40)), io.BytesIO()
        sheet.save(pages, "PDF", save_all=True, append_images=[sheet, sheet])
        chat.session.attach(PdfAsset.from_bytes(pages.getvalue(), filename="book.pdf"), name="book")
        rows = dict(chat.page.ask("dry-run", {"text": "What?"})["rows"])
    finally:
        choose("auto")

    assert rows["[plot_1 plot]"].startswith("PNG 图像，40 × 30 px，")
    assert rows["[book_1 book]"].startswith("PDF，3 页，")
    assert rows["费用"] == "费用未知"
    for name in ("[plot_1 plot]", "[book_1 book]", "合计"):
        assert re.search(r"约 [\d,]+ tokens（[\d,]+ 至 [\d,]+）", rows[name])


def test_one_is_said_as_one(chats: Chats) -> None:
    chat = chats("Yes.")
    chat.say("Well?")
    assert "cost of one turn unknown" in chat.page.ask("hello")["cost"]
    for number in range(MOST_TURNS):
        chat.session.ask(f"Question {number}")

    assert "cost of 41 turns unknown" in chat.page.ask("hello")["cost"]
    assert "one earlier turn" in chat.panel.static().html


def test_a_dry_run_says_why_it_cannot_go(chats: Chats) -> None:
    chat = chats(model=FakeModel(capabilities=NO_PICTURES))
    chat.page.upload(png(), "plot.png")
    seen = chat.page.ask("dry-run", {"text": "Sum?"})

    assert "image" in seen["refusal"]
    assert seen["request"] == ""
    assert chat.model.requests == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "So $E = mc^2$.",
            '<p>So <span class="agentcell-maths mathjax_process">$E = mc^2$</span>.</p>',
        ),
        ("\\(a_1 + b_1\\)", ">$a_1 + b_1$</span>"),
        ("It costs $5.00 or $6.00.", "<p>It costs $5.00 or $6.00.</p>"),
        ("`$a$`", "<code>$a$</code>"),
        ("$a < b$", ">$a &lt; b$</span>"),
        ("$\\href{javascript:x}{y} = 1$", ">$href{javascript:x}{y} = 1$</span>"),
        ("\ue0000\ue001 and $x^2$", "<p>0 and <span"),
    ],
)
def test_formulas_are_marked_for_the_host_and_nothing_else_is(said: str, shown: str) -> None:
    assert shown in answer_html(said)


# -- what a model, a person or a file says -----------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_become_harmless(text: str) -> None:
    short = text[:3_000]
    call = Call(short, json.dumps({"a": short}))
    chat = Chat(Reply(short, calls=[call], thinking=[short]), short)
    try:
        ended = chat.say(f"? {short}".replace("\0", "").encode("utf-8", "replace").decode())
        for part in ended["view"]["parts"]:
            if part["kind"] == "text":
                assert faults_of_html(part["html"]) == []
        assert faults(chat.panel.static().bundle()) == []
    finally:
        chat.panel.close()


# -- what stays --------------------------------------------------------------------------------


def test_the_transcript_in_words_holds_questions_tags_answers_and_a_picture(chats: Chats) -> None:
    chat = chats("It is **red**.")
    chat.session.attach(picture(), name="plot", label="Plot")
    chat.say("What is it?")
    static = chat.panel.static()

    for text in (static.html, static.markdown, static.text):
        assert "What is it?" in unescape(text)
        assert "[plot_1 Plot]" in unescape(text)
        assert "red" in text
    assert "<strong>red</strong>" in static.html
    assert "Base64" not in static.html
    assert static.picture is not None
    data, facts = static.picture
    assert "plot_1" in facts["image/jpeg"]["alt"]
    assert data["image/jpeg"]


def test_what_is_forgotten_is_shown_nowhere_any_more(chats: Chats) -> None:
    chat = chats("It is red.")
    tag = chat.session.attach(picture(), name="plot", label="Plot")
    chat.say("What is it?")
    chat.page.ask("hello")
    chat.page.sent.clear()
    chat.session.forget(tag)

    (view,) = chat.page.event("turns")["turns"]
    assert view["attachments"] == []
    static = chat.panel.static()
    assert "40 × 30" not in static.html + static.markdown + static.text
    assert static.picture == NO_PICTURE


def test_a_long_transcript_stays_small(chats: Chats) -> None:
    chat = chats("A long answer. " * 400)
    for number in range(60):
        chat.session.ask(f"Question {number}")
    static = chat.panel.static()

    assert "earlier turns" in static.html
    assert static.html.count("Question ") <= MOST_TURNS
    assert "Question 59" in static.html
    assert sum(map(len, static.bundle().values())) < 120_000


def test_an_answer_with_many_links_is_formatted_in_linear_time() -> None:
    def seconds(count: int) -> float:
        text = "word **bold** and [a](https://a.example/b). " * count
        return cpu_seconds(lambda: as_page(text), tries=2)

    seconds(100)
    assert seconds(8_000) < 20 * seconds(1_000)  # eight times the text; it took forty times


def test_the_end_of_a_very_long_answer_stands_as_it_was_written() -> None:
    html = answer_html("some **bold** words\n" * 20_000 + "<b>the end</b>")

    assert html.endswith("&lt;b&gt;the end&lt;/b&gt;</pre>")
    assert html.count("bold") == 20_000


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_panel_s_saved_state_is_small_whatever_was_said(chats: Chats, language: str) -> None:
    choose(language)
    try:
        chat = chats("A long answer. " * 400)
        chat.session.attach(picture(), name="plot")
        for _ in range(5):
            chat.say("Go on.")
        state = json.dumps(chat.panel.get_state(), ensure_ascii=False)  # as a notebook has it
    finally:
        choose("auto")

    assert len(state.encode()) <= MOST_STATE
    assert "A long answer" not in state


def test_the_panel_speaks_chinese() -> None:
    choose("zh")
    try:
        chat = Chat("是。")
        chat.session.attach(picture(), name="plot")
        ended = chat.say("好吗？")
        static = chat.panel.static()
        texts = dict(chat.panel.texts)
        chat.panel.close()
    finally:
        choose("auto")

    assert texts["Send"] == "发送"
    assert "输入" in ended["view"]["facts"]
    (attached,) = ended["view"]["attachments"]
    assert attached["detail"].startswith("PNG 图像，40 × 30 px，")
    assert attached["alt"].endswith("PNG 图像，40 × 30 px")
    assert "PNG 图像" in static.html
    assert "image," not in static.html + static.markdown + static.text


def test_every_sentence_of_the_page_is_in_its_table() -> None:
    folder = Path(__file__).parent.parent / "widgets/agentcell_widgets/chat"
    script = "".join(file.read_text("utf-8") for file in folder.glob("*.js"))

    assert [one for one in PAGE if f'"{one}"' not in script] == []
    for english, chinese in {**PAGE, **SAID}.items():
        assert english.count("{") == chinese.count("{")


def test_closing_ends_what_is_on_its_way_and_leaves_no_thread(chats: Chats) -> None:
    chat = chats(Reply("a", "b", delay=30))
    before = threading.active_count()
    chat.page.ask("submit", {"text": "Go."})
    chat.page.event("begun")
    chat.panel.close()
    chat.free()

    assert chat.session.conversation().turns[0].status == "interrupted"
    chat.wait(lambda: threading.active_count() <= before + 1)


def test_copies_of_a_branch_cost_nothing(chats: Chats) -> None:
    chat = chats("One.")
    chat.say("First")
    chat.page.ask("branch", {"turn": chat.session.turns[0].id})

    assert chat.session.conversation("main-2").turns[0].cost == Decimal(0)
