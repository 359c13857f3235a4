"""A notebook's turns: taken back, brought back, forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentcell.errors import BadRequest, HistoryError
from notebook_history_kit import FILE, Opened, asked, lives, marks, media, photo
from scripted import ScriptedModel


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return lives(tmp_path)


def test_undo_takes_back_one_change_after_the_other(opened: Opened) -> None:
    session = opened()
    for text, cell in [("a", "a"), ("b", "b"), ("a2", "a"), ("c", "c")]:
        session.ask(text, cell_id=cell)
    seen = [marks(session)]
    for _ in range(4):
        session = opened()  # also those of a former life
        session.undo()
        seen.append(marks(session))

    assert seen == ["a2 b* c", "a2 b*", "a b", "a", ""]


def test_undo_means_the_conversation_that_changed_last_or_the_one_that_is_named(
    opened: Opened,
) -> None:
    session = opened()
    for text, name in [("a", "main"), ("b", "side"), ("c", "main")]:
        session.ask(text, cell_id=text, conversation=name)

    assert session.undo("side").question == "b"
    assert session.undo().question == "c"
    assert session.history.undo().conversation == "main"
    with pytest.raises(HistoryError, match="This notebook has no turn"):
        session.undo()


def test_undo_of_a_cell_that_moved_brings_it_back_where_it_was(opened: Opened) -> None:
    session = opened()
    session.ask("a", cell_id="a")
    session.ask("a moved", cell_id="a", conversation="side")
    session.undo()

    assert session.conversations == ("main",)
    assert marks(session) == "a"


def test_undo_of_a_loop_s_first_question_brings_all_of_it_back(opened: Opened) -> None:
    session = opened()
    for part in (1, 2, 3):
        session.ask(f"l{part}", cell_id="l", part=part)
    session.ask("m1", cell_id="l")
    session.undo()

    assert marks(session) == "l1 l2 l3"


def test_undo_of_a_fresh_start_brings_the_old_branch_back(opened: Opened) -> None:
    session = opened()
    session.ask("one", cell_id="a")
    session.ask("two", cell_id="b")
    session.ask("two", cell_id="b", fresh=True)

    assert asked(session, "three", cell_id="c") == ["two", "Hello", "three"]
    session.undo()
    session.undo()
    assert asked(session, "three", cell_id="c")[::2] == ["one", "two", "three"]


def test_a_former_version_can_be_found_and_restored(opened: Opened) -> None:
    session = opened()
    for text, cell in [("v1", "a"), ("v2", "a"), ("b", "b"), ("v3", "a")]:
        session.ask(text, cell_id=cell)
    current = session.turns[0]
    former = session.history.versions(current.id)
    session.restore(former[0].id)

    assert [turn.question for turn in former] == ["v1", "v2"]
    assert marks(session) == "v1 b*"
    assert [turn.question for turn in session.history.versions(former[0].id)] == ["v2", "v3"]
    session.undo()
    assert marks(session) == "v3 b*"
    session.restore(session.turns[0].id)  # nothing to do
    assert marks(session) == "v3 b*"


def test_a_forgotten_turn_is_gone_from_the_files_with_its_picture(
    opened: Opened, tmp_path: Path
) -> None:
    session = opened()
    session.ask("keep {x}", values={"x": photo(1, 500)}, cell_id="a")
    session.ask("SECRET-ONE {y}" + "SECRET " * 5_000, values={"y": photo(2, 500)}, cell_id="b")
    session.ask("SECRET-TWO {y}", values={"y": photo(2, 500)}, cell_id="b")
    turn = session.turns[1]
    session.forget_turn(turn.id)
    session.history.close()

    assert [turn.question for turn in session.turns] == ["keep [x_1 x]"]
    assert b"SECRET" not in (tmp_path / FILE).read_bytes()
    names = [path.name for path in (tmp_path / ".agentcell/assets").rglob("*") if path.is_file()]
    assert [f"sha256:{name}" for name in names] == [photo(1, 500).fingerprint()]
    with pytest.raises(HistoryError, match="There is no turn"):
        session.forget_turn(turn.id)


def test_a_forgotten_attachment_stays_forgotten_after_a_restart(opened: Opened) -> None:
    first = opened()
    first.ask("see {x}", values={"x": photo()}, cell_id="a")
    first.forget("x_1")
    second = opened()

    assert media(second.prepare("two").messages) == []
    assert second.attachments == ()
    second.ask("again {x}", values={"x": photo()}, cell_id="b")
    assert len(media(opened().prepare("three").messages)) == 1


def test_a_reset_is_a_reset_after_a_restart_too(opened: Opened) -> None:
    first = opened()
    first.ask("see {x}", values={"x": photo()}, cell_id="a")
    first.ask("two")
    first.reset()
    second = opened()

    assert (second.turns, second.attachments, second.history.former_runs) == ((), (), [])
    assert asked(second, "see {x}", values={"x": photo()}, cell_id="a")[-1].endswith("[x_1 x]")


def test_a_failed_turn_is_kept_and_not_sent_after_a_restart(opened: Opened) -> None:
    first = opened()
    model = first.model
    assert isinstance(model, ScriptedModel)
    model.error = BadRequest("no", fix="yes")
    with pytest.raises(BadRequest):
        first.ask("one {x}", values={"x": photo()}, cell_id="a")
    second = opened()

    assert asked(second, "two", cell_id="b") == ["two"]
    assert [(turn.status, turn.error) for turn in second.turns] == [
        ("failed", "no"),
        ("complete", ""),
    ]


def test_a_stopped_answer_is_kept_and_marked_after_a_restart(opened: Opened) -> None:
    first = opened()
    events: Any = first.stream(first.prepare("one", cell_id="a"))
    next(events)
    events.close()

    assert asked(opened(), "two") == ["one", "Hel\n\n[The answer was stopped here.]", "two"]


def test_how_an_attachment_went_out_holds_after_a_restart(opened: Opened) -> None:
    first = opened()
    first.ask("{x}", values={"x": photo()}, detail="auto", cell_id="a")
    request = opened().prepare("{x}", values={"x": photo()}, cell_id="b")

    assert next(iter(request.turn.forms.values())).detail == "auto"
