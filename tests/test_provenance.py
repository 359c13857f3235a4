"""How a picture came to be, in its file: readable back, valid for others, pixels untouched."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from agentcell.imaging.provenance import MOST_PROMPT, Provenance, of_bytes, read, written
from drawn import noise, picture

FOX = Provenance.of(
    'a fox & <b>bold</b> "words" 狐狸\nline two',
    backend="openai",
    model="gpt-image-2",
    seed=-7,
    parents=("sha256:ab", "sha256:cd"),
    job_id="job-1",
    request_id="req-1",
)

FILES = {
    "png": picture(),
    "png with alpha": picture((1, 2, 3, 4)),
    "jpeg": picture(kind="JPEG"),
    "webp": picture(kind="WEBP"),
    "webp with alpha": picture((1, 2, 3, 4), kind="WEBP"),
    "noise": noise((300, 200), "JPEG"),
}


def lossless() -> bytes:
    sink = io.BytesIO()
    Image.new("RGBA", (41, 31), (9, 8, 7, 100)).save(sink, "WEBP", lossless=True)
    return sink.getvalue()


FILES["webp without loss"] = lossless()


def pixels(data: bytes) -> tuple[Any, ...]:
    with Image.open(io.BytesIO(data)) as opened:
        opened.load()
        return opened.size, opened.mode, opened.tobytes()


@pytest.mark.parametrize("name", FILES)
def test_what_is_written_can_be_read_back_and_no_pixel_changes(name: str, tmp_path: Path) -> None:
    marked = written(FILES[name], FOX, "a fox")
    (tmp_path / "file").write_bytes(marked)

    assert read(tmp_path / "file") == FOX
    assert pixels(marked) == pixels(FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_others_read_it_too_as_xmp(name: str) -> None:
    with Image.open(io.BytesIO(written(FILES[name], FOX, "ein Fuchs <&>"))) as opened:
        packet = opened.info["xmp"]
    text = packet.decode() if isinstance(packet, bytes) else packet
    document = minidom.parseString(text.rstrip("\0"))  # noqa: S318 (our own)

    (about,) = document.getElementsByTagName("rdf:Description")
    source = about.getAttribute("Iptc4xmpExt:DigitalSourceType")
    assert source.endswith("/trainedAlgorithmicMedia")
    assert about.getAttribute("xmp:CreatorTool").startswith("agentcell ")
    said = document.getElementsByTagName("Iptc4xmpCore:AltTextAccessibility")[0]
    words = said.getElementsByTagName("rdf:li")[0].firstChild
    assert isinstance(words, minidom.Text)
    assert words.data == "ein Fuchs <&>"


@pytest.mark.parametrize("name", FILES)
def test_written_again_there_is_one_record_the_last(name: str) -> None:
    other = Provenance.of("a dog")
    twice = written(written(FILES[name], FOX, ""), other, "")

    assert of_bytes(twice) == other
    assert twice.count(b"agentcell:record=") == 1


def test_the_same_is_written_as_the_same_bytes() -> None:
    assert written(FILES["png"], FOX, "x") == written(FILES["png"], FOX, "x")


def test_what_was_drawn_by_rule_is_not_called_a_models_work() -> None:
    marked = written(FILES["png"], Provenance.of("x", backend="procedural"), "")

    assert b"digitalsourcetype/algorithmicMedia" in marked
    assert b"trainedAlgorithmicMedia" not in marked


@pytest.mark.parametrize("character", ["狐", "🦊", '"', "&", "\\"])
def test_a_very_long_prompt_fits_into_every_file(character: str) -> None:
    long = Provenance.of(character * 100_000)
    for data in FILES.values():
        found = of_bytes(written(data, long, character * 300))
        assert found is not None
        assert MOST_PROMPT / 2 < len(found.prompt) <= MOST_PROMPT
        assert set(found.prompt) == {character}


def test_a_service_s_own_metadata_stays() -> None:
    sink = io.BytesIO()
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text("Author", "somebody")
    Image.new("RGB", (4, 4)).save(sink, "PNG", pnginfo=info)

    with Image.open(io.BytesIO(written(sink.getvalue(), FOX, ""))) as opened:
        assert opened.info["Author"] == "somebody"


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP", b"text"]
)
def test_what_is_no_picture_says_nothing(data: bytes) -> None:
    assert of_bytes(data) is None


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_a_damaged_file_says_nothing_or_something_but_never_fails(name: str, data: Any) -> None:
    marked = bytearray(written(FILES[name], FOX, "a fox"))
    for _ in range(5):
        marked[data.draw(st.integers(0, len(marked) - 1))] = data.draw(st.integers(0, 255))

    found = of_bytes(bytes(marked[: data.draw(st.integers(0, len(marked)))]))

    assert found is None or isinstance(found, Provenance)


def test_the_chunks_of_a_png_stay_whole() -> None:
    marked = written(FILES["png"], FOX, "")
    at, kinds = 8, []
    while at < len(marked):
        (size,) = struct.unpack_from(">I", marked, at)
        kinds.append(marked[at + 4 : at + 8])
        at += 12 + size

    assert kinds[:2] == [b"IHDR", b"iTXt"]
    assert kinds[-1] == b"IEND"
