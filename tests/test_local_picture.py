from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw, ImageFont

from agentcell import ImageAsset
from agentcell.adapters.local import picture
from agentcell.errors import AttachmentError
from asset_files import SVG, encoded, png_with_size

LINES = ["CORNER SHOP", "Apples  2.10", "Bread  3.40", "Milk  1.20", "TOTAL  6.70", "Thank you"]


def page(paper: str = "white", ink: str = "black", mode: str = "RGB") -> Image.Image:
    made = Image.new(mode, (700, 900), paper)
    draw = ImageDraw.Draw(made)
    font = ImageFont.load_default(30)
    for number, line in enumerate(LINES * 3):
        draw.text((60, 40 + 46 * number), line, font=font, fill=ink)
    return made


def asset(image: Image.Image, kind: str = "PNG") -> ImageAsset:
    return ImageAsset.from_bytes(encoded(image, kind))


@pytest.mark.parametrize("degrees", [-12.0, -6.0, -2.0, 1.0, 3.5, 9.0])
@pytest.mark.parametrize(("paper", "ink"), [("white", "black"), ("#181818", "#dddddd")])
def test_the_angle_is_measured_to_a_third_of_a_degree_on_light_and_dark(
    degrees: float, paper: str, ink: str
) -> None:
    turned = picture.turned(page(paper, ink), degrees)

    assert picture.skew(turned) == pytest.approx(-degrees, abs=0.35)


def test_what_lies_level_or_holds_no_lines_is_left_alone() -> None:
    assert picture.skew(page()) == 0.0
    assert picture.skew(Image.new("RGB", (800, 600), "#8090a0")) == 0.0
    assert picture.skew(Image.new("RGB", (20, 20), "white")) == 0.0


def test_a_quarter_turn_keeps_every_pixel() -> None:
    image = page()

    assert picture.turned(picture.turned(image, 90), 270).tobytes() == image.tobytes()


def test_a_long_roll_is_cut_between_its_lines() -> None:
    roll = Image.new("RGB", (400, 4000), "white")
    draw = ImageDraw.Draw(roll)
    font = ImageFont.load_default(24)
    for number in range(100):
        draw.text((30, 20 + 39 * number), f"Item {number:02}", font=font, fill="black")

    pieces = list(picture.pieces(roll))

    assert len(pieces) > 3
    assert sum(piece.height for piece, _ in pieces) == roll.height
    for _, top in pieces[1:]:
        edge = roll.crop((0, top - 2, 400, top + 2)).convert("L").getextrema()
        assert edge == (255, 255)


def test_an_ordinary_page_is_one_piece() -> None:
    image = page()

    assert [(piece.size, top) for piece, top in picture.pieces(image)] == [(image.size, 0)]


def test_large_pictures_are_made_smaller_and_small_ones_larger() -> None:
    large = picture.opened(asset(Image.new("RGB", (6000, 4000), "white")))
    small = picture.opened(asset(Image.new("RGB", (300, 200), "white")))
    roll = picture.opened(asset(Image.new("RGB", (800, 7000), "white")))

    assert large.size == (3000, 2000)
    assert small.size == (900, 600)
    assert roll.size == (800, 7000)


def test_the_cameras_orientation_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(Image.new("RGB", (1600, 900), "white"), "JPEG", exif=exif)

    assert picture.opened(ImageAsset.from_bytes(data)).size == (900, 1600)


@pytest.mark.parametrize(("ink", "paper"), [("black", 255), ("white", 0)])
def test_what_is_transparent_becomes_the_colour_that_shows_the_ink(ink: str, paper: int) -> None:
    clear = Image.new("RGBA", (700, 700), (0, 0, 0, 0))
    ImageDraw.Draw(clear).rectangle((100, 100, 300, 140), fill=ink)

    read = picture.opened(asset(clear))

    assert read.mode == "RGB"
    assert read.getpixel((5, 5)) == (paper, paper, paper)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "CMYK", "I;16"])
def test_every_mode_of_pixels_is_opened_as_rgb(mode: str) -> None:
    image = (
        page().convert("L").point(lambda v: v * 257, "I").convert("I;16")
        if mode == "I;16"
        else page().convert(mode)
    )
    read = picture.opened(asset(image, "TIFF"))

    assert read.mode == "RGB"
    assert read.convert("L").getextrema() == (0, 255)


def test_a_picture_that_cannot_be_opened_is_an_error_with_its_name_and_a_way_out() -> None:
    cut = encoded(page(), "PNG")
    with pytest.raises(AttachmentError) as caught:
        picture.opened(
            ImageAsset.from_bytes(
                cut[: len(cut) // 3] + bytes(100) + cut[-12:], filename="till.png"
            )
        )

    assert "till.png" in str(caught.value)
    assert caught.value.fix


def test_a_drawing_in_svg_is_refused_with_a_way_out() -> None:
    with pytest.raises(AttachmentError, match="SVG") as caught:
        picture.opened(ImageAsset.from_bytes(SVG, filename="plan.svg"))

    assert "PNG" in caught.value.fix


def test_pieces_go_to_the_recogniser_as_a_file_it_reads() -> None:
    image = page()

    with Image.open(io.BytesIO(picture.encoded(image))) as read:
        assert read.convert("RGB").tobytes() == image.tobytes()
    assert png_with_size(10, 10)
