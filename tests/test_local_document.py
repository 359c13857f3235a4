from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image, ImageDraw, ImageFont

from agentcell import ImageAsset, PdfAsset
from agentcell.adapters.local import pdf_pages
from agentcell.adapters.local.document import REMEMBERED, Document, read_document
from agentcell.adapters.local.rows import Box, typed_rows
from agentcell.errors import AttachmentError, LocalModelMissing
from asset_files import encoded, pdf_file, picture
from promptly import PROMPTLY

RECEIPTS = Path(__file__).parent / "data" / "receipts"
real = pytest.mark.local_model


def cells(document: Document) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row.cells) for row in document.rows]


def values(document: Document) -> dict[str, str]:
    """Label → value of the rows that are pairs."""
    return {row[0]: row[1] for row in cells(document) if len(row) == 2}


def placed(x: float, y: float, rotate: int) -> str:
    """The text matrix for a place on a page of 595 × 842 points as it is shown."""
    if rotate == 90:
        return f"0 1 -1 0 {842 - y} {x}"
    if rotate == 180:
        return f"-1 0 0 -1 {595 - x} {842 - y}"
    if rotate == 270:
        return f"0 -1 1 0 {y} {595 - x}"
    return f"1 0 0 1 {x} {y}"


def pdf_with(pages: list[list[tuple[float, float, str]]], rotate: int = 0) -> PdfAsset:
    """A PDF with the texts at these places, in points from the lower left as it is shown."""
    size = "842 595" if rotate in (90, 270) else "595 842"
    objects: list[bytes] = []
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(b"<</Type/Catalog/Pages 2 0 R>>")
    objects.append(f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode())
    objects.append(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
    for number, texts in enumerate(pages):
        shown = "\n".join(
            f"BT /F1 11 Tf {placed(x, y, rotate)} Tm ({text}) Tj ET" for x, y, text in texts
        )
        stream = shown.encode("cp1252")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {size}]/Rotate {rotate}"
            f"/Resources<</Font<</F1 3 0 R>>>>/Contents {5 + 2 * number} 0 R>>".encode()
        )
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    body = b"%PDF-1.4\n"
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    body += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return PdfAsset.from_bytes(body)


BILL = [
    (50.0, 780.0, "Hillside Water Company"),
    (400.0, 780.0, "Bill no. 40-117"),
    (50.0, 740.0, "Standing charge"),
    (480.0, 740.0, "12.00"),
    (50.0, 720.0, "Usage 14 m3"),
    (480.0, 720.0, "31.50"),
    (50.0, 690.0, "Total to pay"),
    (480.0, 690.0, "43.50"),
]


def test_the_cells_of_a_pdfs_rows_are_told_apart_by_the_gaps_between_them() -> None:
    document = read_document(pdf_with([BILL]))

    assert document.source == "text"
    assert cells(document) == [
        ("Hillside Water Company", "Bill no. 40-117"),
        ("Standing charge", "12.00"),
        ("Usage 14 m3", "31.50"),
        ("Total to pay", "43.50"),
    ]


def test_one_text_with_wide_gaps_in_it_is_told_apart_too() -> None:
    spaced = [[(50.0, 700.0, "Rent" + " " * 60 + "900.00"), (50.0, 680.0, "A plain line of words")]]

    assert cells(read_document(pdf_with(spaced))) == [
        ("Rent", "900.00"),
        ("A plain line of words",),
    ]


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_a_page_that_is_shown_turned_is_read_as_it_is_shown(rotate: int) -> None:
    document = read_document(pdf_with([BILL], rotate))

    assert values(document)["Total to pay"] == "43.50"
    assert document.rows[0].text.startswith("Hillside Water Company")


def test_pages_are_counted_and_kept_apart() -> None:
    document = read_document(pdf_with([BILL, [(50.0, 700.0, "Second page, one line of it only")]]))

    assert document.pages == document.pages_read == 2
    assert [row.page for row in document.rows] == [1, 1, 1, 1, 2]
    assert document.text.splitlines()[-2:] == ["", "Second page, one line of it only"]
    assert not document.is_cut


def test_a_long_text_is_read_whole_and_at_once() -> None:
    document = read_document(PdfAsset.from_path(RECEIPTS / "long.pdf"))

    assert document.pages == document.pages_read
    assert len(document.rows) > 2000
    assert document.seconds < PROMPTLY


def test_a_page_that_holds_nothing_is_no_document_and_no_error() -> None:
    document = read_document(PdfAsset.from_bytes(pdf_file(text="")))

    assert (document.source, document.rows, document.text) == ("none", (), "")


def test_an_address_cannot_be_read_here() -> None:
    with pytest.raises(AttachmentError, match="address"):
        read_document(ImageAsset.from_url("https://example.org/a.png"))


def test_two_documents_are_equal_only_if_they_are_one() -> None:
    rows = tuple(typed_rows("Total  5.00"))

    assert Document(rows=rows) != Document(rows=rows)


def test_scanned_pages_are_read_up_to_a_limit_that_the_document_states(
    tmp_path: Path,
) -> None:
    scan = Image.new("RGB", (200, 260), "white")
    ImageDraw.Draw(scan).rectangle((20, 20, 60, 40), fill="black")
    count = pdf_pages.MAX_READ_PAGES + 3
    file = tmp_path / "scan.pdf"
    scan.save(file, save_all=True, append_images=[scan] * (count - 1))
    looked_at: list[tuple[int, int]] = []

    def read_image(image: Image.Image) -> list[Box]:
        looked_at.append(image.size)
        return [Box(text=f"page {len(looked_at)}", left=0, top=0, right=90, bottom=20)]

    read = pdf_pages.read_pdf(PdfAsset.from_path(file), read_image)

    assert len(looked_at) == read.pictures_read == read.pages_read == pdf_pages.MAX_READ_PAGES
    assert read.pages == count
    assert [row.text for row in read.rows][-1] == f"page {pdf_pages.MAX_READ_PAGES}"
    assert max(looked_at[0]) <= pdf_pages.PICTURE_SIDE


def test_without_a_recogniser_the_error_says_what_to_install(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(encoded(picture(), "PNG"))
    script = (
        "import sys; sys.modules['faster_paddle'] = sys.modules['rapidocr'] = None\n"
        "from agentcell import ImageAsset\n"
        "from agentcell.adapters.local.document import read_document\n"
        "from agentcell.errors import LocalModelMissing\n"
        "for _ in range(2):\n"
        "    try: read_document(ImageAsset.from_path(sys.argv[1]))\n"
        "    except LocalModelMissing as error: print(error)\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True
    )

    assert ran.stdout.count('pip install "agentcell[local]"') == 2


def test_without_a_recogniser_the_pages_with_text_are_read(tmp_path: Path) -> None:
    scan = Image.new("RGB", (200, 260), "white")
    ImageDraw.Draw(scan).rectangle((20, 20, 60, 40), fill="black")
    scanned = tmp_path / "scan.pdf"
    scan.save(scanned)
    merged = pypdfium2.PdfDocument.new()
    for data in (pdf_with([BILL]).load_bytes(), scanned.read_bytes()):
        with pypdfium2.PdfDocument(data) as part:
            merged.import_pages(part)
    file = tmp_path / "mixed.pdf"
    merged.save(file)
    merged.close()

    def read_image(_: Image.Image) -> list[Box]:
        raise LocalModelMissing("no recogniser")

    read = pdf_pages.read_pdf(PdfAsset.from_path(file), read_image)

    assert [row.page for row in read.rows] == [1, 1, 1, 1]
    assert (read.pages, read.pages_read) == (2, 1)
    with pytest.raises(LocalModelMissing):
        pdf_pages.read_pdf(PdfAsset.from_path(scanned), read_image)


def test_the_reader_is_light_to_import() -> None:
    script = (
        "import sys; import agentcell.adapters.local.evidence, agentcell.adapters.local.guard\n"
        "heavy = {'PIL', 'numpy', 'pypdfium2', 'faster_paddle', 'rapidocr', 'openai', 'IPython'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


def receipt_image() -> Image.Image:
    """A receipt whose labels and prices are far apart, drawn with the font inside Pillow."""
    made = Image.new("RGB", (620, 620), "white")
    draw = ImageDraw.Draw(made)
    font = ImageFont.load_default(28)
    lines = [
        ("Harbour Bakery", ""),
        ("Rye loaf", "4.20"),
        ("Almond cake", "17.50"),
        ("Butter rolls", "3.80"),
        ("Coffee", "2.95"),
        ("Subtotal", "28.45"),
        ("Tax", "2.28"),
        ("Total", "30.73"),
    ]
    for number, (label, price) in enumerate(lines):
        draw.text((40, 40 + 66 * number), label, font=font, fill="black")
        draw.text((580, 40 + 66 * number), price, font=font, fill="black", anchor="ra")
    return made


PRICES = {"Rye loaf": "4.20", "Almond cake": "17.50", "Subtotal": "28.45", "Total": "30.73"}


@real
@pytest.mark.parametrize("degrees", [-6.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 6.0])
def test_labels_and_prices_stay_together_on_a_receipt_laid_down_askew(degrees: float) -> None:
    laid = Image.new("RGB", (820, 820), "#6b4a2f")
    laid.paste(receipt_image(), (100, 100))
    photo = laid.rotate(degrees, Image.Resampling.BICUBIC, fillcolor="#6b4a2f")

    found = values(read_document(ImageAsset.from_bytes(encoded(photo, "PNG"))))

    assert {label: found.get(label) for label in PRICES} == PRICES


@real
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_receipt_on_its_side_or_its_head_is_read(degrees: int) -> None:
    photo = receipt_image().rotate(degrees, expand=True)

    found = values(read_document(ImageAsset.from_bytes(encoded(photo, "PNG"))))

    assert {label: found.get(label) for label in PRICES} == PRICES


@real
def test_light_letters_on_dark_ground_are_read() -> None:
    dark = receipt_image().point(lambda value: 255 - value)

    assert values(read_document(ImageAsset.from_bytes(encoded(dark, "PNG"))))["Total"] == "30.73"


@real
def test_a_roll_ten_times_as_long_as_wide_is_read_to_its_end() -> None:
    roll = Image.new("RGB", (420, 4200), "white")
    draw = ImageDraw.Draw(roll)
    font = ImageFont.load_default(24)
    for number in range(100):
        draw.text((20, 20 + 41 * number), f"Article {number:03}", font=font, fill="black")
        draw.text((400, 20 + 41 * number), f"{number}.25", font=font, fill="black", anchor="ra")

    document = read_document(ImageAsset.from_bytes(encoded(roll, "PNG")))

    assert [row.cells[-1].text for row in document.rows] == [f"{n}.25" for n in range(100)]


@real
def test_a_scanned_pdf_is_read_as_a_picture() -> None:
    document = read_document(PdfAsset.from_path(RECEIPTS / "scan.pdf"))

    assert document.source == "ocr"
    assert document.pages == document.pages_read == 1
    assert values(document)["Total"] == "£2,489.04"


@real
def test_a_picture_without_text_is_a_document_without_rows() -> None:
    gradient = Image.radial_gradient("L").resize((500, 400)).convert("RGB")

    document = read_document(ImageAsset.from_bytes(encoded(gradient, "PNG")))

    assert document.source == "none"
    assert document.rows == ()


@real
@pytest.mark.parametrize("size", [(1, 1), (5, 2000), (2000, 5), (1, 3000), (33, 9000), (40, 40)])
def test_a_picture_of_any_shape_is_looked_at_in_a_moment(size: tuple[int, int]) -> None:
    document = read_document(ImageAsset.from_bytes(encoded(Image.new("RGB", size, "white"), "PNG")))

    assert document.source == "none"
    assert document.seconds < PROMPTLY


@real
def test_threads_that_ask_for_one_picture_at_a_time_get_one_reading() -> None:
    data = encoded(receipt_image().crop((0, 0, 620, 500)), "PNG")
    got: list[Document] = []
    ready = threading.Barrier(4)

    def ask() -> None:
        asset = ImageAsset.from_bytes(data)
        ready.wait()
        got.append(read_document(asset))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(got) == 4
    assert len({id(document) for document in got}) == 1


def test_what_was_read_is_remembered_up_to_a_limit() -> None:
    assets = [
        PdfAsset.from_bytes(pdf_file(text=f"Bill {n} of the year, Total 12.50 and so on"))
        for n in range(REMEMBERED + 1)
    ]
    first = read_document(assets[0])
    again = read_document(PdfAsset.from_bytes(assets[0].load_bytes()))

    for asset in assets[1:]:
        read_document(asset)

    assert again is first
    assert read_document(assets[-1]) is read_document(assets[-1])
    assert read_document(assets[0]) is not first
