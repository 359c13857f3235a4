"""`%generate` in a real shell: what it makes, shows and keeps, and what that costs; each error."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from agentcell import ImageAsset
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.budget import Budget
from agentcell.errors import BudgetExceeded, CellError, GenerationError, NoBackend
from agentcell.imaging.generation import Generation
from agentcell.messages import media_blocks
from agentcell.testing import FakeModel
from agentcell.testing.image_servers import OpenAIImagesServer
from agentcell.testing.media_server import MediaServer
from agentcell_magics import current_session
from generate_kit import BASE64, MP4, Cell, Painter, added_painter, added_service
from media import png


@pytest.fixture
def painter(shell: InteractiveShell) -> Painter:  # noqa: ARG001 (it loads the magics)
    return added_painter()


@pytest.fixture
def service(shell: InteractiveShell) -> Iterator[MediaServer]:  # noqa: ARG001
    with added_service() as server:
        yield server


# -- what is made, shown and kept ----------------------------------------------------------------


def test_a_picture_is_shown_small_with_its_file_and_kept(
    shell: InteractiveShell, painter: Painter
) -> None:
    cell = Cell(shell, "%generate a red fox -m painter/oil --seed 7 -o fox")
    picture, card = cell.outputs
    fox = shell.user_ns["fox"]

    assert painter.asked[0].prompt == "a red fox"
    assert isinstance(fox, Generation)
    assert fox.paths[0].is_file()
    assert {"image/png", "image/jpeg"} & set(picture)
    assert picture["text/plain"] == "a red fox"
    assert [facts["alt"] for facts in cell.metadata[0].values()] == ["a red fox"]
    name = f"generated-media/{fox.paths[0].name}"
    assert (
        f'<a href="{name}"><strong>{name}</strong></a> PNG image, 64 × 48 px' in card["text/html"]
    )
    assert card["text/markdown"].startswith(f"- **[{name}]({name})** PNG image, 64 × 48 px")
    assert card["text/plain"].endswith("painter/oil · seed 7 · $0.04")
    facts = cell.metadata[1]["agentcell"]
    assert facts["maker"] == "painter/oil"
    assert facts["cost"] == "0.04"
    assert facts["files"][0] == {
        "path": name,
        "type": "image/png",
        "digest": fox.artifacts[0].digest,
        "bytes": fox.paths[0].stat().st_size,
        "alt": "a red fox",
    }
    assert json.dumps(facts)


def test_the_value_is_in_the_underscore_and_is_shown_once(
    shell: InteractiveShell, painter: Painter, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A doctest before this one leaves it there, and IPython then keeps its hands off the name.
    monkeypatch.delattr(builtins, "_", raising=False)
    cell = Cell(shell, "%generate a fox -m painter")
    assert len(cell.outputs) == 2
    assert isinstance(cell.result, Generation)
    assert shell.user_ns["_"] is cell.result
    assigned = Cell(shell, "fox = %generate a fox -m painter")
    assert len(assigned.outputs) == 2

    again = Cell(shell, "fox")
    assert again.outputs == assigned.outputs
    assert len(painter.asked) == 2


def test_several_pictures_are_one_sheet_and_a_link_each(
    shell: InteractiveShell, painter: Painter
) -> None:
    cell = Cell(shell, "%generate foxes -m painter -n 3 -o foxes")

    assert painter.asked[0].count == 3
    assert [set(out) & {"image/png", "image/jpeg"} != set() for out in cell.outputs] == [
        True,
        False,
    ]
    assert cell.outputs[0]["text/plain"] == "3 pictures: foxes"
    assert cell.outputs[1]["text/html"].count("<a href=") == 3
    assert len(shell.user_ns["foxes"].paths) == 3


def test_a_cells_body_is_the_prompt_and_text_variables_fill_it(
    shell: InteractiveShell, painter: Painter
) -> None:
    shell.user_ns["animal"] = "hare {x}"
    cell = Cell(shell, "# a comment\n%%generate -m painter\nA {animal}\nin {snow}; {{animal}}")

    assert cell.error is None
    assert painter.asked[0].prompt == "A hare {x}\nin {snow}; {animal}"
    assert "Asked: A hare {x}" in cell.outputs[0]["text/plain"]
    assert Cell(shell, "%%generate a fox -m painter").error is None
    assert painter.asked[1].prompt == "a fox"


def test_a_picture_that_the_prompt_names_becomes_a_reference(
    shell: InteractiveShell, painter: Painter, tmp_path: Path
) -> None:
    (tmp_path / "hat.png").write_bytes(png("blue"))
    Cell(shell, "%generate a fox -m painter -o fox")
    cell = Cell(shell, "%%generate -m painter -o dressed\n{fox} with @hat.png on")
    wish = painter.asked[1]

    digests = [f"sha256:{shell.user_ns['fox'].artifacts[0].digest}"]
    digests.append(ImageAsset.from_bytes(png("blue")).identity)
    assert [one.identity for one in wish.references] == digests
    assert wish.prompt == (
        "[fox_1 fox] with [hat_1 hat] on\n\nThe pictures, in this order: [fox_1 fox], [hat_1 hat]."
    )
    assert cell.outputs[0]["text/plain"].startswith("[fox_1 fox] PNG image, 64 × 48 px")
    assert shell.user_ns["fox"].artifacts[0].digest in str(shell.user_ns["dressed"].parents)


def test_a_marker_names_a_picture_too_and_only_one_that_a_person_typed(
    shell: InteractiveShell, painter: Painter, tmp_path: Path
) -> None:
    (tmp_path / "hat.png").write_bytes(png("blue"))
    Cell(shell, "%%generate -m painter\nA fox with [IMAGE:hat.png] on")
    assert len(painter.asked[0].references) == 1

    Cell(shell, "marker = '[IMAGE:' + 'hat.png]'")
    cell = Cell(shell, "get_ipython().run_line_magic('generate', 'x ' + marker + ' -m painter')")
    assert cell.error is None
    assert painter.asked[1].references == ()


def test_edit_and_mask_take_variables_and_paths(
    shell: InteractiveShell, painter: Painter, tmp_path: Path
) -> None:
    (tmp_path / "room.png").write_bytes(png("green"))
    (tmp_path / "hole.png").write_bytes(png("white"))
    cell = Cell(shell, "%generate a lamp --edit room.png --mask hole.png -m painter -o lamp")
    assert cell.error is None
    assert painter.asked[0].prompt == "a lamp"
    assert painter.asked[0].mask is not None
    assert painter.asked[0].references[0].filename == "room.png"

    Cell(shell, "%generate in blue --edit lamp --edit {lamp} -m painter")
    assert len(painter.asked[1].references) == 1


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("x --edit nothing -m painter", CellError, "neither a variable nor a file"),
        ("x --edit gone.png -m painter", ValueError, "gone.png"),
        ("x --edit words -m painter", CellError, "a picture was expected, but it holds text"),
        ("x --mask two --edit two -m painter", CellError, "--mask two: one picture was expected"),
        ("x --mask one -m painter", GenerationError, "A mask was given without a picture"),
        ("x -n 9 -m painter", GenerationError, "count is 9; a whole number from 1 to 8"),
        ("x --size big -m painter", GenerationError, "size is 'big'; WIDTHxHEIGHT"),
        ("x --video -m procedural", GenerationError, "procedural makes no videos"),
        ("x -m nobody/at-all", GenerationError, "under the name 'nobody/at-all'"),
        ("x -o _ -m painter", CellError, "IPython itself keeps something"),
        *(
            (f"x {flag} '' -m painter", CellError, f"{flag} is empty")
            for flag in ("--size", "--edit", "--mask", "--negative", "--output")
        ),
        ("x --aspect ' ' --video -m painter", CellError, "--aspect is empty"),
        ("x -m ''", CellError, "--model is empty"),
        ("a half \x00 -m painter", CellError, "NUL"),
    ],
)
def test_a_wrong_wish_is_told_before_anything_is_sent(
    shell: InteractiveShell, painter: Painter, line: str, kind: type[Exception], message: str
) -> None:
    shell.user_ns["words"] = "text"
    shell.user_ns["one"] = ImageAsset.from_bytes(png("white"))
    shell.user_ns["two"] = [ImageAsset.from_bytes(png(c)) for c in ("white", "black")]
    cell = Cell(shell, f"%generate {line}")

    assert isinstance(cell.error, kind)
    assert message in str(cell.error)
    assert len(cell.stdout.splitlines()) <= 15
    assert painter.asked == []


def test_without_a_maker_the_error_says_how_to_open_one(shell: InteractiveShell) -> None:
    cell = Cell(shell, "%generate a fox")

    assert isinstance(cell.error, NoBackend)
    assert "OPENAI_API_KEY" in cell.stdout
    assert "--model procedural" in cell.stdout


def test_the_procedural_maker_needs_nothing_and_draws_the_same_again(
    shell: InteractiveShell,
) -> None:
    source = "%generate a fox -m procedural --size 128x128 --seed 3 -o fox"
    first, again = Cell(shell, source), Cell(shell, source)

    assert first.error is None
    assert [one["text/plain"] for one in first.outputs] == [
        one["text/plain"] for one in again.outputs
    ]
    assert "$" not in first.text
    assert "cost" not in first.text


def test_the_file_goes_where_it_is_told_and_over_nothing(
    shell: InteractiveShell, painter: Painter, tmp_path: Path
) -> None:
    assert painter.asked == []
    assert Cell(shell, "%generate a fox -m painter --output out/fox.png").error is None
    assert (tmp_path / "out/fox.png").is_file()

    cell = Cell(shell, "%generate a fox -m painter --output out/fox.png")
    assert "is there already" in str(cell.error)
    assert len(painter.asked) == 1


def test_what_the_service_made_of_the_prompt_is_folded_away(shell: InteractiveShell) -> None:
    current_session().generator.backends.add(Painter(revised="a fox <b>in</b> oil"))
    card = Cell(shell, "%generate a fox -m painter").outputs[1]

    assert "<details" in card["text/html"]
    assert "a fox &lt;b&gt;in&lt;/b&gt; oil" in card["text/html"]
    assert "in oil" not in card["text/plain"]


def test_a_clip_is_a_link_and_a_player_and_no_bytes(
    shell: InteractiveShell, painter: Painter
) -> None:
    cell = Cell(shell, "%generate waves -m painter --video --duration 6 -o waves")
    name = f"generated-media/{shell.user_ns['waves'].paths[0].name}"

    assert painter.asked[0].seconds == 6
    assert len(cell.outputs) == 1
    html = cell.outputs[0]["text/html"]
    assert f'<video controls preload="metadata" src="{name}"' in html
    assert f'<a href="{name}">' in html
    assert "MP4 video" in cell.text
    assert not BASE64.search(json.dumps(cell.outputs))


def test_a_clips_poster_is_shown(shell: InteractiveShell, service: MediaServer) -> None:
    service.job(
        "queued",
        "success",
        files=[service.file("w.mp4", MP4)],
        thumbnails=[service.file("w.png", png("teal", (90, 60)))],
        cost=0.13,
    )
    cell = Cell(shell, "%generate waves -m hosted --video -o waves")

    assert cell.error is None
    assert {"image/png", "image/jpeg"} & set(cell.outputs[0])
    assert cell.outputs[0]["text/plain"] == "waves"
    assert "$0.13" in cell.outputs[1]["text/plain"]


def test_a_cell_speaks_the_readers_language(shell: InteractiveShell, painter: Painter) -> None:
    assert painter.asked == []
    shell.run_line_magic("config", "AgentMagics.language = 'zh'")
    try:
        plan = Cell(shell, "%generate a fox -m painter -n 2 --dry-run").text
        card = Cell(shell, "%generate a fox -m painter --seed 7").text
    finally:
        shell.run_line_magic("config", "AgentMagics.language = 'en'")

    assert "2 张图片" in plan
    assert "PNG 图像，64 × 48 px" in card
    assert "painter/oil · 种子 7 · $0.04" in card


# -- what it costs -------------------------------------------------------------------------------


def test_a_dry_run_says_who_and_how_much_and_sends_nothing(
    shell: InteractiveShell, painter: Painter
) -> None:
    cell = Cell(shell, "%generate a fox -m painter/oil -n 2 --dry-run")

    assert "painter/oil" in cell.text
    assert "2 pictures" in cell.text
    assert "$0.08" in cell.text
    assert painter.asked == []
    current_session().generator.backends.add(Painter(price=None))
    assert "cost unknown" in Cell(shell, "%generate a fox -m painter --dry-run").text


def test_the_budget_is_asked_and_booked(
    shell: InteractiveShell, painter: Painter, answers: Callable[..., list[str]]
) -> None:
    session = current_session()
    session.budget = Budget(usd="1.00", ask_above="0.05")
    Cell(shell, "%generate a fox -m painter")
    assert session.cost.usd == Decimal("0.04")
    asked = answers("n")
    refused = Cell(shell, "%generate a fox -m painter -n 2")
    assert "It costs" in asked[0]
    assert "$0.08" in asked[0]
    assert type(refused.error).__name__ == "Stopped"
    assert len(painter.asked) == 1

    answers("y")
    assert Cell(shell, "%generate a fox -m painter -n 2").error is None
    assert session.cost.usd == Decimal("0.12")
    session.budget = Budget(usd="0.13")
    beyond = Cell(shell, "%generate a fox -m painter -n 2")
    assert isinstance(beyond.error, BudgetExceeded)
    assert len(painter.asked) == 2


def test_where_nobody_can_be_asked_an_unknown_price_is_refused_under_a_budget(
    shell: InteractiveShell,
) -> None:
    painter = Painter(price=None)
    current_session().generator.backends.add(painter)
    assert "cost unknown" in Cell(shell, "%generate a fox -m painter").text
    current_session().budget = Budget(usd="1.00")

    cell = Cell(shell, "%generate a fox -m painter")
    assert isinstance(cell.error, BudgetExceeded)
    assert len(painter.asked) == 1


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Let a person at the cell type these; return the list that takes what they are asked."""

    def typing(*said: str) -> list[str]:
        asked: list[str] = []
        left = list(said)

        def answer(prompt: str = "") -> str:
            asked.append(prompt)
            return left.pop(0)

        monkeypatch.setattr("builtins.input", answer)
        return asked

    return typing


def test_a_price_that_was_given_is_told_before_and_booked_after(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-q8Zp2WvX9mRt4Ls8Yb3")
    drawing = png("navy", (1024, 1024))
    with OpenAIImagesServer(pictures=(drawing,), previews=(png("grey"),)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        set_price("openai/gpt-image-2", per_image="0.05")
        plan = Cell(shell, "%generate a fox -m openai/gpt-image-2 -n 2 --dry-run")
        assert "about $0.10" in plan.text
        assert server.requests == []
        cell = Cell(shell, "%generate a fox -m openai/gpt-image-2 --format webp -o fox")

        assert cell.error is None
        assert len(server.requests) == 1
    assert "WebP image, 1024 × 1024 px" in cell.text
    assert "openai/gpt-image-2 · $0.05" in cell.text
    assert current_session().cost.usd == Decimal("0.05")
    forget_price("openai/gpt-image-2")
    assert "sk-q8" not in cell.text
    assert "openai/gpt-image-2.6-flare" in Cell(shell, "%generate models").text


# -- with questions ------------------------------------------------------------------------------


def test_what_was_made_stands_in_the_next_question(
    shell: InteractiveShell, painter: Painter
) -> None:
    assert painter.asked == []
    model = FakeModel("A fox.")
    current_session().model = model
    Cell(shell, "%generate foxes -m painter -n 2 -o foxes")
    cell = Cell(shell, "%%agent\nWhich of {foxes} is larger?")

    assert cell.error is None
    sent = [block.tag for block in media_blocks(model.requests[0].messages)]
    assert sent == ["[foxes_1 foxes]", "[foxes_2 foxes]"]
    assert "Which of [foxes_1 foxes], [foxes_2 foxes] is larger?" in cell.text
