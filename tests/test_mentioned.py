"""``@path`` in a cell: the file goes along, as `-a` would send it, and its tag stands there."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image

from agentcell.session import Session
from agentcell_magics import current_session
from agentcell_magics.mentioned import mentioned
from kernels import Kernel
from scripted import ScriptedModel


@pytest.fixture
def model(shell: InteractiveShell, tmp_path: Path) -> ScriptedModel:
    assert shell
    (tmp_path / "receipts").mkdir()
    Image.new("RGB", (60, 90), "white").save(tmp_path / "receipts" / "a.png")
    Image.new("RGB", (90, 60), "red").save(tmp_path / "my photo.png")
    (tmp_path / "notes.md").write_text("# Notes", encoding="utf-8")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    model = ScriptedModel(["Yes."])
    current_session().model = model
    return model


def ran(shell: InteractiveShell, source: str) -> tuple[bool, str]:
    with capture_output() as captured:
        result = shell.run_cell(source)
    shown = "\n".join(str(one.data.get("text/plain", "")) for one in captured.outputs)
    return bool(result.success), shown + captured.stdout


def question(session: Session) -> tuple[str, list[str]]:
    turn = session.turns[-1]
    return turn.question, [block.tag for block in turn.attachments]


@pytest.mark.usefixtures("model")
def test_a_file_goes_along_and_its_tag_stands_in_its_place(shell: InteractiveShell) -> None:
    success, shown = ran(shell, '%%agent\nIs @receipts/a.png on @"my photo.png"? Mail me@x.org.')

    assert success
    asked, tags = question(current_session())
    assert tags == ["[a_1 a]", "[my_photo_1 my_photo]"]
    assert asked == "Is [a_1 a] on [my_photo_1 my_photo]? Mail me@x.org."
    assert "PNG image, 60 × 90 px" in shown


@pytest.mark.usefixtures("model")
def test_a_file_on_the_line_and_in_the_text_goes_once(shell: InteractiveShell) -> None:
    ran(shell, "%%agent -a receipt=receipts/a.png\nWhat is on @receipts/a.png and {receipt}?")

    asked, tags = question(current_session())
    assert tags == ["[receipt_1 receipt]"]
    assert asked == "What is on [receipt_1 receipt] and [receipt_1 receipt]?"


@pytest.mark.usefixtures("model")
def test_a_declared_field_takes_the_file_that_is_mentioned(shell: InteractiveShell) -> None:
    ran(shell, '%%agent -i a="IMAGE:Till receipt"\nWhat is on @receipts/a.png?')

    assert question(current_session())[1] == ["[a_1 Till receipt]"]


@pytest.mark.usefixtures("model")
def test_braces_round_a_mention_stay(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = "@receipts/a.png and {y}"
    shell.user_ns["y"] = "why"
    ran(shell, "%%agent\n{ @receipts/a.png } {x} {{x}}")

    asked, tags = question(current_session())
    assert asked == "{ [a_1 a] } @receipts/a.png and {y} {x}"
    assert tags == ["[a_1 a]"]


@pytest.mark.usefixtures("model")
def test_a_mention_in_a_variable_s_value_reads_nothing(shell: InteractiveShell) -> None:
    shell.user_ns["said"] = "@receipts/a.png"
    ran(shell, "%%agent\nWhat is {said}?")

    assert question(current_session()) == ("What is @receipts/a.png?", [])


@pytest.mark.usefixtures("model")
def test_a_mention_that_a_program_put_into_a_cell_reads_nothing(shell: InteractiveShell) -> None:
    made = "get_ipython().run_cell_magic('agent', '', 'See @receipts' + '/a.png')"
    success, shown = ran(shell, made)

    assert success
    assert question(current_session()) == ("See @receipts/a.png", [])
    assert "nobody typed it in this cell" in shown

    nested = "get_ipython().run_cell('%%agent\\nSee @receipts' + '/a.png')"
    assert ran(shell, nested)[0]
    assert question(current_session()) == ("See @receipts/a.png", [])


@pytest.mark.usefixtures("model")
def test_python_code_attaches_nothing_by_a_text(shell: InteractiveShell) -> None:
    assert shell
    current_session().ask("What is @receipts/a.png?")

    assert question(current_session()) == ("What is @receipts/a.png?", [])


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("See @receipts/b.png.", "there is no such file: did you mean @receipts/a.png?"),
        ("See @my_photo.png", 'did you mean @"my photo.png"?'),
        ("See @nowhere.pdf", "@nowhere.pdf stays as typed: there is no such file."),
        ("See @none/x.png", "@none/x.png stays as typed: there is no such file."),
        ("See @notes.md", "@notes.md stays as typed: only images and PDFs can be attached."),
    ],
)
def test_a_mention_that_comes_to_nothing_gets_one_line(
    shell: InteractiveShell, text: str, hint: str
) -> None:
    success, shown = ran(shell, f"%%agent\n{text}")

    assert success
    assert hint in shown
    assert question(current_session()) == (text, [])


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    "text", ["@tool\ndef f(): ...", "me@a.png", "`@receipts/a.png`", "@media print { a {} }", "@me"]
)
def test_all_else_gets_no_hint(shell: InteractiveShell, text: str) -> None:
    _, shown = ran(shell, f"%%agent\n{text}")

    assert question(current_session()) == (text, [])
    assert "stays as" not in shown


@pytest.mark.usefixtures("model")
def test_a_damaged_image_fails_the_cell_as_with_a(shell: InteractiveShell) -> None:
    success, shown = ran(shell, "%%agent\nSee @broken.png")

    assert not success
    assert "AttachmentError" in shown
    assert current_session().turns == ()


@pytest.mark.usefixtures("model")
def test_many_hints_are_cut() -> None:
    text = " ".join(f"@none{number}.png" for number in range(50))

    assert len(mentioned(text, lambda _: True).hints) == 3


def test_in_a_kernel_what_the_front_end_sent_is_what_was_typed(
    kernel: Kernel, tmp_path: Path
) -> None:
    Image.new("RGB", (60, 90), "white").save(tmp_path / "a.png")
    kernel.run("%load_ext agentcell")
    tags = "from agentcell.magics import current_session as s\n"
    tags += "print([b.tag for b in s().turns[-1].attachments])"

    typed = kernel.run("  \n%%agent -m local\nWhat is on @a.png?")
    assert typed.status == "ok"
    assert "[a_1 a]" in kernel.run(tags).text

    made = kernel.run("get_ipython().run_cell_magic('agent', '-m local', 'See @a' + '.png')")
    assert "nobody typed it" in made.text
    assert kernel.run(tags).text.strip() == "[]"
