"""A recording's file after other people and programs had it: editors, git, Windows, processes."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentcell.adapters.file_lock import alone
from agentcell.adapters.recording import Recording, RecordingMiss, RecordingModel
from agentcell.errors import HistoryError, RateLimited
from agentcell.testing import FakeModel


def ask(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def recorded(path: Path) -> list[str]:
    """Record three answers; return the file's lines."""
    model = RecordingModel(FakeModel("one", "two", "three"), path, "record")
    for question in "abc":
        model.invoke(ask(question))
    return path.read_text(encoding="utf-8").splitlines()


def replayed(path: Path, question: str) -> str:
    return str(RecordingModel(FakeModel("live"), path, "replay").invoke(ask(question))["content"])


def as_dumped(line: str) -> str:
    return json.dumps(json.loads(line))


def turned_round(line: str) -> str:
    return json.dumps(dict(reversed(json.loads(line).items())))


@pytest.mark.parametrize(
    "changed",
    [
        lambda lines: "\r\n".join([*lines, ""]).encode(),
        lambda lines: b"\xef\xbb\xbf" + "\n".join([*lines, ""]).encode(),
        lambda lines: b"\xef\xbb\xbf" + "\r\n".join([*lines, ""]).encode(),
        lambda lines: "\n".join(lines).encode(),
        lambda lines: "\n".join([lines[0], "", "  ", *lines[1:], "", ""]).encode(),
        lambda lines: "\n".join([lines[0], *lines[:0:-1], ""]).encode(),
        lambda lines: "\n".join([*lines, lines[1], ""]).encode(),
        lambda lines: "\n".join(map(as_dumped, lines)).encode(),
        lambda lines: "\n".join([lines[0], *map(turned_round, lines[1:])]).encode(),
    ],
    ids=["crlf", "mark", "both", "no end", "blank", "order", "twice", "spaces", "keys"],
)
def test_a_file_that_was_only_written_otherwise_answers_as_before(
    tmp_path: Path, changed: Callable[[list[str]], bytes]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(changed(recorded(path)))

    assert [replayed(path, question) for question in "abc"] == ["one", "two", "three"]
    with pytest.raises(RecordingMiss):
        replayed(path, "d")

    RecordingModel(FakeModel("four"), path, "record").invoke(ask("d"))
    assert [replayed(path, question) for question in "abcd"] == ["one", "two", "three", "four"]
    assert len(Recording(path)) == 4


def test_an_answer_that_was_edited_by_hand_is_the_one_that_comes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = recorded(path)
    path.write_text("\n".join(lines).replace('"two"', '"zwei"'), encoding="utf-8")

    assert replayed(path, "b") == "zwei"


@pytest.mark.parametrize(
    ("merged", "number"),
    [
        (lambda a: [a[0], "<<<<<<< HEAD", a[1], "=======", a[2], ">>>>>>> theirs", a[3]], 2),
        (lambda a: [a[0], a[1], "<<<<<<< HEAD", "||||||| base", a[2], "=======", ">>>>>>> b"], 3),
        (lambda a: ["<<<<<<< HEAD", a[0], "=======", a[0], ">>>>>>> theirs", *a[1:]], 1),
        (lambda a: [*a, ">>>>>>> theirs"], 5),
    ],
    ids=["two sides", "three sides", "first line", "one mark left"],
)
@pytest.mark.parametrize("mode", ["replay", "record", "rerecord", "auto"])
def test_marks_of_a_merge_are_named_and_nothing_is_asked_or_written(
    tmp_path: Path, merged: Callable[[list[str]], list[str]], number: int, mode: str
) -> None:
    path = tmp_path / "a.jsonl"
    text = "\n".join(merged(recorded(path)))
    path.write_text(text, encoding="utf-8")
    model = FakeModel("live")
    with pytest.raises(HistoryError, match=f"Line {number} .* mark of a merge in git") as caught:
        RecordingModel(model, path, mode).invoke(ask("new"))

    assert "both sides" in caught.value.fix
    assert path.read_text(encoding="utf-8") == text
    assert mode == "rerecord" or model.requests == []


@pytest.mark.parametrize("line", ["{", "[]", "5", "null", '{"key":5}', "\x00\x00", "[" * 100_000])
def test_a_line_that_is_no_entry_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    lines = recorded(path)
    path.write_text("\n".join([*lines[:2], line, *lines[2:]]), encoding="utf-8")
    with pytest.raises(HistoryError, match=r"Line 3 .* is no entry") as caught:
        replayed(path, "a")

    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "change",
    [
        {"asked": 5},
        {"asked": {"messages": 5}},
        {"asked": {"messages": [5]}},
        {"error": 5},
        {"events": 5},
        {"events": [[0, "no such", "x"]]},
        {"events": [[0, "text", 5]]},
        {"seconds": "long"},
    ],
    ids=str,
)
def test_an_entry_that_holds_what_none_holds_is_our_error(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        line if number == 0 else json.dumps({**json.loads(line), **change})
        for number, line in enumerate(recorded(path))
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    for question in ("a", "another"):
        with pytest.raises(HistoryError, match=r"recording a\.jsonl cannot be read"):
            replayed(path, question)


def test_what_a_later_version_says_of_an_error_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    said = RateLimited("Too fast.", fix="wait.", status=429, provider="fake", model="model")
    with pytest.raises(RateLimited):
        RecordingModel(FakeModel(said), path, "record").invoke(ask("a"))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"status":429', '"status":429,"later":1'), encoding="utf-8")
    with pytest.raises(RateLimited, match="Too fast") as caught:
        replayed(path, "a")

    assert (caught.value.status, caught.value.fix) == (429, "wait.")


def test_a_file_that_is_read_only_is_replayed_and_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    recorded(path)
    before = path.read_bytes()
    path.chmod(0o444)
    with pytest.raises(HistoryError, match="read-only"):
        RecordingModel(FakeModel("four"), path, "record").invoke(ask("d"))

    assert replayed(path, "b") == "two"
    assert path.read_bytes() == before
    assert not path.stat().st_mode & 0o222
    assert [one.name for one in tmp_path.iterdir()] == ["a.jsonl"]
    path.chmod(0o644)


@pytest.mark.skipif(sys.platform == "win32", reason="to make a link there takes a right")
def test_a_link_stays_a_link_and_a_file_keeps_its_rights(tmp_path: Path) -> None:
    path, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    recorded(path)
    path.chmod(0o640)
    link.symlink_to(path)
    RecordingModel(FakeModel("four"), link, "record").invoke(ask("d"))

    assert link.is_symlink()
    assert replayed(path, "d") == "four"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_recording_model_is_copied_and_pickled_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    recorded(path)
    model = RecordingModel(FakeModel("live"), path, "replay")
    pickled = pickle.loads(pickle.dumps(model))  # noqa: S301 (made a moment ago)
    for other in (copy.copy(model), copy.deepcopy(model), pickled):
        assert other.invoke(ask("b"))["content"] == "two"
        assert other.recording.path == path


_RECORD = """
import sys
from agentcell.adapters.recording import RecordingModel
from agentcell.testing import FakeModel
model = RecordingModel(FakeModel("said"), sys.argv[1], "record")
for number in range(15):
    model.invoke([{"role": "user", "content": f"{sys.argv[2]} {number}"}])
"""


def test_no_answer_is_lost_when_processes_record_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", _RECORD, str(path), str(number)])
        for number in range(3)
    ]
    for writer in writers:
        assert writer.wait(60) == 0

    assert len(Recording(path)) == 45
    assert [one.name for one in tmp_path.iterdir()] == ["a.jsonl"]


def test_no_answer_is_lost_when_each_thread_has_its_own_object(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def record(number: int) -> None:
        model = RecordingModel(FakeModel("said"), path, "record")
        for turn in range(5):
            model.invoke(ask(f"{number} {turn}"))

    threads = [threading.Thread(target=record, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(Recording(path)) == 40


def test_a_lock_keeps_others_out_and_is_not_waited_for_without_end(tmp_path: Path) -> None:
    order: list[str] = []
    lock = tmp_path / "a.lock"

    def second() -> None:
        with alone(lock, 5):
            order.append("second")

    with alone(lock):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
        with alone(lock, 0.05):
            order.append("in spite of it")
    thread.join()

    assert order == ["first", "in spite of it", "second"]
