"""`%generate` in a real shell: what it reads, asks for, shows and keeps; each error."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from markdown_it import MarkdownIt

from agentcell import ImageAsset
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.budget import Budget
from agentcell.errors import (
    BadRequest,
    BudgetExceeded,
    CellError,
    GenerationError,
    GenerationFailed,
    NoBackend,
    NotResumable,
)
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.events import (
    Accepted,
    BackendEvent,
    Ended,
    Made,
    PartialImage,
    Progressed,
)
from agentcell.imaging.generation import Artifact, Generation
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell.imaging.job import JobState
from agentcell.imaging.wish import GenerationWish, Kind
from agentcell.messages import media_blocks
from agentcell.testing import FakeModel
from agentcell.testing.image_servers import OpenAIImagesServer
from agentcell.testing.media_server import SIGNATURE, MediaServer
from agentcell.testing.replies import Reply
from agentcell_magics import current_session, generate_cards
from agentcell_magics.generate_commands import became
from agentcell_magics.generate_options import command_of, generate_options
from harmless import UNSEEN, faults_of_html
from hostile import HOSTILE
from media import png

MP4 = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom" + bytes(range(256)) * 8
TOKEN = "media-token-q8Zp2WvX9mRt4Ls8"  # noqa: S105 (nobody's)
BASE64 = re.compile(r"[A-Za-z0-9+/]{201,}")


class Painter(ImageBackend):
    """Gives a small picture for each one wished, and says what a service says."""

    name: ClassVar[str] = "painter"
    kinds: ClassVar[frozenset[Kind]] = frozenset({"image", "video"})

    def __init__(self, price: Decimal | None = Decimal("0.04"), revised: str = "") -> None:
        self.asked: list[GenerationWish] = []
        self._price = price
        self._revised = revised

    def price(self, wish: GenerationWish) -> Decimal | None:
        return None if self._price is None else self._price * wish.count

    async def run(self, wish: GenerationWish, *, key: str) -> AsyncIterator[BackendEvent]:
        assert key
        self.asked.append(wish)
        yield Accepted("req-1")
        yield Progressed("painting", 0.5)
        yield PartialImage(png("grey", (64, 64)))
        for number in range(wish.count):
            data = MP4 if wish.kind == "video" else png("red", (64 + number, 48))
            yield Made(kind=wish.kind, data=data, revised_prompt=self._revised)
        yield Ended(model="oil", cost=self.price(wish), seed=wish.seed)


class Cell:
    """What a cell showed and how it ended."""

    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            result = shell.run_cell(source, store_history=True)
        self.error = result.error_in_exec or result.error_before_exec
        self.result = result.result
        self.stdout = captured.stdout
        self.outputs: list[dict[str, Any]] = [output.data for output in captured.outputs]
        self.metadata: list[dict[str, Any]] = [o.metadata or {} for o in captured.outputs]

    @property
    def text(self) -> str:
        return "\n".join([*(str(d.get("text/plain", "")) for d in self.outputs), self.stdout])


@pytest.fixture
def painter(shell: InteractiveShell) -> Painter:  # noqa: ARG001 (it loads the magics)
    painter = Painter()
    current_session().generator.backends.add(painter)
    return painter


@pytest.fixture
def service(shell: InteractiveShell) -> Iterator[MediaServer]:  # noqa: ARG001
    with MediaServer(token=TOKEN) as server:
        backend = HostedMediaBackend(server.url, TOKEN, patience=Patience(interval=0.01))
        current_session().generator.backends.add(backend)
        yield server


# -- what is read --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "prompt", "wish"),
    [
        ("a fox's tail --size 512x512", "a fox's tail", {"size": "512x512"}),
        ('a sign that says "OPEN" -n 2', 'a sign that says "OPEN"', {"count": 2}),
        ('"all of it"', "all of it", {}),
        ("“all of it” --seed -7", "all of it", {"seed": -7}),
        ('a 12" ruler --negative "a cat\'s tail"', 'a 12" ruler', {"negative": "a cat's tail"}),
        ("the foxes' tails --n=3", "the foxes' tails", {"count": 3}),
        ("--format jpg a  wide   gap", "a  wide   gap", {"format": "jpeg"}),
        ("a -m openai/gpt-image-2 b", "a b", {"model": "openai/gpt-image-2"}),
        ("sea --quality high", "sea", {"quality": "high"}),
        (
            "waves --video --duration 6 --aspect 16:9",
            "waves",
            {"kind": "video", "seconds": 6, "aspect": "16:9"},
        ),
        ('{"a": 1} $x \\frac{1}{2} {name}', '{"a": 1} $x \\frac{1}{2} {name}', {}),
        ("a dash - and –", "a dash - and –", {}),
    ],
)
def test_a_line_is_a_prompt_as_typed_among_options(
    line: str, prompt: str, wish: dict[str, Any]
) -> None:
    found, options = generate_options(line)

    assert found == prompt
    assert options.wish == wish


@pytest.mark.parametrize(
    ("line", "body", "message"),
    [
        ("", None, "has no prompt"),
        ("--size 1x1", None, "has no prompt"),
        ("-n 2", "  \n ", "has no prompt"),
        ("a fox", "a hare", "below the line, but a fox stands on it too"),
        ("a fox --sze 1x1", None, "no option --sze"),
        ("a fox --size", None, "--size needs a value"),
        ("a fox --seed 1.5", None, "a whole number was expected"),
        ("a fox --format gif", None, "one of png, webp, jpeg, jpg"),
        ("a fox -n 0", None, "a whole number from 1"),
        ("a fox —size 512x512", None, "begins with a long dash"),
        ("a fox --duration 4", None, "--duration is a clip's, and a picture was asked for"),
        ("a fox --video --format png", None, "--format is a picture's, and a clip was asked for"),
        ("a fox -o not-a-name", None, "a variable's name was expected"),
        ('a fox --negative "blur', None, "opened and not closed"),
    ],
)
def test_what_cannot_be_read_is_told_and_never_becomes_part_of_a_prompt(
    line: str, body: str | None, message: str
) -> None:
    with pytest.raises(CellError, match=re.escape(message)):
        generate_options(line, body)


@pytest.mark.parametrize("line", ["a fox", "the jobs of the future", "lighthouse", '"jobs"'])
def test_a_prompt_is_no_command(line: str) -> None:
    assert command_of(line) is None


@pytest.mark.parametrize(
    "line", ["job", "models of cars", "resume", "modles", "resume a b", "cancel", "backends x"]
)
def test_what_begins_like_a_command_makes_no_picture_by_mistake(line: str) -> None:
    with pytest.raises(CellError, match="%generate") as caught:
        command_of(line)

    assert "%%generate" in str(caught.value)


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


# -- jobs ----------------------------------------------------------------------------------------


def test_jobs_are_listed_with_what_became_of_them(
    shell: InteractiveShell, painter: Painter
) -> None:
    assert painter.asked == []
    assert "No picture or clip was paid for here." in Cell(shell, "%generate jobs").text
    Cell(shell, "%generate a red fox -m painter")
    assert "one job is finished" in Cell(shell, "%generate jobs").text
    assert "one job is finished" in Cell(shell, "%generate").text

    listed = Cell(shell, "%generate jobs --all").text
    assert "a red fox · painter/oil · done · $0.04" in listed


def test_a_job_that_failed_is_resumed_by_its_id_without_a_second_charge(
    shell: InteractiveShell, service: MediaServer
) -> None:
    service.job("queued", "queued", "success", files=[service.file("a.png", png("red"))])
    service.fault("poll", *[_reply(403)])
    cell = Cell(shell, "%generate a fox -m hosted -o fox")
    assert cell.error is not None
    assert "%generate resume" in cell.stdout
    listed = Cell(shell, "%generate jobs").text
    job = re.search(r"job-\w+", listed)
    assert job is not None
    assert "its service has it" in listed

    resumed = Cell(shell, f"%generate resume {job[0]} -o fox")
    assert resumed.error is None
    assert shell.user_ns["fox"].paths[0].read_bytes()[:4] == b"\x89PNG"
    assert service.charged == len(service.posts) == 1
    assert "one job is finished" in Cell(shell, "%generate jobs").text


def test_an_answer_that_is_lost_is_told_with_the_line_that_asks_again(
    shell: InteractiveShell, service: MediaServer
) -> None:
    service.fault("submit", Reply(cut=-1))

    lost = Cell(shell, "%generate a fox -m hosted")

    assert isinstance(lost.error, GenerationFailed)
    line = re.search(r"`(%generate resume job-\w+)`", lost.error.fix)
    assert line, lost.error.fix
    assert Cell(shell, line[1]).error is None
    assert service.charged == 1


@pytest.mark.parametrize(
    ("line", "name", "data", "kind"),
    [
        ("%generate a fox -m hosted", "a.mp4", MP4, "video"),
        ("%generate a fox -m hosted --video", "a.png", png("red"), "image"),
    ],
)
def test_what_is_paid_for_is_kept_though_it_is_of_another_kind(
    line: str,
    name: str,
    data: bytes,
    kind: str,
    shell: InteractiveShell,
    service: MediaServer,
) -> None:
    service.job("success", files=[service.file(name, data)])

    made = Cell(shell, line)

    assert made.error is None
    assert [one.kind for one in made.result.artifacts] == [kind]
    again = Cell(shell, f"%generate resume {made.result.job_id}")
    assert again.error is None
    assert again.result.artifacts == made.result.artifacts
    assert len(service.posts) == 1


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("cancelled", "Nothing was sent"),
        ("done", "was made before that"),
        ("failed", "had failed before that"),
        ("submitted", "Whether hosted took"),
    ],
)
def test_who_stops_is_told_how_the_job_is_by_then(
    shell: InteractiveShell,  # noqa: ARG001 (it loads the magics)
    state: JobState,
    said: str,
) -> None:
    session = current_session()
    ledger = session.generator.ledger
    job = ledger.update(ledger.plan(GenerationWish(prompt="a fox"), "hosted"), state=state)

    assert said in str(became(session, job.id, 1.0))


def test_what_was_missing_of_a_job_that_is_done_is_fetched_later_and_paid_for_once(
    shell: InteractiveShell, service: MediaServer
) -> None:
    urls = [service.file(name, png(color)) for name, color in (("a.png", "red"), ("b.png", "blue"))]
    lost = service.shelf.pop("b.png")
    service.job("success", files=urls)
    made = Cell(shell, "%generate foxes -n 2 -m hosted")
    assert len(made.result.artifacts) == 1
    line = re.search(r"%generate resume job-\w+", made.text)
    assert line, made.text

    again = Cell(shell, line[0])  # not there yet
    assert again.error is not None or len(again.result.artifacts) == 1
    service.shelf["b.png"] = lost
    whole = Cell(shell, line[0])

    assert whole.error is None
    assert len(whole.result.artifacts) == 2
    assert whole.result.artifacts[0] == made.result.artifacts[0]
    assert whole.result.missing == ()
    assert len(service.posts) == 1
    assert current_session().cost.usd == Decimal("0.039")
    polls = len(service.polls)
    assert len(Cell(shell, line[0]).result.artifacts) == 2
    assert len(service.polls) == polls, "nobody is asked for what is here"


def test_an_address_where_no_service_is_names_the_variable_that_holds_it(
    shell: InteractiveShell, service: MediaServer
) -> None:
    service.fault("submit", Reply(status=404, raw=b"not here"))

    cell = Cell(shell, "%generate a fox -m hosted")

    assert isinstance(cell.error, BadRequest)
    assert "AGENTCELL_MEDIA_URL" in cell.error.fix


def test_a_job_is_cancelled_at_its_service(shell: InteractiveShell, service: MediaServer) -> None:
    service.job("queued")
    service.fault("poll", _reply(403))
    Cell(shell, "%generate a fox -m hosted")
    job = current_session().generator.jobs()[0]

    assert f"{job.id} is cancelled at hosted." in Cell(shell, f"%generate cancel {job.id}").text
    assert len(service.cancels) == 1
    again = Cell(shell, f"%generate cancel {job.id}")
    assert isinstance(again.error, NotResumable)


def test_a_service_that_stops_nothing_is_told_of(
    shell: InteractiveShell, service: MediaServer
) -> None:
    service.takes_cancel = False
    service.job("queued")
    service.fault("poll", _reply(403))
    Cell(shell, "%generate a fox -m hosted")
    job = current_session().generator.jobs()[0]

    cell = Cell(shell, f"%generate cancel {job.id}")
    assert isinstance(cell.error, NotResumable)
    assert "may go on, and be charged" in str(cell.error)


def test_makers_and_models_are_listed(shell: InteractiveShell, service: MediaServer) -> None:
    assert service.charged == 0
    backends = Cell(shell, "%generate backends").text
    assert re.search(r"hosted\s+pictures and clips · set up", backends)
    assert "needs OPENAI_API_KEY" in backends
    assert re.search(r"procedural\s+pictures · free; only where it is named", backends)

    models = Cell(shell, "%generate models").text
    assert "hosted/seedream-4-0-250828 pictures" in models
    assert "hosted/seedance-1-0-pro-fast-251015 clips" in models


def _reply(status: int) -> Any:
    return Reply(status=status, raw='{"success": false, "error": "no"}')


# -- nothing hostile, nothing secret -------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_prompt_file_name_and_model_run_nothing(text: str, tmp_path: Path) -> None:
    name = "".join("_" if char in "/\0" else char for char in text)[:50]
    name = name.encode("utf-8", "replace").decode()[:60]
    path = tmp_path / "generated-media" / f"{name}.png"
    generation = Generation(
        artifacts=(
            Artifact(
                path=path, kind="image", mime_type="image/png", digest="", size_bytes=1, alt=text
            ),
            Artifact(
                path=path.with_suffix(".mp4"),
                kind="video",
                mime_type="video/mp4",
                digest="",
                size_bytes=1,
                alt=text,
            ),
        ),
        prompt=text,
        model=text,
        backend="painter",
        revised_prompt=text,
        missing=(text,),
    )
    card, _ = generate_cards.result(generation, tmp_path)
    said = generate_cards.progress([text], text, 0.5, 3.0)

    for bundle in (card, said):
        pages = [bundle["text/html"]]
        pages += [
            MarkdownIt(preset, {"html": True, "linkify": False}).render(bundle["text/markdown"])
            for preset in ("commonmark", "gfm-like")
        ]
        found = [fault for page in pages for fault in faults_of_html(page) if not _is_ours(fault)]
        assert found == []
        assert not UNSEEN.search("".join(bundle.values()))


def _is_ours(fault: str) -> bool:
    """Whether it is a player, a bar, or a link that leads to the file that it names."""
    if re.match(r"<(video|progress)( (controls|preload|src|value|max|style))?>$", fault):
        return True
    href, _, shown = fault.partition(" is shown as ")
    return href.startswith("generated-media/") and " ".join(unquote(href).split()) == shown


def test_no_signature_no_token_no_base64_in_any_output(
    shell: InteractiveShell, service: MediaServer, tmp_path: Path
) -> None:
    service.job("success", files=[service.file("a.png", png("red", (900, 700)))])
    service.job("success", files=[service.file("b.html", b"<html>")])
    cells = [
        Cell(shell, "%generate a fox -m hosted -o fox"),
        Cell(shell, "%generate b -m hosted"),
        Cell(shell, "fox"),
        Cell(shell, "%generate jobs --all"),
        Cell(shell, "repr(fox)"),
    ]
    kept = "".join(path.read_text("utf-8", "replace") for path in tmp_path.rglob("*.jsonl"))

    for cell in cells:
        texts = [{k: v for k, v in out.items() if "image/" not in k} for out in cell.outputs]
        written = json.dumps([texts, cell.metadata, cell.stdout])
        assert SIGNATURE.partition("=")[2] not in written + kept
        assert TOKEN not in written + kept
        assert not BASE64.search(written)
    assert cells[1].error is not None
