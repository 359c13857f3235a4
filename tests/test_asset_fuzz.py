"""Damaged files of every kind: they are taken or refused, in time, and nothing else."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcell.assets import ImageAsset, MediaAsset, asset_from_bytes
from agentcell.assets.limits import GEMINI
from agentcell.assets.prepare import at_detail, prepare
from agentcell.assets.preview import preview
from agentcell.errors import AttachmentError
from asset_files import animation, encoded, every_file, image_file, picture, turned
from promptly import PROMPTLY

SEEDS = {
    **every_file(),
    "animated gif": animation("GIF"),
    "animated webp": animation("WEBP"),
    "animated png": animation("PNG"),
    "animated avif": animation("AVIF"),
    "progressive jpeg": image_file("JPEG", progressive=True),
    "jpeg for print": encoded(picture(mode="CMYK"), "JPEG"),
    "turned jpeg": turned("JPEG", 6),
    "packed tiff": image_file("TIFF", compression="tiff_lzw"),
    "png with palette": encoded(picture(mode="P"), "PNG"),
}

places = st.integers(0, 1 << 16)
changes = st.one_of(
    st.tuples(st.just("cut"), places, st.just(b"")),
    st.tuples(st.just("set"), places, st.binary(min_size=1, max_size=4)),
    st.tuples(st.just("set"), places, st.sampled_from([b"\xff" * 4, b"\x00" * 4, b"\x7f\xff" * 2])),
    st.tuples(st.just("set"), st.integers(0, 63), st.binary(min_size=1, max_size=2)),
    st.tuples(st.just("put"), places, st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("drop"), places, st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("again"), places, st.binary(min_size=1, max_size=200)),
)


def changed(data: bytes, how: list[tuple[str, int, bytes]]) -> bytes:
    for kind, place, piece in how:
        at = place % (len(data) + 1)
        if kind == "cut":
            data = data[:at]
        elif kind == "set":
            data = data[:at] + piece + data[at + len(piece) :]
        elif kind == "put":
            data = data[:at] + piece + data[at:]
        elif kind == "drop":
            data = data[:at] + data[at + len(piece) :]
        else:
            data = data[:at] + data[at : at + len(piece)] + data[at:]
    return data


def use(data: bytes) -> MediaAsset:
    """Do all that is done with an attachment before it is sent."""
    asset = asset_from_bytes(data, "fuzzed.bin")
    preview(asset)
    assert len(repr(asset)) < 200
    assert asset.load_bytes() == data
    prepare([asset], GEMINI)
    if isinstance(asset, ImageAsset):
        at_detail(asset)
    return asset


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(how=st.lists(changes, min_size=1, max_size=6))
def test_a_damaged_file_is_taken_or_refused_in_time(name: str, how: Any) -> None:
    data = changed(SEEDS[name], how)
    start = time.process_time()

    try:
        use(data)
    except AttachmentError as error:
        assert len(str(error).splitlines()) <= 15  # noqa: PT017 (an error is one of two good ends)
        assert len(str(error)) < 600  # noqa: PT017
        assert error.fix  # noqa: PT017

    assert time.process_time() - start < PROMPTLY


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=400))
def test_bytes_of_no_kind_are_taken_or_refused(data: bytes) -> None:
    with pytest.raises(AttachmentError):
        use(data)


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=300))
def test_a_text_of_any_kind_given_as_base64_or_address_is_taken_or_refused(text: str) -> None:
    for make in (ImageAsset.from_base64, ImageAsset.from_url, ImageAsset.from_file_id):
        for prefix in ("", "data:image/png;base64,", "data:,", "https://", "https://h/"):
            try:
                asset = make(prefix + text)
            except AttachmentError as error:
                assert len(str(error)) < 800  # noqa: PT017 (an error is one of two good ends)
            else:
                assert len(repr(asset)) < 200


@pytest.mark.parametrize("name", SEEDS)
def test_every_seed_is_taken_as_it_is(name: str) -> None:
    try:
        use(SEEDS[name])
    except AttachmentError as error:
        assert name == "image/svg+xml"
        assert "export it as PNG" in error.fix  # noqa: PT017
