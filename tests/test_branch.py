"""A conversation's turns, copied into a new one; and attachments that wait, taken back."""

from __future__ import annotations

import io
import os
import time
from decimal import Decimal
from pathlib import Path

import pytest
from PIL import Image

from agentcell.assets.asset import ImageAsset
from agentcell.errors import AttachmentError, HistoryError
from agentcell.history.forked import next_name
from agentcell.history.notebook import NotebookHistory
from agentcell.history.panel_cells import is_panel_cell, new_panel_cell
from agentcell.session import Session
from agentcell.testing import FakeModel


def picture(color: str = "red") -> ImageAsset:
    file = io.BytesIO()
    Image.new("RGB", (4, 3), color).save(file, "PNG")
    return ImageAsset.from_bytes(file.getvalue(), filename=f"{color}.png")


@pytest.fixture
def session() -> Session:
    session = Session(FakeModel("One.", "Two.", "Three."))
    for number in (1, 2, 3):
        session.ask(f"Question {number}", cell_id=f"cell-{number}")
    return session


def asked(session: Session, name: str) -> list[str]:
    return [turn.question for turn in session.conversation(name).turns]


def test_a_branch_holds_the_turns_up_to_one_and_the_former_stays(session: Session) -> None:
    second = session.conversation().turns[1]

    name = session.branch(second.id)

    assert name == "main-2"
    assert asked(session, name) == ["Question 1", "Question 2"]
    assert asked(session, "main") == ["Question 1", "Question 2", "Question 3"]


def test_a_branch_before_a_turn_leaves_it_out(session: Session) -> None:
    turns = session.conversation().turns

    assert asked(session, session.branch(turns[2].id, before=True)) == ["Question 1", "Question 2"]
    assert asked(session, session.branch(turns[0].id, before=True)) == []


def test_a_question_in_a_branch_sees_its_turns_alone(session: Session) -> None:
    name = session.branch(session.conversation().turns[0].id)
    session.ask("And now?", conversation=name)

    model = session.model
    assert isinstance(model, FakeModel)
    texts = [message["content"] for message in model.requests[-1].messages]
    assert texts == ["Question 1", "One.", "And now?"]


def test_running_a_copied_cell_again_leaves_the_copy(session: Session) -> None:
    name = session.branch(session.conversation().turns[1].id)
    session.ask("Question 1, better", cell_id="cell-1")

    assert asked(session, name) == ["Question 1", "Question 2"]
    assert asked(session, "main")[0] == "Question 1, better"
    assert not any(turn.stale for turn in session.conversation(name).turns)


def test_copies_cost_nothing_and_count_no_tokens(session: Session) -> None:
    before = session.usage, session.cost
    name = session.branch(session.conversation().turns[2].id)

    assert (session.usage, session.cost) == before
    assert {turn.cost for turn in session.conversation(name).turns} == {Decimal(0)}


@pytest.mark.parametrize(
    ("name", "taken", "next_one"),
    [
        ("main", set(), "main-2"),
        ("main", {"main-2", "main-3"}, "main-4"),
        ("main-2", {"main-2"}, "main-3"),
        ("a-b", set(), "a-b-2"),
        ("旅行", {"旅行-2"}, "旅行-3"),
    ],
)
def test_a_branch_is_named_with_the_next_free_number(
    name: str, taken: set[str], next_one: str
) -> None:
    assert next_name(name, taken) == next_one


def test_an_unknown_turn_or_a_taken_name_is_an_error(session: Session) -> None:
    with pytest.raises(HistoryError, match="There is no turn 'nothing'"):
        session.branch("nothing")
    with pytest.raises(HistoryError, match="There is a conversation 'main' already"):
        session.branch(session.conversation().turns[0].id, name="main")


def test_a_panel_s_turns_outlive_the_kernel_also_where_no_cell_asked(tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text('{"cells": []}', encoding="utf-8")
    first = Session(FakeModel("Yes."), history=NotebookHistory(tmp_path, notebook="n.ipynb"))
    cell = new_panel_cell()
    first.ask("Is it kept?", cell_id=cell)
    first.history.close()
    later = time.time() + 3_600
    os.utime(tmp_path / "n.ipynb", (later, later))

    again = Session(FakeModel("Yes."), history=NotebookHistory(tmp_path, notebook="n.ipynb"))

    assert [turn.cell_id for turn in again.conversation().turns] == [cell]
    assert is_panel_cell(cell)
    assert not is_panel_cell("6f1c0c2e")
    again.history.close()


def test_what_waits_goes_with_the_next_question_unless_it_is_withdrawn() -> None:
    session = Session(FakeModel("Seen."))
    red, blue = (session.attach(picture(color), name=color) for color in ("red", "blue"))
    told: list[int] = []
    session.on_change(lambda: told.append(1))

    assert [block.tag for block in session.waiting] == [red, blue]
    session.withdraw(red)
    assert [block.tag for block in session.waiting] == [blue]
    assert red in session.tags
    assert told

    session.ask("What is it?")
    assert session.waiting == ()
    assert [block.tag for block in session.conversation().turns[0].attachments] == [blue]


def test_withdrawing_what_does_not_wait_is_an_error() -> None:
    with pytest.raises(AttachmentError, match=r"No attachment '.x_1 X.' waits"):
        Session(FakeModel()).withdraw("[x_1 X]")
