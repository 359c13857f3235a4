"""A recording holds no picture: media lie in files of their own, and come back as they were."""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentcell.adapters.events import Event, Finished, TextDelta, ToolCallDelta
from agentcell.adapters.model import Model
from agentcell.adapters.recording import Recording, RecordingMiss, RecordingModel
from agentcell.errors import HistoryError
from agentcell.messages import Message


class Saying(Model):
    """Gives the events it was made with."""

    provider = "saying"

    def __init__(self, *says: Event) -> None:
        super().__init__("one")
        self.says = says

    def stream(self, *_: Any, **__: Any) -> Iterator[Event]:
        yield from self.says


def ask(text: str = "Draw a cat.") -> list[Message]:
    return [{"role": "user", "content": text}]


def picture(kind: str = "PNG", seed: int = 1) -> bytes:
    image = Image.frombytes("RGB", (40, 40), random.Random(seed).randbytes(4_800))  # noqa: S311
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


MEDIA = {
    "png": picture(),
    "jpeg": picture("JPEG"),
    "webp": picture("WEBP"),
    "gif": picture("GIF"),
    "pdf": b"%PDF-1.7\n" + bytes(range(256)) * 8,
    "mp4": b"\x00\x00\x00\x18ftypmp42" + bytes(range(256)) * 8,
    "webm": b"\x1aE\xdf\xa3" + bytes(range(256)) * 8,
    "wav": b"RIFF\x00\x00\x00\x00WAVEfmt " + bytes(range(256)) * 8,
}

WRITTEN = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "for addresses": lambda data: base64.urlsafe_b64encode(data).decode(),
    "without padding": lambda data: base64.b64encode(data + b"\0").decode().rstrip("="),
    "a data address": lambda data: f"data:image/png;base64,{base64.b64encode(data).decode()}",
    "in a sentence": lambda data: f"![cat](data:x;base64,{base64.b64encode(data).decode()}) Nice?",
    "JSON": lambda data: json.dumps({"b64": base64.b64encode(data).decode(), "n": [1]}),
}


def sealed(item: Any) -> Finished:
    return Finished(reason="stop", opaque=({"provider": "x", "item": item},))


def recorded(path: Path, *says: Event) -> list[Event]:
    return list(RecordingModel(Saying(*says), path, "record").stream(ask()))


def replayed(path: Path) -> list[Event]:
    return list(RecordingModel(Saying(), path, "replay").stream(ask()))


def longest_base64(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    kept = "".join(char if char.isalnum() or char in "+/" else " " for char in text)
    return max(map(len, kept.split()))


@pytest.mark.parametrize("written", list(WRITTEN))
@pytest.mark.parametrize("kind", list(MEDIA))
def test_what_a_service_wants_back_comes_back_and_no_medium_stands_in_the_file(
    tmp_path: Path, kind: str, written: str
) -> None:
    path = tmp_path / "recordings" / "a.jsonl"
    text = WRITTEN[written](MEDIA[kind])
    says = (
        ToolCallDelta(0, "c", "show", json.dumps({"image": text})),
        TextDelta(f"Here: {text}"),
        sealed({"type": "image_generation_call", "result": text, "deep": [{"inlineData": text}]}),
    )
    first = recorded(path, *says)

    assert replayed(path) == first
    assert longest_base64(path) < 100
    assert path.stat().st_size < 3_000
    assert len(list((tmp_path / "recordings" / "a.files").iterdir())) == 1


def test_a_picture_that_comes_in_pieces_is_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = WRITTEN["a data address"](MEDIA["png"])
    pieces = [TextDelta(text[at : at + 150]) for at in range(0, len(text), 150)]
    recorded(path, *pieces, Finished(reason="stop"))

    assert longest_base64(path) < 100
    assert replayed(path)[0] == TextDelta(text)


def test_seals_that_are_no_medium_stay_in_the_line(tmp_path: Path) -> None:
    seal = "gAAAA" + base64.urlsafe_b64encode(random.Random(3).randbytes(3_000)).decode()  # noqa: S311
    said = f"Literally <agentcell:base64:{'0' * 64}> and {'a' * 3_000}"
    first = recorded(tmp_path / "a.jsonl", TextDelta(said), sealed({"encrypted_content": seal}))

    assert replayed(tmp_path / "a.jsonl") == first
    assert seal in (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    assert not (tmp_path / "a.files").exists()


def test_a_tools_picture_in_a_question_is_known_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def with_result(seed: int) -> list[Message]:
        shot = json.dumps({"shot": base64.b64encode(picture(seed=seed)).decode()})
        return [*ask(), {"role": "tool", "tool_call_id": "c", "name": "shot", "content": shot}]

    says = (TextDelta("yes"), Finished(reason="stop"))
    RecordingModel(Saying(*says), path, "record").invoke(with_result(1))
    model = RecordingModel(Saying(), path, "replay")

    assert longest_base64(path) < 100
    assert model.invoke(with_result(1))["content"] == "yes"
    with pytest.raises(RecordingMiss, match=r"message 2 \(tool\)"):
        model.invoke(with_result(2))


def test_a_medium_that_is_gone_or_another_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    recorded(path, sealed({"result": WRITTEN["base64"](MEDIA["png"])}))
    (file,) = (tmp_path / "a.files").iterdir()
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1")
    with pytest.raises(HistoryError, match="its SHA-256 is another"):
        replayed(path)
    file.unlink()
    with pytest.raises(HistoryError, match="cannot be read"):
        replayed(path)


def test_pruning_takes_the_media_of_what_is_pruned(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    kept, gone = (WRITTEN["base64"](picture(seed=seed)) for seed in (1, 2))
    for question, result in (("one", kept), ("two", gone)):
        model = RecordingModel(Saying(sealed({"result": result})), path, "record")
        model.invoke(ask(question))
    own = tmp_path / "a.files" / "README.md"
    own.write_text("mine", encoding="utf-8")
    recording = Recording(path)
    RecordingModel(Saying(), recording, "replay").invoke(ask("one"))

    assert recording.prune() == 1
    left = sorted((tmp_path / "a.files").iterdir())
    assert own in left
    assert [file.read_bytes() for file in left if file != own] == [picture(seed=1)]


def test_a_recording_moves_with_its_media(tmp_path: Path) -> None:
    first = recorded(
        tmp_path / "here" / "a.jsonl", sealed({"result": WRITTEN["base64"](picture())})
    )
    (tmp_path / "here").rename(tmp_path / "there")

    assert replayed(tmp_path / "there" / "a.jsonl") == first
