"""PDFs: opened, counted, drawn and read under one lock, within bounds of time and memory."""

from __future__ import annotations

import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentcell.assets import PdfAsset, pdf
from agentcell.assets.content import Content
from agentcell.assets.pdf import page_texts, render_page, text_or_scan
from agentcell.assets.preview import preview, preview_problem
from agentcell.errors import AttachmentError
from asset_files import DATA, pdf_file, pdf_of, stream
from promptly import PROMPTLY


def problem(call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(AttachmentError) as caught:
        call(*arguments, **options)
    return str(caught.value)


PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]/Contents 4 0 R>>"


def one_page(contents: bytes, extra: str = "") -> bytes:
    return pdf_of(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            PAGE,
            stream(contents, extra),
        ]
    )


def test_an_encrypted_pdf_says_so_and_what_to_do() -> None:
    text = problem(PdfAsset.from_path, DATA / "encrypted.pdf")

    assert "encrypted.pdf is encrypted: it opens only with a password" in text
    assert "without a password" in text


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.98])
def test_a_truncated_pdf_is_refused(part: float) -> None:
    data = pdf_file(5)

    assert "is a damaged PDF" in problem(PdfAsset.from_bytes, data[: int(len(data) * part)])


def test_a_pdf_without_pages_is_refused() -> None:
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 0>>"]

    text = problem(PdfAsset.from_bytes, pdf_of(objects), filename="none.pdf")

    assert "none.pdf is a PDF without pages" in text or "damaged PDF" in text


def test_a_header_alone_is_a_damaged_pdf() -> None:
    assert "damaged PDF" in problem(PdfAsset.from_bytes, b"%PDF-1.7\n%%EOF\n")
    assert "damaged PDF" in problem(PdfAsset.from_bytes, b"%PDF-1.7 is how PDFs begin")


def test_a_pdf_after_some_junk_is_opened() -> None:
    assert PdfAsset.from_bytes(b"junk\n" * 20 + pdf_file(2)).pages == 2


def test_a_page_is_drawn_on_white_within_its_bounds() -> None:
    content = Content.of_bytes(pdf_file(1))

    picture = render_page(content, 1, max_side=200, name="a.pdf")

    assert (picture.mode, picture.size) == ("RGB", (150, 200))
    assert picture.getpixel((0, 0)) == (255, 255, 255)
    assert min(picture.convert("L").tobytes()) < 100  # the text


@pytest.mark.parametrize("page", [0, 4, -1])
def test_a_page_that_is_not_there_is_refused(page: int) -> None:
    content = Content.of_bytes(pdf_file(3))

    text = problem(render_page, content, page, max_side=99, name="a.pdf")

    assert f"a.pdf has 3 pages; page {page} was asked for" in text


def test_the_text_layer_is_read_page_by_page() -> None:
    content = Content.of_bytes(pdf_file(3, text="Total 12.50"))

    assert page_texts(content, "a.pdf") == ["Total 12.50 p1", "Total 12.50 p2", "Total 12.50 p3"]
    assert page_texts(content, "a.pdf", pages=1) == ["Total 12.50 p1"]
    assert page_texts(Content.of_bytes(pdf_file(2, text="")), "b.pdf") == ["", ""]


def test_a_text_is_told_from_a_scan() -> None:
    for text, kind in (("Total", "text"), ("", "scan")):
        assert text_or_scan(Content.of_bytes(pdf_file(3, text=text)), "a.pdf") == kind


@pytest.mark.parametrize("size", ["0 0 14400 14400", "0 0 1 14000", "0 0 0 0", "0 0 1e9 2"])
def test_a_page_of_any_size_is_drawn_or_refused(size: str) -> None:
    asset = PdfAsset.from_bytes(pdf_file(1, size=size))

    shown = preview(asset)

    assert shown is None or max(shown.width, shown.height) <= 512


def test_pages_that_unpack_without_end_are_refused_at_intake() -> None:
    once = zlib.compress(b"0 0 m 9 9 l f\n" * 10_000_000, 9)
    twice = zlib.compress(once, 9)
    start = time.monotonic()

    for body, filters in ((once, "/FlateDecode"), (twice, "[/FlateDecode/FlateDecode]")):
        data = one_page(body, f"/Filter{filters}")
        assert "unpack to more than 32,000,000 bytes" in problem(PdfAsset.from_bytes, data)
    assert time.monotonic() - start < PROMPTLY


def test_a_large_picture_within_a_page_is_no_reason_to_refuse_it() -> None:
    body = zlib.compress(bytes(8000 * 6000), 9)
    data = pdf_of(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            PAGE.replace(b">>", b"/Resources<</XObject<</I 5 0 R>>>>>>"),
            stream(b"300 0 0 400 0 0 cm /I Do"),
            stream(
                body,
                "/Type/XObject/Subtype/Image/Width 8000/Height 6000/BitsPerComponent 8"
                "/ColorSpace/DeviceGray/Filter/FlateDecode",
            ),
        ]
    )

    assert preview(PdfAsset.from_bytes(data)) is not None


def test_a_page_that_takes_too_long_to_draw_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "RENDER_SECONDS", 0.2)  # a bound, made shorter for the test
    lines = b"".join(
        b"%d %d m %d %d l S\n" % (n % 300, n % 7, n % 11, n % 400) for n in range(90_000)
    )
    asset = PdfAsset.from_bytes(one_page(lines))
    start = time.monotonic()

    assert preview(asset) is None
    assert "takes longer than 0.2 seconds" in preview_problem(asset)
    assert time.monotonic() - start < PROMPTLY


def test_many_threads_may_draw_and_read_at_once() -> None:
    assets = [PdfAsset.from_bytes(pdf_file(2, text=f"Receipt {n}")) for n in range(24)]

    def work(asset: PdfAsset) -> tuple[str, bool]:
        return page_texts(asset.content, "a.pdf")[0], preview(asset, page=2) is not None

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(work, assets)) == [(f"Receipt {n} p1", True) for n in range(24)]


def nested(levels: int, *, apart: bool = False) -> bytes:
    """A PDF whose page uses a drawing ten times that uses another ten times, and so on.

    `apart`: the resources of each are objects of their own.
    """
    first = 5

    def resources(number: int) -> str:
        return f"<< /XObject << /X {number} 0 R >> >>"

    def held(number: int, aside: int) -> str:
        return f"{aside} 0 R" if apart else resources(number)

    aside = first + levels
    page = f"/MediaBox [0 0 200 200] /Contents 4 0 R /Resources {held(first, aside)}"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R {page} >>".encode(),
        stream(b"/X Do " * 10),
    ]
    for level in range(levels):
        last = level == levels - 1
        extra = "/Type /XObject /Subtype /Form /BBox [0 0 200 200]"
        extra += "" if last else f" /Resources {held(first + level + 1, aside + level + 1)}"
        objects.append(stream(b"0 0 10 10 re f " if last else b"/X Do " * 10, extra))
    if apart:
        objects += [resources(first + level).encode() for level in range(levels)]
    return pdf_of(objects)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("levels", [6, 9, 40])
def test_drawings_within_drawings_without_end_are_refused_at_intake(
    levels: int, *, apart: bool
) -> None:
    began = time.perf_counter()

    text = problem(PdfAsset.from_bytes, nested(levels, apart=apart))

    assert "unfold into more than 32,000,000 bytes" in text
    assert time.perf_counter() - began < PROMPTLY


@pytest.mark.parametrize("apart", [False, True])
def test_drawings_within_drawings_are_drawn_while_they_end(*, apart: bool) -> None:
    asset = PdfAsset.from_bytes(nested(3, apart=apart))

    picture = render_page(asset.content, 1, max_side=200, name="a.pdf")

    assert picture.getpixel((5, 195)) == (0, 0, 0)
    assert picture.getpixel((150, 50)) == (255, 255, 255)


def test_a_drawing_that_uses_itself_is_no_reason_to_hang() -> None:
    data = nested(1).replace(b"0 0 10 10 re f", b"/X Do        q")

    assert PdfAsset.from_bytes(data).pages == 1
