"""A batch's journal: what is finished is never asked about again, whatever was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic
import pytest

import agentcell
from agent_kit import png
from agentcell import Agent, ImageAsset, LegacyOpenAIModel
from agentcell.adapters.events import Usage
from agentcell.batch import Journal, RowError
from agentcell.batch.work import Call
from agentcell.errors import BatchError, BudgetExceeded
from agentcell.testing import ChatServer, FakeModel
from batch_kit import Rows, agent, answers, refused, rows

ONE = "0" * 64


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batches" / "a.jsonl"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Rows()) as server:
        yield server


def test_a_second_run_asks_nobody(server: ChatServer, path: Path) -> None:
    first = agent(server).map(rows(20), journal=path)
    asked = len(server.requests)
    second = agent(server).map(rows(20), journal=path)

    assert list(second) == list(first) == answers(20)
    assert len(server.requests) == asked == 20
    assert second.resumed == 20
    assert second.usage == first.usage


def test_more_rows_than_before_are_asked_about_alone(server: ChatServer, path: Path) -> None:
    agent(server).map(rows(5), journal=path)
    result = agent(server).map([*reversed(rows(5)), {"n": 9}], journal=path)

    assert list(result) == [*reversed(answers(5)), {"answer": "answer 9"}]
    assert len(server.requests) == 6
    assert result.resumed == 5


def test_failed_rows_are_asked_about_again(path: Path) -> None:
    said = Rows(refused(400, numbers={1}, times=1))
    with ChatServer(said) as server:
        agent(server).map(rows(3), journal=path)
        again = agent(server).map(rows(3), journal=path)

    assert list(again) == answers(3)
    assert dict(said.asked) == {0: 1, 1: 2, 2: 1}


@pytest.mark.parametrize(
    "change",
    [
        {"instructions": "Answer otherwise."},
        {"model_settings": {"temperature": 0.5}},
        {"push_keys": {"answer": "what it is"}},
        {"attributes": {"more": "text"}},
    ],
)
def test_another_agent_is_another_question(path: Path, change: dict[str, Any]) -> None:
    model = FakeModel('{"answer": "yes"}')
    usual: dict[str, Any] = {"instructions": "Answer.", "model": model, "pull_keys": {"n": "n"}}
    Agent("a", **usual).map(rows(2), journal=path)

    result = Agent("a", **{**usual, **change}).map(rows(2), journal=path)

    assert result.resumed == 0
    assert len(model.requests) == 4


def test_equal_rows_are_each_asked_about_once(path: Path) -> None:
    model = FakeModel("yes")
    asker = Agent("a", model=model, pull_keys={"n": "n"})

    asker.map([{"n": 1}] * 2, journal=path)
    third = asker.map([{"n": 1}] * 3, journal=path)

    assert third.resumed == 2
    assert len(model.requests) == 3


def test_rows_with_attachments_are_known_by_their_content(path: Path, tmp_path: Path) -> None:
    model = FakeModel("yes")
    asker = Agent("a", model=model, pull_keys={"photo": "IMAGE:Photo"})
    file = tmp_path / "photo.png"
    file.write_bytes(png(1, 2, 3))
    other = tmp_path / "moved.png"
    other.write_bytes(file.read_bytes())
    changed = tmp_path / "changed.png"
    changed.write_bytes(png(3, 2, 1))

    asker.map([{"photo": ImageAsset.from_path(file)}], journal=path)
    moved = asker.map([{"photo": ImageAsset.from_path(other)}], journal=path)
    new = asker.map([{"photo": ImageAsset.from_path(changed)}], journal=path)

    assert (moved.resumed, new.resumed) == (1, 0)


class Total(pydantic.BaseModel):
    total: float


def test_values_of_a_schema_come_back_as_such(path: Path) -> None:
    model = FakeModel('{"total": 2.5}')
    for _ in range(2):
        result = agentcell.ask_each(model, "{a}", [{"a": 1}], schema=Total, journal=path)

    assert list(result) == [Total(total=2.5)]
    assert len(model.requests) == 1


def test_a_journal_holds_answers_and_no_question_and_no_key(path: Path) -> None:
    key = "sk-journal-0123456789abcdefg"
    with ChatServer(lambda _: f"The key is {key}.") as server:
        model = LegacyOpenAIModel("m", api_key=key, base_url=server.url)
        os.environ["OPENAI_API_KEY"] = key
        agent(server, model=model).map(rows(2), journal=path)

    text = path.read_text(encoding="utf-8")
    assert key not in text
    assert "This is row" not in text
    assert json.loads(text.splitlines()[0])["agentcell"] == "batch"


def test_what_earlier_runs_cost_counts_for_the_budget(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"openai-chat/m": {"input": 0, "output": 142857.142857}}', encoding="utf-8")
    monkeypatch.setenv("AGENTCELL_PRICES", str(prices))  # a dollar for each answer
    settings = {"max_tokens": 7}
    with ChatServer(Rows()) as server:
        first = agent(server, model_settings=settings).map(rows(3), journal=path, budget=9)
        more = agent(server, model_settings=settings).map(rows(9), journal=path, budget=4.5)

        assert len(server.requests) == 4
    assert first.failed == []
    assert [isinstance(one, RowError) for one in more] == [False] * 4 + [True] * 5
    assert all(isinstance(one.error, BudgetExceeded) for one in more.failed)
    assert more.cost is not None
    assert round(more.cost, 3) == 4


def test_finished_rows_are_there_also_after_the_budget_is_spent(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"openai-chat/m": {"input": 0, "output": 142857.142857}}', encoding="utf-8")
    monkeypatch.setenv("AGENTCELL_PRICES", str(prices))
    settings = {"max_tokens": 7}
    with ChatServer(Rows()) as server:
        agent(server, model_settings=settings).map([{"n": 2}, {"n": 3}], journal=path)
        result = agent(server, model_settings=settings).map(rows(5), journal=path, budget=1)

    assert [isinstance(one, RowError) for one in result] == [True, True, False, False, True]


# -- the file ------------------------------------------------------------------------------------


def test_half_a_line_at_the_end_is_taken_away(path: Path) -> None:
    with Journal(path) as journal:
        journal.put(ONE, 0, "whole", (), "stop")
    with path.open("ab") as file:
        file.write(b'{"key":"00000000000000000000000000000000","row":1,"val')

    with Journal(path) as journal:
        assert len(journal) == 1
        journal.put(ONE, 1, "after it", (), "stop")
    with Journal(path) as journal:
        assert [journal.take(ONE).value for _ in range(2)] == ["whole", "after it"]  # type: ignore[union-attr]
        assert journal.take(ONE) is None


@pytest.mark.parametrize("cut", range(0, 240, 7))
def test_a_file_that_was_cut_anywhere_loses_its_last_line_at_most(path: Path, cut: int) -> None:
    with Journal(path) as journal:
        for number in range(3):
            journal.put(ONE, number, f"answer {number}", (Call(Usage(input_tokens=1)),), "stop")
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])

    with Journal(path) as journal:
        lines = whole[:cut].count(b"\n") - 1
        found = [journal.take(ONE) for _ in range(max(0, lines))]

    assert [one.value for one in found if one] == [f"answer {n}" for n in range(max(0, lines))]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ('{"agentcell":"recording","version":1}\n', "no journal of a batch"),
        ("hello\n", "damaged in line 1"),
        ('{"agentcell":"batch","version":9}\n', "newer agentcell"),
        ('{"agentcell":"batch","version":1}\n{"key":"xyz"}\n', "damaged in line 2"),
        ('{"agentcell":"batch","version":1}\n[1\n', "damaged in line 2"),
    ],
)
def test_a_file_that_is_no_journal_stays_as_it_is(path: Path, content: str, match: str) -> None:
    path.parent.mkdir()
    path.write_text(content, encoding="utf-8")
    model = FakeModel("yes")

    with pytest.raises(BatchError, match=match):
        Agent("a", model=model, pull_keys={"n": "n"}).map(rows(2), journal=path)

    assert path.read_text(encoding="utf-8") == content
    assert model.requests == []


def test_two_runs_do_not_write_into_one_journal(path: Path) -> None:
    with Journal(path), pytest.raises(BatchError, match="in use by another run"):
        Journal(path)


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    model = FakeModel("yes")

    with pytest.raises(BatchError, match="cannot be written"):
        Agent("a", model=model).map(rows(1), journal=tmp_path / "file" / "a.jsonl")

    assert model.requests == []


def test_counts_and_recorded_costs_come_back(path: Path) -> None:
    calls = (
        Call(Usage(input_tokens=3, output_tokens=0, estimated=True)),
        Call(None, "0.25"),
        Call(None),
    )
    with Journal(path) as journal:
        journal.put(ONE, 0, None, calls, "length")
        journal.put_error(ONE, 1, ValueError("no"), calls[:1])
    with Journal(path) as journal:
        assert list(journal.spent_calls()) == [calls[0], *calls]
        kept = journal.take(ONE)

    assert kept is not None
    assert (kept.calls, kept.finish_reason) == (calls, "length")


# -- a killed process ----------------------------------------------------------------------------

RUN = """
import sys
from agentcell import Agent, LegacyOpenAIModel
url, journal, count = sys.argv[1:]
agent = Agent("asker", "Answer.", model=LegacyOpenAIModel("m", base_url=url),
              prompt_template="This is row {n}.", pull_keys={"n": "the row"})
result = agent.map([{"n": n} for n in range(int(count))], workers=8, journal=journal)
print(len(result), len(result.failed), result.resumed)
"""


def test_after_a_kill_no_finished_row_is_sent_again(path: Path, tmp_path: Path) -> None:
    count = 300
    said = Rows(delay=0.003)
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(RUN), encoding="utf-8")
    finished: set[int] = set()
    resumed = 0
    with ChatServer(said) as server:
        command = [sys.executable, str(script), server.url, str(path), str(count)]
        for at_least in (60, 150):
            process = subprocess.Popen(command)
            wait_for(lambda at_least=at_least: lines_of(path) > at_least)
            process.send_signal(signal.SIGKILL)
            process.wait()
            finished |= {entry["row"] for entry in entries_of(path)}
            before = dict(said.asked)
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        after = dict(said.asked)

    rows_, failed, resumed = map(int, ran.stdout.split())
    assert (rows_, failed) == (count, 0)
    assert resumed == len(finished)
    assert all(after[number] == before[number] for number in finished), "none was sent again"
    assert set(after) == set(range(count)), "none is lost"
    assert max(after.values()) <= 3, "in flight at a kill: once more for each"
    assert {entry["row"] for entry in entries_of(path)} == set(range(count))


def wait_for(is_so: Any) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def entries_of(path: Path) -> list[dict[str, Any]]:
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines()[1:]]
