"""Declarations of fields, and what a field takes."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import types
import warnings
from enum import Enum
from typing import Any

import pydantic
import pytest

from agent_kit import blue, page, red
from agentcell.assets.asset import MediaAsset
from agentcell.assets.coerce import coerce
from agentcell.errors import AgentcellError, FieldError
from agentcell.messages import MediaMessageBlock
from agentcell.modality import FieldModality
from agentcell.prompts.fields import (
    FieldSpec,
    FieldWarning,
    looks_like_modality,
    normalize_field_specs,
    parse_field_spec,
    validate_field_value,
)
from agentcell.prompts.values import MAX_DEPTH, Tree


@pytest.mark.parametrize(
    ("raw", "modality", "description"),
    [
        ("IMAGE:票据图片", "IMAGE", "票据图片"),
        ("Pdf: 发票 PDF ", "PDF", "发票 PDF"),
        ("image：票据", "IMAGE", "票据"),
        ("tExT:", "TEXT", "f"),
        ("ANY: x", "ANY", "x"),
        ("IMAGE:IMAGE:x", "IMAGE", "IMAGE:x"),
        ("IMAGE:line 1\nline 2", "IMAGE", "line 1\nline 2"),
        ("IMAGE:\n  the receipt\n", "IMAGE", "the receipt"),
        ("a mere description", "ANY", "a mere description"),
        ("", "ANY", ""),
        ("  padded ", "ANY", "  padded "),
        (FieldModality.PDF, "PDF", "f"),
    ],
)
def test_a_declaration_says_what_the_field_holds(raw: Any, modality: str, description: str) -> None:
    spec = parse_field_spec("f", raw)

    assert spec == FieldSpec("f", description, FieldModality(modality))


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        ("VIDEO:x", "VIDEO is no modality"),
        ("audio: a song", "audio is no modality"),
        ("IMGAE:x", "IMAGE is meant"),
        ("Images: all", "IMAGE is meant"),
        ("img: a photo", "IMAGE is meant"),
        ("PFD:x", "PDF is meant"),
        ("TXET:x", "TEXT is meant"),
        ("DOCUMENT:x", "PDF is meant"),
        ("IMAGE :x", "no blank before the colon"),
        ("IMAGE ：x", "no blank before the colon"),
        (" IMAGE:x", "at the very start"),
        ("\ufeffIMAGE:x", "at the very start"),
        ("ＩＭＡＧＥ：x", "at the very start"),
        ("IMAGE=x", "IMAGE:"),
        ("PDF", "without a colon"),
    ],
)
def test_a_slip_in_a_prefix_is_told_and_the_text_is_kept(raw: str, hint: str) -> None:
    with pytest.warns(FieldWarning, match=hint) as caught:
        spec = parse_field_spec("f", raw)

    assert spec == FieldSpec("f", raw)
    assert hint in (looks_like_modality(raw) or "")
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "raw",
    [
        "Note: x",
        "Test: x",
        "next: x",
        "URL: https://x",
        "Photo: of it",
        "a: b",
        "Usage: y",
        "12:30",
        "text of the page",
        "pdf",
        "Any",
        "https://x.org/a:b",
        "类型：图片",
        "NOTE: IMAGE:x",
        ":x",
    ],
)
def test_an_honest_description_gives_no_warning(raw: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spec = parse_field_spec("f", raw)

    assert spec.description == raw
    assert looks_like_modality(raw) is None


def test_a_mapping_declares_all_four_parts() -> None:
    raw = {"description": "票据", "modality": "image", "many": True, "required": 1, "unit": "EUR"}

    spec = parse_field_spec("f", raw)

    assert spec == FieldSpec("f", "票据", FieldModality.IMAGE, many=True, required=True)
    assert parse_field_spec("f", {"description": ""}).description == "f"
    assert parse_field_spec("f", {"modality": None}).modality is FieldModality.ANY


def test_a_misspelt_key_of_a_mapping_is_told() -> None:
    with pytest.warns(FieldWarning, match="'required' is meant"):
        parse_field_spec("f", {"requierd": True})


@pytest.mark.parametrize("raw", [["IMAGE:x"], ("IMAGE:x",), 5, b"IMAGE:x", object(), {1}])
def test_other_declarations_are_refused_by_name(raw: Any) -> None:
    with pytest.raises(FieldError, match="Unsupported field declaration for 'f'"):
        parse_field_spec("f", raw)


@pytest.mark.parametrize("modality", ["video", "", 1, "IMAGE PDF"])
def test_an_unknown_modality_is_refused(modality: Any) -> None:
    with pytest.raises(ValueError, match=r"Unknown modality"):
        parse_field_spec("f", {"modality": modality})


def test_a_spec_is_returned_as_it_is_also_under_another_name() -> None:
    spec = FieldSpec("other", modality="pdf")  # type: ignore[arg-type]

    assert parse_field_spec("f", spec) is spec
    assert spec.modality is FieldModality.PDF
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.name = "x"  # type: ignore[misc]


def test_several_declarations_keep_their_order() -> None:
    specs = normalize_field_specs({"b": "IMAGE:B", "a": None})

    assert list(specs) == ["b", "a"]
    assert normalize_field_specs(None) == normalize_field_specs({}) == {}
    with pytest.raises(FieldError, match="a mapping was expected"):
        normalize_field_specs(["a"])  # type: ignore[arg-type]


def spec_of(modality: str, *, required: bool = False) -> FieldSpec:
    return FieldSpec("f", modality=FieldModality(modality), required=required)


@dataclasses.dataclass
class Visit:
    place: str
    photo: Any


class Report(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    title: str
    cover: Any


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("modality", "value"),
    [
        ("ANY", [red(), "s", {"a": page()}]),
        ("ANY", None),
        ("TEXT", "s"),
        ("TEXT", None),
        ("TEXT", {"a": [1, 2.5, True, None]}),
        ("TEXT", []),
        ("TEXT", b"x"),
        ("IMAGE", red()),
        ("IMAGE", [red(), blue()]),
        ("IMAGE", (red(), None, [blue()])),
        ("IMAGE", {"a": red()}),
        ("IMAGE", {red()}),
        ("IMAGE", None),
        ("IMAGE", ""),
        ("IMAGE", []),
        ("IMAGE", {}),
        ("PDF", page()),
        ("PDF", [page()]),
    ],
)
def test_a_value_of_its_kind_is_taken(modality: str, value: Any) -> None:
    validate_field_value(spec_of(modality), value)


@pytest.mark.parametrize(
    ("modality", "value", "received"),
    [
        ("TEXT", red(), "IMAGE"),
        ("TEXT", [red(), page()], "IMAGE|PDF"),
        ("TEXT", [page(), red()], "IMAGE|PDF"),
        ("TEXT", [red(), "s"], "IMAGE|TEXT"),
        ("TEXT", {"a": {"b": [red()]}}, "IMAGE"),
        ("TEXT", Visit("Rome", red()), "IMAGE|TEXT"),
        ("TEXT", Report(title="x", cover=page()), "PDF|TEXT"),
        ("IMAGE", page(), "PDF"),
        ("IMAGE", "text", "TEXT"),
        ("IMAGE", " ", "TEXT"),
        ("IMAGE", 0, "TEXT"),
        ("IMAGE", Colour.RED, "TEXT"),
        ("IMAGE", b"\x89PNG", "TEXT"),
        ("IMAGE", [red(), page()], "IMAGE|PDF"),
        ("IMAGE", [red(), "s"], "IMAGE|TEXT"),
        ("IMAGE", {"a": red(), "b": "s"}, "IMAGE|TEXT"),
        ("PDF", [[page()], [red()]], "IMAGE|PDF"),
        ("PDF", "text", "TEXT"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_both_kinds(
    modality: str, value: Any, received: str
) -> None:
    with pytest.raises(FieldError) as caught:
        validate_field_value(spec_of(modality), value)

    assert caught.value.problem == (
        f"Field 'f' expects modality '{modality}', but received '{received}'."
    )
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("modality", "value"),
    [
        ("IMAGE", None),
        ("IMAGE", ""),
        ("PDF", []),
        ("TEXT", None),
        ("TEXT", ""),
        ("TEXT", [""]),
        ("ANY", None),
        ("ANY", []),
        ("ANY", {}),
    ],
)
def test_a_required_field_does_not_take_nothing(modality: str, value: Any) -> None:
    with pytest.raises(FieldError, match=r"'f' expects .* received nothing"):
        validate_field_value(spec_of(modality, required=True), value)


def test_a_loop_and_a_deep_nest_are_refused_without_a_crash() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]

    for value in (loop, deep):
        with pytest.raises(FieldError, match="Field 'f'"):
            validate_field_value(spec_of("IMAGE"), value)
    while isinstance(deep, list):  # taken apart gently: its own end would recurse too deep
        deep = deep.pop()
    assert MAX_DEPTH == 50


class Bare:
    pass


@pytest.mark.parametrize(
    "value",
    [[10**5000], {1: "a", "1": "b"}, "a\ud800"],
    ids=["long number", "keys alike", "half a character"],
)
def test_what_cannot_be_written_faithfully_is_refused(value: Any) -> None:
    with pytest.raises(FieldError, match="Field 'f'"):
        Tree(value, "f")


@pytest.mark.parametrize("value", [Bare(), [Bare()], {"a": b"\x00\x01"}, lambda: 1, {b"k": Bare()}])
def test_what_has_no_text_is_refused_and_never_printed(value: Any) -> None:
    with pytest.raises(AgentcellError) as caught:
        Tree(value, "f")

    assert "0x" not in str(caught.value)


def test_a_value_is_written_as_text_with_bare_tags() -> None:
    one, two = red(), blue()
    names: dict[MediaAsset, str] = {one: '[x_1 say "hi"]', two: "[x_2 b]"}
    value = {"z": [one, "a\nb"], "a": {"n": 1.5, "none": None}, "t": (two,), "é": "ü"}

    text = Tree(value, "f").render(names.__getitem__)

    assert text == (
        '{\n  "a": {\n    "n": 1.5,\n    "none": null\n  },\n  "t": [\n    [x_2 b]\n  ],\n'
        '  "z": [\n    [x_1 say "hi"],\n    "a\\nb"\n  ],\n  "é": "ü"\n}'
    )
    assert Tree([one, two], "f").render(names.__getitem__) == '[x_1 say "hi"]\n[x_2 b]'
    assert Tree(None, "f").render(names.__getitem__) == ""
    assert Tree("{x}", "f").render(names.__getitem__) == "{x}"
    assert Tree([], "f").render(names.__getitem__) == "[]"
    assert Tree(float("nan"), "f").render(names.__getitem__) == "nan"


def test_a_set_has_one_order() -> None:
    value = {"b", "a", 3, red(), blue(), None}

    texts = {
        Tree(set(order), "f").render(lambda a: a.fingerprint()[:12])
        for order in ([*value], [*reversed([*value])])
    }

    assert len(texts) == 1


class Wrapped:
    def __init__(self, inner: object) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return f"Wrapped({self.inner!r})"


class Spoken(Wrapped):
    def __str__(self) -> str:
        return f"this and {self.inner}"


@pytest.mark.parametrize(
    "value",
    [
        {"a": red()}.values(),
        {"a": red()}.items(),
        types.SimpleNamespace(a=red()),
        argparse.Namespace(a=[red()]),
        types.MappingProxyType({"a": red()}),
        collections.ChainMap({"a": {"b": red()}}),
        collections.deque([red()]),
        collections.UserList([red()]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_attachments_are_found_in_containers_of_every_kind(value: Any) -> None:
    tree = Tree(value, "f")

    assert list(tree.assets()) == [red()]
    assert "[x_1 d]" in tree.render(lambda _: "[x_1 d]")
    assert "ImageAsset" not in tree.render(lambda _: "[x_1 d]")
    with pytest.raises(FieldError, match="expects modality 'TEXT', but received 'IMAGE"):
        validate_field_value(spec_of("TEXT"), value)


@pytest.mark.parametrize(
    "value",
    [
        Wrapped(red()),
        Spoken(red()),
        Spoken(MediaMessageBlock(red(), "x", "[x_1 d]")),
        ValueError(red()),
        slice(1, red()),
        Wrapped(b"\x89PNG"),
        [Wrapped([{"a": red()}])],
    ],
    ids=["repr", "str", "block", "error", "slice", "bytes", "deep"],
)
def test_an_object_that_would_print_what_is_inside_it_is_refused(value: Any) -> None:
    with pytest.raises(FieldError) as plain:
        Tree(value, "f")
    with pytest.raises(FieldError) as coerced:
        Tree(value, "f", lambda leaf: coerce(leaf, name="f"))

    for caught in (plain, coerced):
        assert "'f' holds a" in str(caught.value)
        assert "ImageAsset(" not in str(caught.value)
        assert "PNG" not in caught.value.problem


def test_numbers_of_numpy_are_numbers_wherever_they_stand() -> None:
    numpy = pytest.importorskip("numpy")
    value = {"a": [numpy.int64(1), numpy.float32(2.5), numpy.bool_(True)]}

    for leaf in (None, lambda one: coerce(one, name="f")):
        text = Tree(value, "f", leaf).render(str)
        assert json.loads(text) == {"a": [1, 2.5, True]}
