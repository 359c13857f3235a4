"""Settings: types, ranges, and what an error says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pydantic
import pytest

from agentcell.adapters.schema import Schema, is_strict
from agentcell.adapters.settings import Asked, Settings, ToolChoice, read_settings
from agentcell.errors import Unsupported

ASKED = Asked("openai", "gpt-4.1")


def read(**settings: Any) -> Settings:
    return read_settings(settings, ASKED, tool_names=("f", "g"))


def test_good_settings_are_kept_in_their_types() -> None:
    settings = read(
        temperature=0,
        top_p=1,
        max_tokens=1,
        stop=["a", "b"],
        tool_choice="required",
        seed=-5,
        reasoning="high",
        detail="low",
    )

    assert settings == Settings(
        temperature=0.0,
        top_p=1.0,
        max_tokens=1,
        stop=("a", "b"),
        tool_choice=ToolChoice("required"),
        seed=-5,
        reasoning={"effort": "high"},
        detail="low",
    )
    assert isinstance(settings.temperature, float)


def test_numpys_numbers_are_numbers_and_its_bools_are_not() -> None:
    settings = read(temperature=np.float32(0.5), max_tokens=np.int64(7))

    assert (settings.temperature, settings.max_tokens) == (0.5, 7)
    assert type(settings.max_tokens) is int
    for name, value in {"temperature": np.True_, "max_tokens": np.float64(7)}.items():
        with pytest.raises(Unsupported, match=name):
            read(**{name: value})
    with pytest.raises(Unsupported, match="temperature"):
        read(temperature=np.array([0.5]))


@pytest.mark.parametrize("value", [True, "1", math.nan, -math.inf, 2.5, -0.1, [1], 1j, b"1"])
def test_a_bad_temperature_is_refused_with_its_range(value: Any) -> None:
    with pytest.raises(Unsupported, match="a number from 0 to 2 was expected") as caught:
        read(temperature=value)

    assert isinstance(caught.value, ValueError)
    assert (caught.value.provider, caught.value.model) == ("openai", "gpt-4.1")


@pytest.mark.parametrize("value", [True, "1", 0, -1, 1.0, None.__class__])
def test_a_bad_count_is_refused(value: Any) -> None:
    with pytest.raises(Unsupported, match=r"max_tokens is .*a whole number, at least 1"):
        read(max_tokens=value)


@pytest.mark.parametrize("value", ["", [], [""], ["a"] * 5, [1], {"a": 1}])
def test_a_bad_stop_is_refused(value: Any) -> None:
    with pytest.raises(Unsupported, match="stop is"):
        read(stop=value)


@pytest.mark.parametrize(
    ("value", "choice"),
    [
        ("auto", ToolChoice("auto")),
        ("f", ToolChoice("tool", "f")),
        ({"name": "g"}, ToolChoice("tool", "g")),
        ({"type": "function", "function": {"name": "g"}}, ToolChoice("tool", "g")),
    ],
)
def test_a_tool_is_chosen_by_mode_or_name(value: Any, choice: ToolChoice) -> None:
    assert read(tool_choice=value).tool_choice == choice


def test_a_choice_without_tools_is_dropped_where_it_says_nothing() -> None:
    assert read_settings({"tool_choice": "none"}, ASKED).tool_choice is None
    with pytest.raises(Unsupported, match="no tools are given"):
        read_settings({"tool_choice": "required"}, ASKED)
    with pytest.raises(Unsupported, match="none of the tools given") as caught:
        read(tool_choice="h")
    assert "auto, none, required, f, g" in caught.value.fix


def test_an_unknown_setting_says_which_is_near_or_which_there_are() -> None:
    with pytest.raises(Unsupported, match="Invalid model setting: 'temprature'") as near:
        read(temprature=1)
    with pytest.raises(Unsupported) as far:
        read_settings({"zzz": 1}, ASKED, instead={"stop": "x"})

    assert near.value.fix == "write 'temperature'."
    assert "top_p" in far.value.fix
    assert "stop" not in far.value.fix


def test_a_setting_that_is_not_taken_is_refused_unless_it_is_none() -> None:
    instead = {"stop": "say so in the prompt."}

    assert read_settings({"stop": None}, ASKED, instead=instead) == Settings()
    with pytest.raises(Unsupported, match=r"openai/gpt-4\.1 takes no setting 'stop'") as caught:
        read_settings({"stop": "x"}, ASKED, instead=instead)
    assert caught.value.fix == "say so in the prompt."


def test_a_long_value_is_shortened_in_the_message() -> None:
    with pytest.raises(Unsupported) as caught:
        read(detail="x" * 1000)

    assert len(str(caught.value)) < 300


# Schemas.


class Line(pydantic.BaseModel):
    name: str
    price: float = 0.0


class Bill(pydantic.BaseModel):
    lines: list[Line]
    default: str = ""
    properties: str | None = None


def test_a_class_becomes_a_schema_that_strict_mode_can_enforce() -> None:
    schema = Schema.of(Bill)

    assert schema.name == "Bill"
    assert schema.strict
    assert schema.document["required"] == ["lines", "default", "properties"]
    line = schema.document["$defs"]["Line"]
    assert (line["required"], line["additionalProperties"]) == (["name", "price"], False)
    assert "default" not in line["properties"]["price"]


def test_a_class_with_free_keys_is_not_strict() -> None:
    class Free(pydantic.BaseModel):
        counts: dict[str, int]

    assert not Schema.of(Free).strict


def test_a_written_schema_is_sent_as_it_is() -> None:
    document = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}
    closed = {**document, "required": ["a"], "additionalProperties": False}

    assert Schema.of(document) == Schema("answer", document, strict=False)
    assert Schema.of(closed).strict
    assert Schema.of({**closed, "title": "Ein Café, bitte " + "x" * 80}).name.startswith("Ein_Caf_")
    assert len(Schema.of({**closed, "title": "x" * 80}).name) == 64


@pytest.mark.parametrize(
    "value", [{"type": "array"}, {"type": "string"}, {}, [], "x", int, None.__class__]
)
def test_what_describes_no_object_is_no_schema(value: Any) -> None:
    with pytest.raises(ValueError, match=r"schema (describes|is a)"):
        Schema.of(value)


def test_a_field_called_properties_does_not_confuse_the_check() -> None:
    inner = {"type": "object", "properties": {}, "additionalProperties": False}
    document = {
        "type": "object",
        "properties": {"properties": inner, "type": {"type": "string"}},
        "required": ["properties", "type"],
        "additionalProperties": False,
    }

    assert is_strict(document)
