"""What a notebook's variable is to a model: an attachment, several, or text."""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import io
import subprocess
import sys
import types
import uuid
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from agentcell.assets import ImageAsset, MediaAsset, PdfAsset, register, unregister
from agentcell.assets.coerce import coerce
from agentcell.errors import AttachmentError, FieldError
from agentcell.modality import FieldModality
from asset_files import SVG, encoded, image_file, pdf_file, picture, turned

PNG = image_file("PNG")


def image(value: Any, modality: FieldModality = FieldModality.ANY) -> ImageAsset:
    asset = coerce(value, name="value", modality=modality)
    assert isinstance(asset, ImageAsset)
    return asset


def several(value: Any, modality: FieldModality = FieldModality.ANY) -> list[MediaAsset]:
    assets = coerce(value, name="value", modality=modality)
    assert isinstance(assets, list)
    return assets


def pixels(asset: MediaAsset) -> Any:
    return np.asarray(Image.open(io.BytesIO(asset.load_bytes())))


def refused(value: Any, **options: Any) -> str:
    with pytest.raises((FieldError, AttachmentError)) as caught:
        coerce(value, name="value", **options)
    text = str(caught.value)
    assert text.startswith("'value'")
    assert "Fix: " in text
    assert " at 0x" not in text
    assert len(text) < 600
    return text


# --- files and bytes ---


def test_an_asset_is_itself() -> None:
    asset = ImageAsset.from_bytes(PNG)

    assert coerce(asset, name="value") is asset


def test_a_path_is_the_file_there_and_a_str_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_file())

    assert isinstance(coerce(tmp_path / "a.pdf", name="value"), PdfAsset)
    assert coerce(str(tmp_path / "a.pdf"), name="value") == str(tmp_path / "a.pdf")
    assert coerce(Path("no/a.pdf"), name="value", modality=FieldModality.TEXT) == "no/a.pdf"
    assert "'value': There is no folder" in refused(tmp_path / "no" / "a.pdf")


def test_bytes_are_what_they_hold() -> None:
    assert image(PNG).load_bytes() == PNG
    assert isinstance(coerce(memoryview(pdf_file()), name="value"), PdfAsset)
    assert isinstance(coerce(io.BytesIO(pdf_file()), name="value"), PdfAsset)
    assert "'value' holds text, not an image or a PDF" in refused(b"hello")


def test_an_upload_of_ipywidgets_is_its_files() -> None:
    upload = {"name": "r.png", "type": "image/png", "size": 3, "content": memoryview(PNG)}

    assert [asset.filename for asset in several((upload, upload))] == ["r.png"] * 2
    assert "looks like an upload" in refused({**upload, "content": "text"})


# --- pictures ---


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I", "F"])
def test_a_pil_image_of_any_mode_is_an_image(mode: str) -> None:
    asset = image(picture((60, 40), mode))

    assert (asset.mime_type, asset.width, asset.height) == ("image/png", 60, 40)
    assert asset.filename == "value.png"


def test_the_pixels_of_a_pil_image_are_kept() -> None:
    made = picture((60, 40))

    assert (pixels(image(made)) == np.asarray(made)).all()
    clear = Image.new("RGBA", (3, 3), (9, 8, 7, 100))
    assert (pixels(image(clear)) == np.asarray(clear)).all()


def test_a_photo_just_opened_stands_upright_and_one_that_was_turned_stays() -> None:
    opened = Image.open(io.BytesIO(turned("JPEG", 6)))

    assert (image(opened).width, image(opened).height) == (40, 60)
    assert image(opened.rotate(90, expand=True)).width == 40
    assert image(opened.copy()).width == 60


def test_a_large_photo_becomes_a_jpeg() -> None:
    asset = image(Image.new("RGB", (2500, 2000), "teal"))

    assert asset.mime_type == "image/jpeg"
    assert asset.filename == "value.jpg"


def test_a_pil_image_without_pixels_or_file_is_refused() -> None:
    assert "0 × 5 pixels" in refused(Image.new("RGB", (0, 5)))
    closed = Image.open(io.BytesIO(PNG))
    closed.close()
    assert "pixels cannot be read" in refused(closed)
    cut = Image.open(io.BytesIO(encoded(Image.effect_noise((99, 99), 50), "PNG")[:-800]))
    assert "pixels cannot be read" in refused(cut)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([[0, 255]], "uint8"), [[0, 255]]),
        (np.array([[False, True]]), [[0, 255]]),
        (np.array([[0.0, 0.5, 1.0]]), [[0, 128, 255]]),
        (np.array([[0.0, 1.0]], "float32"), [[0, 255]]),
        (np.array([[0, 65_535]], "uint16"), [[0, 255]]),
        (np.array([[0, 7]], "int64"), [[0, 7]]),
        (np.full((1, 2, 1), 9, "uint8"), [[9, 9]]),
        (np.array([[[1, 2, 3]]], "uint8"), [[[1, 2, 3]]]),
        (np.array([[[1, 2, 3, 4]]], "uint8"), [[[1, 2, 3, 4]]]),
        (
            np.arange(24, dtype="uint8").reshape(4, 6)[::2, ::-1],
            [[5, 4, 3, 2, 1, 0], [17, 16, 15, 14, 13, 12]],
        ),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_an_array_of_pixels_is_an_image(array: Any, expected: list[Any]) -> None:
    assert pixels(image(array)).tolist() == expected


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros(5), "shape (5,)"),
        (np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
        (np.zeros((3, 9, 9)), "numpy.moveaxis(x, 0, -1)"),
        (np.zeros((1, 2, 3, 4)), "shape (1, 2, 3, 4)"),
        (np.zeros((0, 4)), "shape (0, 4)"),
        (np.full((2, 2), 7.5), "from 7.5 to 7.5; floats from 0 to 1"),
        (np.full((2, 2), -0.1), "floats from 0 to 1"),
        (np.full((2, 2), np.nan), "from nan to nan"),
        (np.full((2, 2), np.inf), "from inf to inf"),
        (np.full((2, 2), 300), "whole numbers from 0 to 255"),
        (np.full((2, 2), -1), "whole numbers from 0 to 255"),
        (np.zeros((2, 2), complex), "array of complex128"),
        (np.array([["a"]]), "array of <U1"),
        (np.array([[object()]]), "array of object"),
        (np.array([["2020-01-01"]], "datetime64[D]"), "array of datetime64"),
        (np.lib.stride_tricks.as_strided(np.zeros(1, "uint8"), (20_000, 20_000), (0, 0)), "pixels"),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_an_array_that_is_no_picture_is_refused_with_what_was_expected(
    array: Any, said: str
) -> None:
    assert said in refused(array)


def test_a_numpy_number_is_text() -> None:
    assert coerce(np.float64(2.5), name="value") == "2.5"
    assert coerce(np.int32(7), name="value") == "7"
    assert coerce(np.array(7), name="value") == "7"
    assert coerce({"total": np.float32(0.5)}, name="value") == '{"total": 0.5}'


# --- figures and tables ---


def test_a_figure_its_axes_and_its_lines_are_the_drawn_figure() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    figure = figures.Figure(figsize=(4, 3))
    axes = figure.subplots(1, 2)
    (line,) = axes[0].plot([1, 2, 3])

    drawn = {image(value).fingerprint() for value in (figure, axes[0], line, axes)}

    assert len(drawn) == 1
    assert image(figure).mime_type == "image/png"
    huge = figures.Figure(figsize=(400, 300))
    assert max(image(huge).width or 0, image(huge).height or 0) <= 2048


def test_a_data_frame_is_a_markdown_table() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "item": ["tea | milk", "two\nlines", None],
            "price": [1.5, 0.1 + 0.2, np.nan],
            "when": pandas.to_datetime(["2026-01-02 00:00", "2026-01-03 04:05", None]),
        }
    )

    assert coerce(frame, name="value") == (
        "| item | price | when |\n"
        "| --- | ---: | --- |\n"
        "| tea \\| milk | 1.5 | 2026-01-02 00:00:00 |\n"
        "| two lines | 0.3 | 2026-01-03 04:05:00 |\n"
        "|  |  |  |"
    )


def test_an_index_that_says_something_is_shown() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1, 2], index=["tea", "milk"], name="price")
    frame = pandas.DataFrame({"shop": ["a", "a"], "price": [1, 2]})

    assert coerce(series, name="value") == "|  | price |\n| --- | ---: |\n| tea | 1 |\n| milk | 2 |"
    assert "| shop | price / sum |" in str(
        coerce(frame.groupby("shop").agg({"price": ["sum"]}), name="value")
    )


def test_a_long_or_wide_table_says_what_it_leaves_out() -> None:
    pandas = pytest.importorskip("pandas")
    long = str(coerce(pandas.DataFrame({"n": range(1000)}), name="value"))
    wide = str(coerce(pandas.DataFrame(np.zeros((2, 50))), name="value"))

    assert long.count("\n| ") == 102
    assert long.endswith("| … |\n\n(900 more of 1,000 rows not shown)")
    assert "(20 more of 50 columns not shown)" in wide
    assert str(coerce(pandas.DataFrame({"n": []}), name="value")).endswith("(no rows)")


def test_no_cell_shows_an_address() -> None:
    pandas = pytest.importorskip("pandas")

    assert "| (object) |" in str(coerce(pandas.DataFrame({"o": [object()]}), name="value"))


def test_a_table_is_drawn_where_the_field_wants_an_image() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"item": ["tea", "milk"], "price": [1.5, 2]})

    drawn = image(frame, FieldModality.IMAGE)

    assert drawn.filename == "value.png"
    assert pixels(drawn).min() < 60
    assert len(several([frame, frame], FieldModality.IMAGE)) == 2
    odd = pandas.DataFrame({"item": ["\U0001f9ff\ue000"]})
    assert "no font here holds" in refused(odd, modality=FieldModality.IMAGE)


def test_several_tables_are_shown_below_each_other() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1]})

    assert (
        coerce([frame, frame], name="value") == "| n |\n| ---: |\n| 1 |\n\n| n |\n| ---: |\n| 1 |"
    )


def test_a_polars_frame_is_a_table_and_a_lazy_one_is_refused() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"item": ["tea", None], "price": [1.5, None]})

    assert coerce(frame, name="value") == (
        "| item | price |\n| --- | ---: |\n| tea | 1.5 |\n|  |  |"
    )
    assert "value.collect()" in refused(frame.lazy())


# --- what IPython would show ---


class AsPng:
    def _repr_png_(self) -> bytes:
        return PNG


class AsPngWithSize:
    def _repr_png_(self) -> tuple[str, dict[str, int]]:
        return base64.b64encode(PNG).decode(), {"width": 3}


class AsJpeg:
    def _repr_png_(self) -> None:
        return None

    def _repr_jpeg_(self) -> bytes:
        return image_file("JPEG")


class AsBundle:
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        del include, exclude
        return {"text/plain": "x", "image/png": base64.b64encode(PNG).decode()}, {}


class AsSvg:
    def _repr_svg_(self) -> str:
        return SVG.decode()


class AsMarkdown:
    def _repr_markdown_(self) -> str:
        return "**12.50**"


class Failing:
    def _repr_png_(self) -> bytes:
        raise RuntimeError("no display\nat all")


class NotBytes:
    def _repr_png_(self) -> int:
        return 7


def test_what_is_shown_as_a_picture_is_that_picture() -> None:
    for kind in (AsPng, AsPngWithSize, AsBundle):
        assert image(kind()).load_bytes() == PNG
        assert image(kind()).filename == "value.png"
    assert image(AsJpeg()).mime_type == "image/jpeg"
    assert image(AsSvg()).mime_type == "image/svg+xml"


def test_what_is_shown_as_text_is_that_text() -> None:
    assert coerce(AsMarkdown(), name="value") == "**12.50**"


def test_a_picture_that_cannot_be_drawn_says_why() -> None:
    assert "holds a Failing that cannot be drawn: RuntimeError: no display" in refused(Failing())
    assert "whose picture is no bytes" in refused(NotBytes())


def test_the_images_of_ipython_are_taken_by_their_content_or_address() -> None:
    from IPython.display import Image as Shown

    assert image(Shown(data=PNG)).load_bytes() == PNG
    assert image(Shown(url="https://example.org/a.png")).url == "https://example.org/a.png"


# --- text ---


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Line:
    item: str
    price: float


Point = collections.namedtuple("Point", "x y")  # noqa: PYI024 (people use it)


class Named:
    def __str__(self) -> str:
        return "a name"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is {x}", "as it is {x}"),
        (3, "3"),
        (0.1, "0.1"),
        (True, "True"),
        (None, "None"),
        ([1, "a", None], '[1, "a", null]'),
        ((1, 2), "[1, 2]"),
        ([], "[]"),
        ({}, "{}"),
        ({"票": "据"}, '{"票": "据"}'),
        ({1: {"b": 2, "a": 1}}, '{"1": {"b": 2, "a": 1}}'),
        ({3, 1, 2}, "[1, 2, 3]"),
        (frozenset({"b", "a"}), '["a", "b"]'),
        (range(3), "[0, 1, 2]"),
        (collections.deque([1]), "[1]"),
        (collections.Counter("aab"), '{"a": 2, "b": 1}'),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),  # noqa: DTZ001 (people have them)
        (dt.timedelta(seconds=90), "0:01:30"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Color.RED, "red"),
        (Line("tea", 1.5), '{"item": "tea", "price": 1.5}'),
        (Point(1, 2), '{"x": 1, "y": 2}'),
        (ValueError("no"), "ValueError: no"),
        (Named(), "a name"),
        ([[1, [2]], []], "[[1, [2]], []]"),
    ],
    ids=repr,
)
def test_a_plain_value_is_text(value: Any, text: str) -> None:
    assert coerce(value, name="value") == text


def test_long_json_is_written_in_lines() -> None:
    text = str(coerce({"items": ["tea"] * 40}, name="value"))

    assert text.startswith('{\n  "items": [\n    "tea",\n')


def generator() -> Iterator[int]:
    yield 1


class Bare:
    pass


class BareRepr:
    def __repr__(self) -> str:
        return "<BareRepr of nothing>"


@pytest.mark.parametrize(
    "value",
    [
        Bare(),
        [Bare()],
        {"a": Bare()},
        BareRepr(),
        generator(),
        print,
        Bare,
        types,
        lambda: 1,
        iter([]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_text_is_refused_and_never_printed(value: Any) -> None:
    assert "neither an attachment nor text" in refused(value)


def test_a_text_that_fails_is_refused() -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("oh")

    assert "whose text cannot be made (RuntimeError: oh)" in refused(Broken())


# --- several ---


def test_a_list_of_attachments_is_a_list_of_assets(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    values = [tmp_path / "a.png", PNG, picture(), AsPng(), [ImageAsset.from_bytes(PNG)]]

    found = several(values)

    assert len(found) == 5
    assert all(isinstance(asset, ImageAsset) for asset in found)


def test_attachments_and_text_do_not_mix() -> None:
    assert "mixes attachments and text ('hello')" in refused([PNG, "hello"])
    assert "mixes attachments and text" in refused([PNG, [1, 2]])


@pytest.mark.parametrize(
    "value",
    [
        {"a": PNG},
        {"a": ImageAsset.from_bytes(PNG)},
        {"a": [picture()]},
        {"a": {"b": Path("x.png")}},
    ],
    ids=repr,
)
def test_an_attachment_within_a_mapping_is_refused(value: Any) -> None:
    assert "inside another value" in refused(value)


def test_attachments_in_a_set_or_as_a_key_are_refused() -> None:
    assert "inside another value" in refused({ImageAsset.from_bytes(PNG)})
    assert "as a key" in refused({ImageAsset.from_bytes(PNG): 1})


def test_values_that_hold_themselves_are_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    ring: dict[str, Any] = {}
    ring["ring"] = ring
    deep: Any = 1
    for _ in range(1000):
        deep = [deep]

    for value in (loop, ring, deep, [PNG, loop]):
        assert "holds" in refused(value) or "nested" in refused(value)


# --- types of one's own ---


class Scan:
    def __init__(self, data: bytes) -> None:
        self.data = data


class ColourScan(Scan):
    pass


def test_a_type_can_be_taught_and_forgotten() -> None:
    refused(Scan(PNG))
    register(Scan, lambda scan: scan.data)
    try:
        assert image(Scan(PNG)).load_bytes() == PNG
        assert image(ColourScan(PNG)).load_bytes() == PNG
        assert len(several([Scan(PNG), Scan(PNG)])) == 2
        register(ColourScan, lambda scan: f"{len(scan.data)} bytes in colour")
        assert "in colour" in str(coerce(ColourScan(PNG), name="value"))
    finally:
        unregister(Scan)
        unregister(ColourScan)
    refused(Scan(PNG))


def test_a_converter_that_never_ends_is_stopped() -> None:
    register(Scan, lambda scan: scan)
    try:
        assert "never comes to an end" in refused(Scan(PNG))
    finally:
        unregister(Scan)


def test_only_a_class_and_a_function_can_be_registered() -> None:
    for kind, converter in (("Scan", str), (Scan, None)):
        with pytest.raises(TypeError):
            register(kind, converter)  # type: ignore[arg-type]


# --- and no library is imported for it ---


def test_plain_values_load_no_library() -> None:
    code = (
        "import sys\n"
        "from agentcell.assets.coerce import coerce\n"
        "class Own: __module__ = 'pandas.core.frame'\n"
        "for value in ('a', 1, {'b': [1]}, None): coerce(value, name='v')\n"
        "try: coerce(Own(), name='v')\n"
        "except ValueError: pass\n"
        "print([n for n in ('numpy', 'pandas', 'PIL', 'matplotlib', 'polars') if n in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "[]\n"


def test_a_series_or_array_of_attachments_is_a_list_of_them() -> None:
    pandas = pytest.importorskip("pandas")
    one, two = ImageAsset.from_bytes(PNG), PdfAsset.from_bytes(pdf_file())
    grid = np.empty((2, 1), dtype=object)
    grid[0, 0], grid[1, 0] = one, two

    assert several(pandas.Series([one, two])) == [one, two]
    assert several(grid) == [one, two]
    assert several([grid]) == [one, two]


@pytest.mark.parametrize("cell", ["asset", "list", "mapping"])
def test_a_table_with_an_attachment_in_a_cell_is_refused(cell: str) -> None:
    pandas = pytest.importorskip("pandas")
    asset = ImageAsset.from_bytes(PNG)
    held = {"asset": asset, "list": [asset], "mapping": {"a": asset}}[cell]
    frame = pandas.DataFrame({"n": [1], "a": [held]})

    for modality in (FieldModality.ANY, FieldModality.IMAGE):
        with pytest.raises(FieldError, match="attachment in a cell") as caught:
            coerce(frame, name="value", modality=modality)
        assert "ImageAsset(" not in str(caught.value)


def test_a_namespace_and_the_values_of_a_mapping_are_text_like_json() -> None:
    assert coerce(types.SimpleNamespace(b=1, a="x"), name="v") == '{"b": 1, "a": "x"}'
    assert coerce({"a": 1, "b": 2}.values(), name="v") == "[1, 2]"


@pytest.mark.parametrize(
    "value",
    [10**5_000, [1, {"a": -(10**5_000)}], Fraction(10**5_000, 3)],
    ids=["whole", "within", "fraction"],
)
def test_a_number_too_long_to_be_written_is_told(value: Any) -> None:
    with pytest.raises(FieldError, match="'x' holds a number of thousands of digits"):
        coerce(value, name="x")
