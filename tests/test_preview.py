"""Thumbnails: small, upright, without metadata, drawn once."""

from __future__ import annotations

import base64
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageCms

from agentcell.assets import ImageAsset, PdfAsset, asset_from_bytes
from agentcell.assets import preview as module
from agentcell.assets.preview import Preview, preview, preview_problem
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
from promptly import cpu_seconds


def shown(asset: Any, **options: Any) -> tuple[Preview, Image.Image]:
    made = preview(asset, **options)
    assert made is not None, preview_problem(asset)
    opened = Image.open(io.BytesIO(made.data))
    opened.load()
    assert opened.size == (made.width, made.height)
    assert opened.get_format_mimetype() == made.mime_type
    return made, opened


def near(color: Any, expected: tuple[int, ...], by: int = 40) -> bool:
    return all(abs(a - b) <= by for a, b in zip(color, expected, strict=True))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_every_family_is_drawn_within_the_bounds(kind: str) -> None:
    asset = ImageAsset.from_bytes(image_file(kind, (1500, 1000)), filename=f"a.{kind.lower()}")

    made, opened = shown(asset)

    assert max(made.width, made.height) in range(500, 513)
    assert abs(made.width / made.height - 1.5) < 0.01
    assert near(opened.convert("RGB").getpixel((20, 20)), (255, 0, 0))
    assert made.alt == f"a.{kind.lower()}: {asset.describe().split(' ')[0]} image, 1500 × 1000 px"


def test_a_small_picture_is_not_enlarged() -> None:
    made, _ = shown(ImageAsset.from_bytes(image_file("PNG", (60, 40))))

    assert (made.width, made.height) == (60, 40)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
@pytest.mark.parametrize(
    ("orientation", "corner"),
    [(1, "lu"), (2, "ru"), (3, "rd"), (4, "ld"), (5, "lu"), (6, "ru"), (7, "rd"), (8, "ld")],
)
def test_it_stands_upright(kind: str, orientation: int, corner: str) -> None:
    asset = ImageAsset.from_bytes(turned(kind, orientation, (600, 400)))

    made, opened = shown(asset)
    places = {
        "lu": (9, 9),
        "ru": (made.width - 9, 9),
        "ld": (9, made.height - 9),
        "rd": (made.width - 9, made.height - 9),
    }
    colors = {name: opened.convert("RGB").getpixel(place) for name, place in places.items()}

    assert [name for name, color in colors.items() if near(color, (255, 0, 0))] == [corner]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_mode_of_a_png_is_drawn(mode: str) -> None:
    base = picture((700, 500))
    if mode == "I;16":
        image = base.convert("L").convert("I").point(lambda value: value * 257).convert("I;16")
    else:
        image = base.convert(mode)

    made, opened = shown(ImageAsset.from_bytes(encoded(image, "PNG")))
    grey = opened.convert("L").tobytes()
    red, rest = (grey[at * made.width + at] for at in (made.height // 10, made.height // 2))

    assert abs(red - 76) < 45 or mode == "1"
    assert red != rest or mode == "1"


def test_print_colours_and_floats_are_drawn() -> None:
    cmyk = encoded(picture((700, 500), "CMYK"), "JPEG", quality=95)
    floats = encoded(picture((700, 500)).convert("L").convert("F"), "TIFF")

    assert near(
        shown(ImageAsset.from_bytes(cmyk))[1].convert("RGB").getpixel((20, 20)), (255, 0, 0)
    )
    _, drawn = shown(ImageAsset.from_bytes(floats))
    assert max(drawn.convert("L").tobytes()) > 150


def test_a_colour_profile_is_applied_and_left_out() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for icc in (profile, srgb, b"no profile at all"):
        data = encoded(picture((700, 500)), "JPEG", icc_profile=icc)

        _, opened = shown(ImageAsset.from_bytes(data))

        assert "icc_profile" not in opened.info


def test_transparency_is_kept_and_idle_transparency_is_not() -> None:
    clear = Image.new("RGBA", (700, 500), (0, 0, 0, 0))
    clear.paste((255, 0, 0, 255), (0, 0, 300, 300))
    made, opened = shown(ImageAsset.from_bytes(encoded(clear, "PNG")))
    assert made.mime_type == "image/png"
    assert opened.convert("RGBA").getchannel("A").getpixel((500, 300)) == 0

    full = picture((700, 500), "RGBA")
    _, opened = shown(ImageAsset.from_bytes(encoded(full, "PNG")))
    assert "transparency" not in opened.info
    assert opened.mode in {"P", "RGB"}


def test_noise_with_transparency_stays_light() -> None:
    noise = Image.effect_noise((900, 900), 120).convert("RGBA")
    noise.putalpha(Image.effect_noise((900, 900), 120))

    made, _ = shown(ImageAsset.from_bytes(encoded(noise, "PNG")))

    assert len(made.data) <= module.MAX_PREVIEW_BYTES


def test_of_an_animation_the_first_frame_is_shown() -> None:
    for kind in ("GIF", "WEBP", "PNG", "AVIF"):
        _, opened = shown(ImageAsset.from_bytes(animation(kind)))
        assert near(opened.convert("RGB").getpixel((5, 5)), (255, 0, 0))
        assert getattr(opened, "n_frames", 1) == 1


def test_nothing_of_the_metadata_gets_into_it() -> None:
    exif = Image.Exif()
    exif[0x010F] = "SECRET-CAMERA"
    exif[0x0112] = 6
    exif.get_ifd(0x8825)[1] = "N"
    for kind in ("JPEG", "PNG", "WEBP", "TIFF"):
        data = encoded(picture((900, 600)), kind, exif=exif)
        assert b"SECRET-CAMERA" in data

        made, opened = shown(ImageAsset.from_bytes(data))

        assert b"SECRET" not in made.data
        assert b"Exif" not in made.data
        assert not dict(opened.getexif())


def test_the_comments_of_a_png_and_a_jpeg_do_not_get_into_it() -> None:
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text("Comment", "SECRET")
    for data in (
        encoded(picture((900, 600)), "PNG", pnginfo=info),
        encoded(picture((900, 600)), "JPEG", comment=b"SECRET"),
        encoded(picture((900, 600)), "GIF", comment=b"SECRET"),
    ):
        made, _ = shown(ImageAsset.from_bytes(data))
        assert b"SECRET" not in made.data


@pytest.mark.parametrize("path", sorted((DATA / "receipts").glob("*.png")), ids=lambda p: p.name)
def test_a_receipt_weighs_at_most_40_kB_as_base64_and_its_print_stays_sharp(path: Path) -> None:
    made, opened = shown(ImageAsset.from_path(path))

    assert len(base64.b64encode(made.data)) < 40_000
    grey = opened.convert("L").tobytes()
    assert max(grey) - min(grey) > 150


def test_a_page_of_a_pdf_is_drawn_and_named() -> None:
    asset = PdfAsset.from_bytes(pdf_file(3), filename="bill.pdf")

    first, _ = shown(asset)
    second, _ = shown(asset, page=2)

    assert (first.width, first.height) == (384, 512)
    assert first.data != second.data
    assert second.alt == "bill.pdf: page 2 of 3, PDF"
    with pytest.raises(AttachmentError, match="page 4 was asked for"):
        preview(asset, page=4)


@pytest.mark.parametrize(
    ("asset", "reason"),
    [
        (ImageAsset.from_url("https://example.org/a.png"), "nothing is fetched"),
        (PdfAsset.from_file_id("file-1"), "nothing is fetched"),
        (ImageAsset.from_bytes(SVG), "SVG images are drawings"),
    ],
    ids=repr,
)
def test_where_there_is_nothing_to_draw_the_reason_is_told(asset: Any, reason: str) -> None:
    assert preview(asset) is None
    assert reason in preview_problem(asset)


def test_a_heic_is_drawn_where_a_decoder_is_installed() -> None:
    asset = ImageAsset.from_path(DATA / "tiny.heic")
    made = preview(asset)

    try:
        import pillow_heif  # noqa: F401
    except ImportError:
        assert made is None
        assert "pillow-heif, which is not installed" in preview_problem(asset)
    else:
        assert made is not None
        assert (made.width, made.height) == (64, 48)


def test_too_many_pixels_to_decode_are_told() -> None:
    asset = ImageAsset.from_bytes(png_with_size(12_000, 12_000))

    assert preview(asset) is None
    assert "144,000,000 pixels; at most 89,478,485 are decoded here" in preview_problem(asset)


def test_pixels_that_turn_out_damaged_are_told() -> None:
    asset = ImageAsset.from_bytes(png_with_size(2000, 2000))

    assert preview(asset) is None
    assert "It cannot be drawn" in preview_problem(asset)


def test_the_size_may_be_asked_for() -> None:
    asset = ImageAsset.from_bytes(image_file("PNG", (1500, 1000)))

    assert shown(asset, max_side=64)[0].width == 64
    assert shown(asset, max_side=1024)[0].width == 1024
    for side in (0, -1, 100_000):
        with pytest.raises(ValueError, match="max_side"):
            preview(asset, max_side=side)


def test_a_thin_picture_keeps_its_thinness() -> None:
    for size in ((5000, 3), (3, 5000)):
        made, _ = shown(ImageAsset.from_bytes(image_file("PNG", size)))
        assert max(made.width, made.height) == 512
        assert min(made.width, made.height) == 1


def test_the_same_content_is_drawn_once_under_any_name() -> None:
    data = image_file("PNG", (1100, 700))
    first, second = (
        preview(asset_from_bytes(data, name), max_side=333) for name in ("a.png", "b.png")
    )

    assert first is not None
    assert second is not None
    assert first.data is second.data
    assert (first.alt[:5], second.alt[:5]) == ("a.png", "b.png")


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT_BYTES", 5000)  # a bound, made smaller for the test
    assets = [
        ImageAsset.from_bytes(encoded(Image.effect_noise((50, 51), n), "PNG")) for n in range(20)
    ]

    first, *_, last = [shown(asset)[0] for asset in assets]

    assert shown(assets[-1])[0].data is last.data
    assert shown(assets[0])[0].data is not first.data


def test_a_photo_of_12_megapixels_takes_less_than_80_ms_and_then_nothing() -> None:
    photo = Image.effect_noise((1008, 756), 12).resize((4032, 3024)).convert("RGB")
    asset = ImageAsset.from_bytes(encoded(photo, "JPEG", quality=80))
    preview(ImageAsset.from_bytes(image_file("JPEG")))  # Pillow is loaded

    def seconds(side: int) -> float:
        return cpu_seconds(lambda: preview(asset, max_side=side), tries=1)

    first = min(seconds(side) for side in (512, 511, 510))
    again = min(seconds(512) for _ in range(3))

    assert first < 0.080  # 20 ms on a quiet machine
    assert again < 0.001


def test_many_threads_draw_the_same_picture() -> None:
    asset = ImageAsset.from_bytes(image_file("JPEG", (2000, 1500)))

    with ThreadPoolExecutor(16) as pool:
        made = set(pool.map(lambda _: preview(asset, max_side=401), range(64)))

    assert len(made) == 1
