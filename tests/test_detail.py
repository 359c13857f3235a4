"""What ``detail`` was asked for, at any door → what services are told, and the pixels they get."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from PIL import Image

import media
import wire
from agentcell import (
    AnthropicModel,
    GeminiModel,
    ImageAsset,
    LegacyOpenAIModel,
    OpenAIModel,
    PdfAsset,
    Session,
)
from agentcell.adapters.remote import RemoteModel
from agentcell.assets.prepare import Form
from agentcell.history.records import block_record
from agentcell.messages import media_blocks
from agentcell.testing import FakeModel
from agentcell_magics import current_session
from scripted import ScriptedModel

MODELS: dict[str, tuple[str, type[RemoteModel], str]] = {
    "responses": ("responses", OpenAIModel, "gpt-6-sol"),
    "older responses": ("responses", OpenAIModel, "gpt-4.1"),
    "chat": ("chat", LegacyOpenAIModel, "gpt-6-sol"),
    "older chat": ("chat", LegacyOpenAIModel, "gpt-5.1-mini"),
    "anthropic": ("anthropic", AnthropicModel, "claude-haiku-5-5"),
    "gemini": ("gemini", GeminiModel, "gemini-3.8-flash"),
    "older gemini": ("gemini", GeminiModel, "gemini-2.5-flash"),
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "wide.png").write_bytes(media.png(size=(3000, 30)))
    (tmp_path / "small.png").write_bytes(media.png(size=(40, 30)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def model_of(name: str) -> RemoteModel:
    _, kind, model_name = MODELS[name]
    return kind(model_name, "key")


def sent(session: Session, name: str, text: str = "Look.", **options: Any) -> tuple[Any, Any]:
    """Return what a service is told of an image's detail, and the image's width, if it is there."""
    model = model_of(name)
    body = model.encode(session.prepare(text, model=model, **options).outgoing)
    wire.check(MODELS[name][0], body)
    return told(body), width(body)


def told(body: Mapping[str, Any]) -> Any:
    for part in parts(body):
        if part.get("type") == "input_image":
            return part["detail"]
        if part.get("type") == "image_url":
            return part["image_url"].get("detail")
        if "inlineData" in part or "fileData" in part:
            whole = body.get("generationConfig", {}).get("mediaResolution")
            return part.get("mediaResolution", {}).get("level", whole)
    return None


def width(body: Mapping[str, Any]) -> int:
    for part in parts(body):
        data = part.get("image_url") or part.get("source") or part.get("inlineData") or ""
        if isinstance(data, dict):
            data = data.get("url") or data.get("data")
        if data and not data.startswith("https"):
            return Image.open(io.BytesIO(base64.b64decode(data.rpartition(",")[2]))).width
    return 0


def parts(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    turns = body.get("input") or body.get("messages") or body["contents"]
    last = turns[-1]
    return [part for part in last.get("content") or last["parts"] if isinstance(part, dict)]


TOLD = {
    # what nobody chose, and then auto, high and original
    "responses": ("auto", "auto", "high", "original"),
    "older responses": ("auto", "auto", "high", "high"),
    "chat": (None, "auto", "high", "original"),
    "older chat": (None, "auto", "high", "high"),
    "anthropic": (None, None, None, None),
    "gemini": (None, None, "MEDIA_RESOLUTION_HIGH", "MEDIA_RESOLUTION_ULTRA_HIGH"),
    "older gemini": (None, None, "MEDIA_RESOLUTION_HIGH", "MEDIA_RESOLUTION_HIGH"),
}
LEVELS = ("", "auto", "high", "original")


@pytest.mark.parametrize("name", MODELS)
def test_a_cells_detail_scales_its_images_and_reaches_the_service(name: str) -> None:
    wide = {"wide": ImageAsset.from_path("wide.png")}

    found = [
        sent(Session(), name, "Look at {wide}.", values=wide, detail=level or None)
        for level in LEVELS
    ]

    assert found == list(zip(TOLD[name], (3000, 1568, 2048, 3000), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_the_detail_of_view_image_scales_the_image_and_reaches_the_service(
    name: str, shell: InteractiveShell
) -> None:
    found = []
    for level in LEVELS:
        shell.run_line_magic("view_image", f"wide.png --detail {level}" if level else "wide.png")
        found.append(sent(current_session(), name))

    assert found == list(zip(TOLD[name], (1568, 1568, 2048, 3000), strict=True))


@pytest.mark.parametrize("level", ["auto", "high", "original"])
def test_an_image_marked_in_the_text_goes_at_the_cells_detail(
    level: str, shell: InteractiveShell
) -> None:
    model = ScriptedModel(["A strip."])
    current_session().model = model

    shell.run_cell(f"%%agent --detail {level}\nWhat is [IMAGE:wide.png]?")

    (image,) = (block.asset for block in media_blocks(model.requests[-1]))
    widths = {"auto": 1568, "high": 2048, "original": 3000}
    assert (image.detail, image.width) == (level, widths[level])


@pytest.mark.parametrize("name", MODELS)
def test_an_address_is_told_its_detail_and_that_nothing_was_scaled(name: str) -> None:
    there = {"x": ImageAsset.from_url("https://a.example/x.png")}
    session, model = Session(), model_of(name)

    request = session.prepare("See {x}.", values=there, detail="high", model=model)

    assert told(model.encode(request.outgoing)) == TOLD[name][2]
    assert "x.png is not scaled (detail high): its content is not here." in request.notes


def test_the_last_look_at_an_image_decides(shell: InteractiveShell) -> None:
    session, found = current_session(), []
    for line in ("small.png --detail high", "small.png --detail original", "small.png"):
        shell.run_line_magic("view_image", line)
        found.append(sent(session, "responses")[0])

    assert found == ["high", "original", "auto"]


def test_a_cells_own_detail_goes_before_that_of_the_look(shell: InteractiveShell) -> None:
    shell.run_line_magic("view_image", "small.png --detail high")

    assert sent(current_session(), "responses", detail="original")[0] == "original"


def test_later_questions_look_as_closely_and_another_detail_changes_that(tmp_path: Path) -> None:
    small = {"x": ImageAsset.from_path("small.png")}
    session = Session(history=tmp_path)
    session.ask("{x}", values=small, detail="high", model=FakeModel("Seen."))

    model = model_of("responses")
    again = session.prepare("And now?", model=model)
    closer = session.prepare("{x}", values=small, detail="original", model=model)

    def details(messages: list[Any]) -> list[str]:
        return [block.asset.detail for block in media_blocks(messages)]

    assert details(again.outgoing) == ["high"]
    assert details(closer.outgoing) == ["original"]
    assert [block_record(one).get("detail") for one in media_blocks(again.messages)] == [None]


def test_a_detail_of_the_sessions_defaults_reaches_the_service(shell: InteractiveShell) -> None:
    shell.run_line_magic("config", "AgentMagics.detail = 'high'")
    shell.run_line_magic("agent", "status")
    wide = {"wide": ImageAsset.from_path("wide.png")}

    assert sent(current_session(), "responses", "{wide}", values=wide) == ("high", 2048)


def test_pages_that_go_as_images_are_as_sharp_as_their_detail_asks_for() -> None:
    sink = io.BytesIO()
    Image.new("RGB", (1700, 2200), "white").save(sink, "PDF", resolution=72)
    bill = {"bill": PdfAsset.from_bytes(sink.getvalue())}
    model, found = model_of("chat"), {}
    for level in LEVELS:
        request = Session().prepare(
            "{bill}", values=bill, detail=level or None, pdf_as="images", model=model
        )
        (page,) = (block.asset for block in media_blocks(request.outgoing))
        found[level] = (page.detail, page.height)

    assert found == {
        "": ("", 1568),
        "auto": ("auto", 1568),
        "high": ("high", 2048),
        "original": ("original", 2048),
    }


def test_a_form_says_nothing_of_detail_until_somebody_chooses() -> None:
    assert Form().detail == ""
    assert Form().chosen("high", None).chosen(None, "text") == Form(detail="high", pdf_as="text")


def test_a_closer_look_at_what_went_out_before_reaches_the_service(
    shell: InteractiveShell,
) -> None:
    session = current_session()
    session.model = ScriptedModel(["Seen."])
    shell.run_line_magic("view_image", "small.png")
    shell.run_cell("%%agent\nWhat is it?")
    shell.run_line_magic("view_image", "small.png --detail high")

    model = model_of("responses")
    request = session.prepare("Look closer.", model=model)

    assert [block.asset.detail for block in media_blocks(request.outgoing)] == ["high"]


def test_of_several_looks_at_one_content_the_last_decides(
    shell: InteractiveShell, work: Path
) -> None:
    (work / "same.png").write_bytes((work / "small.png").read_bytes())
    for line in ("small.png", "same.png --detail original", "small.png --detail high"):
        shell.run_line_magic("view_image", line)

    assert sent(current_session(), "responses")[0] == "high"

    shell.run_line_magic("view_image", "same.png --detail original")

    assert sent(current_session(), "responses")[0] == "original"
