"""Dry runs: every part of what would go, in order, with its cost; nothing sent, nothing kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image

from agent_kit import pdf
from agentcell import (
    AnthropicModel,
    GeminiModel,
    ImageAsset,
    LegacyOpenAIModel,
    Model,
    NotebookHistory,
    OpenAIModel,
    PdfAsset,
    RecordingModel,
    tool,
)
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.budget import Budget
from agentcell.dry_run import DryRun
from agentcell.errors import AttachmentError, BudgetExceeded, Unsupported
from agentcell.session import Session
from agentcell.testing import Reply, ResponsesServer
from agentcell_magics import current_session

MODELS: list[Model] = [
    OpenAIModel("gpt-4.1"),
    LegacyOpenAIModel("gpt-4.1"),
    AnthropicModel("claude-haiku-4-5"),
    GeminiModel("gemini-2.5-flash"),
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    Image.effect_noise((3000, 2000), 60).convert("RGB").save(tmp_path / "photo.tiff")
    Image.effect_noise((300, 200), 60).save(tmp_path / "small.png")
    (tmp_path / "bill.pdf").write_bytes(pdf("TOTAL 27.95"))
    return {
        "photo": ImageAsset.from_path(tmp_path / "photo.tiff"),
        "small": ImageAsset.from_path(tmp_path / "small.png"),
        "bill": PdfAsset.from_path(tmp_path / "bill.pdf"),
    }


def dry(session: Session, text: str, **options: Any) -> DryRun:
    return session.dry_run(session.prepare(text, look=True, **options))


def test_each_attachment_says_what_goes_and_why(files: dict[str, Any]) -> None:
    run = dry(
        Session("openai/gpt-4.1"), "What is on {photo}?", values=files, attach=files, detail="auto"
    )
    photo, small, bill = run.attachments

    assert photo.tag == "[photo_1 photo]"
    assert photo.given.startswith("TIFF image, 3000 × 2000 px")
    assert photo.sent[0].startswith("JPEG image, 1568 × 1045 px")
    assert "scaled from 3000 × 2000 px" in photo.notes[0]
    assert (photo.how, small.how, bill.how) == ("inline", "inline", "inline")
    assert small.notes == bill.notes == ()
    for one in run.attachments:
        assert one.refusal == ""
        assert one.is_new
        assert one.tokens is not None
        assert 0 < one.tokens.low <= one.tokens.tokens <= one.tokens.high
    assert run.refusal is None
    assert run.foreseen.cost is not None
    assert run.foreseen.cost.low.total < run.foreseen.cost.expected.total
    assert "[photo_1 photo]" in run.messages[-1].text
    assert "photo" in repr(run.attachments[0])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_no_key_is_needed_and_nothing_is_kept(model: Model, tmp_path: Path) -> None:
    session = Session(model, history=NotebookHistory(tmp_path))
    run = dry(session, "hi", system="Be brief.", settings={"max_tokens": 50})

    assert [(one.role, one.origin) for one in run.messages] == [
        ("system", "instructions"),
        ("user", "question"),
    ]
    assert run.refusal is None
    assert "50" in json.dumps(run.settings)
    assert "Be brief." not in json.dumps(run.settings)
    assert '"hi"' not in json.dumps(run.settings)
    assert run.tokens is not None
    assert run.foreseen.cost is not None
    assert session.turns == ()
    assert list(tmp_path.iterdir()) == []


def test_what_a_model_does_not_take_stands_beside_what_it_takes(files: dict[str, Any]) -> None:
    session = Session("openai-chat/gpt-4.1")
    request = session.prepare("look", attach=files, look=True)
    run = session.dry_run(request)

    assert [one.how for one in run.attachments] == ["inline", "inline", "refused"]
    assert "PDF" in run.attachments[2].refusal
    assert run.attachments[0].sent[0].startswith("JPEG image")
    assert isinstance(run.refusal, Unsupported)
    assert run.tokens is None
    with pytest.raises(Unsupported):
        session.stream(request)
    with pytest.raises(Unsupported):
        session.astream(request)
    with pytest.raises(Unsupported):
        session.prepare("look", attach=files)
    assert session.turns == ()


def test_pdfs_go_as_pages_or_as_text(files: dict[str, Any]) -> None:
    session = Session("openai/gpt-4.1")
    pages = dry(session, "x", attach={"bill": files["bill"]}, pdf_as="images").attachments[0]
    text = dry(session, "x", attach={"bill": files["bill"]}, pdf_as="text")

    assert pages.how == "page images"
    assert pages.sent[0].startswith("PNG image")
    assert text.attachments[0].how == "text"
    assert text.attachments[0].sent == ()
    assert "TOTAL 27.95" in text.messages[-1].text


def test_an_address_and_a_file_id_go_as_they_are() -> None:
    attach = {
        "a": ImageAsset.from_url("https://x.example/a.png"),
        "b": ImageAsset.from_file_id("file-123"),
    }
    run = dry(Session("openai/gpt-4.1"), "x", attach=attach)

    assert [one.how for one in run.attachments] == ["url", "file id"]


def test_a_file_that_is_uploaded_says_so_without_a_key(files: dict[str, Any]) -> None:
    model = OpenAIModel("gpt-4.1", upload="always")
    run = dry(Session(model), "x", attach={"small": files["small"]})

    assert run.attachments[0].how == "upload"
    assert "is uploaded to" in run.attachments[0].notes[-1]


def test_history_stands_before_the_question(files: dict[str, Any]) -> None:
    with ResponsesServer(Reply("27.95")) as server:
        session = Session(OpenAIModel("gpt-4.1", "k-12345678", server.url))
        session.ask("What is on it?", attach={"small": files["small"]}, system="Be brief.")
        run = dry(session, "And more on {small_1}?", attach={"photo": files["photo"]})

        assert [one.origin for one in run.messages] == [
            *("instructions", "history", "history", "question")
        ]
        assert [(one.tag, one.is_new, one.place) for one in run.attachments] == [
            ("[small_1 small]", False, 2),
            ("[photo_1 photo]", True, 4),
        ]
        assert len(server.requests) == 1
    assert run.messages[2].text == "27.95"
    assert run.tokens is not None
    texts = sum(one.tokens.tokens for one in run.messages if one.tokens)
    media = sum(one.tokens.tokens for one in run.attachments if one.tokens)
    others = sum(part.tokens for part in run.tokens.parts if part.kind == "thinking")
    assert texts + media + others == run.tokens.tokens


def test_tools_and_the_schema_are_named() -> None:
    def look() -> str:
        """Look."""
        return ""

    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return ""

    session = Session("openai/gpt-4.1")
    run = dry(session, "x", tools=[look, pay], schema=dict[str, int])

    assert [(one.name, one.needs_approval) for one in run.tools] == [("look", False), ("pay", True)]
    assert run.schema
    assert run.tokens is not None
    assert [part.kind for part in run.tokens.parts].count("tools") == 2
    assert "tools" not in run.settings


def test_a_budget_says_what_would_happen() -> None:
    session = Session("openai/gpt-4.1")
    session.budget = Budget(usd=10, ask_above="0.0001")
    assert (asked := dry(session, "x").asks) is not None
    assert asked.why == "threshold"
    session.budget = Budget(usd="0.0001")
    assert isinstance(dry(session, "x").refusal, BudgetExceeded)
    session.budget = Budget(usd=10)
    unknown = dry(session, "x", model="openai/nobody-knows")
    assert unknown.asks is not None
    assert str(unknown.foreseen) == "cost unknown"
    free = dry(session, "x", model="local")
    assert (free.asks, str(free.foreseen)) == (None, "free")


def test_what_a_recording_answers_costs_nothing_and_its_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with ResponsesServer(Reply("27.95")) as server:
        model = OpenAIModel("gpt-4.1", "k-12345678", server.url)
        Session(RecordingModel(model, file, "record")).ask("hi")
    before = file.read_bytes()
    session = Session("openai/gpt-4.1")
    session.budget = Budget(usd=0)
    replayed = dry(session, "hi", model=RecordingModel(model, file, "auto"))
    other = dry(session, "more", model=RecordingModel(model, file, "auto"))
    session.recorder.use(file, "record")
    dry(session, "hi")

    assert (replayed.is_replayed, replayed.refusal) == (True, None)
    assert not other.is_replayed
    assert isinstance(other.refusal, BudgetExceeded)
    assert file.read_bytes() == before


def test_what_cannot_be_made_to_fit_is_the_error_of_a_dry_run() -> None:
    session = Session("anthropic/claude-haiku-4-5")
    attach = {f"p{n}": PdfAsset.from_bytes(pdf(f"TOTAL {n}") + b"%" * 9_000_000) for n in range(4)}
    run = dry(session, "x", attach=attach)

    assert isinstance(run.refusal, AttachmentError)
    assert [one.how for one in run.attachments] == ["inline"] * 4


def test_settings_that_a_model_does_not_take_are_the_error() -> None:
    run = dry(Session("openai/gpt-4.1"), "x", settings={"temperature": 99})

    assert run.refusal is not None
    assert run.settings == {"temperature": 99}


# -- in a cell -----------------------------------------------------------------------------------


class Cell:
    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            result = shell.run_cell(source)
        self.error = result.error_in_exec
        self.bundles = [output.data for output in captured.outputs]
        self.text = "\n".join(str(data.get("text/plain", "")) for data in self.bundles)


@pytest.fixture
def paid() -> Iterator[None]:
    set_price("openai/paid", input=1_000, output=1_000)
    yield
    forget_price("openai/paid")


def test_a_cell_shows_it_in_three_forms_without_a_byte_of_media(
    shell: InteractiveShell, files: dict[str, Any]
) -> None:
    shell.user_ns.update(files)
    cell = Cell(
        shell, "%%agent openai/gpt-4.1 -n -t 0.1 --detail auto\nWhat is on {photo} and {bill}?"
    )
    card = cell.bundles[-1]

    assert cell.error is None
    assert set(card) == {"text/html", "text/markdown", "text/plain"}
    for said in ("[photo_1 photo]", "temperature: 0.1", "1568 × 1045 px", "scaled from", "cost"):
        assert said in card["text/plain"]
    assert "$0.0" in card["text/plain"]
    assert len("".join(map(str, card.values()))) < 20_000
    assert current_session().turns == ()
    assert "Dry run" in card["text/html"]


def test_a_refusal_is_shown_in_its_row_and_then_raised(
    shell: InteractiveShell, files: dict[str, Any]
) -> None:
    shell.user_ns.update(files)
    cell = Cell(shell, "%%agent openai-chat/gpt-4.1 -n\n{photo} {bill}")

    assert isinstance(cell.error, Unsupported)
    card = cell.bundles[-1]["text/plain"]
    assert "goes with the question" in card
    assert "refused: openai-chat/gpt-4.1 does not support modality 'PDF'" in card
    assert "$0" not in card


def test_tools_tell_how_they_are_approved(shell: InteractiveShell) -> None:
    Cell(shell, "def look() -> str:\n    'Look.'\n    return ''")
    said = {
        mode: Cell(shell, f"%%agent openai/gpt-4.1 -n -T look {mode}\nhi").text
        for mode in ("", "--approve ask", "--approve never")
    }

    assert "look (runs unasked)" in said[""]
    assert "look (asks you before each call)" in said["--approve ask"]
    assert "look (is refused, and the model is told)" in said["--approve never"]
    assert "for the tools" in said[""]


def test_a_long_conversation_stays_short(shell: InteractiveShell, paid: None) -> None:  # noqa: ARG001
    with ResponsesServer(Reply("word " * 2000)) as server:
        session = current_session()
        session.model = OpenAIModel("paid", "k-12345678", server.url)
        for number in range(40):
            session.ask(f"question {number} " + "and so on " * 300)
        cell = Cell(shell, "%%agent -n\nlast")

        assert len(server.requests) == 40
    assert len(cell.text) < 25_000
    assert "messages 1 to 60" in cell.text
    assert "message 81" in cell.text
    assert "user: last" in cell.text
    assert len(session.turns) == 40


def test_hostile_text_does_nothing_in_the_card(shell: InteractiveShell) -> None:
    cell = Cell(shell, "%%agent openai/gpt-4.1 -n\n<script>alert(1)</script> \x1b[31m $2 and $3")
    card = cell.bundles[-1]

    assert "<script" not in card["text/html"] + card["text/markdown"]
    assert "\x1b" not in "".join(card.values())


def test_verbose_shows_the_whole_request_too(shell: InteractiveShell) -> None:
    cell = Cell(shell, "%%agent openai/gpt-4.1 -n -v\nhi")

    assert '"POST": "https://api.openai.com/v1/responses"' in cell.text


def test_costs_in_it_are_exact_decimals(paid: None) -> None:  # noqa: ARG001
    cost = dry(Session("openai/paid"), "x", settings={"max_tokens": 10}).foreseen.cost

    assert cost is not None
    assert cost.expected.output == Decimal("0.01")
