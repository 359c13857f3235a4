"""Tools that make pictures: recorded in one folder → replayed in another, where no key is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentcell import ImageToolConfig, Session
from agentcell.testing import Call, FakeModel, MediaServer
from agentcell.testing.image_servers import OpenAIImagesServer
from media import png

TOKEN = "tk-0f1e2d3c4b5a6978"  # noqa: S105 (made up)
BRIEF = json.dumps({"prompt": "A fox at dawn."})
MAKE = Call("media_generate_image", '{"prompt": "a red fox at dawn"}')
LOOK = Call("view_image", '{"path": "generated-media/req-1-0.png"}')
FILM = Call("media_generate_video", '{"prompt": "a red fox runs"}')
DRAW = Call("image_generation", '{"prompt": "a red fox", "output_path": "fox.png"}')
LIST = Call("media_list_models", "{}")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MediaServer]:
    with MediaServer(token=TOKEN) as server:
        monkeypatch.setenv("AGENTCELL_MEDIA_URL", server.url)
        monkeypatch.setenv("AGENTCELL_MEDIA_TOKEN", TOKEN)
        yield server


def session_in(folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> Session:
    folder.mkdir()
    monkeypatch.chdir(folder)
    session = Session()
    session.recorder.use(folder.parent / "tape.jsonl", mode)
    return session


def asked(session: Session, model: FakeModel, *names: str) -> str:
    tools = [session.own_tool(name, model) for name in names]
    return str(
        session.ask("Draw me a fox.", model=model, tools=tools or None, approve=lambda *_: True)
    )


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("media_generate_image", (MAKE,)),
        ("media_generate_video", (FILM,)),
        ("media_list_models", (LIST,)),
        ("delegate_create_image", (Call("delegate_create_image", BRIEF), MAKE, LOOK, "Here.")),
        ("delegate_create_image", (Call("delegate_create_image", BRIEF), LIST, "Nothing.")),
        ("delegate_create_video", (Call("delegate_create_video", BRIEF), FILM, "Here.")),
    ],
)
def test_media_tools_are_replayed_in_another_folder_where_no_service_is_set_up(
    name: str,
    calls: tuple[Call | str, ...],
    server: MediaServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom" if FILM in calls else png("red")
    server.job("success", files=[server.file("a", data)], request_id="req-1")
    first = session_in(tmp_path / "here", monkeypatch, "record")
    assert asked(first, FakeModel(*calls, "Done."), name) == "Done."
    sent = len(server.requests)
    assert sent

    monkeypatch.delenv("AGENTCELL_MEDIA_URL")
    monkeypatch.delenv("AGENTCELL_MEDIA_TOKEN")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    again = session_in(tmp_path / "elsewhere", monkeypatch, "replay")

    assert asked(again, FakeModel(), name) == "Done."
    assert len(server.requests) == sent
    assert str(tmp_path) not in (tmp_path / "tape.jsonl").read_text("utf-8")
    made = [path.relative_to(tmp_path / "here") for path in (tmp_path / "here").rglob("*/req-*")]
    for path in made:
        assert (tmp_path / "elsewhere" / path).read_bytes() == (
            tmp_path / "here" / path
        ).read_bytes()


def test_an_open_gate_is_replayed_where_nobody_is_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = ImageToolConfig(image_generation_enabled=True, image_view_enabled=True)
    with OpenAIImagesServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "k-8Zp2WvX9mRt4Ls8")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        first = session_in(tmp_path / "here", monkeypatch, "record")
        first.image_tools = opened
        assert asked(first, FakeModel(DRAW, "Done.")) == "Done."
        assert len(server.requests) == 1

        monkeypatch.delenv("OPENAI_API_KEY")
        again = session_in(tmp_path / "elsewhere", monkeypatch, "replay")
        again.image_tools = opened

        assert asked(again, FakeModel()) == "Done."
        assert len(server.requests) == 1
    here, there = (tmp_path / name / "fox.png" for name in ("here", "elsewhere"))
    assert there.read_bytes() == here.read_bytes()


def test_a_specialist_is_replayed_with_the_tools_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = (Call("delegate_create_image", BRIEF), DRAW, "Here.")
    monkeypatch.setenv("AGENTCELL_IMAGE_MODEL", "procedural")
    first = session_in(tmp_path / "here", monkeypatch, "record")
    assert asked(first, FakeModel(*calls, "Done."), "delegate_create_image") == "Done."

    monkeypatch.delenv("AGENTCELL_IMAGE_MODEL")
    with MediaServer(token=TOKEN) as server:
        monkeypatch.setenv("AGENTCELL_MEDIA_URL", server.url)
        monkeypatch.setenv("AGENTCELL_MEDIA_TOKEN", TOKEN)
        again = session_in(tmp_path / "elsewhere", monkeypatch, "replay")

        assert asked(again, FakeModel(), "delegate_create_image") == "Done."
        assert server.requests == []
    assert (tmp_path / "elsewhere" / "fox.png").is_file()
