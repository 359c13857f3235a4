from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

import agentcell
from agentcell import (
    ImageDetail,
    ImageGenerationOutputFormat,
    ImagePermission,
    ImagePromptOptions,
    ImageToolConfig,
    ImageToolSpec,
    image_specs,
    is_image_tool_gated,
    render_image_prompt_guidance,
)
from agentcell.errors import GenerationError
from agentcell.imaging.contract import IMAGE_TOOL_NAMES

ALL_ON = ImageToolConfig(image_generation_enabled=True, image_view_enabled=True)


def config(generates: int, views: int, reads: int, writes: int) -> ImageToolConfig:
    return ImageToolConfig(
        image_generation_enabled=bool(generates),
        image_view_enabled=bool(views),
        local_image_reads_allowed=bool(reads),
        generated_image_writes_allowed=bool(writes),
    )


def offered(gates: ImageToolConfig) -> list[str]:
    return [spec.name for spec in image_specs(gates)]


def test_nothing_is_offered_until_a_gate_is_opened() -> None:  # case 1
    closed = ImageToolConfig()

    assert image_specs(closed) == []
    assert all(is_image_tool_gated(name, closed) for name in IMAGE_TOOL_NAMES)
    assert closed.image_generation_output_format == "png"
    assert closed.local_image_reads_allowed
    assert closed.generated_image_writes_allowed


@pytest.mark.parametrize("reads", [0, 1])
@pytest.mark.parametrize("writes", [0, 1])
@pytest.mark.parametrize("generates", [0, 1])
@pytest.mark.parametrize("views", [0, 1])
def test_each_tool_needs_its_gate_and_its_files_and_nothing_of_the_other(
    generates: int, views: int, reads: int, writes: int
) -> None:  # cases 2 and 3, and the whole table
    gates = config(generates, views, reads, writes)
    expected = ["image_generation"] * (generates and writes) + ["view_image"] * (views and reads)

    assert offered(gates) == expected
    for name in IMAGE_TOOL_NAMES:
        assert is_image_tool_gated(name, gates) is (name not in expected)


def test_the_format_of_the_gates_is_the_schemas_default() -> None:  # case 4
    gates = ImageToolConfig(
        image_generation_enabled=True,
        image_view_enabled=True,
        image_generation_output_format=ImageGenerationOutputFormat.JPEG,
    )

    generation, view = image_specs(gates)
    assert [generation.name, view.name] == ["image_generation", "view_image"]
    assert generation.parameters["properties"]["output_format"]["default"] == "jpeg"
    assert view.parameters["properties"]["detail"]["default"] == "auto"


@pytest.mark.parametrize("gates", [ImageToolConfig(), ALL_ON])
@pytest.mark.parametrize("name", ["unknown_tool", "", "VIEW_IMAGE"])
def test_what_is_no_image_tool_is_hidden(name: str, gates: ImageToolConfig) -> None:  # case 5
    assert is_image_tool_gated(name, gates)


def test_a_specification_comes_back_from_json_as_it_was() -> None:  # case 6
    for spec in image_specs(ALL_ON):
        values = json.loads(json.dumps(spec.to_dict()))

        assert ImageToolSpec.from_dict(values) == spec
    generation = image_specs(ALL_ON)[0].to_dict()
    assert generation["permission"] == "write"
    assert generation["writes_files"] is True
    assert generation["model_visible_image_output"] is False


@pytest.mark.parametrize(
    "values", [{}, {"name": "view_image"}, [], None, {"permission": "write", "more": 1}]
)
def test_other_values_are_no_specification(values: object) -> None:
    with pytest.raises(GenerationError, match="no values of an image tool"):
        ImageToolSpec.from_dict(values)  # type: ignore[arg-type]


def schema_without_texts(spec: ImageToolSpec) -> dict[str, object]:
    properties = {
        name: {key: value for key, value in one.items() if key != "description"}
        for name, one in spec.parameters["properties"].items()
    }
    return {**spec.parameters, "properties": properties}


def test_the_schemas_hold_what_the_contract_says_and_no_more() -> None:  # cases 7 and 9
    generation, view = image_specs(ALL_ON)
    text = {"type": "string"}

    assert schema_without_texts(generation) == {
        "type": "object",
        "properties": {
            "prompt": text,
            "output_path": text,
            "size": text,
            "input_image_path": text,
            "output_format": {
                "type": "string",
                "enum": ["png", "webp", "jpeg"],
                "default": "png",
            },
        },
        "required": ["prompt"],
    }
    assert schema_without_texts(view) == {
        "type": "object",
        "properties": {
            "path": text,
            "detail": {
                "type": "string",
                "enum": ["auto", "high", "original"],
                "default": "auto",
            },
        },
        "required": ["path"],
    }
    assert (view.permission, view.model_visible_image_output, view.writes_files) == (
        ImagePermission.READ_ONLY,
        True,
        False,
    )
    assert "Generate or edit raster images" in generation.description
    assert "model-visible image context" in view.description


def test_what_one_reader_does_to_a_schema_no_other_one_sees() -> None:
    image_specs(ALL_ON)[1].parameters["properties"].clear()

    assert set(image_specs(ALL_ON)[1].parameters["properties"]) == {"path", "detail"}


@pytest.mark.parametrize("word", ["jpg", "JPEG", "gif", "", None])
def test_an_unknown_format_is_refused_with_those_that_there_are(word: object) -> None:  # case 8
    assert ImageGenerationOutputFormat("jpeg") is ImageGenerationOutputFormat.JPEG

    with pytest.raises(GenerationError, match="png, webp, jpeg was expected"):
        ImageGenerationOutputFormat(word)  # type: ignore[arg-type]
    with pytest.raises(GenerationError, match="png, webp, jpeg was expected"):
        ImageToolConfig(image_generation_output_format=word)  # type: ignore[arg-type]


def test_an_unknown_detail_is_refused() -> None:  # case 8
    with pytest.raises(GenerationError, match="auto, high, original"):
        ImageDetail("low")


@pytest.mark.parametrize("value", [1, "yes", None])
def test_a_gate_is_true_or_false(value: object) -> None:
    with pytest.raises(GenerationError, match="True or False was expected"):
        ImageToolConfig(image_view_enabled=value)  # type: ignore[arg-type]


def test_the_gates_do_not_change_under_whoever_holds_them() -> None:
    with pytest.raises(FrozenInstanceError):
        ALL_ON.image_view_enabled = False  # type: ignore[misc]


# -- guidance


def bullets(text: str) -> list[str]:
    head, _, rest = text.partition("\n\n")
    assert head == "## Image Tools"
    return rest.split("\n")


def test_closed_gates_have_no_guidance() -> None:  # cases 10 and 11
    assert render_image_prompt_guidance(ImageToolConfig()) == ""
    assert render_image_prompt_guidance(config(1, 1, 0, 0)) == ""


def test_all_of_the_guidance_is_four_points_viewing_first() -> None:  # case 12
    text = render_image_prompt_guidance(ALL_ON)

    assert text.startswith("## Image Tools\n\n- ")
    assert not text.endswith("\n")
    view, boundary, generation, path = bullets(text)
    assert "`view_image`" in view
    assert "approved workspace" in boundary
    assert "`image_generation`" in generation
    assert "saved artifact path" in path


def test_parts_of_the_guidance_can_be_left_out() -> None:  # case 13
    options = ImagePromptOptions(
        include_final_answer_rules=False, include_local_file_boundaries=False
    )

    text = render_image_prompt_guidance(ALL_ON, options)

    assert len(bullets(text)) == 2
    assert "approved workspace" not in text
    assert "saved artifact path" not in text
    assert "`view_image`" in text
    assert "`image_generation`" in text


def test_generation_alone_has_its_boundary_and_nothing_of_viewing() -> None:  # cases 14 and 16
    text = render_image_prompt_guidance(config(1, 0, 1, 1))

    assert "`image_generation`" in text
    assert "view" not in text
    assert [one for one in bullets(text) if "`input_image_path`" in one and "approved" in one]


def test_viewing_alone_has_two_points_and_nothing_of_generation() -> None:  # case 15
    text = render_image_prompt_guidance(config(0, 1, 1, 1))

    assert len(bullets(text)) == 2
    assert "image_generation" not in text
    assert "input_image_path" not in text


def test_the_names_of_the_contract_are_the_packages_own() -> None:
    names = {
        *("ImageToolSpec", "ImageToolConfig", "ImagePermission", "ImageDetail"),
        *("ImageGenerationOutputFormat", "ImagePromptOptions", "image_specs"),
        *("is_image_tool_gated", "render_image_prompt_guidance"),
    }

    assert names <= set(agentcell.__all__)
