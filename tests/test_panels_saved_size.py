"""What panels leave in a notebook stays small, whatever was said, attached or made."""

from __future__ import annotations

import io
import random
from contextlib import closing
from html import unescape
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from agentcell import ImageAsset, Session
from agentcell.testing import FakeModel
from agentcell.widgets import AttachmentsPanel, ChatPanel, GenerationPanel, HistoryPanel
from agentcell_widgets.panel import Static

MOST = 50_000
"""Bytes of a panel's outputs in the file."""

ANSWERS = {
    "words": "word **bold** and [a](https://a.example/b). " * 900,
    "Chinese": "你好世界，这是一个很长的回答。" * 3_000,
    "lines": "```\n" + "x\n" * 8_000 + "```",
    "marks": '<b>&"x"</b> ' * 4_000,
    "a table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3_000,
}


def photo(number: int) -> ImageAsset:
    """Return what hardly any method makes smaller."""
    noise = random.Random(number).randbytes(300 * 200 * 3)  # noqa: S311 (no secret)
    file = io.BytesIO()
    Image.frombytes("RGB", (300, 200), noise).save(file, "JPEG")
    return ImageAsset.from_bytes(file.getvalue(), filename=f"{number} {'long name ' * 15}.jpg")


def saved_bytes(static: Static, folder: Path) -> int:
    outputs = [new_output("display_data", static.bundle())]
    if static.picture is not None:
        data, facts = static.picture
        outputs.append(new_output("display_data", data, metadata=facts))
    path = folder / "saved.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("panel", outputs=outputs)]), path)
    return path.stat().st_size


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("panel", [ChatPanel, HistoryPanel])
def test_long_answers_leave_little(
    session: Session, tmp_path: Path, panel: type[ChatPanel | HistoryPanel], kind: str
) -> None:
    session.model = FakeModel(ANSWERS[kind])
    for number in range(12):
        session.attach(photo(number), name="photo", label="A rather long label")
    for number in range(25):
        session.ask(f"Question {number}? " + "Why? " * 30)
    with closing(panel(session)) as made:
        static = made.static()

    assert saved_bytes(static, tmp_path) < MOST
    for text in (static.html, static.markdown, static.text):
        assert "Question 24?" in unescape(text)
        assert len(text) > 400


def test_all_is_kept_that_has_room(session: Session) -> None:
    session.model = FakeModel("A short answer. " * 20)
    for number in range(20):
        session.ask(f"Question {number}?")
    with closing(ChatPanel(session)) as panel:
        static = panel.static()

    assert all(f"Question {number}?" in static.html for number in range(20))
    assert "earlier turns" not in static.html
    assert "earlier turns" in static.text


def test_of_one_long_answer_its_beginning_is_kept_and_how_much_is_left_out(
    session: Session,
) -> None:
    session.model = FakeModel("The first words. " + "And more. " * 6_000)
    session.ask("Well?")
    with closing(ChatPanel(session)) as panel:
        static = panel.static()

    for text in (static.html, static.markdown, static.text):
        assert "The first words." in text
        assert "characters more)" in text
    assert len(static.html) > 15_000


def test_many_pictures_leave_one_small_one(session: Session, tmp_path: Path) -> None:
    session.model = FakeModel("Twelve.")
    for number in range(12):
        session.attach(photo(number), name="photo")
    session.ask("How many?")
    with closing(ChatPanel(session)) as panel:
        static = panel.static()

    assert static.picture is not None
    assert "image/jpeg" in static.picture[0]
    assert saved_bytes(static, tmp_path) < MOST


def test_many_attachments_leave_a_list_of_the_first_and_say_how_many_there_are(
    session: Session, tmp_path: Path
) -> None:
    for number in range(400):
        file = io.BytesIO()
        Image.new("L", (1 + number, 1)).save(file, "PNG")
        asset = ImageAsset.from_bytes(file.getvalue(), filename="a.png")
        session.attach(asset, name="plot", label="图表的名称" * 6)
    with closing(AttachmentsPanel(session)) as panel:
        static = panel.static()

    assert saved_bytes(static, tmp_path) < MOST
    shown = static.html.count("<li>") - 1
    assert shown > 50
    for text in (static.html, static.markdown, static.text):
        assert f"and {400 - shown} more" in text


def test_many_results_leave_the_last_ones(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(24):
        session.generate(f"{number} " + "很长的愿望" * 60, model="procedural", size="64x64")
    with closing(GenerationPanel(session)) as panel:
        static = panel.static()

    assert saved_bytes(static, tmp_path) < MOST
    assert "23 很长" in static.html
    assert static.html.count("<li>") > 5
