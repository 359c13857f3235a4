from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image, PngImagePlugin

from agentcell.answer import Answer
from agentcell.errors import BadRequest
from agentcell.session import Session
from agentcell_magics import current_session
from scripted import ScriptedModel


@pytest.fixture
def model(shell: InteractiveShell) -> ScriptedModel:  # noqa: ARG001 (loads the extension first)
    model = ScriptedModel(["The total is ", "**27.95**."])
    current_session().model = model
    return model


@pytest.fixture
def session(shell: InteractiveShell) -> Session:  # noqa: ARG001
    return current_session()


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    path = tmp_path / "receipt.png"
    Image.new("RGB", (60, 90), "white").save(path)
    return path


class Cell:
    """What a cell showed and how it ended."""

    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            result = shell.run_cell(source)
        self.success = bool(result.success)
        self.error = result.error_in_exec
        self.outputs: list[dict[str, Any]] = [o.data for o in captured.outputs]
        self.metadata: list[dict[str, Any]] = [o.metadata for o in captured.outputs]
        self.stdout = captured.stdout

    @property
    def text(self) -> str:
        return "\n".join(str(data.get("text/plain", "")) for data in self.outputs) + self.stdout


def test_a_cell_shows_the_attachment_the_answer_and_what_it_took(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    assert receipt.exists()
    cell = Cell(
        shell,
        '%%agent -a receipt=receipt.png -i receipt="IMAGE:Receipt"\n'
        "What is the total on {receipt}?",
    )

    assert cell.success
    picture, card, answer, footer = cell.outputs
    assert "image/png" in picture or "image/jpeg" in picture
    assert "[receipt_1 Receipt]" in card["text/plain"]
    assert "60 × 90 px" in card["text/plain"]
    assert "Asked: What is the total on [receipt_1 Receipt]?" in card["text/plain"]
    assert answer == {
        "text/markdown": "The total is **27.95**.",
        "text/plain": "The total is **27.95**.",
    }
    assert footer["text/plain"].startswith("scripted/model · 10 tokens in, 2 out · ")
    assert len(model.requests) == 1


def test_the_picture_carries_its_alternative_text_and_a_size_that_fits_a_phone(
    shell: InteractiveShell, model: ScriptedModel, tmp_path: Path
) -> None:
    assert model.pieces
    Image.new("RGB", (3000, 2000), "blue").save(tmp_path / "wide.png")
    cell = Cell(shell, "%%agent -a wide.png\nlook")

    facts = next(iter(cell.metadata[0].values()))
    assert facts["alt"].startswith("[wide_1 wide] ")
    assert facts["width"] <= 360
    assert abs(facts["width"] / facts["height"] - 1.5) < 0.02


def test_the_answer_output_says_where_it_comes_from(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    assert model.pieces
    assert receipt.exists()
    cell = Cell(shell, "%%agent -a receipt.png\nlook")

    facts = cell.metadata[2]["agentcell"]
    assert facts["model"] == "scripted/model"
    assert facts["status"] == "complete"
    assert facts["usage"] == {"input_tokens": 10, "output_tokens": 2}
    (attached,) = facts["attachments"]
    assert attached["tag"] == "[receipt_1 receipt]"
    assert attached["digest"].startswith("sha256:")


def test_a_follow_up_needs_no_attachment(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    assert receipt.exists()
    Cell(shell, "%%agent -a receipt.png\nlook")
    cell = Cell(shell, "%%agent\nAnd the date?")

    assert cell.success
    assert len(cell.outputs) == 2
    assert len(model.requests[1]) == 3


def test_the_answer_goes_into_a_variable_with_its_facts(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    assert model.pieces
    Cell(shell, "%%agent -o total\nhow much?")

    total = shell.user_ns["total"]
    assert total == "The total is **27.95**."
    assert isinstance(total, Answer)
    assert total.model == "scripted/model"


def test_a_variable_is_a_value_and_everything_else_stays_as_typed(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    shell.user_ns.update(city="Bonn", a=[1, {"b": None}])
    braces = r'{city} {"city": 1} {{city}} $x {city.upper()} \frac{n}{d} {unknown}'
    typed = f"{braces} %s {{a}} `ls` !ls {{print}}"
    Cell(shell, f"%%agent\n{typed}")

    sent = model.requests[0][-1]["content"]
    assert sent.startswith('Bonn {"city": 1} {city} $x {city.upper()} \\frac{n}{d} {unknown} %s ')
    assert sent.endswith("`ls` !ls {print}")
    assert "<" not in sent


def test_quiet_shows_the_answer_alone(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    assert model.pieces
    assert receipt.exists()
    shell.user_ns["receipt"] = 1
    cell = Cell(shell, "%%agent -q -o sum -a receipt.png\nlook at {recipt}\n%%agent")

    assert [data["text/plain"] for data in cell.outputs] == ["The total is **27.95**."]


def test_a_dry_run_shows_what_would_go_and_sends_nothing(
    shell: InteractiveShell, model: ScriptedModel, session: Session, receipt: Path
) -> None:
    assert receipt.exists()
    cell = Cell(shell, '%%agent -n -s "Be brief." -t 0.1 -a receipt.png\nWhat is on {receipt}?')

    assert cell.success
    assert "nothing was sent" in cell.text
    assert "Be brief." in cell.text
    assert "What is on [receipt_1 receipt]?" in cell.text
    assert model.requests == []
    assert session.turns == ()


def test_settings_reach_the_model(shell: InteractiveShell, model: ScriptedModel) -> None:
    Cell(shell, "%%agent -t 0.1 --max-tokens 20\nhi")

    assert model.settings == [{"temperature": 0.1, "max_tokens": 20}]


def test_a_fresh_cell_starts_over(shell: InteractiveShell, model: ScriptedModel) -> None:
    Cell(shell, "%%agent\none")
    Cell(shell, "%%agent --fresh\ntwo")
    Cell(shell, "%%agent\nthree")

    assert [len(messages) for messages in model.requests] == [1, 1, 3]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("%%agent\n", "This %%agent cell is empty."),
        ("%%agent -a receipt.png\n  \n", "This %%agent cell is empty."),
        ("%%agent --nope\nhi", "no option --nope"),
        ("%%agent nosuch/model\nhi", "nosuch"),
        ("%%agent -a missing.png\nhi", "missing.png"),
        ("%%agent -a .\nhi", "."),
        ("%%agent -a empty.png\nhi", "empty"),
        ("%%agent -a notes.png\nhi", "notes.png"),
        ("%%agent -a cut.png\nhi", "cut.png"),
        ("%%agent -a bomb.png\nhi", "20,000"),
        ("%%agent -a cut.pdf\nhi", "cut.pdf"),
        ("%%agent -i x=IMAGE:X\nhi {x}", "'x'"),
        ("%%agent -i n=IMAGE:X\nhi {n}", "IMAGE"),
        ("%%agent -a p=receipt.png -i p=VIDEO:X\nhi {p}", "VIDEO"),
        ("%%agent -a p=receipt.png -i p=PDF:X\nhi {p}", "PDF"),
        ("%%agent -a https://x.example/a\nhi", "image or a PDF"),
        ("%%agent -a p=ftp://x.example/a.png\nhi", "ftp"),
        ("%agent nosuch", "no command 'nosuch'"),
        ("%%agent", "This %%agent cell is empty."),
        ("%agent What is this", "no command"),
        ("%agent model nosuch/x", "nosuch"),
        ("%agent forget x_1", "x_1"),
        ("%view_image", "one path or variable"),
        ("%view_image missing", "missing"),
        ("%view_image notes.png", "notes.png"),
        ("%view_image n", "n"),
        ("%view_image receipt.png --detail huge", "huge"),
        ("%view_image ''", "one path or variable"),
        ("%view_image whole.pdf", "this is a PDF"),
        ("%view_image place", "holds text"),
        ("%view_image https://x.example/a.png", "only the model's service"),
        ("%view_image file:///tmp/a.png", "write the path alone"),
        ("%view_image " + "x" * 5000 + ".png", "too long"),
        ("%agent " + "x" * 5000, "no command"),
        ("%%agent What is this?", "takes one model"),
        ('%%agent -s "why?"', "This %%agent cell is empty."),
        ("%%agent\n\u200b\ufeff\n", "This %%agent cell is empty."),
        ("%%agent\na\ud800b", "half a character"),
        ("%%agent\na\0b", "a NUL character"),
        ("%%agent\n{half}", "'half' holds half a character"),
        ("%%agent -s \ud800\nhi", "The line holds half a character"),
        ("%%agent -a " + "x" * 5000 + "\nhi", "too long"),
        ("%%agent -a ~nosuchuser/a.png\nhi", "~nosuchuser"),
        ("%%agent -a file:///tmp/a%20b.png\nhi", "-a /tmp/a b.png"),
        ("%%agent -a {place}\nhi", "write {place} in the question"),
        ("%%agent -a place\nhi", "write {place} in the question"),
        ("%%agent -a 1x=receipt.png\nhi", "'1x' is no name"),
        ("%%agent -o get_ipython\nhi", "IPython itself"),
        ("%%agent -o In\nhi", "IPython itself"),
        ("%%agent -o _\nhi", "IPython itself"),
        ("%%agent -o _1\nhi", "IPython itself"),
    ],
)
def test_bad_input_is_told_shortly_and_harms_nothing(
    shell: InteractiveShell,
    model: ScriptedModel,
    session: Session,
    receipt: Path,
    source: str,
    said: str,
) -> None:
    _make_bad_files(receipt)
    shell.user_ns.update(n=3, half="a\udfffb", place="receipt.png")

    cell = Cell(shell, source)

    assert not cell.success
    assert said in cell.stdout
    assert len(cell.stdout.strip().splitlines()) <= 15
    assert "Fix: " in cell.stdout
    assert "Traceback" not in cell.stdout
    assert model.requests == []
    assert session.turns == ()
    assert Cell(shell, "%%agent\nhi").success


def _make_bad_files(receipt: Path) -> None:
    folder = receipt.parent
    whole = receipt.read_bytes()
    (folder / "empty.png").write_bytes(b"")
    (folder / "notes.png").write_text("just some notes")
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    size = (20_000).to_bytes(4, "big")
    header = b"IHDR" + size + size + b"\x08\x02\x00\x00\x00"
    import zlib

    chunk = (13).to_bytes(4, "big") + header + zlib.crc32(header).to_bytes(4, "big")
    (folder / "bomb.png").write_bytes(whole[:8] + chunk + whole[33:])
    Image.new("RGB", (50, 50)).save(folder / "whole.pdf", "PDF")
    pdf = (folder / "whole.pdf").read_bytes()
    (folder / "cut.pdf").write_bytes(pdf[:60])


def test_a_refusal_fails_the_cell_in_two_lines(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    model.pieces, model.error = (), BadRequest("It said no.", fix="ask better.")

    cell = Cell(shell, "%%agent\nhi")

    assert not cell.success
    assert cell.stdout.strip() == "BadRequest: It said no.\nFix: ask better."
    assert cell.outputs[-1]["text/plain"] == "No answer."


def test_a_bug_s_stack_is_seen_and_its_turn_failed(
    shell: InteractiveShell, model: ScriptedModel, session: Session
) -> None:
    model.pieces, model.error = (), KeyError("a bug")

    cell = Cell(shell, "%%agent\nhi")

    assert isinstance(cell.error, KeyError)
    assert "Traceback" in cell.stdout
    assert cell.outputs[-1]["text/plain"] == "No answer."
    assert [turn.status for turn in session.turns] == ["failed"]


@pytest.mark.parametrize("pieces", [(), ("",), (" ", "\n")])
def test_an_answer_without_words_says_so(
    shell: InteractiveShell, model: ScriptedModel, pieces: tuple[str, ...]
) -> None:
    model.pieces = pieces

    assert Cell(shell, "%%agent\nhi").outputs[0]["text/plain"] == "The model answered nothing."


def test_comments_may_stand_above_the_magic(shell: InteractiveShell, model: ScriptedModel) -> None:
    assert Cell(shell, "# %% ask\n\n# about it\n%%agent -q\nhi\n# there").success
    assert model.requests[0][-1]["content"] == "hi\n# there"


def test_a_second_question_in_a_cell_is_pointed_out(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    cell = Cell(shell, "%%agent\none\n\n%%agent -a x\ntwo")

    assert "Line 4 begins with %%agent" in cell.text
    assert model.requests[0][-1]["content"] == "one\n\n%%agent -a x\ntwo"


def test_a_variable_that_hides_one_of_python_s_is_pointed_out(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    assert model.pieces
    cell = Cell(shell, "%%agent -o sum\nhow much?")

    assert "del sum brings it back" in cell.text
    assert shell.user_ns["sum"] == "The total is **27.95**."


def test_private_names_are_values_and_the_shell_s_own_are_not(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    shell.user_ns.update(_mine="yes", _1="out")
    Cell(shell, "%%agent\n{_mine} {_1} {_} {__} {_i} {_ih} {In} {Out} {__name__} {get_ipython}")

    assert model.requests[0][-1]["content"] == (
        "yes out {_} {__} {_i} {_ih} {In} {Out} {__name__} {get_ipython}"
    )


def test_an_address_is_an_image_or_a_pdf_by_its_ending_and_named_by_its_file(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    line = (
        "-a https://x.example/a/plot.png?k=1 -a https://x.example/b.pdf -a c=data:image/png;base64,"
    )
    cell = Cell(shell, f"%%agent {line}{_ENCODED}\nlook")

    blocks = [b for b in model.requests[0][-1]["content"] if b.type == "media"]
    assert cell.success
    assert [b.tag for b in blocks] == ["[plot_1 plot]", "[b_1 b]", "[c_1 c]"]
    assert [str(b.modality) for b in blocks] == ["IMAGE", "PDF", "IMAGE"]


_ENCODED = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"
)


def test_a_file_whose_name_holds_an_equals_sign_is_found(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    receipt.rename(receipt.with_name("a=b.png"))

    assert Cell(shell, "%%agent -a a=b.png -a c=a=b.png\nlook").success
    assert model.requests[0][-1]["content"][1].tag == "[a_b_1 a_b]"


def test_a_picture_is_large_where_it_is_first_attached_and_small_later(
    shell: InteractiveShell, model: ScriptedModel, tmp_path: Path
) -> None:
    assert model.pieces
    Image.effect_noise((900, 900), 90).save(tmp_path / "photo.jpg")
    first, later = (Cell(shell, "%%agent -a photo.jpg\nlook") for _ in range(2))
    sizes = [len(next(iter(cell.outputs[0].values()))) for cell in (first, later)]

    assert sizes[1] < sizes[0] / 2
    assert next(iter(later.metadata[0].values()))["width"] == 192


def test_many_attachments_show_some_in_one_strip_and_all_names(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    assert model.pieces
    shell.user_ns["plots"] = [Image.new("RGB", (400, 300 + n)) for n in range(15)]
    cell = Cell(shell, "%%agent\nCompare {plots}")

    pictures = [data for data in cell.outputs if any(m.startswith("image/") for m in data)]
    card = cell.outputs[len(pictures)]["text/plain"]
    assert len(pictures) == 1
    assert 340 <= cell.metadata[0]["image/jpeg"]["width"] <= 360
    assert cell.metadata[0]["image/jpeg"]["alt"].count("PNG image") == 12
    assert "[plots_15 plots] PNG image, 400 × 314 px" in card
    assert "The first 12 are shown." in card


def test_a_dry_run_of_a_long_question_stays_short(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    assert model.pieces
    shell.user_ns["book"] = "words " * 100_000
    cell = Cell(shell, "%%agent -n\n{book}")

    assert sum(len(str(value)) for data in cell.outputs for value in data.values()) < 50_000
    assert "596,000 characters more" in cell.text


def test_a_png_named_jpg_is_sent_as_what_it_is_with_a_note(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    receipt.rename(receipt.with_name("photo.jpg"))

    cell = Cell(shell, "%%agent -a photo.jpg\nhi")

    block = model.requests[0][-1]["content"][1]
    assert block.asset.mime_type == "image/png"
    assert "Note: photo.jpg holds a PNG image" in cell.text


def test_a_model_s_markup_is_shown_and_not_run(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    model.pieces = ("<script>alert(1)</script> ", "![x](https://evil.example/x.png)")

    cell = Cell(shell, "%%agent\nhi")

    markdown = cell.outputs[0]["text/markdown"]
    assert "<script" not in markdown
    assert "![" not in markdown
    assert all("text/html" not in data for data in cell.outputs[:1])


def test_an_answer_that_names_a_file_is_not_opened(
    shell: InteractiveShell, model: ScriptedModel, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    model.pieces = ("secret.txt",)

    assert "the secret" not in Cell(shell, "%%agent\nhi").text


def test_names_of_files_and_labels_cannot_become_markup(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    assert model.pieces
    receipt.rename(receipt.with_name("<b>x.png"))

    cell = Cell(shell, "%%agent -a r='<b>x.png' -i r='IMAGE:<script>*x*'\nhi {r}")

    assert cell.success
    for data in cell.outputs:
        assert "<script" not in data.get("text/html", "") + data.get("text/markdown", "")
        assert "<b>" not in data.get("text/html", "") + data.get("text/markdown", "")


def test_no_text_holds_encoded_bytes(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    import re

    assert model.pieces
    noise = Image.effect_noise((400, 400), 90)
    noise.save(receipt, pnginfo=PngImagePlugin.PngInfo())
    cell = Cell(shell, "%%agent -a receipt.png\nhi")

    for data in cell.outputs:
        for mime, value in data.items():
            if not mime.startswith("image/"):
                assert not re.search(r"[A-Za-z0-9+/]{200}", value)


def test_a_viewed_picture_goes_with_the_next_question(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    cell = Cell(shell, f'%view_image {receipt.name} --as plot --label "My plot"')
    Cell(shell, "%%agent\nWhat is it?")

    assert "[plot_1 My plot]" in cell.text
    assert model.requests[0][-1]["content"][1].tag == "[plot_1 My plot]"


def test_a_variable_can_be_viewed(shell: InteractiveShell, model: ScriptedModel) -> None:
    shell.user_ns["sketch"] = Image.new("RGB", (5, 5))
    cell = Cell(shell, "%view_image sketch")
    Cell(shell, "%%agent\nWhat is it?")

    assert cell.success
    assert model.requests[0][-1]["content"][1].tag.startswith("[sketch_1 ")


def test_a_picture_that_is_known_is_viewed_under_its_tag_unless_one_is_given(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    assert receipt.exists()
    assert model.pieces
    Cell(shell, "%%agent -a r=receipt.png\nlook")

    assert "[r_1 r]" in Cell(shell, "%view_image receipt.png").text
    assert "[r_2 New]" in Cell(shell, "%view_image receipt.png --as r --label New").text


def test_a_variable_may_be_viewed_as_it_stands_in_a_question(
    shell: InteractiveShell, session: Session
) -> None:
    shell.user_ns["sketch"] = Image.new("RGB", (5, 5))

    assert Cell(shell, "%view_image {sketch}").success
    assert len(session.attachments) == 1


def test_the_status_says_model_turns_attachments_and_tokens(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    assert model.pieces
    assert receipt.exists()
    Cell(shell, "%%agent -a receipt.png\nhi")

    text = Cell(shell, "%agent").text
    assert "scripted/model" in text
    assert "main (1 turn)" in text
    assert "[receipt_1 receipt]" in text
    assert "10 tokens in, 2 out" in text


def test_history_attachments_forget_and_reset(
    shell: InteractiveShell, model: ScriptedModel, receipt: Path
) -> None:
    assert receipt.exists()
    Cell(shell, "%%agent -a receipt.png\nWhat is on {receipt}?")

    assert "What is on [receipt_1 receipt]?" in Cell(shell, "%agent history").text
    assert "60 × 90 px" in Cell(shell, "%agent attachments").text
    assert Cell(shell, "%agent forget receipt_1").success
    Cell(shell, "%%agent\nagain")
    assert "receipt" not in Cell(shell, "%agent attachments").text
    assert all(not hasattr(b, "asset") for b in model.requests[1][0]["content"])
    assert Cell(shell, "%agent reset").success
    assert "No turns yet." in Cell(shell, "%agent history").text


def test_a_long_history_shows_its_end(
    shell: InteractiveShell, model: ScriptedModel, session: Session
) -> None:
    assert model.pieces
    for number in range(120):
        session.ask(f"question {number}")
    text = Cell(shell, "%agent history").text

    assert "the last 100 of 120" in text
    assert "question 119" in text
    assert "question 19 " not in text


def test_help_names_every_option(shell: InteractiveShell) -> None:
    from agentcell_magics.options import AGENT_OPTIONS

    text = str(shell.object_inspect_text("%%agent"))

    for option in AGENT_OPTIONS:
        assert option.flags[-1] in text


def test_loading_twice_keeps_the_session_and_unloading_takes_the_magics_away(
    shell: InteractiveShell, model: ScriptedModel, session: Session
) -> None:
    assert model.pieces
    Cell(shell, "%%agent\nhi")
    Cell(shell, "%reload_ext agentcell")
    assert current_session() is session
    assert len(session.turns) == 1

    Cell(shell, "%unload_ext agentcell")
    assert not Cell(shell, "%%agent\nhi").success
    assert Cell(shell, "%load_ext agentcell\n%agent history").success


def test_a_magic_of_that_name_already_there_stays(shell: InteractiveShell) -> None:
    Cell(shell, "%unload_ext agentcell")
    shell.magics_manager.register_function(lambda line: line.upper(), "line", "view_image")

    said = Cell(shell, "%load_ext agentcell").stdout

    assert "agentcell_view_image" in said
    assert shell.run_line_magic("view_image", "abc") == "ABC"
    assert "one path or variable" in Cell(shell, "%agentcell_view_image").stdout
    shell.magics_manager.magics["line"].pop("view_image")


def test_unloading_leaves_a_magic_that_took_the_name_since(shell: InteractiveShell) -> None:
    shell.magics_manager.register_function(lambda line: line.upper(), "line", "view_image")
    Cell(shell, "%unload_ext agentcell")

    assert shell.run_line_magic("view_image", "abc") == "ABC"
    shell.magics_manager.magics["line"].pop("view_image")
    Cell(shell, "%load_ext agentcell")
