"""Turns in the chat panel: asked again, edited, branched, many of them."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape

import pytest

from agentcell.history.panel_cells import is_panel_cell
from agentcell.testing import Reply
from agentcell_widgets.chat.shown import AT_ONCE
from chat_kit import Chats, opened_chats, picture


@pytest.fixture
def chats() -> Iterator[Chats]:
    with opened_chats() as make:
        yield make


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
