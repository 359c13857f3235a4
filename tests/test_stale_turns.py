"""Turns that are stale, because what stood before them was asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from notebook_history_kit import Opened, lives, marks


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return lives(tmp_path)


def test_what_stands_below_a_cell_that_runs_again_is_stale_until_it_runs_again(
    opened: Opened,
) -> None:
    session = opened()
    for cell in "abcd":
        session.ask(cell, cell_id=cell)
    seen = []
    for cell in "bcbd":
        session.ask(cell, cell_id=cell)
        seen.append(marks(session))

    assert seen == ["a b c* d*", "a b c d*", "a b c* d*", "a b c* d"]
    assert session.stale == {turn.id for turn in session.turns if turn.stale}
    assert marks(opened()) == "a b c* d"


def test_listeners_are_told_which_turns_are_stale_now(opened: Opened) -> None:
    session = opened()
    for cell in "abc":
        session.ask(cell, cell_id=cell)
    _, b, c = session.turns
    told: list[dict[str, bool]] = []
    leave = session.on_stale(lambda stale: told.append(dict(stale)))
    session.ask("a2", cell_id="a")
    session.ask("d", cell_id="d")
    session.undo()
    session.undo()
    leave()
    session.ask("a3", cell_id="a")

    assert told == [{b.id: True, c.id: True}, {b.id: False, c.id: False}]


def test_what_begins_anew_is_not_stale(opened: Opened) -> None:
    session = opened()
    session.ask("a", cell_id="a")
    session.ask("b", cell_id="b", fresh=True)
    session.ask("c", cell_id="c")
    session.ask("a", cell_id="a")

    assert marks(session) == "a b c"


def test_an_answer_that_began_before_an_earlier_cell_ran_again_is_stale(opened: Opened) -> None:
    session = opened()
    session.ask("a", cell_id="a")
    slow = session.prepare("b", cell_id="b")
    session.ask("a2", cell_id="a")
    list(session.stream(slow))

    assert marks(session) == "a2 b*"


def test_questions_asked_at_the_same_time_are_not_stale(opened: Opened) -> None:
    session = opened()
    requests = [session.prepare(cell, cell_id=cell) for cell in "abc"]
    for request in reversed(requests):
        list(session.stream(request))

    assert marks(session) == "c b a"
