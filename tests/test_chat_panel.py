"""The chat panel as its page sees it: asking, tools, attachments, trouble."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell import Budget, ImageAsset, Session, tool
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.errors import PanelError
from agentcell.testing import Call, ChatServer, FakeModel, Reply
from agentcell_widgets.chat import ChatPanel
from agentcell_widgets.chat.conversation import Chat as Conversation
from chat_kit import NO_PICTURES, Chats, opened_chats, picture, png, weather
from panels import Page


@pytest.fixture
def chats() -> Iterator[Chats]:
    with opened_chats() as make:
        yield make


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


def test_a_state_that_was_read_before_the_end_never_comes_after_it() -> None:
    told: list[tuple[str, dict[str, Any]]] = []

    class Slow(Conversation):
        def state(self) -> dict[str, Any]:
            state = super().state()
            if state["busy"]:  # the answer ends between the reading and the telling
                time.sleep(0.5)
            return state

    chat = Slow(Session(FakeModel("Yes.")), lambda kind, /, **facts: told.append((kind, facts)))
    chat.submit("Is it open?")
    end = time.monotonic() + 30
    while len(states := [facts for kind, facts in told if kind == "state"]) < 2:
        assert time.monotonic() < end
        time.sleep(0.01)

    assert [state["busy"] for state in states] == [True, False]
    assert chat.live() is None


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


def test_of_a_very_long_error_the_beginning_is_shown(chats: Chats) -> None:
    chat = chats(ValueError("No paint. " + "<html>" * 10_000))
    view = chat.say("Well?")["view"]

    assert view["error"]["problem"].startswith("ValueError: No paint.")
    assert "characters more)" in view["error"]["problem"]
    assert len(view["error"]["problem"]) < 2_200


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
