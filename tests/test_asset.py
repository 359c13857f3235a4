"""Attachments: where they come from, who they are, and what they say of themselves."""

from __future__ import annotations

import base64
import copy
import hashlib
import io
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image

from agentcell.assets import (
    ImageAsset,
    MediaAsset,
    PdfAsset,
    asset_from_bytes,
    asset_from_path,
    asset_from_url,
)
from agentcell.errors import AttachmentError
from agentcell.modality import FieldModality
from asset_files import (
    DATA,
    SVG,
    animation,
    encoded,
    every_file,
    image_file,
    pdf_file,
    picture,
    png_with_size,
    turned,
)
from promptly import PROMPTLY

PNG = image_file("PNG")
PDF = pdf_file(3)
FILES = every_file()


def problem(call: Any, *arguments: Any, **options: Any) -> str:
    """The text of the error that a call must raise; every such text is short."""
    with pytest.raises(AttachmentError) as caught:
        call(*arguments, **options)
    text = str(caught.value)
    assert "Fix: " in text
    assert len(text.splitlines()) <= 15
    assert len(text) < 600
    return text


# --- what is taken ---


@pytest.mark.parametrize("kind", FILES)
def test_every_family_is_taken_with_its_type_whatever_its_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file.dat"
    path.write_bytes(FILES[kind])

    asset = asset_from_path(path)

    assert asset.mime_type == kind
    assert isinstance(asset, PdfAsset if kind == "application/pdf" else ImageAsset)
    assert asset.load_bytes() == FILES[kind]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_the_size_is_read_from_the_header(kind: str) -> None:
    asset = ImageAsset.from_bytes(image_file(kind, (61, 37)))

    assert (asset.width, asset.height) == (61, 37)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_the_size_is_the_one_that_is_shown(kind: str, orientation: int) -> None:
    asset = ImageAsset.from_bytes(turned(kind, orientation, (60, 40)))

    assert (asset.width, asset.height) == ((60, 40) if orientation < 5 else (40, 60))


def test_the_size_of_a_heic_is_that_of_the_part_that_is_shown() -> None:
    asset = ImageAsset.from_path(DATA / "tiny.heic")

    assert (asset.width, asset.height) == (64, 48)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (SVG, (60, 40)),
        (b'<svg viewBox="0 0 30 20"/>', (30, 20)),
        (b'<svg width="100%" height="5em" viewBox="0,0,7,9"/>', (7, 9)),
        (b'<svg width="10px" height="20.4"/>', (10, 20)),
        (b"<svg/>", (None, None)),
        (b'<!-- <svg width="1" height="1"/> --><svg width="2" height="3"/>', (2, 3)),
    ],
)
def test_the_size_of_a_drawing_is_what_it_says(text: bytes, size: tuple[Any, Any]) -> None:
    asset = ImageAsset.from_bytes(text)

    assert (asset.width, asset.height) == size


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "AVIF", "TIFF"])
def test_an_animation_is_known(kind: str) -> None:
    assert ImageAsset.from_bytes(animation(kind)).animated
    assert not ImageAsset.from_bytes(animation(kind, frames=1)).animated


def test_pages_are_counted() -> None:
    asset = PdfAsset.from_bytes(PDF)

    assert (asset.pages, asset.width, asset.modality) == (3, None, FieldModality.PDF)


def test_bytes_like_objects_are_taken() -> None:
    for data in (PNG, bytearray(PNG), memoryview(PNG), memoryview(b"xx" + PNG)[2:]):
        assert ImageAsset.from_bytes(data).load_bytes() == PNG


def test_a_later_change_of_a_bytearray_changes_nothing() -> None:
    data = bytearray(PNG)
    asset = ImageAsset.from_bytes(data)
    data[:] = b"x" * len(data)

    assert asset.load_bytes() == PNG


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "r.png").write_bytes(PNG)

    assert ImageAsset.from_path("~/r.png").path == tmp_path / "r.png"


# --- what is refused ---


def test_a_missing_file_is_named_with_its_folder_and_a_near_name(tmp_path: Path) -> None:
    (tmp_path / "receipt.png").write_bytes(PNG)

    text = problem(ImageAsset.from_path, tmp_path / "reciept.png")

    assert "no file reciept.png" in text
    assert str(tmp_path) in text
    assert "'receipt.png'" in text


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    assert "There is no folder" in problem(ImageAsset.from_path, tmp_path / "no" / "a.png")


def test_a_directory_a_device_and_a_pipe_are_refused_without_hanging(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    start = time.monotonic()

    assert "is a directory" in problem(ImageAsset.from_path, tmp_path)
    assert "is a device" in problem(ImageAsset.from_path, "/dev/zero")
    assert "is a pipe" in problem(ImageAsset.from_path, tmp_path / "pipe.png")
    assert time.monotonic() - start < PROMPTLY


def test_a_link_to_nothing_and_a_loop_of_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to(tmp_path / "nothing.png")
    (tmp_path / "b.png").symlink_to(tmp_path / "b.png")

    assert "is a link to a file that does not exist" in problem(
        ImageAsset.from_path, tmp_path / "a.png"
    )
    assert "b.png cannot be read" in problem(ImageAsset.from_path, tmp_path / "b.png")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    path.chmod(0)

    assert "no permission" in problem(ImageAsset.from_path, path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "An empty path"),
        ("  ", "An empty path"),
        (3, "An int was given as a path"),
        (b"a.png", "Bytes were given as a path"),
        ("https://example.org/a.png", "An address (https:…) was given as a path"),
        ("data:image/png;base64,AAAA", "An address (data:…)"),
        ("a\0b.png", "cannot be"),
        ("x" * 5000 + ".png", "cannot be read"),
    ],
)
def test_what_is_no_path_is_refused(path: Any, said: str) -> None:
    assert said in problem(ImageAsset.from_path, path)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("empty.png", b"", "empty.png is empty (0 bytes); an image was expected"),
        ("notes.png", b"total 12.50", "notes.png holds text, not an image"),
        ("page.png", b"<!doctype html><p>not found", "page.png holds a web page (HTML)"),
        ("noise.png", bytes(range(256)), "holds data of an unknown kind"),
        ("scan.png", PDF, "scan.png holds a PDF, not an image"),
    ],
)
def test_what_is_no_image_is_refused_by_its_content(
    name: str, data: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)

    assert said in problem(ImageAsset.from_path, tmp_path / name)


def test_each_kind_of_asset_names_the_other_one() -> None:
    assert "use PdfAsset" in problem(ImageAsset.from_bytes, PDF)
    assert "use ImageAsset" in problem(PdfAsset.from_bytes, PNG, filename="a.pdf")
    assert "a.pdf holds a PNG image, not a PDF" in problem(
        PdfAsset.from_bytes, PNG, filename="a.pdf"
    )


def test_a_bomb_is_refused_before_it_is_decoded() -> None:
    start = time.process_time()

    text = problem(ImageAsset.from_bytes, png_with_size(20_000, 20_000), filename="bomb.png")

    assert "bomb.png has 20,000 × 20,000 = 400,000,000 pixels" in text
    assert "178,956,970" in text
    assert time.process_time() - start < PROMPTLY


@pytest.mark.parametrize("kind", ["BMP", "GIF", "WEBP", "JPEG", "TIFF"])
def test_a_bomb_of_any_kind_is_refused(kind: str) -> None:
    data = bytearray(image_file(kind))
    at = {
        "BMP": (18, (40_000).to_bytes(4, "little") * 2),
        "GIF": (6, (40_000).to_bytes(2, "little") * 2),
        "WEBP": (26, (16_383).to_bytes(2, "little") * 2),
        "JPEG": (data.find(b"\xff\xc0") + 5, (40_000).to_bytes(2, "big") * 2),
        "TIFF": (0, b""),
    }[kind]
    if kind == "TIFF":
        for tag in (b"\x00\x01", b"\x01\x01"):  # width and height, little-endian
            place = (
                data.find(tag + b"\x04\x00")
                if tag + b"\x04\x00" in data
                else data.find(tag + b"\x03\x00")
            )
            data[place + 8 : place + 12] = (40_000).to_bytes(4, "little")
    else:
        data[at[0] : at[0] + len(at[1])] = at[1]

    assert "pixels; an image may have at most" in problem(ImageAsset.from_bytes, bytes(data))


def test_no_pixels_at_all_are_damage() -> None:
    assert "its header gives 0 × 5 pixels" in problem(ImageAsset.from_bytes, png_with_size(0, 5))


def noisy(kind: str) -> bytes:
    noise = Image.effect_noise((80, 60), 90).convert("RGB")
    return encoded(noise, kind, **({"lossless": True} if kind == "WEBP" else {}))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_a_truncated_image_is_refused(kind: str, part: float) -> None:
    data = noisy(kind)

    text = problem(ImageAsset.from_bytes, data[: int(len(data) * part)], filename="cut.img")

    assert "cut.img is a damaged" in text


def test_a_truncated_image_too_large_to_decode_is_refused_too() -> None:
    for kind in ("PNG", "JPEG", "WEBP", "BMP"):
        data = encoded(Image.new("RGB", (2200, 1400), "teal"), kind)

        assert "damaged" in problem(ImageAsset.from_bytes, data[: len(data) * 2 // 3])


def test_a_spoilt_byte_within_a_png_is_found() -> None:
    data = bytearray(noisy("PNG"))
    data[len(data) // 2] ^= 1

    assert "checksum of its IDAT chunk is wrong" in problem(ImageAsset.from_bytes, bytes(data))


def test_the_end_mark_of_a_jpeg_is_found_before_whatever_a_camera_appends() -> None:
    data = image_file("JPEG") + b"motion photo" * 200_000

    assert ImageAsset.from_bytes(data).width == 60


def test_the_end_mark_of_the_thumbnail_within_is_not_that_of_the_photo() -> None:
    exif = Image.Exif()
    exif[0x010E] = image_file("JPEG").decode("latin-1")
    data = encoded(Image.effect_noise((2200, 1400), 50), "JPEG", exif=exif)

    assert "cut off" in problem(ImageAsset.from_bytes, data[: len(data) // 2])


def test_junk_after_an_image_does_no_harm() -> None:
    for kind in ("PNG", "JPEG", "GIF", "WEBP"):
        assert ImageAsset.from_bytes(image_file(kind) + b"junk" * 99).width == 60


def test_a_drawing_with_wrong_xml_is_refused() -> None:
    assert "its XML is wrong" in problem(ImageAsset.from_bytes, b"<svg><g></svg>")


def test_a_drawing_whose_entities_swell_is_refused_at_once() -> None:
    lines = ['<!ENTITY a0 "lol">'] + [
        f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)
    ]
    data = f"<!DOCTYPE svg [{''.join(lines)}]><svg>&a9;</svg>".encode()
    start = time.process_time()

    assert "would swell" in problem(ImageAsset.from_bytes, data)
    assert time.process_time() - start < PROMPTLY


def test_too_many_bytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.png"
    with path.open("wb") as file:
        file.write(PNG)
        file.truncate(100_000_001)

    assert "big.png is 100,000,001 bytes; a PNG image may have at most 100,000,000" in problem(
        ImageAsset.from_path, path
    )

    with path.open("r+b") as file:
        file.truncate(3_000_000_000)
    assert "big.png is 3,000,000,000 bytes; at most 200,000,000" in problem(
        ImageAsset.from_path, path
    )


def test_text_given_as_bytes_names_the_other_ways() -> None:
    text = problem(ImageAsset.from_bytes, "iVBORw0KGgo")

    assert "A str was given" in text
    assert "from_base64" in text


# --- notes ---


def test_a_png_named_jpg_is_sent_as_the_png_it_is_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(PNG)

    asset = ImageAsset.from_path(path)

    assert asset.mime_type == "image/png"
    assert asset.notes == ("photo.jpg holds a PNG image; it is sent as image/png.",)


def test_a_declared_type_that_the_content_contradicts_gets_a_note() -> None:
    asset = ImageAsset.from_bytes(PNG, mime_type="image/jpeg")

    assert asset.mime_type == "image/png"
    assert asset.notes == (
        "It was declared as image/jpeg, but holds a PNG image; it is sent as image/png.",
    )


def test_what_agrees_gets_no_note() -> None:
    assert ImageAsset.from_bytes(PNG, mime_type="image/png", filename="a.png").notes == ()
    jpeg = image_file("JPEG")
    assert ImageAsset.from_bytes(jpeg, mime_type="image/jpg", filename="a.JPEG").notes == ()
    assert ImageAsset.from_bytes(PNG, filename="a.dat").notes == ()


# --- base64 ---

B64 = base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    "text",
    [
        B64,
        f"  {B64}\n",
        "\r\n".join(B64[at : at + 76] for at in range(0, len(B64), 76)),
        B64.rstrip("="),
        base64.urlsafe_b64encode(PNG).decode(),
        f"data:image/png;base64,{B64}",
        f"DATA:image/png;charset=utf-8;BASE64,{B64}",
        f"data:;base64,{B64}",
        f"data:image/png;base64,{quote(B64)}",
        f"data:image/png,{quote(PNG)}",
    ],
)
def test_base64_is_read_in_all_its_forms(text: str) -> None:
    assert ImageAsset.from_base64(text).load_bytes() == PNG


def test_a_drawing_in_a_percent_encoded_data_address_is_read() -> None:
    assert ImageAsset.from_base64(f"data:image/svg+xml,{quote(SVG)}").load_bytes() == SVG
    assert ImageAsset.from_url(f"data:image/svg+xml;utf8,{quote(SVG)}").mime_type == "image/svg+xml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "An empty text"),
        (" \n", "An empty text"),
        ("data:image/png;base64,", "An empty text"),
        ("data:image/png;base64", "without a comma"),
        ("data:image/png,%zz", "hexadecimal digits"),
        (B64[:40] + "*" + B64[40:], "holds '*' at character 41"),
        (B64[:40] + "é" + B64[40:], "holds '\\xe9'"),
        ("+-" + B64, "holds '-'"),
        (B64[:-4] + "A", "cut off or damaged"),
        (B64 + "=", "cut off or damaged"),
        ("AA=A", "cut off or damaged"),
        ("====", "cut off or damaged"),
        ("receipt.png", "holds '.'"),
        ("https://example.org/a.png", "holds ':'"),
        ("hello", "cut off or damaged"),
        (base64.b64encode(b"hello").decode(), "holds text, not an image"),
        (7, "An int was given as base64"),
    ],
)
def test_what_is_not_wholly_base64_is_refused(text: Any, said: str) -> None:
    assert said in problem(ImageAsset.from_base64, text)


def test_the_type_that_a_data_address_claims_is_compared_with_the_content() -> None:
    asset = ImageAsset.from_base64(f"data:image/jpeg;base64,{B64}")

    assert asset.mime_type == "image/png"
    assert "declared as image/jpeg" in asset.notes[0]


# --- addresses and file ids ---


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "An empty address"),
        ("file:///etc/passwd", "begins with 'file'"),
        ("javascript:alert(1)", "begins with 'javascript'"),
        ("ftp://example.org/a.png", "begins with 'ftp'"),
        ("gs://bucket/a.png", "begins with 'gs'"),
        ("example.org/a.png", "begins with 'no scheme'"),
        ("https://", "no valid host"),
        ("https:///a.png", "no valid host"),
        ("https://h:99999/a.png", "no valid host"),
        ("https://[::1/a.png", "cannot be read"),
        ("https://user:pw@example.org/a.png", "user name or password"),
        ("https://example.org/a b.png", "a blank or a control character"),
        ("https://example.org/a\u202eb.png", "a blank or a control character"),
        ("https://example.org/" + "a" * 9000, "9,020 characters"),
        (None, "A NoneType was given as an address"),
    ],
)
def test_an_address_that_no_provider_may_fetch_is_refused(url: Any, said: str) -> None:
    text = problem(ImageAsset.from_url, url)

    assert said in text
    assert "pw" not in text


def test_an_address_is_kept_whole_and_shown_without_its_query() -> None:
    url = "https://bucket.example.org/deep/er/r%C3%A9sum%C3%A9.png?X-Signature=SECRET#frag"
    asset = ImageAsset.from_url(url)

    assert asset.url == url
    assert asset.filename == "résumé.png"
    assert (asset.size_bytes, asset.width, asset.mime_type) == (None, None, "")
    shown = " ".join([repr(asset), asset.describe(), asset.prompt_summary(), str(asset)])
    assert "SECRET" not in shown
    assert "https://bucket.example.org/…/r%C3%A9sum%C3%A9.png" in shown
    assert "SECRET" not in problem(asset.load_bytes)
    assert "SECRET" not in problem(ImageAsset.from_url, url.replace("deep", "de ep"))


def test_an_address_does_not_say_which_kind_it_is_unless_its_name_does() -> None:
    assert isinstance(asset_from_url("https://example.org/a.pdf?x=1"), PdfAsset)
    assert isinstance(asset_from_url("https://example.org/a.webp"), ImageAsset)
    assert isinstance(asset_from_url("https://example.org/x", modality=FieldModality.PDF), PdfAsset)
    assert isinstance(asset_from_url(f"data:;base64,{B64}"), ImageAsset)
    assert "does not say whether" in problem(asset_from_url, "https://example.org/x")
    assert "holds a PNG image, not a PDF" in problem(
        asset_from_url, f"data:;base64,{B64}", modality=FieldModality.PDF
    )


def test_a_type_of_the_other_kind_cannot_be_declared_for_an_address() -> None:
    for claim in ("application/pdf", "text/plain"):
        assert "was declared as the type of an image" in problem(
            ImageAsset.from_url, "https://example.org/a", mime_type=claim
        )
    declared = ImageAsset.from_url("https://example.org/a", mime_type="image/jpg")
    assert declared.mime_type == "image/jpeg"


@pytest.mark.parametrize("file_id", ["", " ", "file 1", "file\n1", None, 7])
def test_a_file_id_is_a_text_without_blanks(file_id: Any) -> None:
    assert "as a file id" in problem(ImageAsset.from_file_id, file_id)


def test_a_file_id_is_kept() -> None:
    asset = PdfAsset.from_file_id("https://generativelanguage.example/v1/files/abc")

    assert asset.file_id == "https://generativelanguage.example/v1/files/abc"
    assert asset.source_kind == "file_id"
    assert "its content is not here" in problem(asset.open)


# --- identity ---


def test_the_same_content_is_the_same_asset_wherever_it_came_from(tmp_path: Path) -> None:
    for name in ("a.png", "b.jpg"):
        (tmp_path / name).write_bytes(PNG)
    same: list[MediaAsset] = [
        ImageAsset.from_bytes(PNG),
        ImageAsset.from_bytes(bytearray(PNG), filename="x.png"),
        ImageAsset.from_bytes(PNG, mime_type="image/jpeg"),
        ImageAsset.from_base64(B64),
        ImageAsset.from_base64(f"data:image/gif;base64,{B64}"),
        ImageAsset.from_path(tmp_path / "a.png"),
        ImageAsset.from_path(tmp_path / "b.jpg"),
        asset_from_bytes(PNG, "y.png"),
    ]

    assert {asset.fingerprint() for asset in same} == {"sha256:" + hashlib.sha256(PNG).hexdigest()}
    assert len(set(same)) == 1


def test_different_contents_differ_whatever_their_names() -> None:
    red = encoded(Image.new("RGB", (1, 1), "red"), "PNG")
    blue = encoded(Image.new("RGB", (1, 1), "blue"), "PNG")

    assert ImageAsset.from_bytes(red, filename="a.png") != ImageAsset.from_bytes(
        blue, filename="a.png"
    )


def test_addresses_and_file_ids_have_namespaces_of_their_own() -> None:
    url = "https://example.org/a"
    assets: list[MediaAsset] = [
        ImageAsset.from_url(url),
        ImageAsset.from_file_id(url),
        PdfAsset.from_url(url),
        ImageAsset.from_bytes(PNG),
    ]

    assert len(set(assets)) == 4
    assert assets[0].fingerprint() == "url:" + hashlib.sha256(url.encode()).hexdigest()
    assert assets[1].fingerprint().startswith("file_id:")
    assert ImageAsset.from_url(url) == assets[0]
    assert ImageAsset.from_url(url) != url


# --- values that never change ---


def test_what_happens_to_the_file_later_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    kept = [ImageAsset.from_path(path), ImageAsset.from_path(path)]
    path.write_bytes(image_file("JPEG"))
    assert kept[0].load_bytes() == PNG
    path.unlink()

    assert kept[1].load_bytes() == PNG
    assert kept[0] == kept[1]


def test_an_asset_cannot_be_changed() -> None:
    asset: Any = ImageAsset.from_bytes(PNG)

    for name in ("mime_type", "filename", "identity"):
        with pytest.raises(AttributeError):
            setattr(asset, name, "x")
    with pytest.raises((AttributeError, TypeError)):  # Python 3.11 stumbles over its own message
        asset.other = "x"
    with pytest.raises(AttributeError):
        del asset.mime_type


@pytest.mark.parametrize(
    "asset",
    [
        ImageAsset.from_bytes(PNG, filename="a.jpg"),
        PdfAsset.from_bytes(PDF),
        ImageAsset.from_url("https://example.org/a.png?q=1"),
        PdfAsset.from_file_id("file-1"),
    ],
    ids=repr,
)
def test_an_asset_survives_pickle_and_copy(asset: MediaAsset) -> None:
    for again in (pickle.loads(pickle.dumps(asset)), copy.deepcopy(asset), copy.copy(asset)):  # noqa: S301 (its own)
        assert again == asset
        assert type(again) is type(asset)
        assert (again.notes, again.filename, again.url) == (asset.notes, asset.filename, asset.url)
        assert repr(again) == repr(asset)
        if asset.size_bytes:
            assert again.load_bytes() == asset.load_bytes()


# --- words ---


def test_an_asset_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "receipt.png").write_bytes(encoded(picture((600, 900)), "PNG"))
    asset = ImageAsset.from_path(tmp_path / "receipt.png")
    size = f"{(asset.size_bytes or 0) / 1000:.0f} kB"

    assert repr(asset) == f"ImageAsset('receipt.png', image/png, 600×900, {size})"
    assert asset.describe() == f"PNG image, 600 × 900 px, {size}"
    assert PdfAsset.from_bytes(PDF).describe().startswith("PDF, 3 pages, ")
    assert repr(PdfAsset.from_bytes(pdf_file())).startswith("PdfAsset(application/pdf, 1 page, ")


def test_the_summary_within_a_prompt_gives_name_and_size() -> None:
    red = encoded(Image.new("RGB", (1, 1), "red"), "PNG")
    size = f"{len(red)}B"

    assert ImageAsset.from_bytes(red).prompt_summary() == f"[IMAGE: image.png, {size}]"
    assert ImageAsset.from_bytes(red, filename="t.png").prompt_summary() == (
        f"[IMAGE: t.png, {size}]"
    )
    assert ImageAsset.from_file_id("file-1").prompt_summary() == "[IMAGE: image.png]"
    assert PdfAsset.from_file_id("file-1").default_filename == "document.pdf"
    assert ImageAsset.from_bytes(image_file("JPEG")).default_filename == "image.jpg"


def test_names_are_made_harmless() -> None:
    for name, kept in (
        ("../../etc/receipt.png", "receipt.png"),
        ("C:\\Users\\me\\receipt.png", "receipt.png"),
        ("a\nb\x1b[31m.png", "ab[31m.png"),
        ("evil\u202egnp.exe", "evilgnp.exe"),
        ("票据.png", "票据.png"),
        ("", None),
        ("/", None),
    ):
        assert ImageAsset.from_bytes(PNG, filename=name).filename == kept
    long = ImageAsset.from_bytes(PNG, filename="x" * 5000 + ".png")
    assert len(long.filename or "") == 200
    assert (long.filename or "").endswith(".png")


def test_no_repr_is_long_or_holds_bytes() -> None:
    for asset in (
        ImageAsset.from_bytes(PNG, filename="x" * 500 + ".png"),
        ImageAsset.from_url("https://" + "h" * 300 + ".org/" + "p" * 3000),
        ImageAsset.from_file_id("f" * 1000),
        asset_from_bytes(PDF, "\u2028" * 10 + "a.pdf"),
    ):
        assert len(repr(asset)) < 200
        assert "\\x" not in repr(asset)


def test_jupyter_shows_a_thumbnail_with_its_words_and_never_the_file() -> None:
    asset = ImageAsset.from_bytes(encoded(picture((1200, 900)), "PNG"), filename="a.png")

    data, metadata = asset._repr_mimebundle_()

    assert data["text/plain"] == repr(asset)
    shown = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert shown.size == (512, 384)
    assert metadata["image/png"]["alt"] == "a.png: PNG image, 1200 × 900 px"
    assert ImageAsset.from_url("https://example.org/a")._repr_mimebundle_()[1] == {}


def test_an_asset_is_the_same_in_every_process() -> None:
    code = (
        "import sys; from agentcell import ImageAsset;"
        f"a = ImageAsset.from_base64({B64!r}, filename='r.jpg');"
        "print(a.fingerprint(), a, a.notes)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "12345")
    }

    assert len(said) == 1


def in_many_passes(count: int) -> bytes:
    """A progressive JPEG, its last pass repeated: small, and slow to decode."""
    data = encoded(Image.new("L", (1400, 1400), 128), "JPEG", progressive=True)
    last = data[data.rfind(b"\xff\xda") : -2]
    return data[:-2] + last * count + b"\xff\xd9"


def test_a_jpeg_of_endless_passes_is_refused_in_no_time() -> None:
    began = time.perf_counter()

    with pytest.raises(AttachmentError, match="more than 300 passes"):
        ImageAsset.from_bytes(in_many_passes(30_000))

    assert time.perf_counter() - began < PROMPTLY
    assert ImageAsset.from_bytes(in_many_passes(3)).width == 1400


@pytest.mark.parametrize("encoding", ["gbk", "Shift_JIS", "EUC-KR", "windows-1252", "ISO-8859-1"])
def test_a_drawing_may_be_written_in_any_encoding(encoding: str) -> None:
    word = {"gbk": "票据", "Shift_JIS": "領収書", "EUC-KR": "영수증"}.get(encoding, "reçu")
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><svg width="7" height="5"><t>{word}</t></svg>'
    )

    asset = ImageAsset.from_bytes(text.encode(encoding))

    assert (asset.mime_type, asset.width, asset.height) == ("image/svg+xml", 7, 5)


def test_a_drawing_whose_text_is_not_of_its_encoding_is_damaged() -> None:
    text = b'<?xml version="1.0" encoding="gbk"?><svg><t>\xff\xff</t></svg>'

    with pytest.raises(AttachmentError, match="damaged SVG"):
        ImageAsset.from_bytes(text)
