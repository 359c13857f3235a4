from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import kernels
from agent_kit import Replies, blue, red
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.errors import AttachmentError, BadRequest, CellError, HistoryError
from agentcell.history.notebook import NotebookHistory
from agentcell.history.turns import Turn
from agentcell.messages import Message
from agentcell.session import Session
from agentcell_magics import current_session
from agentcell_magics.stale_marks import MOST_MARKED, SAID, StaleMarks, stale_marks
from agentcell_magics.status import run_command
from kernels import Kernel
from promptly import cpu_seconds

SEES = ModelCapabilities(image_input=True, pdf_input=True)


@pytest.fixture
def session() -> Session:
    """`main` with three cells, `taxes` with one; the second cell of `main` ran twice."""
    session = Session(Replies("ok", capabilities=SEES))
    slip = {"fields": {"receipt": "IMAGE:Till slip"}, "values": {"receipt": red()}}
    session.ask("What is on {receipt}?", cell_id="c1", **slip)
    session.ask("former second", cell_id="c2")
    session.ask("third", cell_id="c3")
    session.ask("about taxes", conversation="taxes", cell_id="c4", fresh=True)
    session.ask("second\nin two lines " + "and long " * 30, cell_id="c2")
    return session


@pytest.fixture(autouse=True)
def _shell(shell: InteractiveShell) -> None:
    assert shell


def said(session: Session, line: str) -> str:
    with capture_output() as captured:
        run_command(session, line)
    (output,) = captured.outputs
    assert set(output.data) == {"text/html", "text/markdown", "text/plain"}
    return str(output.data["text/plain"])


# -- history -----------------------------------------------------------------------------------


def test_history_tells_number_question_model_marks_and_attachments(session: Session) -> None:
    lines = said(session, "history").splitlines()

    assert lines == [
        "Turns",
        "  main 1   What is on [receipt_1 Till slip]?",
        "           custom/replies",
        "           with [receipt_1 Till slip]",
        f"  main 2   second in two lines {'and long ' * 6}and lo…",
        "           custom/replies",
        "  main 3   third",
        "           custom/replies · stale",
        "  taxes 1  about taxes",
        "           custom/replies · fresh start",
    ]


def test_history_of_one_conversation_leaves_the_others_out(session: Session) -> None:
    text = said(session, "history taxes")

    assert "taxes 1" in text
    assert "main" not in text


def test_history_of_all_tells_what_was_replaced_or_taken_back(session: Session) -> None:
    session.ask("fourth", cell_id="c5")
    session.undo("main")

    text = said(session, "history --all main")

    assert re.search(r"main, replaced +former second\n +custom/replies · id [0-9a-f]{8}", text)
    assert re.search(r"main, taken back +fourth\n +custom/replies · id [0-9a-f]{8}", text)
    assert "former second" not in said(session, "history")


def test_history_of_all_tells_of_a_conversation_in_which_nothing_is_left(session: Session) -> None:
    session.undo("taxes")

    for line in ("history --all", "history taxes --all"):
        assert "taxes, taken back" in said(session, line)
    assert "taxes" not in said(session, "history")


def test_history_tells_why_a_turn_failed_and_what_was_stopped() -> None:
    session = Session(Replies(BadRequest("The key\nis not\x1b[31m known.")))
    with pytest.raises(BadRequest):
        session.ask("hi")
    stream = session.stream(session.prepare("ho", model=Replies("long answer")))
    next(iter(stream))
    stream.close()  # type: ignore[attr-defined]

    text = said(session, "history")

    assert "failed: The key is not known." in text
    assert "custom/replies · stopped" in text


def test_history_says_when_there_is_nothing() -> None:
    assert said(Session(Replies("x")), "history") == "No turns yet."


def test_history_names_former_lives_of_the_kernel(tmp_path: Path) -> None:
    for number in range(5):
        former = Session(Replies("ok"), history=NotebookHistory(tmp_path))
        former.ask(f"in life {number}")
        former.history.close()
    session = Session(Replies("ok"), history=NotebookHistory(tmp_path))

    text = said(session, "history")

    assert text.count("before") == 4
    assert "2 older lives of this kernel" in text
    assert re.search(r"before  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d( \(\d\))? · 1 turn · in life 4", text)
    assert "in life 1" not in text


def test_a_hundred_thousand_turns_are_no_burden(tmp_path: Path) -> None:
    def filled(count: int) -> Session:
        history = NotebookHistory(tmp_path / str(count))
        message: Message = {"role": "user", "content": "q"}
        turn = Turn(id="0" * 12, cell_id="c", messages=(message,), status="complete", model="m")
        history.put("main", turn)
        fill(history, count)
        return Session(Replies("ok"), history=history)

    def seconds(session: Session, *lines: str) -> float:
        """Return the CPU time of these commands, the best of three."""
        return cpu_seconds(lambda: [said(session, line) for line in lines], tries=3)

    few, many = filled(1_000), filled(100_000)

    text = said(many, "history")
    assert "the last 100 of 100,001" in text
    assert "main 99902 " in text
    assert "main 99901 " not in text
    # A hundred times as many: a list looks at its own; who forgets looks at each once.
    assert seconds(many, "history") < 20 * seconds(few, "history")
    assert seconds(many, "forget 6", "undo") < 500 * seconds(few, "forget 6", "undo")
    assert "Turn 5 of main is deleted for good" in said(many, "forget 5")
    assert "Taken back in main" in said(many, "undo")


def fill(history: NotebookHistory, count: int) -> None:
    """Add turns, as many at once."""

    def add(store: object) -> None:
        database = store.database  # type: ignore[attr-defined]
        with store.changing():  # type: ignore[attr-defined]
            (own,) = store.ids.conversations("main")  # type: ignore[attr-defined]
            database.write(
                "INSERT INTO turn SELECT i, ?, printf('%012x', i), 'c' || i, i, 1, 0, NULL, i, i,"
                " 0, 1, 'complete', 0, NULL, NULL, 'm', NULL FROM (WITH RECURSIVE n(i) AS"
                " (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i <= ?) SELECT i FROM n)",
                *(own, count),
            )
            database.write(
                "INSERT INTO body SELECT seq, replace(json, '000000000000', printf('%012x', seq))"
                " FROM turn, (SELECT json FROM body WHERE turn = 1) WHERE seq > 1"
            )
            database.write("UPDATE counter SET value = ? WHERE name = 'changes'", count + 1)

    history.work(add, make=True)


def test_many_conversations_are_told_shortly() -> None:
    session = Session(Replies("ok"))
    for number in range(30):
        session.ask("q", conversation=f"talk {number}")

    text = said(session, "history")

    assert "the last 20 of 30" in text
    assert "talk 29 1" in text
    assert "talk 9 1" not in text


@pytest.mark.parametrize("line", ["history nobody", "undo nobody", "export a.md nobody"])
def test_a_conversation_that_is_not_there_is_named(session: Session, line: str) -> None:
    with pytest.raises(CellError, match="There is no conversation 'nobody'") as caught:
        run_command(session, line)

    assert caught.value.fix == "name one of: main, taxes."


def test_another_spelling_is_offered(session: Session) -> None:
    with pytest.raises(CellError) as caught:
        run_command(session, "history TAXES")

    assert caught.value.fix == "did you mean taxes?"


@pytest.mark.parametrize("command", ["history", "undo", "forget", "restore", "export"])
def test_an_option_that_is_not_there_is_an_error(session: Session, command: str) -> None:
    with pytest.raises(CellError, match=f"%agent {command} has no option '--everything'"):
        run_command(session, f"{command} --everything")
    assert len(session.turns) == 4


# -- undo and restore ----------------------------------------------------------------------------


def test_undo_says_what_it_did_and_what_the_next_question_sees(session: Session) -> None:
    text = said(session, "undo main")

    assert text.startswith("Taken back in main: “second in two lines and long")
    assert "In its place is again: “former second”." in text
    assert "The next question in main sees 3 turns, the last of which asks “third”." in text
    assert [turn.stale for turn in session.turns] == [False] * 4


def test_what_was_taken_back_comes_back_by_the_id_that_undo_names(session: Session) -> None:
    text = said(session, "undo")
    line = re.search(r"%agent (restore [0-9a-f]{8}) undoes this", text)
    assert line is not None

    back = said(session, line[1])

    assert back.startswith("Again in main: “second in two lines")
    assert session.turns[1].question.startswith("second\n")


def test_undo_without_a_turn_is_an_error() -> None:
    session = Session(Replies("ok"))
    with pytest.raises(HistoryError):
        run_command(session, "undo")
    session.ask("only")
    assert said(session, "undo").endswith("undoes this.")
    assert session.turns == ()


def test_a_former_life_comes_back_by_the_beginning_of_its_name(tmp_path: Path) -> None:
    former = Session(Replies("ok"), history=NotebookHistory(tmp_path))
    former.ask("before")
    former.history.close()
    session = Session(Replies("ok"), history=NotebookHistory(tmp_path))
    name = session.history.former_runs[0].name

    text = said(session, f"restore {name[:10]}")

    assert text == (
        f"1 turn of {name} came back. The next question in main sees one turn, which asks “before”."
    )
    with pytest.raises(HistoryError, match="No former conversation"):
        run_command(session, "restore")


def test_restore_of_what_could_be_two_names_both(tmp_path: Path) -> None:
    for _ in range(2):
        former = Session(Replies("ok"), history=NotebookHistory(tmp_path))
        former.ask("before")
        former.history.close()
    session = Session(Replies("ok"), history=NotebookHistory(tmp_path))
    names = [run.name for run in session.history.former_runs]

    with pytest.raises(CellError) as caught:
        run_command(session, f"restore {names[0][:10]}")

    assert all(name in caught.value.problem for name in names)
    assert said(session, f"restore {names[0]}").startswith(f"1 turn of {names[0]} came")


# -- forget ----------------------------------------------------------------------------------------


def test_a_turn_is_forgotten_by_conversation_and_number(session: Session) -> None:
    text = said(session, "forget main 2")

    assert text.startswith("Turn 2 of main is deleted for good, with all its versions: “second in")
    assert "The next question in main sees 2 turns" in text
    assert [turn.question for turn in session.history.turns("main")][1] == "third"
    assert "former second" not in said(session, "history --all")


def test_a_number_is_enough_where_only_one_conversation_has_it(session: Session) -> None:
    assert said(session, "forget 3").startswith("Turn 3 of main is deleted for good")


def test_a_number_that_could_be_two_turns_names_both(session: Session) -> None:
    with pytest.raises(CellError) as caught:
        run_command(session, "forget 1")

    assert "turn 1 of main (“What is on [receipt_1 Till slip]?”)" in caught.value.problem
    assert "turn 1 of taxes (“about taxes”)" in caught.value.problem
    assert len(session.turns) == 4


def test_an_attachment_is_forgotten_by_its_tag(session: Session) -> None:
    text = said(session, "forget receipt_1")

    assert text.startswith("[receipt_1 Till slip] will not be sent again")
    assert "receipt" not in said(session, "attachments")


def test_a_tag_without_its_number_is_enough_unless_there_are_two(session: Session) -> None:
    session.ask("{receipt}", values={"receipt": blue()}, fields={"receipt": "IMAGE:Other slip"})

    with pytest.raises(CellError) as caught:
        run_command(session, "forget receipt")

    assert "[receipt_1 Till slip], or [receipt_2 Other slip]" in caught.value.problem
    assert said(session, "forget [receipt_2 Other slip]").startswith("[receipt_2 Other slip] will")
    assert said(session, "forget receipt").startswith("[receipt_1 Till slip] will")


def test_a_turn_is_forgotten_by_its_id(session: Session) -> None:
    turn = session.history.turns("taxes")[0]

    assert "of taxes is deleted for good" in said(session, f"forget {turn.id[:8]}")
    assert session.history.turns("taxes") == []


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("99", HistoryError, "There is no turn 99: main has 3, taxes has 1."),
        ("0", HistoryError, "There is no turn 0: main has 3, taxes has 1."),
        ("9" * 40, HistoryError, "There is no turn"),
        ("taxes 7", AttachmentError, "No attachment is called 'taxes 7'."),
        ("-3", AttachmentError, "No attachment is called"),
        ("²", AttachmentError, "No attachment is called"),
        ("%", AttachmentError, "No attachment is called"),
        ("", CellError, "needs a turn or a tag"),
    ],
)
def test_what_is_not_there_is_said_plainly(
    session: Session, text: str, kind: type[Exception], problem: str
) -> None:
    with pytest.raises(kind, match=re.escape(problem)):
        run_command(session, f"forget {text}")

    assert len(session.turns) == 4


# -- export ----------------------------------------------------------------------------------------


def test_export_says_what_was_written_and_asks_before_it_replaces(
    session: Session, tmp_path: Path
) -> None:
    assert said(session, 'export "my turns.md"') == (
        "4 turns written to my turns.md, with my turns_files beside it."
    )
    assert said(session, "export page.html taxes") == "1 turn written to page.html."
    with pytest.raises(HistoryError, match="is there already"):
        run_command(session, "export page.html")
    assert said(session, "export page.html --force") == "4 turns written to page.html."
    assert said(session, "export again.ipynb").startswith("4 turns written to again.ipynb, with")
    nbformat.validate(nbformat.read(tmp_path / "again.ipynb", 4))
    with pytest.raises(CellError, match="needs a file"):
        run_command(session, "export")


# -- marks -----------------------------------------------------------------------------------------


def test_lines_are_drawn_only_when_they_change_and_while_they_are_there() -> None:
    marks, drawn = StaleMarks(), []
    turns = [
        Turn(id=f"t{n}", cell_id=f"c{n}", messages=(), status="complete", model="m")
        for n in range(3)
    ]
    for turn in turns:
        marks.watch(turn, "main", lambda stale, turn=turn: drawn.append((turn.id, stale)))  # type: ignore[misc]

    marks.take({"t1": True, "t2": True, "unknown": True})
    marks.take({"t1": True, "t2": False})
    marks.runs_again("c1")
    marks.take({"t1": False, "t2": True})

    assert drawn == [("t1", True), ("t2", True), ("t2", False), ("t2", True)]


def test_a_page_that_is_gone_does_not_break_the_turn() -> None:
    def broken(_: bool) -> None:
        raise OSError("the socket is closed")

    session = Session(Replies("ok"))
    marks = stale_marks(session)
    for name in ("c1", "c2"):
        session.ask("q", cell_id=name)
    marks.watch(session.turns[1], "main", broken)

    assert session.ask("again", cell_id="c1") == "ok"


def test_no_more_lines_are_kept_than_there_is_room_for() -> None:
    marks = StaleMarks()
    for n in range(MOST_MARKED + 5):
        turn = Turn(id=f"t{n}", cell_id=f"c{n}", messages=(), status="complete", model="m")
        marks.watch(turn, "main", lambda _: None)

    assert len(marks) == MOST_MARKED


def test_one_session_has_one_set_of_marks_and_does_not_live_by_it(session: Session) -> None:
    assert stale_marks(session) is stale_marks(session)


SETUP = """
%load_ext agentcell
from agentcell.testing import FakeModel
from agentcell_magics import current_session
session = current_session()
session.model = FakeModel(*(f"answer {n}" for n in range(1, 30)))
"""


def updated(kernel: Kernel, code: str, cell_id: str) -> list[str]:
    """Run a cell and return what other cells' displays were updated with, as plain text."""
    own, found = set(), []
    sent = kernel.start(code, cell_id=cell_id)
    while True:
        message = kernel.client.get_iopub_msg(timeout=30)
        content = message["content"]
        if message["parent_header"].get("msg_id") != sent:
            continue
        name = content.get("transient", {}).get("display_id")
        if message["msg_type"] == "display_data":
            own.add(name)
        elif message["msg_type"] == "update_display_data" and name not in own:
            found.append(str(content["data"]["text/plain"]))
        elif content.get("execution_state") == "idle":
            kernel.client.get_shell_msg(timeout=30)
            return found


@pytest.fixture
def asked(kernel: Kernel) -> Kernel:
    """A kernel in which three cells asked."""
    assert kernel.run(SETUP, cell_id="c0").status == "ok"
    for n in (1, 2, 3):
        kernel.run(f"%%agent\nquestion {n}", cell_id=f"c{n}")
    return kernel


def test_later_lines_are_marked_and_lose_it_when_the_cause_is_gone(asked: Kernel) -> None:
    marked = updated(asked, "%%agent\nquestion 1", "c1")
    again = updated(asked, "%%agent\nquestion 1", "c1")
    back = updated(asked, "%agent undo\n%agent undo", "c9")

    assert [text.splitlines()[0] for text in marked] == [SAID, SAID]
    assert "fake/model" in marked[0]
    assert again == []  # they are marked already
    assert len(back) == 2
    assert SAID not in "".join(back)


def test_a_cell_that_no_longer_asks_is_not_updated(asked: Kernel) -> None:
    asked.run("%%agent -m nobody/none\nquestion 2", cell_id="c2")  # its line is gone from the page

    assert len(updated(asked, "%%agent\nquestion 1", "c1")) == 1


def test_forgetting_the_cause_takes_the_mark_away(asked: Kernel) -> None:
    updated(asked, "%%agent\nquestion 1", "c1")

    back = updated(asked, "%agent forget 1", "c9")

    assert len(back) == 2
    assert SAID not in "".join(back)


def test_an_answer_in_the_background_is_marked_too(asked: Kernel) -> None:
    asked.run("%%agent --async -o h\nquestion 4", cell_id="c4")
    asked.run("h.wait()", cell_id="c5")

    marked = updated(asked, "%%agent\nquestion 1", "c1")

    assert [SAID in text for text in marked] == [True] * 3
    assert "answer 4" in marked[2]


def test_an_answer_that_comes_after_an_earlier_cell_ran_again_is_stale_at_once(
    asked: Kernel,
) -> None:
    asked.run("from agentcell.testing import Reply\nslow = FakeModel(Reply('slow', delay=0.7))")
    asked.run("session.model, quick = slow, session.model", cell_id="c0")
    asked.run("%%agent --async -o h\nquestion 4", cell_id="c4")
    asked.run("session.model = quick", cell_id="c0")
    asked.run("%%agent\nquestion 1", cell_id="c1")

    look = (
        "import time\nh.wait()\n[time.sleep(0.05) for _ in range(100) if not h._display._is_stale]"
    )
    asked.run(look, cell_id="c5")
    ended = asked.run("print(h._display._bundle(h.result())[0]['text/plain'])", cell_id="c5").text

    assert "slow" in ended
    assert SAID in ended


def test_under_a_validating_test_run_no_display_is_updated(tmp_path: Path) -> None:
    with kernels.running(tmp_path, {"PYTEST_CURRENT_TEST": "some test"}) as kernel:
        kernel.run(SETUP, cell_id="c0")
        for n in (1, 2):
            kernel.run(f"%%agent\nquestion {n}", cell_id=f"c{n}")

        assert updated(kernel, "%%agent\nquestion 1", "c1") == []
        assert "stale" in kernel.run("%agent history", cell_id="h").text


def test_a_shell_without_a_kernel_marks_nothing(shell: InteractiveShell) -> None:
    current_session().model = Replies("ok")
    with capture_output() as captured:
        shell.run_cell("%%agent\nhello")

    assert SAID not in str([one.data for one in captured.outputs])
    assert len(stale_marks(current_session())) == 0


def test_what_is_not_there_to_restore_is_told_with_the_way_to_what_is(tmp_path: Path) -> None:
    session = Session(Replies("ok"), history=NotebookHistory(tmp_path))
    session.ask("only")
    said(session, "undo")

    with pytest.raises(HistoryError) as caught:
        run_command(session, "restore")
    assert str(caught.value) == (
        "No former conversation of this notebook is kept.\nFix: see %agent history --all for the"
        " ids of turns that were taken back or replaced."
    )
    with pytest.raises(HistoryError, match="is called 'nope', and no turn has that id"):
        run_command(session, "restore nope")
    with pytest.raises(CellError) as redo:
        run_command(session, "redo")
    assert redo.value.fix.startswith("%agent restore ID does that")
