from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agent_kit
from agentcell.adapters.events import Citation, Usage
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.assets.prepare import Form
from agentcell.errors import HistoryError
from agentcell.history import branches
from agentcell.history.database import Database
from agentcell.history.kept_assets import KeptAssets
from agentcell.history.notebook import NotebookHistory
from agentcell.history.schema import STEPS
from agentcell.history.store import TurnStore
from agentcell.history.turn_json import turn_from_json, turn_to_json
from agentcell.history.turns import Turn
from agentcell.messages import MediaMessageBlock, TextMessageBlock, ToolCall

DATA = Path(__file__).parent / "data"

PHOTO = ImageAsset.from_bytes(agent_kit.png(1, 2, 3), filename="p.png")
QUESTION = {"role": "user", "content": "q"}


def turn(name: str, cell: str | None = None, part: int = 1, *, fresh: bool = False) -> Turn:
    answer = {"role": "assistant", "content": "x"}
    return Turn(
        id=name,
        cell_id=cell,
        part=part,
        messages=({"role": "user", "content": name}, answer),
        status="complete",
        model="m",
        fresh=fresh,
    )


# -- against a plain list ------------------------------------------------------------------------


@dataclass
class Plain:
    """The same conversation as a list, without a thought for speed: what the store must equal."""

    turns: list[tuple[Turn, int]] = field(default_factory=list)
    """Each with the step at which it was asked."""
    step: int = 0
    former: list[list[tuple[Turn, int]]] = field(default_factory=list)

    def put(self, new: Turn) -> None:
        self.former.append(self.turns)
        self.step += 1
        place = self._place(new)
        kept = [old for old in self.turns[place:] if not _goes(old[0], new)]
        self.turns = [*self.turns[:place], (new, self.step), *kept]

    def undo(self) -> None:
        self.turns = self.former.pop()

    def before(self, cell: str | None, part: int) -> str:
        earlier = [one for one, _ in self.turns[: self._place(turn("", cell, part))]]
        starts = [number for number, one in enumerate(earlier) if one.fresh]
        return names(earlier[starts[-1] :] if starts else earlier)

    def marks(self) -> str:
        shown, highest = [], 0
        for one, step in self.turns:
            highest = 0 if one.fresh else highest
            shown.append(one.id + "*" * (step < highest))
            highest = max(highest, step)
        return " ".join(shown)

    def _place(self, new: Turn) -> int:
        after = len(self.turns)
        for number, (old, _) in enumerate(self.turns):
            if new.cell_id is not None and old.cell_id == new.cell_id:
                if old.part >= new.part:
                    return number
                after = number + 1
        return after


def _goes(old: Turn, new: Turn) -> bool:
    same = old.cell_id is not None and old.cell_id == new.cell_id
    return same and new.part in (old.part, 1)


def names(turns: list[Turn]) -> str:
    return " ".join(one.id for one in turns)


STEP = st.tuples(
    st.sampled_from(["a", "b", "c", "d", "e", None, "undo"]),
    st.integers(1, 3),
    st.booleans(),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=25))
def test_the_store_does_what_a_list_would_do(steps: list[tuple[str | None, int, bool]]) -> None:
    history, plain = NotebookHistory(max_turns=0), Plain()
    seen: set[str] = set()
    for number, (cell, part, fresh) in enumerate(steps):
        if cell == "undo":
            if plain.former:
                plain.undo()
                history.undo()
            continue
        if cell is not None and any(one.cell_id == cell for one, _ in plain.turns) is False:
            if cell in seen:
                continue  # a cell that was taken back keeps its place: a list has none for it
            part = 1  # noqa: PLW2901 (a cell begins with its first question)
        seen.add(cell or "")
        new = turn(f"t{number}", cell, part if cell else 1, fresh=fresh and number % 4 == 0)
        plain.put(new)
        history.put("main", new)

    shown = " ".join(one.id + "*" * one.stale for one in history.turns("main"))
    assert shown == plain.marks()
    for cell in ("a", "b", "c", "d", "e", None):
        has_place = (
            cell is None or cell not in seen or any(one.cell_id == cell for one, _ in plain.turns)
        )
        for part in (1, 2) if has_place else ():
            before = list(history.past("main", cell, part).turns)
            assert names(before) == plain.before(cell, part)


def test_last_turns_are_those_at_the_end() -> None:
    history = NotebookHistory()
    rng = random.Random(1)  # noqa: S311 (no secret)
    for number in range(60):
        history.put("main", turn(f"t{number}", rng.choice(["a", "b", "c", None])))

    every = history.turns("main")
    for last in (1, 2, 5, len(every), 100):
        assert history.turns("main", last=last) == every[-last:]
    assert history.count("main") == history.count() == len(every)


def test_a_cell_that_was_taken_back_comes_again_where_it_stood() -> None:
    history = NotebookHistory()
    for name in "abc":
        history.put("main", turn(name, name))
    history.put("side", turn("b2", "b"))
    history.put("main", turn("b3", "b"))

    assert names(history.turns("main")) == "a b3 c"


# -- the record of a turn ------------------------------------------------------------------------


def full_turn() -> Turn:
    pdf = PdfAsset.from_bytes(agent_kit.pdf(), filename="文.pdf")
    far = ImageAsset.from_url("https://a.example/x.png")
    blocks = [
        TextMessageBlock("Attached:"),
        MediaMessageBlock(PHOTO, "x", "[x_1 X]", "X"),
        MediaMessageBlock(pdf, "y", "[y_1 Y]"),
        MediaMessageBlock(far, "z", "[z_1 Z]"),
        {"type": "image_url", "image_url": {"url": "https://a.example/y.png"}},
        TextMessageBlock("half \ud800, nul \0, 表 \u202e 😀 ' \" \\"),
    ]
    return Turn(
        id="t",
        cell_id="c",
        part=2,
        messages=(
            {"role": "user", "content": blocks},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [ToolCall("1", "look", {"a": [1, None]}, "{")],
                "opaque": [{"provider": "p", "item": {"signature": "s"}}],
            },
            {"role": "tool", "tool_call_id": "1", "name": "look", "content": blocks[1:2]},
            {"role": "assistant", "content": "done"},
        ),
        status="complete",
        model="m/x",
        fresh=True,
        system="",
        skills=(TextMessageBlock("skill"), MediaMessageBlock(PHOTO, "s", "[s_1 S]")),
        forms={PHOTO.fingerprint(): Form(detail="auto", pdf_as="images")},
        finish_reason="stop",
        usage=Usage(input_tokens=3, output_tokens=0, cached_tokens=1, estimated=True),
        citations=(Citation("q", "[x_1 X]", page=2),),
        seconds=1.25,
        error="none",
        at=123.5,
    )


@pytest.mark.parametrize("folder", [True, False])
def test_a_turn_comes_back_as_it_was(tmp_path: Path, folder: bool) -> None:
    assets = KeptAssets(tmp_path if folder else None)
    before = full_turn()
    text = turn_to_json(before, assets)
    text.encode()
    after = turn_from_json(text, KeptAssets(tmp_path) if folder else assets)

    assert after == before
    assert [block.asset.filename for block in after.attachments] == ["p.png", "文.pdf", "x.png"]


def test_what_is_no_json_does_not_keep_a_turn_from_being_kept(tmp_path: Path) -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    for strange in ([object()], [loop], [{(1, 2): 3}], [b"x"]):
        answer = {"role": "assistant", "content": "x", "opaque": strange}
        odd = replace(turn("t"), messages=(QUESTION, answer))
        assets = KeptAssets(tmp_path)

        kept = turn_from_json(turn_to_json(odd, assets), assets)
        assert kept.answer == "x"
        assert "opaque" not in kept.messages[1]


def test_what_a_newer_version_added_is_passed_over(tmp_path: Path) -> None:
    assets = KeptAssets(tmp_path)
    text = turn_to_json(full_turn(), assets)
    newer = text.replace('"usage":{', '"new":1,"usage":{"dog_tokens":3,')

    assert turn_from_json(newer, assets) == full_turn()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"id": 1}', '{"messages": [1]}'])
def test_what_is_no_turn_is_told(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (of json's own, or ours)
        turn_from_json(text, KeptAssets(None))


# -- the tables ----------------------------------------------------------------------------------


def test_a_database_of_an_older_version_gets_the_tables_of_this_one(tmp_path: Path) -> None:
    history = NotebookHistory(tmp_path)
    history.put("main", turn("one", "a"))
    history.close()
    file = tmp_path / ".agentcell/session.sqlite"
    more = ("ALTER TABLE turn ADD COLUMN note TEXT", "UPDATE turn SET note = 'was here'")

    with closing(Database(file, (*STEPS, more))) as database:
        assert database.read("SELECT id, note FROM turn") == [("one", "was here")]
        assert database.read("PRAGMA user_version") == [(len(STEPS) + 1,)]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    NotebookHistory(tmp_path).put("main", turn("one", "a"))
    file = tmp_path / ".agentcell/session.sqlite"
    wrong = ("ALTER TABLE turn ADD COLUMN note TEXT", "UPDATE nothing SET x = 1")
    with pytest.raises(sqlite3.OperationalError):
        Database(file, (*STEPS, wrong))

    with closing(Database(file)) as database:
        assert database.read("SELECT id FROM turn") == [("one",)]
        assert "note" not in {row[1] for row in database.read("PRAGMA table_info(turn)")}


@pytest.mark.parametrize("version", range(1, len(STEPS) + 1))
def test_a_database_of_each_released_version_is_read(tmp_path: Path, version: int) -> None:
    """What each version wrote stands in tests/data, as SQL; its picture is not there any more."""
    script = (DATA / f"history_{version}.sql").read_text(encoding="utf-8")
    (tmp_path / ".agentcell").mkdir()
    with closing(sqlite3.connect(tmp_path / ".agentcell/session.sqlite")) as made:
        made.executescript(script)
    told: list[str] = []
    history = NotebookHistory(tmp_path, notebook="a.ipynb", tell=told.append)
    first, again = history.turns()

    assert (first.id, first.answer, first.system, first.usage) == (
        *("first", "done", "Be brief."),
        full_turn().usage,
    )
    assert (again.id, [former.id for former in history.versions("again")]) == ("again", ["second"])
    assert "See [x_1 X]" in first.question
    history.put("main", turn("new", "c"))
    assert names(history.turns()) == "first again new"
    assert told == ["The content of [x_1 X] is gone; it is not sent again."]


class Watched(Database):
    """Asks for the plan of each question that it is asked."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.plans: list[str] = []

    def read(self, statement: str, *values: Any) -> list[Any]:
        if statement.startswith("SELECT"):
            plan = super().read(f"EXPLAIN QUERY PLAN {statement}", *values)
            self.plans += [f"{row[-1]}: {statement}" for row in plan]
        return super().read(statement, *values)


def test_every_question_of_the_store_is_answered_by_an_index(tmp_path: Path) -> None:
    """What takes time with the number of turns would show here, not only in a benchmark."""
    with closing(Watched(tmp_path / "a.sqlite")) as database:
        assets = KeptAssets(tmp_path)
        store = TurnStore(database, assets, notebook="a", run="r", missing=lambda _: None)
        for name, cell in [("one", "a"), ("two", "b"), ("three", None), ("again", "a")]:
            store.put("main", turn(name, cell))
        store.past("main", "b")
        store.past("main", None)
        store.turns("main", last=5)
        store.find("again")
        branches.undo(store, "main")
        branches.restore(store, "again")
        branches.versions(store, "again")
        scans = [plan for plan in database.plans if plan.startswith("SCAN")]

    assert [plan for plan in scans if "CONSTANT" not in plan] == []
    assert len(database.plans) > 50


def test_a_transaction_that_is_broken_off_leaves_nothing(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "a.sqlite")) as database:
        with suppress(KeyboardInterrupt), database.transaction():
            database.write("INSERT INTO notebook (name) VALUES ('x')")
            raise KeyboardInterrupt
        with database.transaction():
            database.write("INSERT INTO notebook (name) VALUES ('y')")

        assert database.read("SELECT name FROM notebook") == [("y",)]


def test_a_newer_file_is_told_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    Database(file, (*STEPS, ("CREATE TABLE more (x)",))).close()
    before = file.read_bytes()

    with pytest.raises(HistoryError, match="newer version of agentcell"):
        Database(file)
    assert file.read_bytes() == before


# -- cleaning ------------------------------------------------------------------------------------


def test_what_no_turn_needs_is_cleaned_away_after_a_while(tmp_path: Path) -> None:
    assets = KeptAssets(tmp_path)
    used, unused = (ImageAsset.from_bytes(agent_kit.png(1, 1, n)) for n in (1, 2))
    assets.put(used)
    assets.put(unused)
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab/.x.part").write_bytes(b"half")
    (tmp_path / "note.txt").write_bytes(b"a person's own")

    def is_used(fingerprint: str) -> bool:
        return fingerprint == used.fingerprint()

    assert assets.clean(is_used) == 0  # all of it is young
    time.sleep(0.02)
    assert assets.clean(is_used, grace=0.01) == 2
    assert assets.get(used.fingerprint()) == used.load_bytes()
    assert assets.get(unused.fingerprint()) is None
    assert (tmp_path / "note.txt").exists()


def test_what_is_attached_again_is_not_cleaned_away(tmp_path: Path) -> None:
    assets = KeptAssets(tmp_path)
    assets.put(PHOTO)
    time.sleep(0.05)
    assets.put(PHOTO)

    assert assets.clean(lambda _: False, grace=0.04) == 0
