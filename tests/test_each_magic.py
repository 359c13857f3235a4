"""`%%agent --each`: a question about each row of a table, in a real shell and a real kernel."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell.testing import ChatServer, FakeModel, Reply, failure
from agentcell_magics import current_session
from kernels import Kernel
from media import png

FRAME = pd.DataFrame({"text": ["good", "bad", "fine"], "n": [1, 2, 3]})


@pytest.fixture
def ask(shell: InteractiveShell) -> Any:
    """Run a cell and return what it shows; the variables are `shell`'s."""
    shell.push({"df": FRAME.copy()})

    def run(cell: str, model: Any = None) -> str:
        if model is not None:
            current_session().model = model
        with capture_output() as captured:
            shell.run_cell(cell)
        shown = [out.data.get("text/plain", "") for out in captured.outputs]
        return "\n".join([captured.stdout, *shown])

    return run


def said(request: Any) -> str:
    return str(request.messages[-1]["content"])


def test_each_row_is_asked_about_and_the_answers_stand_beside_the_rows(
    shell: InteractiveShell, ask: Any
) -> None:
    model = FakeModel(lambda asked: f"about {said(asked)}")

    shown = ask("%%agent --each df --out answers\nIs {text} number {n}?", model)

    answers = shell.user_ns["answers"]
    assert list(answers.columns) == ["text", "n", "answer", "error"]
    assert list(answers["answer"]) == [
        "about Is good number 1?",
        "about Is bad number 2?",
        "about Is fine number 3?",
    ]
    assert answers["error"].isna().all()
    assert "3 in answers" in shown
    assert list(shell.user_ns["df"].columns) == ["text", "n"]


def test_a_schema_gives_columns(shell: InteractiveShell, ask: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"mood": {"type": "string"}, "score": {"type": "number"}},
        "required": ["mood", "score"],
    }
    shell.push({"Mood": schema})

    ask(
        "%%agent --each df --out answers --schema Mood\nHow is {text}?",
        FakeModel('{"mood": "calm", "score": 2}'),
    )

    assert list(shell.user_ns["answers"]["mood"]) == ["calm"] * 3
    assert list(shell.user_ns["answers"]["score"]) == [2] * 3


def test_a_row_that_fails_is_in_the_error_column_and_on_the_card(
    shell: InteractiveShell, ask: Any
) -> None:
    def reply(asked: Any) -> str:
        if "bad" in said(asked):
            raise ValueError("not this one")
        return "yes"

    shown = ask("%%agent --each df --out answers\n{text}?", FakeModel(reply))

    answers = shell.user_ns["answers"]
    assert answers["error"][1] == "ValueError: not this one"
    assert list(answers["answer"].isna()) == [False, True, False]
    assert "1, see the column error" in shown
    assert "not this one" in shown


def test_the_card_says_what_to_do_about_the_commonest_error(
    shell: InteractiveShell, ask: Any
) -> None:
    shell.push({"photos": pd.DataFrame({"photo": ["a.png", "b.png"]})})

    shown = ask(
        '%%agent --each photos -i photo="IMAGE:Photo" --out answers\nWhat is on {photo}?',
        FakeModel("never"),
    )

    assert "2 × FieldError: Field 'photo' expects modality 'IMAGE'" in shown
    assert "Fix: give an ImageAsset" in shown
    assert "a file's path as pathlib.Path(...)" in shown


def test_errors_are_shown_where_the_cell_is_quiet_too(ask: Any) -> None:
    quiet = ask("%%agent --each df --out answers -q\n{text}?", FakeModel("yes"))
    broken = ask("%%agent --each df --out answers -q\n{text}?", FakeModel(ValueError("no")))

    assert quiet.strip() == ""
    assert "3, see the column error" in broken


def test_a_list_of_dicts_will_do_and_an_empty_cell_is_an_empty_text(
    shell: InteractiveShell, ask: Any
) -> None:
    shell.push({"items": [{"a": 1}, {"a": 2}], "holes": pd.DataFrame({"a": ["x", None]})})
    model = FakeModel("yes")

    ask("%%agent --each items --out answers\n[{a}]", model)
    ask("%%agent --each holes --out answers --workers 1\n[{a}]", model)

    assert [said(one) for one in model.requests[2:]] == ["[x]", "[]"]
    assert sorted(said(one) for one in model.requests[:2]) == ["[1]", "[2]"]


def test_other_names_are_the_notebooks_variables_and_attachments_go_to_every_row(
    shell: InteractiveShell, ask: Any
) -> None:
    Path("guide.png").write_bytes(png("red", (4, 4)))
    shell.push({"scale": "1 to 5"})
    model = FakeModel("yes")

    ask(
        "%%agent --each df --out answers -a guide=guide.png\n"
        "Rate {text} from {scale} by {guide}. {nothing}",
        model,
    )

    assert len(model.requests) == 3
    for one in model.requests:
        content = one.messages[-1]["content"]
        assert "from 1 to 5 by [guide_1 guide]. {nothing}" in str(content[-1])
        assert len(content) == 3


def test_pictures_in_a_column_are_attached_each_to_its_row(
    shell: InteractiveShell, ask: Any
) -> None:
    from agentcell import ImageAsset

    pictures = [ImageAsset.from_bytes(png(color, (4, 4))) for color in ("red", "blue")]
    shell.push({"photos": pd.DataFrame({"photo": pictures})})
    model = FakeModel("yes")

    ask("%%agent --each photos --out answers\nWhat is on {photo}?", model)

    digests = {one.messages[-1]["content"][1].fingerprint for one in model.requests}
    assert digests == {picture.fingerprint() for picture in pictures}


def test_rows_are_no_turns_and_their_cost_is_booked(
    ask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"fake/model": {"input": 0, "output": 142857.142857}}', encoding="utf-8")
    monkeypatch.setenv("AGENTCELL_PRICES", str(prices))  # a dollar for each answer

    shown = ask("%%agent --each df --out answers\n{text}?", FakeModel("yes"))
    session = current_session()

    assert "$3.00" in shown
    assert session.history.turns() == []
    assert round(session._ledger.total().usd, 3) == Decimal(3)  # noqa: SLF001 (what it booked)


def test_the_sessions_budget_holds(
    shell: InteractiveShell, ask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"fake/model": {"input": 0, "output": 142857.142857}}', encoding="utf-8")
    monkeypatch.setenv("AGENTCELL_PRICES", str(prices))
    model = FakeModel("yes")
    ask("%agent budget 2.50 usd")

    ask("%%agent --each df --out answers --max-tokens 7\n{text}?", model)

    assert 1 <= len(model.requests) <= 2
    assert "BudgetExceeded" in "".join(shell.user_ns["answers"]["error"].dropna())


def test_a_dry_run_sends_nothing_and_says_how_many_rows(ask: Any) -> None:
    model = FakeModel("yes")

    shown = ask("%%agent --each df --out answers -n\nIs {text} good?", model)

    assert model.requests == []
    assert "rows" in shown
    assert "Is good good?" in shown


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("--each df", "no variable is named for it"),
        ("--each dff --out a", "did you mean df?"),
        ("--each n --out a", "a DataFrame or a list of dicts was expected"),
        ("--each df --out a -T print", "-T (tools) does not go with it"),
        ("--each df --out a --approve run", "--approve (calls of tools) does not go with it"),
        ("--each df --out a --max-rounds 3", "--max-rounds (rounds of tools) does not go with it"),
        ("--each df --out a --journal x.jsonl --fresh", "keep one of them, or name another file"),
        ("--each df --out a --async", "--async"),
        ("--each df --out a -c taxes", "-c (a conversation)"),
        ("--journal x.jsonl", "--journal is for many rows"),
        ("--workers 3", "--workers is for many rows"),
        ("--provider-batch", "--provider-batch is for many rows"),
        ("--each df --out a --workers 2 --provider-batch", "keep one of them"),
        ("--each df --out a --workers 0", "a whole number from 1"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_sent(
    shell: InteractiveShell, ask: Any, line: str, match: str
) -> None:
    model = FakeModel("yes")
    shell.push({"n": 7})

    shown = ask(f"%%agent {line}\n{{text}}?", model)

    assert match in shown
    assert model.requests == []
    assert len(shown.strip().splitlines()) <= 15


def test_a_question_that_names_no_column_is_refused(ask: Any) -> None:
    model = FakeModel("yes")

    shown = ask("%%agent --each df --out answers\nIs it good?", model)

    assert "names no column" in shown
    assert "{text}, {n}" in shown
    assert model.requests == []


def test_a_column_whose_name_cannot_stand_in_braces_is_told_of(
    shell: InteractiveShell, ask: Any
) -> None:
    shell.push({"bills": pd.DataFrame({"unit price": [3], "item": ["tea"]})})

    shown = ask("%%agent --each bills --out o\nIs {unit price} much?", FakeModel("never"))
    other = ask("%%agent --each bills --out o\nIs it much?", FakeModel("never"))

    assert "FieldError: The column 'unit price' cannot stand in braces" in shown
    assert "'unit_price'" in shown
    assert "Fix: write {item} where the row's value goes." in other


def test_a_slip_of_a_columns_name_gets_a_hint(ask: Any) -> None:
    shown = ask("%%agent --each df --out answers\n{text} {txt}", FakeModel("yes"))

    assert "did you mean" in shown


def test_a_journal_that_is_named_is_kept_and_read(ask: Any) -> None:
    model = FakeModel("yes")

    for _ in range(2):
        shown = ask("%%agent --each df --out answers --journal a.jsonl\n{text}?", model)

    assert len(model.requests) == 3
    assert "3 answers" in shown
    assert Path("a.jsonl").exists()


def test_tab_offers_tables(shell: InteractiveShell) -> None:
    shell.push({"df": FRAME})
    with provisionalcompleter():
        offered = [one.text for one in shell.Completer.completions("%%agent --each d", 16)]

    assert "df" in offered


# -- in a kernel ---------------------------------------------------------------------------------

BEGIN = """
%load_ext agentcell
import pandas as pd
from agentcell import LegacyOpenAIModel
from agentcell_magics import current_session
current_session().model = LegacyOpenAIModel("m", base_url={url!r})
df = pd.DataFrame({{"n": range({count})}})
"""


def test_an_interrupt_keeps_what_came_and_the_cell_goes_on_when_it_runs_again(
    kernel: Kernel, tmp_path: Path
) -> None:
    open_: list[bool] = []

    def reply(request: Any) -> Reply:
        text = request.body["messages"][-1]["content"]
        number = int(text.split()[-1])
        if number >= 10 and not open_:
            return Reply("never", stall=-1)
        return Reply(f"answer {number}")

    cell = "%%agent --each df --out answers --workers 4\nThis is row {n}"
    with ChatServer(reply) as server:
        kernel.run(BEGIN.format(url=server.url, count=30))
        started = kernel.start(cell)
        end = time.monotonic() + 60
        while sum("row 1" in str(body) for body in server.bodies) < 4:
            assert time.monotonic() < end
            time.sleep(0.05)
        kernel.interrupt()
        stopped = kernel.finish(started)
        partial = kernel.run("print(answers['answer'].notna().sum(), len(answers))")
        asked = len(server.requests)
        open_.append(True)
        again = kernel.run(cell)
        whole = kernel.run("print(answers['answer'].notna().sum(), answers['error'].notna().sum())")

        assert len(server.requests) == asked + 20, "the ten that were finished were not sent again"
    assert stopped.status == "error"
    assert "10 of 30 rows" in stopped.text
    assert "Run the cell again" in stopped.text
    assert partial.text.split() == ["10", "30"]
    assert whole.text.split() == ["30", "0"]
    assert "10 answers" in again.text
    assert list((tmp_path / ".agentcell" / "batches").glob("*.jsonl")) == [], "all is there"


def test_what_the_cell_saves_tells_no_times_and_is_the_same_each_time(kernel: Kernel) -> None:
    with ChatServer(lambda _: "yes") as server:
        kernel.run(BEGIN.format(url=server.url, count=50))
        cell = "%%agent --each df --out answers\nThis is row {n}"
        first, second = kernel.run(cell), kernel.run(cell)

    assert first.text == second.text
    assert len(first.outputs) == 1
    (output,) = first.outputs
    assert set(output["data"]) == {"text/html", "text/markdown", "text/plain"}
    assert output["metadata"]["agentcell"]["rows"] == 50
    assert first.messages <= 6


def test_map_in_a_notebook_leaves_one_line_without_times(kernel: Kernel) -> None:
    with ChatServer(lambda _: "yes") as server:
        kernel.run(BEGIN.format(url=server.url, count=5))
        code = """
from agentcell import Agent
agent = Agent("a", model=current_session().model, pull_keys={"n": "n"})
result = agent.map(df)
"""
        first = kernel.run(code)

    assert [output["data"] for output in first.outputs] == [{"text/plain": "5 rows"}]


def test_a_recorded_map_shows_the_same_when_it_is_replayed(kernel: Kernel) -> None:
    code = "print(list(current_session().map('This is row {n}', df)))"

    def reply(request: Any) -> Reply:
        if "row 1" in str(request.body):
            return failure(400)
        return Reply("yes")

    with ChatServer(reply) as server:
        kernel.run(BEGIN.format(url=server.url, count=3))
        kernel.run("%agent record a.jsonl")
        recorded = kernel.run(code)
    kernel.run("%agent replay a.jsonl")
    replayed = kernel.run(code)

    assert replayed.outputs == recorded.outputs
    assert recorded.outputs[0]["data"] == {"text/plain": "3 rows, failed=1"}


def test_the_bars_of_many_batches_share_one_thread(kernel: Kernel) -> None:
    count = "print([one.name for one in threading.enumerate()].count('tqdm_monitor'))"
    with ChatServer(lambda _: "yes") as server:
        kernel.run(BEGIN.format(url=server.url, count=2))
        kernel.run("import threading")
        for _ in range(3):
            assert kernel.run("r = current_session().map('Row {n}', df)").status == "ok"

        assert kernel.run(count).text.strip() in {"0", "1"}


def test_a_recorded_batch_replays_without_a_server(kernel: Kernel, tmp_path: Path) -> None:
    cell = "%%agent --each df --out answers\nThis is row {n}"
    with ChatServer(lambda _: "yes") as server:
        kernel.run(BEGIN.format(url=server.url, count=6))
        kernel.run("%agent record a.jsonl")
        recorded = kernel.run(cell)
        asked = len(server.requests)
    kernel.run("%agent replay a.jsonl")
    replayed = kernel.run(cell)

    assert asked == 6
    assert replayed.text == recorded.text
    assert json.loads((tmp_path / "a.jsonl").read_text().splitlines()[1])["key"]
