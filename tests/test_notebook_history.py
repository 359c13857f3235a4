from __future__ import annotations

import json
import os
import sqlite3
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import agent_kit
import kernels
from agentcell import Agent
from agentcell.assets.asset import ImageAsset
from agentcell.errors import BadRequest, HistoryError
from agentcell.history.branches import FormerRun
from agentcell.history.memory import HistoryMemory
from agentcell.history.notebook import NotebookHistory
from agentcell.messages import MediaMessageBlock, Message, content_text
from agentcell.session import Session
from agentcell_magics.cells import notebook_place
from scripted import ScriptedModel

FILE = ".agentcell/session.sqlite"

Opened = Callable[..., Session]


def photo(number: int = 0, size: int = 0) -> ImageAsset:
    return ImageAsset.from_bytes(
        agent_kit.png(1, 2, number % 250, noise=bytes([1 + number % 250]) * size), filename="p.png"
    )


def texts(messages: list[Message]) -> list[str]:
    return [content_text(message["content"]) for message in messages]


def media(messages: list[Message]) -> list[MediaMessageBlock]:
    return [
        block
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if isinstance(block, MediaMessageBlock)
    ]


def asked(session: Session, text: str, **options: Any) -> list[str]:
    """Ask, and return what went out."""
    model = session.model
    assert isinstance(model, ScriptedModel)
    session.ask(text, **options)
    return texts(model.requests[-1])


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A new life of the kernel each time it is called."""

    def make(notebook: str = "a.ipynb", **options: Any) -> Session:
        history = NotebookHistory(tmp_path, notebook=notebook, **options)
        return Session(ScriptedModel(), history=history)

    return make


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


# -- stale turns ---------------------------------------------------------------------------------


def marks(session: Session) -> str:
    return " ".join(turn.question + "*" * turn.stale for turn in session.turns)


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


# -- taken back, brought back, forgotten ---------------------------------------------------------


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


# -- renamed and copied notebooks ----------------------------------------------------------------


def write_notebook(file: Path, *cells: str, later: float = 60) -> None:
    """Save a notebook, some seconds from now."""
    file.write_text(json.dumps({"cells": [{"id": cell} for cell in cells]}), encoding="utf-8")
    os.utime(file, (time.time() + later,) * 2)


def test_a_renamed_notebook_keeps_its_history(opened: Opened, tmp_path: Path) -> None:
    first = opened("a.ipynb")
    first.ask("one", cell_id="1")
    first.ask("old", cell_id="1")
    write_notebook(tmp_path / "b.ipynb", "1", "2")
    second = opened("b.ipynb")

    assert asked(second, "two", cell_id="2") == ["old", "Hello", "two"]
    assert opened("a.ipynb").turns == ()
    assert [turn.question for turn in second.history.versions(second.turns[0].id)] == ["one"]


def test_a_copied_notebook_begins_with_a_copy_and_goes_its_own_way(
    opened: Opened, tmp_path: Path
) -> None:
    first = opened("a.ipynb")
    first.ask("one {x}", values={"x": photo()}, cell_id="1")
    first.ask("gone", cell_id="deleted")
    write_notebook(tmp_path / "a.ipynb", "1", "deleted")
    write_notebook(tmp_path / "b.ipynb", "1", "2")
    second = opened("b.ipynb")
    sent = asked(second, "two", cell_id="2")
    second.ask("one of b", cell_id="1")

    assert sent[1:] == ["Hello", "two"]
    assert [turn.question for turn in second.turns] == ["one of b", "two"]
    assert [turn.question for turn in opened("a.ipynb").turns] == ["one [x_1 x]", "gone"]
    second.reset()
    assert len(media(opened("a.ipynb").prepare("x").messages)) == 1


def test_another_notebook_begins_empty_whatever_its_file_holds(
    opened: Opened, tmp_path: Path
) -> None:
    opened("a.ipynb").ask("one", cell_id="1")
    for number, content in enumerate(["{", "[]", '{"cells": [1]}', '{"cells": [{"id": "9"}]}']):
        (tmp_path / f"{number}.ipynb").write_text(content, encoding="utf-8")
        assert opened(f"{number}.ipynb").turns == ()


def test_a_new_notebook_under_a_deleted_one_s_name_begins_empty(
    opened: Opened, tmp_path: Path
) -> None:
    write_notebook(tmp_path / "a.ipynb", "cell-one", "cell-two")
    first = opened()
    first.ask("old {x}", values={"x": photo()}, cell_id="cell-one")
    assert len(opened().turns) == 1
    write_notebook(tmp_path / "a.ipynb", "cell-new")
    second = opened()

    assert asked(second, "new", cell_id="cell-new") == ["new"]
    assert second.attachments == ()
    second.restore("last")
    assert marks(second) == "old [x_1 x] new"
    second.ask("old again", cell_id="cell-one")
    assert [turn.question for turn in second.turns if "old" in turn.question] == ["old again"]


def test_a_notebook_that_was_not_saved_yet_is_no_other_one(opened: Opened, tmp_path: Path) -> None:
    write_notebook(tmp_path / "a.ipynb", later=0)  # JupyterLab makes it without cells
    opened().ask("one", cell_id="cell-one")

    assert [turn.question for turn in opened().turns] == ["one"]


def test_a_notebook_whose_file_names_no_cells_begins_anew_each_time(
    opened: Opened, tmp_path: Path
) -> None:
    opened().ask("one", cell_id="random-id-1")
    (tmp_path / "a.ipynb").write_text('{"cells": [{"source": "x"}]}', encoding="utf-8")
    os.utime(tmp_path / "a.ipynb", (time.time() + 60,) * 2)
    second = opened()
    second.ask("two", cell_id="random-id-2")

    assert marks(second) == "two"
    assert [run.question for run in second.history.former_runs] == ["one"]


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


# -- in a kernel ---------------------------------------------------------------------------------

SETUP = """
%load_ext agentcell
from agentcell import Model, ModelResponseType
from agentcell.magics import current_session
class Echo(Model):
    def invoke(self, messages, tools=None, settings=None, **options):
        asked = [m["content"] for m in messages if m["role"] == "user"]
        return {"type": ModelResponseType.CONTENT, "content": " < ".join(asked[::-1])}
session = current_session()
session.model = Echo("echo")
"""


def test_a_notebook_goes_on_after_its_kernel_was_started_again(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    named = {"JPY_SESSION_NAME": str(tmp_path / "deep" / "a.ipynb")}
    with kernels.running(tmp_path, named) as kernel:
        kernel.run(SETUP)
        assert list(tmp_path.rglob(".agentcell")) == []
        kernel.run("%cd /")
        kernel.run("%%agent\none", cell_id="1")
        kernel.run("%%agent\ntwo", cell_id="2")
    with kernels.running(tmp_path / "deep", named) as kernel:
        kernel.run(SETUP)
        third = kernel.run("%%agent -q\nthree", cell_id="3")
        again = kernel.run("%%agent -q\ntwo again", cell_id="2")
        stale = kernel.run("print([turn.stale for turn in session.turns])")

    assert third.text.strip() == "three < two < one"
    assert again.text.strip() == "two again < one"
    assert stale.text.strip() == "[False, False, True]"
    assert list(tmp_path.rglob(".agentcell")) == [tmp_path / "deep" / ".agentcell"]


def test_a_console_begins_anew_and_can_go_on_with_what_was_before(tmp_path: Path) -> None:
    with kernels.running(tmp_path) as kernel:
        kernel.run(SETUP)
        kernel.run("%%agent\none")
    with kernels.running(tmp_path) as kernel:
        kernel.run(SETUP)
        second = kernel.run("%%agent -q\ntwo")
        kernel.run("session.restore('last')")
        third = kernel.run("%%agent -q\nthree")

    assert second.text.strip() == "two"
    assert third.text.strip() == "three < two < one"


def test_prompts_of_a_console_in_jupyterlab_belong_to_one_life(tmp_path: Path) -> None:
    named = {"JPY_SESSION_NAME": str(tmp_path / "console-1-3f0a")}
    with kernels.running(tmp_path, named) as kernel:
        kernel.run(SETUP)
        kernel.run("%%agent\none", cell_id="prompt-1")
        again = kernel.run("%%agent -q\none again", cell_id="prompt-1")
    with kernels.running(tmp_path, named) as kernel:
        kernel.run(SETUP)
        other = kernel.run("%%agent -q\ntwo", cell_id="prompt-2")

    assert again.text.strip() == "one again"
    assert other.text.strip() == "two"


def test_the_magics_can_keep_all_in_memory(tmp_path: Path) -> None:
    with kernels.running(tmp_path, {"AGENTCELL_HISTORY": "memory"}) as kernel:
        kernel.run(SETUP)
        kernel.run("%%agent\none", cell_id="1")
        second = kernel.run("%%agent -q\ntwo", cell_id="2")

    assert second.text.strip() == "two < one"
    assert list(tmp_path.iterdir()) == []


def test_in_a_cell_trouble_is_one_line_above_the_answer(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").touch()
    with kernels.running(tmp_path) as kernel:
        kernel.run(SETUP)
        first = kernel.run("%%agent\none", cell_id="1")
        second = kernel.run("%%agent\ntwo", cell_id="2")

    assert first.status == "ok"
    assert first.text.count("kept in memory only") == 1
    assert "two < one" in second.text
    assert "memory" not in second.text


@pytest.mark.parametrize(
    ("variables", "name", "expected"),
    [
        ({}, "", (".", "console")),
        ({}, "{here}/n.ipynb", (".", "n.ipynb")),
        ({}, "sub/n.ipynb", (".", "n.ipynb")),
        ({}, "/no such folder/n.ipynb", (".", "n.ipynb")),
        ({}, "{here}/console-1-abc", (".", "console")),
        ({"__vsc_ipynb_file__": "{here}/v.ipynb"}, "{here}/n.ipynb", (".", "v.ipynb")),
        ({"__vsc_ipynb_file__": 3}, "", (".", "console")),
    ],
)
def test_the_notebook_is_known_by_what_its_host_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, Any],
    name: str,
    expected: tuple[str, str],
) -> None:
    here = str(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", name.format(here=here))
    shell = HostShell(
        {
            key: value.format(here=here) if isinstance(value, str) else value
            for key, value in variables.items()
        }
    )

    assert notebook_place(shell, tmp_path) == (tmp_path / expected[0], expected[1])


class HostShell(InteractiveShell):
    """As far as the place of its notebook is concerned."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.kernel, self.user_ns = object(), variables


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
