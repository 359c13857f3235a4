"""A notebook's history after a restart, what of it goes out, and what is in its files."""

from __future__ import annotations

import sqlite3
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentcell import Agent
from agentcell.errors import HistoryError
from agentcell.history.branches import FormerRun
from agentcell.history.memory import HistoryMemory
from agentcell.history.notebook import NotebookHistory
from agentcell.session import Session
from notebook_history_kit import FILE, Opened, asked, lives, media, photo, texts
from scripted import ScriptedModel


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return lives(tmp_path)


def test_nothing_is_written_before_the_first_turn(opened: Opened, tmp_path: Path) -> None:
    session = opened()
    session.prepare("one {x}", values={"x": photo()})
    session.attach(photo())
    facts = (session.turns, session.conversations, session.usage.output_tokens, repr(session))

    assert list(tmp_path.iterdir()) == []
    assert facts[:3] == ((), (), None)
    with pytest.raises(HistoryError, match="no turn to take back"):
        session.undo("main")
    assert list(tmp_path.iterdir()) == []

    session.ask("one")
    assert (tmp_path / FILE).exists()
    assert (tmp_path / ".agentcell/.gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_session_alone_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Session(ScriptedModel()).ask("one {x}", values={"x": photo()}, cell_id="a")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_enough_to_keep_a_session(tmp_path: Path) -> None:
    Session(ScriptedModel(), history=tmp_path).ask("one", cell_id="a")
    again = Session(ScriptedModel(), history=str(tmp_path))

    assert asked(again, "two") == ["one", "Hello", "two"]


def test_after_a_restart_a_cell_at_the_end_sees_all_cells_before_it(opened: Opened) -> None:
    first = opened()
    first.ask("see {x}", values={"x": photo()}, cell_id="a", system="Be brief.")
    first.ask("two", cell_id="b")
    second = opened()

    request = second.prepare("three", cell_id="c")

    assert texts(request.messages) == [
        "Be brief.",
        "Attached image [x_1 x]:\n[x_1 x]\nsee [x_1 x]",
        "Hello",
        "two",
        "Hello",
        "three",
    ]
    assert media(request.messages)[0].asset.load_bytes() == photo().load_bytes()
    assert [turn.question for turn in second.turns] == ["see [x_1 x]", "two"]
    assert second.usage == first.usage


def test_after_a_restart_a_cell_that_runs_again_is_replaced_where_it_stands(opened: Opened) -> None:
    first = opened()
    for cell in "abc":
        first.ask(cell, cell_id=cell)
    second = opened()

    assert asked(second, "b again", cell_id="b") == ["a", "Hello", "b again"]
    assert [turn.question for turn in second.turns] == ["a", "b again", "c"]


def test_after_a_restart_tags_go_on_where_they_were(opened: Opened) -> None:
    first = opened()
    first.ask("{x}", values={"x": photo(1)}, cell_id="a")
    first.ask("{x}", values={"x": photo(2)}, cell_id="b", fresh=True)
    second = opened()
    second.ask("{x} {y}", values={"x": photo(1), "y": photo(3)}, cell_id="c", fresh=True)
    second.ask("{x}", values={"x": photo(4)}, cell_id="d")

    assert [turn.question for turn in second.turns] == [
        "[x_1 x]",
        "[x_2 x]",
        "[x_1 x] [y_1 y]",
        "[x_3 x]",
    ]
    assert [block.tag for block in second.attachments] == [
        "[x_1 x]",
        "[x_2 x]",
        "[y_1 y]",
        "[x_3 x]",
    ]


def test_turns_without_a_cell_belong_to_one_life_of_the_kernel(opened: Opened) -> None:
    opened().ask("old one {x}", values={"x": photo(1)})
    second = opened()

    assert asked(second, "{x}", values={"x": photo(2)})[-1].endswith("[x_1 x]")
    assert len(second.turns) == 1
    assert [block.asset for block in second.attachments] == [photo(2)]


def test_a_former_life_can_be_restored_by_name_or_as_the_last(opened: Opened) -> None:
    opened().ask("first life")
    second = opened()
    second.ask("second life")
    third = opened()
    third.ask("third life")
    runs = third.history.former_runs

    assert [(run.question, run.turns) for run in runs] == [("first life", 1), ("second life", 1)]
    restored = third.restore("last")
    assert isinstance(restored, FormerRun)
    assert restored.question == "second life"
    assert asked(third, "more")[::2] == ["second life", "third life", "more"]
    third.restore(runs[0].name)
    assert asked(third, "more")[::2][:3] == ["first life", "second life", "third life"]
    assert third.history.former_runs == []
    with pytest.raises(HistoryError, match="No former conversation"):
        third.restore("last")


def test_a_life_that_goes_on_elsewhere_keeps_what_another_one_restored(opened: Opened) -> None:
    running = opened()
    running.ask("one {x}", values={"x": photo()})
    other = opened()
    other.restore("last")
    running.ask("two")

    assert [turn.question for turn in running.turns] == ["one [x_1 x]", "two"]
    assert [turn.question for turn in other.turns] == ["one [x_1 x]"]
    assert [run.question for run in other.history.former_runs] == ["two"]
    other.restore("last")
    assert [turn.question for turn in other.turns] == ["one [x_1 x]", "two"]
    assert len(media(other.prepare("three").messages)) == 1
    other.forget_turn(running.turns[0].id)
    assert [turn.question for turn in running.turns] == ["two"]


def test_what_is_put_here_may_stand_in_a_former_life(opened: Opened) -> None:
    first = opened()
    first.ask("one")
    second = opened()
    second.history.put("main", first.turns[0])

    assert second.turns[0].id == first.turns[0].id


def test_a_restored_life_brings_its_attachments(opened: Opened) -> None:
    opened().ask("{x}", values={"x": photo(1)})
    second = opened()
    second.restore()
    request = second.prepare("{x}", values={"x": photo(2)})

    assert [block.tag for block in media(request.messages)] == ["[x_1 x]", "[x_2 x]"]


def test_cells_that_vs_code_counts_anew_belong_to_one_life(opened: Opened) -> None:
    cell = "vscode-notebook-cell:/home/ada/a.ipynb#W0sZmlsZQ%3D%3D"
    first = opened()
    first.ask("one", cell_id=cell)
    first.ask("one again", cell_id=cell)

    assert [turn.question for turn in first.turns] == ["one again"]
    assert opened().turns == ()


def test_notebooks_of_one_folder_do_not_mix(opened: Opened, tmp_path: Path) -> None:
    opened("a.ipynb").ask("of a", cell_id="1")
    other = opened("b.ipynb")
    other.ask("of b", cell_id="1")
    other.ask("of b too", cell_id="2")

    assert [turn.question for turn in opened("a.ipynb").turns] == ["of a"]
    assert [turn.question for turn in opened("b.ipynb").turns] == ["of b", "of b too"]
    assert len(list(tmp_path.glob(".agentcell/*.sqlite"))) == 1


# -- how much goes out ---------------------------------------------------------------------------


def test_only_the_last_turns_go_out_and_the_person_is_told(opened: Opened) -> None:
    session = opened(max_turns=3)
    for number in range(5):
        notes = session.prepare(str(number)).notes
        assert bool(notes) is (number > 3)
        sent = asked(session, str(number), cell_id=str(number))

    assert sent[::2] == ["1", "2", "3", "4"]
    assert notes == ("Only the last 3 turns go out with this question; older ones stay away.",)
    assert asked(opened(max_turns=0), "all")[::2] == ["0", "1", "2", "3", "4", "all"]


def test_the_first_turn_that_goes_out_moves_in_steps(opened: Opened) -> None:
    session = opened()
    firsts, most = [], 0
    for number in range(160):
        sent = asked(session, str(number), cell_id=str(number))
        firsts.append(sent[0])
        most = max(most, len(sent) // 2)

    assert most == 50
    assert len(set(firsts)) < 8


def test_a_picture_comes_along_while_turns_that_go_out_name_it(opened: Opened) -> None:
    session = opened(max_turns=2)
    session.ask("{x}", values={"x": photo()}, cell_id="0", detail="auto")
    session.ask("{x} again", values={"x": photo()}, cell_id="1")
    for number in range(2, 5):
        request = session.prepare(str(number), cell_id=str(number))
        list(session.stream(request))
        last = [block.tag for block in media(request.messages)]
        assert last == (["[x_1 x]"] if number < 4 else [])


def test_a_picture_that_is_attached_at_each_of_300_turns_is_there_once(
    opened: Opened, tmp_path: Path
) -> None:
    session = opened()
    same = photo(7, 1_000_000)
    for number in range(300):
        request = session.prepare("{x}?", values={"x": same}, cell_id=str(number))
        list(session.stream(request))
        assert len(media(request.messages)) == 1

    assets = [path for path in (tmp_path / ".agentcell/assets").rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in assets] == [same.load_bytes()]
    assert (tmp_path / FILE).stat().st_size < 1_000_000


def test_instructions_hold_also_where_their_turn_does_not_go_out(opened: Opened) -> None:
    session = opened(max_turns=1)
    session.ask("0", system="Be brief.", cell_id="0")
    for number in range(1, 4):
        sent = asked(session, str(number), cell_id=str(number))

    assert sent[0] == "Be brief."


# -- several at once -----------------------------------------------------------------------------


def test_two_kernels_on_one_notebook_lose_nothing(opened: Opened) -> None:
    sessions = [opened(), opened()]

    def work(number: int) -> None:
        for step in range(15):
            text = f"{number}-{step} {{x}}"
            sessions[number % 2].ask(text, values={"x": photo(step)}, cell_id=f"{number}-{step}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))

    for session in (*sessions, opened()):
        assert len(session.turns) == len({turn.id for turn in session.turns}) == 60
    tags = [block.tag for block in media(opened(max_turns=0).prepare("x").messages)]
    assert len(tags) == 15


def test_another_kernel_s_turns_and_tags_are_seen_at_once(opened: Opened) -> None:
    one, other = opened(), opened()
    one.ask("{x}", values={"x": photo(1)}, cell_id="a")
    request = other.prepare("{x}", values={"x": photo(2)}, cell_id="b")

    assert [block.tag for block in media(request.messages)] == ["[x_1 x]", "[x_2 x]"]


# -- as an agent's history -----------------------------------------------------------------------


def test_an_agent_goes_on_with_it_after_a_restart(tmp_path: Path) -> None:
    for number in range(2):
        history = NotebookHistory(tmp_path)
        if number:
            history.restore()
        model = ScriptedModel()
        agent = Agent("a", "Answer.", model=model, prompt_template="{q}", memories=[history])
        agent.step({"q": f"question {number}"})

    asked_last = texts(model.requests[-1])
    assert "question 0" in " ".join(asked_last)
    assert "question 1" in asked_last[-1]


def test_messages_that_are_inserted_become_turns() -> None:
    history = NotebookHistory()
    history.insert("user", "one")
    waiting = history.get_messages()
    history.insert("assistant", "two")
    history.extend([{"role": "user", "content": n} for n in "ab"])
    history.insert("assistant", "c")

    assert waiting == [{"role": "user", "content": "one"}]
    assert [turn.status for turn in history.turns()] == ["complete", "interrupted", "complete"]
    assert texts(history.get_messages()) == ["one", "two", "b", "c"]
    assert texts(history.get_messages(top_k=1)) == ["c"]
    assert history.get_messages(top_k=-2) == []
    history.reset()
    assert history.get_messages() == []


@pytest.mark.parametrize("wrong", [-1, True, "5", None, 2.0])
def test_a_wrong_number_of_turns_is_told(wrong: Any) -> None:
    with pytest.raises(HistoryError, match="max_turns is"):
        NotebookHistory(max_turns=wrong)


def test_half_a_character_in_a_name_loses_nothing(opened: Opened) -> None:
    session = opened()
    session.ask("one", conversation="a\ud800", cell_id="\udfff")
    session.ask("one again", conversation="a\ud800", cell_id="\udfff")

    assert [turn.question for turn in session.conversation("a\ud800").turns] == ["one again"]
    assert session.conversations == ("a\ufffd",)


@pytest.mark.parametrize("wrong", [3, b"folder", HistoryMemory(), ["a"]])
def test_what_is_no_folder_is_told(wrong: Any) -> None:
    with pytest.raises(HistoryError, match="a path was expected"):
        Session(ScriptedModel(), history=wrong)


# -- what is in the files ------------------------------------------------------------------------


class Keyed(ScriptedModel):
    """Holds what must never be written."""

    def __init__(self) -> None:
        super().__init__()
        self.api_key = "sk-SECRETKEY123456"
        self.headers = {"Authorization": self.api_key}


def test_no_key_and_no_header_is_written(tmp_path: Path) -> None:
    session = Session(Keyed(), history=tmp_path)
    session.ask("one {x}", values={"x": photo()}, settings={"temperature": 0.5})
    session.history.close()

    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert b"SECRETKEY" not in file.read_bytes()


def test_a_turn_that_cannot_be_read_says_so_and_is_not_sent(opened: Opened, tmp_path: Path) -> None:
    session = opened()
    session.ask("one", cell_id="a")
    session.ask("two", cell_id="b")
    session.history.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("UPDATE body SET json = '{\"id\": 1}' WHERE turn = 1")
    database.close()
    second = opened()

    assert asked(second, "three") == ["two", "Hello", "three"]
    assert "cannot be read" in second.turns[0].error


def test_an_attachment_whose_content_is_gone_is_told_once(opened: Opened, tmp_path: Path) -> None:
    opened().ask("see {x}", values={"x": photo()}, cell_id="a")
    for file in (tmp_path / ".agentcell/assets").rglob("*"):
        if file.is_file():
            file.write_bytes(b"other")
    told: list[str] = []
    second = opened(tell=told.append)
    sent = asked(second, "two")
    asked(second, "three")

    assert "(The attachment [x_1 x] is no longer here.)" in sent[0]
    assert told == ["The content of [x_1 x] is gone; it is not sent again."]
    assert second.attachments == ()
    assert asked(second, "{x}", values={"x": photo()}, fresh=True)[-1].endswith("[x_1 x]")
    second.ask("{x}", values={"x": photo()}, cell_id="b")
    assert len(media(opened().prepare("four", cell_id="new").messages)) == 1


def test_no_warning_is_given_where_all_is_well(opened: Opened) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened().ask("one {x}", values={"x": photo()}, cell_id="a")
        opened().ask("two", cell_id="b")
