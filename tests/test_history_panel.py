"""The history panel without a browser: its list piece by piece, its search, and what it changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell import NotebookHistory, Session
from agentcell.history import listing
from agentcell.history.turns import Turn
from agentcell.messages import content_text
from agentcell.testing import FakeModel
from agentcell.testing.fake_model import Asked
from agentcell.widgets import HistoryPanel
from panels import Page


def asked(session: Session, question: str, **options: Any) -> str:
    """Ask, and return the turn's id."""
    request = session.prepare(question, **options)
    for _ in session.stream(request):
        pass
    return request.id


def answer(request: Asked) -> str:
    return f"About **{content_text(request.messages[-1]['content'])}**"


@pytest.fixture
def session() -> Session:
    """Three cells of `main`, the first ran again; one turn of `taxes`."""
    session = Session(model=FakeModel(answer))
    for cell, question in (("c1", "one"), ("c2", "two"), ("c3", "three")):
        asked(session, question, cell_id=cell)
    asked(session, "one again", cell_id="c1")
    asked(session, "about taxes", conversation="taxes", cell_id="c4")
    return session


@pytest.fixture
def panel(session: Session) -> Iterator[HistoryPanel]:
    panel = HistoryPanel(session)
    yield panel
    panel.close()


@pytest.fixture
def page(panel: HistoryPanel) -> Page:
    return Page(panel)


def rows(page: Page, **asks: Any) -> dict[str, Any]:
    return page.ask("rows", {"first": 0, "count": 50, **asks})


def names(answer: dict[str, Any]) -> list[str]:
    return [f"{row['name']}: {row['question']}" for row in answer["rows"]]


def test_a_session_alone_is_enough() -> None:
    panel = HistoryPanel(Session())

    assert panel.state()["count"] == 0
    assert repr(panel) == "No turns yet."
    panel.close()


def test_the_last_turn_comes_first_with_conversation_number_cell_and_marks(page: Page) -> None:
    answer = rows(page)

    assert names(answer) == [
        "taxes 1: about taxes",
        "main 1: one again",
        "main 3: three",
        "main 2: two",
    ]
    assert answer["rows"][1]["marks"] == []
    assert answer["rows"][2]["marks"] == ["stale"]
    assert "cell c3" in answer["rows"][2]["facts"]
    assert answer["rows"][2]["stale"]


def test_one_conversation_is_in_its_own_order(page: Page) -> None:
    answer = rows(page, conversation="main")

    assert names(answer) == ["main 3: three", "main 2: two", "main 1: one again"]


def test_what_was_replaced_or_taken_back_is_shown_when_asked_for(
    session: Session, page: Page
) -> None:
    session.undo("taxes")
    answer = rows(page, gone=True)

    assert "main: one" in names(answer)
    assert {row["state"] for row in answer["rows"]} == {"", "replaced", "taken back"}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("TWO", ["main 2: two"]),
        ("taxes about", ["taxes 1: about taxes"]),
        ("again fake", ["main 1: one again"]),
        ("nothing of it", []),
        ("   ", ["taxes 1: about taxes", "main 1: one again", "main 3: three", "main 2: two"]),
    ],
)
def test_a_search_wants_every_word_wherever_it_stands(
    page: Page, words: str, found: list[str]
) -> None:
    assert names(rows(page, search=words)) == found


def test_a_piece_of_the_list_is_what_was_asked_for(page: Page) -> None:
    answer = page.ask("rows", {"first": 1, "count": 2})

    assert names(answer) == ["main 1: one again", "main 3: three"]
    assert answer["total"] == 4
    assert page.ask("rows", {"first": 99, "count": 2})["rows"] == []


def test_a_turn_is_read_whole_with_its_answer_as_safe_html(session: Session, page: Page) -> None:
    evil = "<script>alert(1)</script> ![x](http://evil.example/x.png)"
    turn = asked(session, evil, cell_id="c9")
    whole = page.ask("turn", {"id": turn})

    assert whole["text"] == evil
    assert "<strong>" in whole["html"] or "&lt;script&gt;" in whole["html"]
    assert "<script" not in whole["html"]
    assert "<img" not in whole["html"]


def test_a_turn_that_is_gone_is_said_to_be(page: Page) -> None:
    assert "there no more" in page.refusal("turn", {"id": "nothing"})


def test_a_replaced_turn_is_brought_back(session: Session, page: Page) -> None:
    gone = next(row for row in rows(page, gone=True)["rows"] if row["state"])
    reply = page.ask("restore", {"name": gone["id"]})

    assert reply["notice"] == "Here again: “one”"
    assert "main 1: one" in names(rows(page, conversation="main"))
    assert session.history.find(gone["id"]) is not None


def test_a_former_life_of_the_kernel_is_brought_back(tmp_path: Path) -> None:
    first = Session(model=FakeModel("Yes."), history=NotebookHistory(tmp_path))
    asked(first, "from before")
    first.history.close()
    session = Session(model=FakeModel("Yes."), history=NotebookHistory(tmp_path))
    panel = HistoryPanel(session)
    page = Page(panel)
    (run,) = page.ask("hello")["runs"]
    before = rows(page)["total"]
    reply = page.ask("restore", {"name": run["name"]})
    after = names(rows(page))
    panel.close()

    assert (run["question"], run["count"], before) == ("from before", 1, 0)
    assert "turns of" in reply["notice"]
    assert after == ["main 1: from before"]


def test_a_forgotten_turn_is_gone_for_good(session: Session, page: Page) -> None:
    turn = rows(page, conversation="main")["rows"][0]["id"]
    page.ask("forget", {"id": turn})

    assert names(rows(page, conversation="main")) == ["main 2: two", "main 1: one again"]
    assert "none" in page.refusal("forget", {"id": turn}) or session.history.find(turn) is None


def test_the_last_change_is_taken_back(page: Page) -> None:
    reply = page.ask("undo", {"conversation": "main"})

    assert reply["notice"] == "Taken back: “one again”"
    assert names(rows(page, conversation="main"))[-1] == "main 1: one"


def test_turns_are_exported_and_what_is_there_stays_unless_allowed(
    page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "answers.md"
    page.ask("export", {"path": str(file), "conversation": "taxes"})
    text = file.read_text(encoding="utf-8")
    refused = page.refusal("export", {"path": str(file)})
    page.ask("export", {"path": str(file), "overwrite": True})

    assert "about taxes" in text
    assert "two" not in text
    assert "there already" in refused
    assert "tick that it may be replaced" in refused
    assert "two" in file.read_text(encoding="utf-8")
    assert "No file is named." in page.refusal("export", {"path": " "})


def test_a_new_turn_is_told_and_lists_are_read_anew(session: Session, page: Page) -> None:
    before = page.ask("hello")["version"]
    rows(page)
    asked(session, "five", cell_id="c5")
    state = page.event("state", count=5)

    assert state["version"] > before
    assert names(rows(page))[0] == "main 4: five"
    assert state["conversations"] == [{"name": "main", "count": 4}, {"name": "taxes", "count": 1}]


def test_without_a_kernel_the_last_turns_read(panel: HistoryPanel) -> None:
    static = panel.static()

    assert "Turns: the last 4 of 4" in static.text
    assert "taxes 1: about taxes" in static.text
    assert "<strong>main 3</strong> three" in static.html


def test_static_text_is_safe(session: Session, panel: HistoryPanel) -> None:
    asked(session, "<img src=x onerror=alert(1)> [a](javascript:b)", cell_id="c9")
    static = panel.static()

    assert "<img" not in static.html + static.markdown
    assert "](javascript" not in static.markdown


def fill(history: NotebookHistory, count: int) -> None:
    for number in range(count):
        said = {"role": "assistant", "content": f"answer {number} " * 40}
        asked_ = {"role": "user", "content": f"question {number} " * 5}
        history.put(
            "main",
            Turn(
                id=f"turn-{number:06}",
                cell_id=f"cell-{number}",
                messages=(asked_, said),
                status="complete",
                model="fake/x",
            ),
        )


def test_a_piece_of_10_000_turns_costs_what_a_piece_of_few_costs() -> None:
    """Ratios of one run: 50 rows of a known list, and a search through all of it."""
    seconds: dict[int, float] = {}
    for count in (500, 10_000):
        session = Session()
        fill(session.history, count)
        panel = HistoryPanel(session)
        page = Page(panel)
        assert rows(page)["total"] == count
        began = time.process_time()
        for first in (0, count // 2, count - 50):
            assert len(page.ask("rows", {"first": first, "count": 50})["rows"]) == 50
        seconds[count] = time.process_time() - began
        assert names(rows(page, search=f"question {count - 3}"))[0].startswith(f"main {count - 2}:")
        panel.close()

    assert seconds[10_000] < 5 * seconds[500] + 0.05


def test_a_newer_search_ends_an_older_one() -> None:
    session = Session()
    fill(session.history, 1_000)
    found = listing.entries(session.history)
    looked = listing.search(session.history, found, "answer", goes_on=lambda: False)

    assert looked == []
    assert len(listing.search(session.history, found, "answer")) == 1_000


def test_an_entry_of_another_store_is_no_turn(session: Session) -> None:
    (first, *_) = listing.entries(session.history)
    wrong = listing.Entry(seq=first.seq, id="another", conversation="main", number=1)
    right, missing = listing.turns_of(session.history, [first, wrong])

    assert right is not None
    assert missing is None


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=9)


@pytest.mark.parametrize("kind", ["rows", "turn", "undo", "restore", "forget"])
@settings(max_examples=25, deadline=None)
@given(
    payload=st.dictionaries(
        st.sampled_from(["first", "count", "conversation", "search", "gone", "id", "name"]), VALUES
    )
)
def test_whatever_a_page_sends_is_answered_and_breaks_nothing(
    kind: str, payload: dict[str, Any]
) -> None:
    panel = HistoryPanel(Session(model=FakeModel("Yes.")))
    page = Page(panel)
    reply = page.reply(kind, payload)
    panel.close()

    assert "went wrong" not in reply.get("problem", "")
