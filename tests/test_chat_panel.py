"""The chat panel without a browser: what it is told, what it tells, what stays in the notebook."""

from __future__ import annotations

import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell import Budget, ImageAsset, ModelCapabilities, PdfAsset, Session, tool
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.errors import PanelError
from agentcell.history.export_html import as_page
from agentcell.history.panel_cells import is_panel_cell
from agentcell.testing import Call, ChatServer, FakeModel, Reply
from agentcell.wording import choose
from agentcell_widgets.chat import ChatPanel
from agentcell_widgets.chat.answer_html import answer_html
from agentcell_widgets.chat.record import MOST_TURNS
from agentcell_widgets.chat.shown import AT_ONCE
from agentcell_widgets.chat.words import PAGE, SAID
from agentcell_widgets.panel import NO_PICTURE
from harmless import faults, faults_of_html
from hostile import HOSTILE
from panels import GUARD, Page

NO_PICTURES = ModelCapabilities(image_input=False, pdf_input=False)

MOST_STATE = 50_000
"""Bytes that a panel's state may take in a saved notebook."""


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


@pytest.fixture
def chats() -> Iterator[Callable[..., Chat]]:
    made: list[Chat] = []

    def make(*answers: Any, **options: Any) -> Chat:
        made.append(Chat(*answers, **options))
        return made[-1]

    yield make
    for chat in made:
        chat.panel.close()


Chats = Callable[..., Chat]


# -- asking and being answered -----------------------------------------------------------------


def test_a_session_alone_is_enough_and_nothing_is_shown_yet(chats: Chats) -> None:
    chat = chats()
    hello = chat.page.ask("hello")

    assert hello["turns"] == {"conversation": "main", "order": [], "more": 0, "turns": []}
    assert hello["live"] is None
    assert hello["model"] == "fake/model"
    assert not hello["busy"]
    assert "Nothing was asked yet." in repr(ChatPanel(Session()))


def test_a_question_is_told_as_it_begins_grows_and_ends(chats: Chats) -> None:
    chat = chats(Reply("The **total** ", "is 42.", thinking=["Let me see."]))
    ended = chat.say("What is the total?")

    kinds = chat.kinds()
    assert kinds.index("begun") < kinds.index("thinking") < kinds.index("delta")
    assert "".join(one["text"] for one in chat.told("delta")) == "The **total** is 42."
    (part,) = ended["view"]["parts"]
    assert part["html"] == "<p>The <strong>total</strong> is 42.</p>\n"
    assert part["source"] == "The **total** is 42."
    assert ended["view"]["thinking"] == "Let me see."
    assert chat.turns() == ["What is the total?"]


def test_pieces_that_come_together_go_in_one_message(chats: Chats) -> None:
    chat = chats(Reply(*["word "] * 2_000))
    chat.say("Speak.")

    assert "".join(one["text"] for one in chat.told("delta")) == "word " * 2_000
    assert len(chat.told("delta")) < 200


def test_what_a_cell_or_python_asks_appears(chats: Chats) -> None:
    chat = chats("From a cell.", "From Python.")
    chat.page.ask("hello")
    chat.session.ask("One?", cell_id="6f1c0c2e")
    chat.session.ask("Two?")

    chat.wait(lambda: len({t["id"] for m in chat.told("turns") for t in m["turns"]}) == 2)
    views = [view for message in chat.told("turns") for view in message["turns"]]
    assert [view["from_cell"] for view in views] == [True, False]


def test_two_panels_of_a_session_show_the_same_turns_and_attachments(chats: Chats) -> None:
    chat = chats("Yes.")
    other = ChatPanel(chat.session)
    page = Page(other)
    page.ask("hello")
    chat.page.upload(png(), "plot.png")
    assert [one["tag"] for one in page.ask("hello")["waiting"]] == ["[image_1 plot]"]
    chat.say("What is it?")

    (view,) = page.event("turns", more=0)["turns"] or page.ask("hello")["turns"]["turns"]
    assert view["question"] == "What is it?"
    assert page.ask("hello")["waiting"] == []
    other.close()


def test_a_turn_is_sent_once_and_later_only_what_changed(chats: Chats) -> None:
    chat = chats("Yes.")
    chat.page.ask("hello")
    for number in range(3):
        chat.say(f"Question {number}")
        chat.page.sent.clear()
    chat.session.attach(picture())

    chat.wait(lambda: bool(chat.told("state")))
    assert [view for message in chat.told("turns") for view in message["turns"]] == []


def test_an_empty_question_is_refused(chats: Chats) -> None:
    chat = chats()

    assert "The question is empty" in chat.page.refusal("submit", {"text": " \n "})
    assert "The question is empty" in chat.page.refusal("dry-run", {"text": ""})
    assert chat.turns() == []


def test_one_question_at_a_time(chats: Chats) -> None:
    chat = chats(Reply("a", "b", delay=5))
    chat.page.ask("submit", {"text": "One"})

    assert "still on its way" in chat.page.refusal("submit", {"text": "Two"})
    assert "still on its way" in chat.page.refusal("show", {"conversation": "other"})
    assert chat.page.ask("stop") == {"stopped": True}
    chat.free()
    assert chat.turns() == ["One"]


def test_a_stopped_answer_is_kept_as_far_as_it_came(chats: Chats) -> None:
    chat = chats(Reply("Begun ", *["more "] * 50, delay=0.1))
    chat.page.ask("submit", {"text": "Speak."})
    chat.page.event("delta")
    chat.page.ask("stop")
    ended = chat.page.event("ended")

    assert ended["view"]["status"] == "interrupted"
    assert ended["view"]["parts"][0]["source"].startswith("Begun")
    assert "stopped" in ended["view"]["facts"]
    chat.free()
    assert chat.page.ask("stop") == {"stopped": False}


def test_a_page_that_opens_meanwhile_sees_what_came_until_then(chats: Chats) -> None:
    chat = chats(Reply("Begun ", "more", thinking=["Hm."], delay=1.0))
    chat.page.ask("submit", {"text": "Speak."})
    chat.page.event("delta")
    live = chat.page.ask("hello")["live"]

    assert live["question"] == "Speak."
    assert live["thinking"] == "Hm."
    assert live["parts"] == [{"kind": "text", "text": "Begun "}]
    chat.page.ask("stop")
    chat.free()
    assert chat.page.ask("hello")["live"] is None


# -- what goes wrong ---------------------------------------------------------------------------


def test_a_service_s_error_is_shown_with_its_turn_and_without_the_key(chats: Chats) -> None:
    with ChatServer() as server:
        server.fail(401, "Incorrect API key provided: sk-secret-12345678")
        model = LegacyOpenAIModel("m", api_key="sk-secret-12345678", base_url=server.url)
        chat = chats(model=model)
        ended = chat.say("Hello?")

    assert ended["view"]["status"] == "failed"
    assert ended["error"]["kind"] == "AuthenticationError"
    assert ended["view"]["error"]["problem"]
    assert ended["view"]["error"]["fix"]
    assert "sk-secret" not in json.dumps([content for content, _ in chat.page.sent])


def test_an_answer_that_breaks_off_fails_and_keeps_its_text(chats: Chats) -> None:
    with ChatServer() as server:
        server.cut("Half ", "an answer", after=1)
        chat = chats(model=LegacyOpenAIModel("m", api_key="k", base_url=server.url))
        ended = chat.say("Hello?")

    assert ended["view"]["status"] == "failed"
    assert "Half" in ended["view"]["parts"][0]["source"]


def test_a_question_that_cannot_be_asked_comes_back(chats: Chats) -> None:
    chat = chats(model=FakeModel(capabilities=NO_PICTURES))
    chat.session.attach(picture(), name="plot")
    chat.page.ask("submit", {"text": "Hello?"})
    told = chat.page.event("refused")
    chat.free()

    assert told["text"] == "Hello?"
    assert "IMAGE" in told["error"]["problem"]
    assert chat.turns() == []
    assert len(chat.page.ask("hello")["waiting"]) == 1


def test_an_error_of_no_kind_of_ours_is_shown_too(chats: Chats) -> None:
    chat = chats(ZeroDivisionError("by nothing"), ZeroDivisionError("sk-1234567890abcdef"))
    ended = chat.say("Hello?")
    leaky = chat.say("Hello?")

    assert ended["error"] == {"kind": "ZeroDivisionError", "problem": "by nothing", "fix": ""}
    assert "by nothing" in ended["view"]["error"]["problem"]
    assert leaky["error"]["problem"] == "[key removed]"
    assert "sk-12345" not in json.dumps(leaky) + chat.panel.static().html


def test_a_wrong_model_is_refused_and_the_former_stays(chats: Chats) -> None:
    chat = chats()

    assert "fix" not in chat.page.refusal("model", {"name": "nobody's/model"})[:3]
    assert chat.session.model_name == "fake/model"
    assert chat.page.ask("model", {"name": "local"})["model"].startswith("local/")


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("submit", {}),
        ("submit", {"text": 7}),
        ("retry", {"turn": None}),
        ("retry", {"turn": "nothing"}),
        ("edit", {"turn": "nothing", "text": "x"}),
        ("branch", {"turn": ["x"]}),
        ("show", {"conversation": "  "}),
        ("show", {"conversation": "x" * 500}),
        ("answer", {"ask": "1", "said": "perhaps"}),
        ("withdraw", {"tag": "[x_1 X]"}),
        ("model", {"name": {}}),
        ("picture", {}),
    ],
)
def test_what_the_page_may_not_say_is_refused(chats: Chats, kind: str, payload: Any) -> None:
    chat = chats("Yes.")

    assert chat.page.refusal(kind, payload)
    assert chat.turns() == []


def test_a_mode_that_is_none_is_an_error() -> None:
    with pytest.raises(PanelError, match="approve is 'yes'"):
        ChatPanel(Session(), approve="yes")  # type: ignore[arg-type]


# -- tools -------------------------------------------------------------------------------------


def weather(town: str) -> str:
    """Return the weather of a town."""
    return f"Rain in {town}."


WEATHER = Call("weather", '{"town": "Oslo"}')


def test_a_call_is_shown_with_its_result_and_how_it_went(chats: Chats) -> None:
    chat = chats(Reply("Let me look.", calls=[WEATHER]), "It rains.", tools=[weather])
    ended = chat.say("The weather?")

    text, call, answer = ended["view"]["parts"]
    assert (text["source"], answer["source"]) == ("Let me look.", "It rains.")
    assert call["line"] == "weather(town='Oslo')"
    assert call["result"] == "Rain in Oslo."
    assert call["state"] == "ok"
    states = [one["call"]["state"] for one in chat.told("call")]
    assert states == ["running", "ok"]


@pytest.mark.parametrize(
    ("said", "state", "ran"), [("yes", "ok", 1), ("no", "refused", 0), ("all", "ok", 2)]
)
def test_the_person_allows_or_rejects_a_call(chats: Chats, said: str, state: str, ran: int) -> None:
    calls: list[str] = []

    def count(town: str) -> str:
        """Count."""
        calls.append(town)
        return "ok"

    asks = Call("count", '{"town": "Oslo"}')
    again = Call("count", '{"town": "Rome"}', "call_2")
    answers = [asks, again, "Done."] if said == "all" else [asks, "Done."]
    chat = chats(*answers, tools=[count], approve="ask")
    chat.page.ask("submit", {"text": "Count."})
    question = chat.page.event("ask")
    assert question["about"] == "call"
    assert question["text"] == "count(town='Oslo')"
    assert calls == []
    chat.page.ask("answer", {"ask": question["ask"], "said": said})
    ended = chat.page.event("ended")

    assert len(calls) == ran
    assert len(chat.told("ask")) == 1
    assert ended["view"]["parts"][0]["state"] == state


def test_only_tools_that_want_it_ask_where_no_mode_is_set(chats: Chats) -> None:
    @tool(needs_approval=True)
    def pay(town: str) -> str:
        """Pay."""
        return town

    chat = chats(WEATHER, Call("pay", '{"town": "Oslo"}', "call_2"), "Done.", tools=[weather, pay])
    chat.page.ask("submit", {"text": "Go."})
    question = chat.page.event("ask")

    assert question["text"] == "pay(town='Oslo')"
    chat.page.ask("answer", {"ask": question["ask"], "said": "no"})
    chat.page.event("ended")


def test_a_stop_while_the_person_is_asked_ends_it(chats: Chats) -> None:
    chat = chats(WEATHER, "Done.", tools=[weather], approve="ask")
    chat.page.ask("submit", {"text": "Go."})
    chat.page.event("ask")
    chat.page.ask("stop")

    assert chat.page.event("ended")["view"]["status"] == "interrupted"
    assert chat.told("asked")


def test_no_call_runs_where_they_are_refused(chats: Chats) -> None:
    chat = chats(WEATHER, "Done.", tools=[weather], approve="refuse")
    ended = chat.say("Go.")

    assert ended["view"]["parts"][0]["state"] == "refused"
    assert chat.told("ask") == []


def test_a_question_that_may_be_dear_is_asked_about(chats: Chats) -> None:
    chat = chats("Yes.")
    chat.session.budget = Budget(usd="1.00")
    chat.page.ask("submit", {"text": "Go."})
    question = chat.page.event("ask")
    assert question["about"] == "cost"
    chat.page.ask("answer", {"ask": question["ask"], "said": "no"})
    ended = chat.page.event("ended")

    assert ended["view"] is None
    assert ended["text"] == "Go."
    assert chat.model.requests == []
    assert "$1.00 of $1.00 left" in chat.page.ask("hello")["cost"]


# -- attachments -------------------------------------------------------------------------------


def png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "blue").save(file, "PNG")
    return file.getvalue()


def test_a_file_waits_for_the_next_question_and_goes_with_it(chats: Chats) -> None:
    chat = chats("A picture.")
    reply = chat.page.upload(png(), "C:\\photos\\my plot.png")
    assert "goes with the next question" in reply["payload"]["notice"]
    (card,) = chat.page.ask("hello")["waiting"]
    assert card["tag"] == "[image_1 my plot]"
    ended = chat.say("What is it?")

    assert [one["tag"] for one in ended["view"]["attachments"]] == ["[image_1 my plot]"]
    assert chat.page.ask("hello")["waiting"] == []
    found = chat.page.ask("picture", {"key": card["key"]})
    assert found["type"] == "image/png"
    assert chat.page.buffers_of(found)[0].startswith(b"\x89PNG")


def test_what_was_done_to_an_attachment_is_told_and_stays(chats: Chats) -> None:
    with ChatServer("A picture.") as server:
        chat = chats(model=LegacyOpenAIModel("m", api_key="k", base_url=server.url))
        file = io.BytesIO()
        Image.new("RGB", (40, 30), "red").save(file, "BMP")
        chat.session.attach(ImageAsset.from_bytes(file.getvalue()), name="plot")
        ended = chat.say("What is it?")

    (note,) = chat.told("begun")[0]["notes"]
    assert "BMP" in note
    assert ended["view"]["notes"] == [note]


def test_a_file_that_is_no_picture_is_refused_by_name(chats: Chats, tmp_path: Path) -> None:
    chat = chats()
    reply = chat.page.upload(b"MZ" * 400, "setup.exe")

    assert not reply["ok"]
    assert str(tmp_path.parent) not in reply["problem"]
    assert "agentcell-upload" not in reply["problem"]
    assert chat.page.ask("hello")["waiting"] == []


def test_a_waiting_attachment_is_taken_back_and_stays_known(chats: Chats) -> None:
    chat = chats("Nothing.")
    tag = chat.session.attach(picture(), name="plot")
    chat.page.ask("withdraw", {"tag": tag})
    chat.say("What is it?")

    assert chat.session.conversation().turns[0].attachments == ()
    assert tag in chat.session.tags


def test_a_question_names_variables_as_in_a_cell_and_a_retry_fills_nothing_in_again(
    chats: Chats,
) -> None:
    values: dict[str, Any] = {"plot": picture(), "total": "{plot}"}
    chat = chats("One.", "Two.", variables=lambda: values)
    chat.say('Is {plot} {total}, {unknown} or {"a": 1}?')
    first = chat.session.conversation().turns[0]
    chat.page.sent.clear()
    chat.page.ask("retry", {"turn": first.id})
    chat.page.event("ended")
    chat.free()

    assert first.question == 'Is [plot_1 plot] {plot}, {unknown} or {"a": 1}?'
    (again,) = chat.session.conversation().turns
    assert again.answer == "Two."
    assert again.question == first.question


# -- retry, edit, branch -----------------------------------------------------------------------


def test_a_retry_takes_the_turn_s_place_with_its_attachments(chats: Chats) -> None:
    chat = chats("One.", "Two.", "Three.")
    chat.session.attach(picture(), name="plot")
    chat.say("First")
    chat.say("Second")
    first = chat.session.conversation().turns[0]
    chat.page.sent.clear()
    chat.page.ask("retry", {"turn": first.id})
    chat.page.event("ended")
    chat.free()

    again, second = chat.session.conversation().turns
    assert (again.question, again.answer) == ("First", "Three.")
    assert [one.tag for one in again.attachments] == [one.tag for one in first.attachments]
    assert chat.told("begun")[0]["replaces"] == first.id
    assert second.stale
    assert len(chat.model.requests[-1].messages) == 1


def test_a_retry_of_what_a_cell_asked_leaves_the_cell_s_turn(chats: Chats) -> None:
    chat = chats("One.", "Two.")
    chat.session.ask("First", cell_id="6f1c0c2e")
    chat.page.ask("retry", {"turn": chat.session.turns[0].id})
    chat.page.event("ended")
    chat.free()

    assert chat.turns("main") == ["First"]
    assert chat.turns("main-2") == ["First"]
    assert chat.page.ask("hello")["conversation"] == "main-2"


def test_a_failed_cell_s_question_is_asked_again_below(chats: Chats) -> None:
    chat = chats(ZeroDivisionError("no"), "Two.")
    with pytest.raises(ZeroDivisionError):
        chat.session.ask("First", cell_id="6f1c0c2e")
    chat.page.ask("retry", {"turn": chat.session.turns[0].id})
    chat.page.event("ended")
    chat.free()

    assert [turn.status for turn in chat.session.conversation().turns] == ["failed", "complete"]


def test_an_edit_asks_in_a_new_conversation_with_the_turns_before(chats: Chats) -> None:
    chat = chats("One.", "Two.", "Three.")
    chat.say("First")
    chat.say("Second")
    second = chat.session.conversation().turns[1]
    chat.page.ask("edit", {"turn": second.id, "text": "Second, better"})
    chat.wait(lambda: chat.turns("main-2") == ["First", "Second, better"])

    assert chat.turns() == ["First", "Second"]
    assert chat.session.conversation("main-2").turns[1].answer == "Three."
    assert all(is_panel_cell(turn.cell_id) for turn in chat.session.turns)


def test_a_branch_goes_on_from_a_turn(chats: Chats) -> None:
    chat = chats("One.", "Two.", "Three.")
    chat.say("First")
    chat.say("Second")
    first = chat.session.conversation().turns[0]
    reply = chat.page.ask("branch", {"turn": first.id})
    chat.say("Else")

    assert "main-2" in reply["notice"]
    assert chat.turns("main-2") == ["First", "Else"]
    assert chat.turns() == ["First", "Second"]


def test_conversations_are_chosen_and_begun(chats: Chats) -> None:
    chat = chats("Yes.")
    chat.say("In main")
    chat.page.ask("new")
    assert chat.page.ask("hello")["conversation"] == "main-2"
    chat.say("In the new one")
    chat.page.ask("show", {"conversation": "main"})
    state = chat.page.ask("hello")

    assert state["conversations"] == ["main", "main-2"]
    assert state["conversation"] == "main"
    assert [view["question"] for view in state["turns"]["turns"]] == ["In main"]


HOSTILE_NAMES = [
    "<img src=x onerror=alert(1)>",
    "x" * 400,
    "a\nb\x1b[31mc",
    " ",
    "\u202eback",
    "../..",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=map(ascii, HOSTILE_NAMES))
def test_a_conversation_is_shown_whatever_it_is_called(chats: Chats, name: str) -> None:
    chat = chats("Yes.", "And more.")
    chat.session.ask("In there", conversation=name)
    chat.page.ask("show", {"conversation": name})
    state = chat.page.ask("hello")

    assert [view["question"] for view in state["turns"]["turns"]] == ["In there"]
    assert state["conversations"] == [name]
    chat.page.ask("new")  # its name is made of the former one
    chat.page.ask("show", {"conversation": name})
    chat.page.ask("branch", {"turn": state["turns"]["order"][0]})
    chat.say("On")
    assert len(chat.session.conversations) == 2


def test_a_name_of_a_new_conversation_is_short_and_can_be_read(chats: Chats) -> None:
    chat = chats("Yes.")

    assert "1 to 200 characters" in chat.page.refusal("show", {"conversation": "x" * 201})
    assert "1 to 200 characters" in chat.page.refusal("show", {"conversation": " \x1b[0m"})


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply("Half an", finish="length"), "The answer was cut at the model's limit."),
        (Reply("Half", finish="content_filter"), "The provider's filter cut the answer."),
        (Reply(""), "The answer is empty."),
        (Reply("All of it."), ""),
    ],
)
def test_how_an_answer_ended_stands_below_it_and_in_what_is_saved(
    chats: Chats, reply: Reply, said: str
) -> None:
    chat = chats(reply)
    view = chat.say("Well?")["view"]
    static = chat.panel.static()

    assert view["notice"] == said
    for text in (static.html, static.markdown, static.text):
        assert said in unescape(text)
        assert said or "is empty" not in text


def test_what_was_taken_back_goes_with_the_next_question_again(chats: Chats) -> None:
    chat = chats("Yes.")
    tag = chat.session.attach(picture(), name="plot")
    chat.page.ask("withdraw", {"tag": tag})
    assert [block.tag for block in chat.session.waiting] == []
    chat.page.ask("bring-back", {"tag": tag})

    assert [block.tag for block in chat.session.waiting] == [tag]
    assert "No attachment is called" in chat.page.refusal("bring-back", {"tag": "[x]"})


# -- many turns --------------------------------------------------------------------------------


def test_of_many_turns_the_last_come_first_and_earlier_ones_when_asked_for(chats: Chats) -> None:
    chat = chats("Yes.")
    for number in range(AT_ONCE * 2 + 5):
        chat.session.ask(f"Question {number}")
    first = chat.page.ask("hello")["turns"]
    earlier = chat.page.ask("earlier")["turns"]

    assert len(first["turns"]) == AT_ONCE
    assert first["more"] == AT_ONCE + 5
    assert earlier["turns"][0]["question"] == "Question 5"
    assert len(earlier["turns"]) == AT_ONCE
    assert len(earlier["order"]) == AT_ONCE * 2
    assert earlier["more"] == 5


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
        start = time.process_time()
        as_page("word **bold** and [a](https://a.example/b). " * count)
        return time.process_time() - start

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
    script = "".join((folder / name).read_text("utf-8") for name in ("chat.js", "transcript.js"))

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
