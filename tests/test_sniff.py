"""What a file holds is told by its content."""

from __future__ import annotations

import io
import zipfile

import pytest

from agentcell.assets.sniff import NAMES, normal_mime_type, sniff, suffix_type
from asset_files import SVG, every_file, image_file
from promptly import cpu_seconds

FILES = every_file()


@pytest.mark.parametrize("kind", FILES)
def test_every_family_is_told_by_its_content(kind: str) -> None:
    assert sniff(FILES[kind]).mime_type == kind
    assert kind in NAMES


@pytest.mark.parametrize(
    "text",
    [
        SVG,
        b"\xef\xbb\xbf" + SVG,
        b'<?xml version="1.0" encoding="UTF-8"?>\n' + SVG,
        b"<?xml version='1.0'?>\n<!-- a > b <html> -->\n\n" + SVG,
        b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/x.dtd" ['
        b'<!ENTITY ns "http://ns.example/">]>\n' + SVG,
        b'<svg:svg xmlns:svg="http://www.w3.org/2000/svg"/>',
        b"\xff\xfe" + SVG.decode().encode("utf-16-le"),
        b"<!--" + b"x" * 60_000 + b"-->" + SVG,
    ],
)
def test_a_drawing_is_known_past_declarations_and_comments(text: bytes) -> None:
    assert sniff(text).mime_type == "image/svg+xml"


@pytest.mark.parametrize("junk", [b"\n", b"\xef\xbb\xbf", b"HTTP/1.1 200 OK\r\n\r\n", bytes(1000)])
def test_a_pdf_may_follow_some_junk(junk: bytes) -> None:
    assert sniff(junk + FILES["application/pdf"]).mime_type == "application/pdf"


def test_a_pdf_header_further_in_is_none() -> None:
    assert sniff(bytes(2000) + FILES["application/pdf"]).mime_type == ""


def archive(*names: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as made:
        for name in names:
            made.writestr(name, "x")
    return sink.getvalue()


@pytest.mark.parametrize(
    ("head", "noun"),
    [
        (b"total,12.50\n", "text"),
        ("总计 12.50\n".encode(), "text"),
        (("总" * 30_000).encode()[:65_536], "text"),
        (b"BMW is a maker of cars\n", "text"),
        (b"GIF files, and how to make them", "text"),
        (b"II*something", "text"),
        (b"{}", "text"),
        (b"<html><body><svg></svg></body></html>", "a web page (HTML)"),
        (b"<!doctype html>\n<p>see %PDF-1.4", "a web page (HTML)"),
        (b"  <!DOCTYPE HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'><title>x", "a web page (HTML)"),
        (b"<?xml version='1.0'?><note>hi</note>", "XML (<note>)"),
        (archive("a.txt"), "a ZIP archive"),
        (archive("[Content_Types].xml", "word/document.xml"), "a Word document (docx)"),
        (archive("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook (xlsx)"),
        (b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41", "a video (MP4 or QuickTime)"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", "an audio file (WAV)"),
        (b"\x1f\x8b\x08\x00", "gzip-compressed data"),
        (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "a JPEG 2000 image"),
        (b"II*\x00\x10\x00\x00\x00CR\x02\x00", "data of an unknown kind"),
        (b"\x89PNG\r\n", "data of an unknown kind"),
        (b"\x00" * 64, "data of an unknown kind"),
        (bytes(range(256)), "data of an unknown kind"),
    ],
)
def test_all_else_is_named_and_no_attachment(head: bytes, noun: str) -> None:
    seen = sniff(head)

    assert (seen.mime_type, seen.noun) == ("", noun)


@pytest.mark.parametrize(
    ("brands", "kind"),
    [
        (b"avif" + b"\0\0\0\0" + b"mif1miaf", "image/avif"),
        (b"mif1" + b"\0\0\0\0" + b"avifmiaf", "image/avif"),
        (b"avis" + b"\0\0\0\0" + b"msf1", "image/avif"),
        (b"heic" + b"\0\0\0\0" + b"mif1heic", "image/heic"),
        (b"mif1" + b"\0\0\0\0" + b"heicmiaf", "image/heic"),
        (b"mif1" + b"\0\0\0\0" + b"miaf", "image/heif"),
        (b"isom" + b"\0\0\0\0" + b"heic", ""),
        (b"M4A " + b"\0\0\0\0" + b"isom", ""),
    ],
)
def test_the_brands_of_a_box_file_tell_pictures_from_videos(brands: bytes, kind: str) -> None:
    box = (8 + len(brands)).to_bytes(4, "big") + b"ftyp" + brands

    assert sniff(box).mime_type == kind


@pytest.mark.parametrize(
    "head",
    [
        b"<svg " * 13_000,
        b"<!DOCTYPE " + b'"' * 60_001,
        b"<!DOCTYPE x [" + b"'" * 60_001,
        b"<?" * 30_000,
        b"<!--" * 16_000,
        b" " * 65_536,
        b"<svg " + b"width " * 10_000,
    ],
)
def test_no_text_makes_it_slow(head: bytes) -> None:
    assert cpu_seconds(lambda: sniff(head), tries=3) < 1


def test_a_truncated_head_never_fails() -> None:
    for data in FILES.values():
        for length in range(min(len(data), 300)):
            sniff(data[:length])


@pytest.mark.parametrize(
    ("claim", "plain"),
    [
        ("image/jpg", "image/jpeg"),
        (" IMAGE/PNG ; charset=x", "image/png"),
        ("image/x-png", "image/png"),
        ("text/plain", "text/plain"),
    ],
)
def test_a_declared_type_is_read_in_its_usual_spelling(claim: str, plain: str) -> None:
    assert normal_mime_type(claim) == plain


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("a.JPEG", "image/jpeg"),
        ("a.tar.png", "image/png"),
        ("png", ""),
        (".png", ""),
        ("a.txt", ""),
    ],
)
def test_a_name_claims_a_type_by_its_ending(name: str, claim: str) -> None:
    assert suffix_type(name) == claim


def test_a_picture_of_every_kind_of_jpeg_is_one() -> None:
    for options in ({"progressive": True}, {"quality": 5}, {"subsampling": 0}):
        assert sniff(image_file("JPEG", **options)).mime_type == "image/jpeg"
