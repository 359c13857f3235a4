"""What goes out to a provider: the bytes as they are where they fit, else a note."""

from __future__ import annotations

import dataclasses
import io
import struct
from typing import Any

import pytest
from PIL import Image

from agentcell.assets import ImageAsset, MediaAsset, PdfAsset
from agentcell.assets.limits import ANTHROPIC, GEMINI, LIMITS, OPENAI, OPENAI_CHAT, MediaLimits
from agentcell.assets.prepare import Prepared, at_detail, prepare
from agentcell.errors import AttachmentError
from asset_files import (
    DATA,
    SVG,
    animation,
    encoded,
    image_file,
    pdf_file,
    picture,
    png_with_size,
    turned,
)


def one(asset: MediaAsset, limits: MediaLimits = OPENAI, **options: Any) -> Prepared:
    (prepared,) = prepare([asset], limits, **options)
    assert prepared.original is asset
    return prepared


def sent(asset: MediaAsset, limits: MediaLimits = OPENAI, **options: Any) -> ImageAsset:
    (made,) = one(asset, limits, **options).assets
    assert isinstance(made, ImageAsset)
    return made


def refused(*assets: MediaAsset, limits: MediaLimits = OPENAI, **options: Any) -> str:
    with pytest.raises(AttachmentError) as caught:
        prepare(assets, limits, **options)
    assert "Fix: " in str(caught.value)
    return str(caught.value)


def opened(asset: MediaAsset) -> Image.Image:
    return Image.open(io.BytesIO(asset.load_bytes()))


# --- levels of detail ---


def test_an_image_that_fits_its_level_of_detail_is_the_very_same() -> None:
    small = ImageAsset.from_bytes(image_file("PNG", (1568, 900)))
    large = ImageAsset.from_bytes(image_file("JPEG", (3000, 2000)))

    assert at_detail(small, "auto") is small
    assert at_detail(large, "original") is large


@pytest.mark.parametrize(("detail", "size"), [("auto", (1568, 1045)), ("high", (2048, 1365))])
def test_a_larger_image_is_scaled_with_a_note(detail: str, size: tuple[int, int]) -> None:
    asset = ImageAsset.from_bytes(image_file("JPEG", (3000, 2000)), filename="photo.jpg")

    scaled = at_detail(asset, detail)

    assert (scaled.width, scaled.height) == size
    assert scaled.mime_type == "image/jpeg"
    assert scaled.filename == "photo.jpg"
    assert scaled.notes == (
        f"photo.jpg was scaled from 3000 × 2000 px to {size[0]} × {size[1]} px (detail {detail}).",
    )
    assert at_detail(asset, detail) == scaled


def test_an_address_and_a_drawing_have_no_level_of_detail() -> None:
    for asset in (ImageAsset.from_url("https://example.org/a.png"), ImageAsset.from_bytes(SVG)):
        assert at_detail(asset, "auto") is asset


def test_an_unknown_level_of_detail_is_refused() -> None:
    with pytest.raises(AttachmentError, match="auto, high or original"):
        at_detail(ImageAsset.from_bytes(image_file("PNG")), "low")


# --- what fits goes out untouched ---


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_what_every_provider_takes_goes_out_byte_for_byte(kind: str, limits: MediaLimits) -> None:
    exif = Image.Exif()
    exif[0x010F] = "Camera"
    asset = ImageAsset.from_bytes(encoded(picture((900, 600)), kind, exif=exif))

    prepared = one(asset, limits)

    assert prepared.assets == (asset,)
    assert prepared.assets[0] is asset
    assert prepared.notes == ()


def test_addresses_and_file_ids_go_out_as_they_are() -> None:
    for asset in (
        ImageAsset.from_url("https://example.org/a.heic"),
        PdfAsset.from_url("https://example.org/a.pdf"),
        ImageAsset.from_file_id("file-1"),
    ):
        assert one(asset, ANTHROPIC).assets == (asset,)


# --- what does not is converted, and said ---


@pytest.mark.parametrize(
    ("kind", "becomes"), [("BMP", "image/png"), ("TIFF", "image/png"), ("AVIF", "image/png")]
)
def test_a_type_that_is_not_taken_is_converted(kind: str, becomes: str) -> None:
    asset = ImageAsset.from_bytes(image_file(kind), filename=f"scan.{kind.lower()}")

    made = sent(asset, ANTHROPIC)

    assert made.mime_type == becomes
    assert made.filename == "scan.png"
    assert (made.width, made.height) == (60, 40)
    assert one(asset, ANTHROPIC).notes == (
        f"scan.{kind.lower()} is sent as a PNG image, because Anthropic takes no {kind} images.",
    )


def test_a_heic_goes_to_gemini_as_it_is_and_elsewhere_as_a_jpeg() -> None:
    asset = ImageAsset.from_path(DATA / "tiny.heic")

    assert sent(asset, GEMINI) is asset
    try:
        import pillow_heif  # noqa: F401
    except ImportError:
        assert "pip install pillow-heif" in refused(asset, limits=OPENAI)
    else:
        assert sent(asset, OPENAI).mime_type == "image/jpeg"


def test_a_drawing_is_refused_with_the_way_out() -> None:
    text = refused(ImageAsset.from_bytes(SVG, filename="logo.svg"))

    assert "logo.svg cannot be converted: SVG images are drawings" in text
    assert "export it as PNG" in text


def test_of_an_animation_the_first_frame_is_sent_where_no_more_is_seen() -> None:
    asset = ImageAsset.from_bytes(animation("GIF"), filename="a.gif")

    made = sent(asset, OPENAI)

    assert (made.mime_type, made.filename) == ("image/png", "a.png")
    assert opened(made).convert("RGB").getpixel((3, 3)) == (255, 0, 0)
    assert "only its first frame is seen" in one(asset).notes[0]
    still = ImageAsset.from_bytes(animation("GIF", frames=1))
    assert sent(still, OPENAI) is still
    assert sent(still, GEMINI).mime_type == "image/png"


def test_of_a_tiff_with_several_pages_the_first_is_sent_and_that_is_said() -> None:
    asset = ImageAsset.from_bytes(animation("TIFF"), filename="fax.tif")

    (note,) = one(asset).notes

    assert note.startswith("fax.tif is sent as a PNG image, because OpenAI takes no TIFF images")
    assert note.endswith(" and only its first page is seen.")


def test_a_photo_stored_turned_is_sent_upright() -> None:
    asset = ImageAsset.from_bytes(turned("JPEG", 6, (600, 400)), filename="photo.jpg")

    made = sent(asset)

    assert opened(made).size == (400, 600)
    assert not dict(opened(made).getexif())
    assert one(asset).notes == (
        "photo.jpg is sent as a new JPG file, because its pixels are stored turned.",
    )


def test_colours_for_print_are_converted() -> None:
    asset = ImageAsset.from_bytes(encoded(picture((60, 40), "CMYK"), "JPEG"))

    assert opened(sent(asset)).mode == "RGB"
    assert "for print (CMYK)" in one(asset).notes[0]


def test_more_pixels_on_a_side_than_are_taken_are_scaled_down() -> None:
    asset = ImageAsset.from_bytes(image_file("PNG", (9000, 300)), filename="long.png")

    made = sent(asset, ANTHROPIC)

    assert (made.width, made.height) == (8000, 267)
    assert "scaled from 9000 × 300 px to 8000 × 267 px" in one(asset, ANTHROPIC).notes[0]
    assert sent(asset, OPENAI) is asset


def test_with_many_images_the_limit_of_pixels_falls() -> None:
    large = ImageAsset.from_bytes(image_file("PNG", (2500, 90)))
    small = ImageAsset.from_bytes(image_file("PNG", (60, 40)))

    few = prepare([large, *[small] * 19], ANTHROPIC)
    many = prepare([large, *[small] * 20], ANTHROPIC)

    assert few[0].assets == (large,)
    assert many[0].assets[0].width == 2000
    assert many[1].assets == (small,)


def test_more_bytes_than_are_taken_are_made_fewer() -> None:
    noise = ImageAsset.from_bytes(encoded(Image.effect_noise((900, 900), 99).convert("RGB"), "PNG"))
    tight = dataclasses.replace(ANTHROPIC, image_bytes=100_000)

    made = sent(noise, tight)

    assert (made.size_bytes or 0) <= 100_000
    assert made.mime_type == "image/jpeg"
    assert "takes at most 100,000 bytes an image" in one(noise, tight).notes[0]


def test_transparency_survives_a_conversion() -> None:
    clear = Image.new("RGBA", (60, 40), (255, 0, 0, 0))

    made = sent(ImageAsset.from_bytes(encoded(clear, "TIFF")))

    assert opened(made).convert("RGBA").getchannel("A").getextrema() == (0, 0)


def test_what_cannot_be_decoded_is_refused() -> None:
    spoilt = ImageAsset.from_bytes(png_with_size(9000, 300), filename="spoilt.png")

    assert "spoilt.png is a damaged PNG image" in refused(spoilt, limits=ANTHROPIC)
    huge = ImageAsset.from_bytes(png_with_size(12_000, 12_000), filename="huge.png")
    assert "huge.png cannot be converted: It has 144,000,000 pixels" in refused(
        huge, limits=ANTHROPIC
    )


def test_what_cannot_be_made_small_enough_is_refused() -> None:
    asset = ImageAsset.from_bytes(encoded(Image.effect_noise((99, 99), 99), "PNG"))

    assert "cannot be made to fit into 10 bytes" in refused(
        asset, limits=dataclasses.replace(OPENAI, image_bytes=10)
    )


def test_the_level_of_detail_is_applied_too() -> None:
    asset = ImageAsset.from_bytes(image_file("PNG", (3000, 2000)), filename="a.png")

    prepared = one(asset, OPENAI, detail="auto")

    assert prepared.assets[0].width == 1568
    assert "(detail auto)" in prepared.notes[0]


def test_the_same_input_gives_the_same_bytes() -> None:
    from agentcell.assets import convert

    asset = ImageAsset.from_bytes(image_file("BMP", (900, 600)))
    first = sent(asset).load_bytes()
    convert._cache = convert._Cache()  # noqa: SLF001 (as in another process)

    assert sent(asset).load_bytes() == first


# --- the request as a whole ---


def test_too_many_images_are_refused() -> None:
    asset = ImageAsset.from_bytes(image_file("PNG"))

    assert "3 images are to be sent; OpenAI takes at most 2" in refused(
        asset, asset, asset, limits=dataclasses.replace(OPENAI, images=2)
    )


def test_too_many_bytes_in_all_are_refused() -> None:
    asset = ImageAsset.from_bytes(image_file("PNG"))
    limits = dataclasses.replace(OPENAI, request_bytes=700)

    assert len(prepare([asset], limits)) == 1
    assert "bytes as base64; OpenAI takes at most 700 in a request" in refused(
        asset, asset, limits=limits
    )


# --- PDFs ---


def test_a_pdf_goes_out_as_it_is_where_it_is_taken() -> None:
    asset = PdfAsset.from_bytes(pdf_file(2))

    assert one(asset, ANTHROPIC).assets == (asset,)
    assert one(asset, ANTHROPIC).notes == ()


def test_where_no_pdf_is_taken_the_ways_out_are_named() -> None:
    text = refused(PdfAsset.from_bytes(pdf_file(), filename="a.pdf"), limits=OPENAI_CHAT)
    scan = refused(PdfAsset.from_bytes(pdf_file(text="")), limits=OPENAI_CHAT)

    assert "takes no PDFs; a.pdf is a PDF" in text
    assert "--pdf-as images" in text
    assert "--pdf-as text" in text
    assert "is a scanned PDF" in scan
    assert "--pdf-as text" not in scan


def test_a_pdf_of_too_many_bytes_or_pages_is_refused() -> None:
    asset = PdfAsset.from_bytes(pdf_file(5), filename="a.pdf")

    assert "a.pdf has 5 pages; Anthropic takes at most 4" in refused(
        asset, limits=dataclasses.replace(ANTHROPIC, pdf_pages=4)
    )
    assert "takes PDFs of at most 99" in refused(
        asset, limits=dataclasses.replace(ANTHROPIC, pdf_bytes=99)
    )


def test_a_pdf_may_go_out_as_an_image_of_each_page() -> None:
    asset = PdfAsset.from_bytes(pdf_file(3), filename="bill.pdf")

    prepared = one(asset, OPENAI_CHAT, pdf_as="images")

    assert [page.filename for page in prepared.assets] == ["bill-1.png", "bill-2.png", "bill-3.png"]
    assert all(max(page.width or 0, page.height or 0) == 1568 for page in prepared.assets)
    assert len(set(prepared.assets)) == 3
    assert prepared.notes == ("bill.pdf is sent as 3 images, one for each page.",)


def test_a_pdf_may_go_out_as_its_text() -> None:
    asset = PdfAsset.from_bytes(pdf_file(2), filename="bill.pdf")

    prepared = one(asset, OPENAI_CHAT, pdf_as="text")

    assert prepared.assets == ()
    assert prepared.text == "Page 1:\nTotal 12.50 p1\n\nPage 2:\nTotal 12.50 p2"
    assert "as its text" in prepared.notes[0]


def test_a_scan_has_no_text_to_send() -> None:
    scan = PdfAsset.from_bytes(pdf_file(2, text=""), filename="scan.pdf")

    assert "scan.pdf holds no text: its pages are scans" in refused(scan, pdf_as="text")


def test_a_pdf_at_an_address_goes_out_only_as_it_is() -> None:
    asset = PdfAsset.from_url("https://example.org/a.pdf")

    assert "its content is not here" in refused(asset, pdf_as="images")


def test_an_unknown_way_of_sending_is_refused() -> None:
    assert "pdf, images or text" in refused(PdfAsset.from_bytes(pdf_file()), pdf_as="words")


def test_the_receipts_fit_every_provider_as_they_are() -> None:
    paths = sorted((DATA / "receipts").glob("*.png"))
    receipts = [ImageAsset.from_path(path) for path in paths]

    for limits in LIMITS.values():
        prepared = prepare(receipts, limits)
        assert [each.assets[0] for each in prepared] == receipts
        assert not any(each.notes for each in prepared)


def tiff_of(bits: int, channels: int, kind: int) -> bytes:
    """A TIFF of 4 × 4 pixels; kind 1: whole numbers, 3: floats, 6: complex numbers."""
    data = bytes(16 * channels * bits // 8)
    tags = [
        (256, 3, 1, 4),
        (257, 3, 1, 4),
        (258, 3, 1, bits),
        (259, 3, 1, 1),
        (262, 3, 1, 1 if channels < 3 else 2),
        (273, 4, 1, 8 + 2 + 10 * 12 + 4),
        (277, 3, 1, channels),
        (278, 3, 1, 4),
        (279, 4, 1, len(data)),
        (339, 3, 1, kind),
    ]
    packed = b"".join(
        struct.pack("<HHI", tag, form, count)
        + (struct.pack("<HH", value, 0) if form == 3 else struct.pack("<I", value))
        for tag, form, count, value in tags
    )
    head = b"II*\0" + struct.pack("<IH", 8, len(tags))
    return head + packed + struct.pack("<I", 0) + data


@pytest.mark.parametrize(("bits", "channels", "kind"), [(64, 1, 3), (64, 1, 6), (8, 5, 1)])
def test_a_tiff_that_nothing_here_reads_is_a_tiff_and_refused_where_it_must_be_converted(
    bits: int, channels: int, kind: int
) -> None:
    asset = ImageAsset.from_bytes(tiff_of(bits, channels, kind), filename="scan.tif")

    assert (asset.mime_type, asset.width, asset.height) == ("image/tiff", 4, 4)
    text = refused(asset)
    assert "scan.tif cannot be converted: Pillow does not read this kind of file" in text
    assert "damaged" not in text
