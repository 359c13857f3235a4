"""Disks, folders and files as they should not be: one clear warning, and no answer is lost."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import agent_kit
from agentcell.assets.asset import ImageAsset
from agentcell.errors import HistoryWarning
from agentcell.history.database import Database
from agentcell.history.notebook import NotebookHistory
from agentcell.history.schema import STEPS
from agentcell.messages import content_text
from agentcell.session import Session
from scripted import ScriptedModel

FILE = ".agentcell/session.sqlite"
PHOTO = ImageAsset.from_bytes(agent_kit.png(1, 2, 3), filename="p.png")


class Life:
    """One life of the kernel on a folder; keeps what the person is told."""

    def __init__(self, folder: Path) -> None:
        self.told: list[str] = []
        history = NotebookHistory(folder, notebook="a.ipynb", tell=self.told.append)
        self.model = ScriptedModel()
        self.session = Session(self.model, history=history)

    def ask(self, text: str, **options: Any) -> str:
        assert self.session.ask(text, **options) == "Hello"
        sent = [content_text(message["content"]) for message in self.model.requests[-1]]
        return " < ".join(sent[::2])

    @property
    def questions(self) -> list[str]:
        return [turn.question for turn in self.session.turns]


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A folder in which two turns were kept."""
    life = Life(tmp_path)
    life.ask("one {x}", values={"x": PHOTO}, cell_id="a")
    life.ask("two", cell_id="b")
    life.session.history.close()
    return tmp_path


def whole_life(folder: Path, *, knows: bool, said: str) -> Life:
    """Ask in a folder in trouble: each answer comes, all is remembered, and it is told once."""
    life = Life(folder)
    earlier = ["one [x_1 x]", "two"] if knows else []
    for number in range(3):
        life.ask(f"q{number}", cell_id=f"q{number}")
    life.ask("q1 again {x}", values={"x": PHOTO}, cell_id="q1")

    assert life.questions == [*earlier, "q0", "q1 again [x_1 x]", "q2"]
    assert life.ask("end").endswith("q2 < end")
    assert len(life.told) == 1, life.told
    assert said in life.told[0]
    assert "\n" not in life.told[0]
    return life


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    file.write_bytes(content)


def aside(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / ".agentcell").glob("session.damaged-*.sqlite"))


@pytest.mark.parametrize("content", [b"this is no database" * 500, b"SQLite format 3\0" * 999])
def test_what_is_no_database_makes_room_for_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".agentcell").mkdir()
    (tmp_path / FILE).write_bytes(content)
    whole_life(tmp_path, knows=False, said="a new file was begun")

    day = datetime.now().astimezone().strftime("%Y-%m-%d")
    assert aside(tmp_path) == [f"session.damaged-{day}.sqlite"]
    assert (tmp_path / ".agentcell" / aside(tmp_path)[0]).read_bytes() == content
    assert len(Life(tmp_path).questions) == 3  # of cells; the last one had none


def test_an_empty_file_is_a_new_one(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").mkdir()
    (tmp_path / FILE).touch()
    life = Life(tmp_path)
    life.ask("one", cell_id="a")

    assert (life.told, Life(tmp_path).questions) == ([], ["one"])


def test_of_a_damaged_file_what_can_be_read_goes_into_a_new_one(tmp_path: Path) -> None:
    life = Life(tmp_path)
    for number in range(300):
        life.session.ask(f"question {number} " * 20, cell_id=str(number))
    life.session.history.close()
    file = tmp_path / FILE
    content = bytearray(file.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 8192] = b"\xff" * 8192
    file.write_bytes(content)

    second = Life(tmp_path)
    for number in range(300):
        second.ask("again", cell_id=str(number))
    assert len(second.told) == 1
    assert "could be read and went into a new file" in second.told[0]
    third = Life(tmp_path)
    assert third.questions.count("again") >= 299
    assert third.told == []


def test_damage_that_comes_while_the_kernel_runs_loses_no_answer(before: Path) -> None:
    life = Life(before)
    life.ask("three", cell_id="c")
    damage(before / FILE)
    for number in range(40):
        life.ask(f"q{number}", cell_id=f"q{number}")

    assert life.questions[-40:] == [f"q{number}" for number in range(40)]


def test_a_second_damaged_file_of_a_day_has_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").mkdir()
    for number in (1, 2):
        for ending in ("", "-wal", "-shm"):
            Path(f"{tmp_path / FILE}{ending}").unlink(missing_ok=True)
        (tmp_path / FILE).write_bytes(b"no database" * 500)
        Life(tmp_path).ask("one", cell_id="a")
        assert len(aside(tmp_path)) == number


@pytest.fixture(scope="module")
def long_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    life = Life(folder)
    for number in range(40):
        life.ask(f"question {number} " * 30, cell_id=str(number))
    life.ask("{x}", values={"x": PHOTO}, cell_id="p")
    life.session.history.close()
    return folder


def spoiled(content: bytearray, rng: random.Random) -> bytearray:
    """Return a file as a bad disk or a broken copy leaves it."""
    at = rng.randrange(len(content))
    size = rng.randint(1, 9_000)
    match rng.choice(["bytes", "zeros", "noise", "cut"]):
        case "bytes":
            for _ in range(rng.randint(1, 200)):
                content[rng.randrange(len(content))] = rng.randrange(256)
        case "zeros":
            content[at : at + size] = bytes(len(content[at : at + size]))
        case "noise":
            content[at : at + size] = rng.randbytes(len(content[at : at + size]))
        case "cut":
            del content[at:]
    return content


@pytest.mark.parametrize("seed", range(30))
def test_whatever_is_damaged_no_new_answer_is_lost(
    long_history: Path, tmp_path: Path, seed: int
) -> None:
    shutil.copytree(long_history, tmp_path, dirs_exist_ok=True)
    content = bytearray((tmp_path / FILE).read_bytes())
    (tmp_path / FILE).write_bytes(spoiled(content, random.Random(seed)))  # noqa: S311 (no secret)
    life = Life(tmp_path)
    for number in range(8):
        life.ask(f"new {number}", cell_id=f"n{number}" if number % 2 else str(number * 3))
    life.ask("new {x}", values={"x": PHOTO}, cell_id="x")

    new = [question for question in life.questions if question.startswith("new")]
    assert sorted(new) == [*(f"new {number}" for number in range(8)), "new [x_1 x]"]
    assert len(life.told) <= 2
    assert life.session.undo().question == "new [x_1 x]"


def test_a_newer_version_s_file_is_left_alone(before: Path) -> None:
    Database(before / FILE, (*STEPS, ("CREATE TABLE more (x)",))).close()
    content = (before / FILE).read_bytes()
    whole_life(before, knows=False, said="update agentcell")

    assert (before / FILE).read_bytes() == content


def test_a_file_in_the_folder_s_place_is_told(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").write_text("mine", encoding="utf-8")
    whole_life(tmp_path, knows=False, said="is a file where a folder was expected")

    assert (tmp_path / ".agentcell").read_text(encoding="utf-8") == "mine"


def test_a_folder_in_the_database_s_place_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir(parents=True)
    whole_life(tmp_path, knows=False, said="cannot be written")


def test_a_file_in_the_place_of_the_attachments_is_told(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").mkdir()
    (tmp_path / ".agentcell/assets").touch()
    whole_life(tmp_path, knows=False, said="kept in memory only")


def test_a_folder_that_goes_while_the_kernel_runs_is_told(before: Path) -> None:
    life = Life(before)
    life.ask("three", cell_id="c")
    shutil.rmtree(before / ".agentcell")
    sent = life.ask("four {x}", values={"x": PHOTO}, cell_id="d")

    assert sent.endswith("two < three < four [x_1 x]")
    assert life.questions[1:] == ["two", "three", "four [x_1 x]"]
    assert len(life.told) == 1
    assert "was removed or replaced while the kernel ran" in life.told[0]
    assert not (before / ".agentcell").exists()


def test_a_folder_that_was_replaced_by_another_is_left_alone(before: Path, tmp_path: Path) -> None:
    life = Life(before)
    life.ask("three", cell_id="c")
    shutil.move(before / ".agentcell", tmp_path / "moved")
    Life(before).ask("another's", cell_id="x")
    life.ask("four", cell_id="d")

    assert life.questions[1:] == ["two", "three", "four"]
    assert Life(before).questions == ["another's"]


def test_a_database_that_stays_locked_is_told(
    before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentcell.history.database.WAIT", 0.1)
    with closing(sqlite3.connect(before / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        whole_life(before, knows=True, said="locked")
        other.execute("ROLLBACK")

    assert Life(before).questions == ["one [x_1 x]", "two"]


def test_a_database_that_is_locked_for_a_moment_is_waited_for(before: Path) -> None:
    life = Life(before)
    with closing(
        sqlite3.connect(before / FILE, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, other.execute, ["COMMIT"])
        timer.start()
        life.ask("three", cell_id="c")
        timer.join()

    assert life.told == []
    assert Life(before).questions == ["one [x_1 x]", "two", "three"]


def test_without_someone_to_tell_it_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").touch()
    session = Session(ScriptedModel(), history=tmp_path)
    with pytest.warns(HistoryWarning, match="kept in memory only") as caught:
        session.ask("one")
    session.ask("two")

    assert len(caught) == 1
    assert len(session.turns) == 2


def test_where_warnings_are_errors_no_answer_is_lost(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").touch()
    session = Session(model := ScriptedModel(), history=tmp_path)
    with pytest.raises(HistoryWarning):
        session.ask("one")
    session.ask("two")

    assert len(session.turns) == len(model.requests)
    assert session.turns[-1].question == "two"


# -- in a process of its own: what this one may not do to itself -----------------------------------

CHILD = """
import os, resource, signal, sys, warnings
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_history_trouble import Life, PHOTO
{setup}
life = Life(Path({folder!r}))
{code}
print(life.told)
print(life.questions)
"""


def child(folder: Path, setup: str, code: str) -> list[Any]:
    """Return what a child was told, and its questions."""
    text = CHILD.format(
        tests=str(Path(__file__).parent), folder=str(folder), setup=setup, code=code
    )
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [eval(line) for line in ran.stdout.splitlines()]  # noqa: S307 (our own words)


LIMITED = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
"""
ASK = "for n in range(30): life.ask('q%d ' % n + 'long ' * 400, cell_id=str(n))"
BIG = """
from agentcell.assets.asset import ImageAsset
import agent_kit
big = ImageAsset.from_bytes(agent_kit.png(9, 9, 9, noise=b'x' * 500_000))
life.ask('{x}', values={'x': big}, cell_id='a')
life.ask('more', cell_id='b')
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of a file's size")
@pytest.mark.parametrize("size", [1, 5_000, 60_000, 150_000])
def test_a_disk_that_is_full_is_told_and_no_turn_is_lost(tmp_path: Path, size: int) -> None:
    told, questions = child(tmp_path, LIMITED.format(bytes=size), ASK)

    assert len(told) == 1
    assert "kept in memory only" in told[0]
    assert len(questions) == 30


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of a file's size")
def test_a_picture_for_which_there_is_no_room_is_kept_in_memory(tmp_path: Path) -> None:
    told, questions = child(tmp_path, LIMITED.format(bytes=300_000), BIG)

    assert len(told) == 1
    assert "is full" in told[0]
    assert questions == ["[x_1 x]", "more"]
    assert not list(tmp_path.rglob("*.part"))


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte, where this process may make one."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)]
    if os.name != "posix" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def test_a_file_system_that_is_full_is_told(full_disk: Path) -> None:
    life = Life(full_disk)
    for number in range(200):
        life.ask(f"q{number} " + "long " * 400, cell_id=str(number))

    assert len(life.questions) == 200
    assert len(life.told) == 1
    assert "is full" in life.told[0]
    life.session.history.close()


UNPRIVILEGED = "os.getuid() or os.setuid(65534)"


def read_only(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in folder.parents:
        if path.stat().st_uid == os.getuid() and path.name.startswith("pytest-"):
            path.chmod(0o755)


@pytest.fixture
def writable_again(tmp_path: Path) -> Iterator[None]:
    yield
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions")
@pytest.mark.usefixtures("writable_again")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    read_only(tmp_path)
    told, questions = child(tmp_path, UNPRIVILEGED, "life.ask('q', cell_id='q')")

    assert len(told) == 1
    assert "cannot be written" in told[0]
    assert questions == ["q"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions")
@pytest.mark.usefixtures("writable_again")
def test_a_history_that_can_only_be_read_goes_on_in_memory(before: Path) -> None:
    read_only(before)
    told, questions = child(before, UNPRIVILEGED, "life.ask('q', cell_id='q')")

    assert len(told) == 1
    assert "cannot be written" in told[0]
    assert questions == ["one [x_1 x]", "two", "q"]


FORK = """
life.ask('parent', cell_id='p')
if os.fork() == 0:
    life.ask('child', cell_id='c')
    os._exit(0)
assert os.wait()[1] == 0
life.ask('parent again', cell_id='q')
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_connection_of_its_own(tmp_path: Path) -> None:
    told, questions = child(tmp_path, "warnings.simplefilter('ignore')", FORK)

    assert told == []
    assert questions == ["parent", "child", "parent again"]
