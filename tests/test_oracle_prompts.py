"""Fields, assets, tags and skills: what a peer does with them is matched, or bettered."""

from __future__ import annotations

import ast
import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agent_kit import Replies, blue, media, page, pdf, png, red
from agentcell.agents.agent import Agent
from agentcell.assets.asset import ImageAsset, MediaAsset
from agentcell.errors import AttachmentError, FieldError
from agentcell.prompts.fields import FieldSpec, FieldWarning, parse_field_spec, validate_field_value
from agentcell.prompts.skill import (
    InvalidSkillPackageError,
    SkillNotFoundError,
    SkillParseError,
    load_skill,
)
from oracle_kit import CASES, covers, each, tagged

# Fields ------------------------------------------------------------------------------------


@each("parse_field_spec")
@pytest.mark.filterwarnings("ignore::agentcell.prompts.fields.FieldWarning")
def test_declarations_are_read_alike(case: dict[str, Any]) -> None:
    raw = ast.literal_eval(case["input"])
    if "error" in case["observed"]:
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (its text is compared below)
            parse_field_spec("f", raw)
        assert case["observed"]["message"] in str(caught.value)
        return

    spec = parse_field_spec("f", raw)

    assert {name: getattr(spec, name) for name in case["observed"]} == case["observed"]


@covers("MF010", "MF005")
def test_declarations_are_read_better() -> None:
    spec = parse_field_spec("f", ast.literal_eval(CASES["MF010"]["input"]))

    assert (spec.modality, spec.description) == ("IMAGE", "line1\nline2")
    with pytest.warns(FieldWarning, match="VIDEO is no modality"):
        parse_field_spec("f", "VIDEO:x")


def field_case(case: dict[str, Any]) -> tuple[FieldSpec, Any]:
    modality, _, value = case["input"].partition(" <- ")
    names = {"img": red(), "img2": blue(), "pdf": page()}
    tree = ast.parse(value, mode="eval")

    def built(node: ast.expr) -> Any:
        match node:
            case ast.Name():
                return names[node.id]
            case ast.List():
                return [built(item) for item in node.elts]
            case ast.Dict():
                keys = [ast.literal_eval(key) for key in node.keys if key]
                return dict(zip(keys, map(built, node.values), strict=True))
            case _:
                return ast.literal_eval(node)

    return FieldSpec("f", modality=modality), built(tree.body)


@each("validate_field_value")
def test_values_are_taken_and_refused_alike(case: dict[str, Any]) -> None:
    spec, value = field_case(case)

    if case["observed"] == "ok":
        validate_field_value(spec, value)
        return
    with pytest.raises(ValueError, match="expects modality") as caught:
        validate_field_value(spec, value)
    assert str(caught.value).splitlines()[0] == case["observed"]["message"]


@covers("MF016", "MF017", "MF018", "MF019")
def test_optional_media_may_be_nothing_and_nested_media_are_seen() -> None:
    for name in ("MF016", "MF018", "MF019"):
        validate_field_value(*field_case(CASES[name]))
    for name in ("MF016", "MF019"):
        spec, value = field_case(CASES[name])
        with pytest.raises(FieldError, match="received nothing"):
            validate_field_value(FieldSpec("f", modality=spec.modality, required=True), value)
    with pytest.raises(FieldError, match=r"received 'IMAGE\|TEXT'"):
        validate_field_value(*field_case(CASES["MF017"]))


# Assets ------------------------------------------------------------------------------------


@covers("MF021", "MF022", "MF023")
def test_the_type_of_an_asset_is_that_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("hi")
    gif = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01"
    gif += b"\x00\x00\x02\x02D\x01\x00;"

    with pytest.raises(AttachmentError):
        ImageAsset.from_path(tmp_path / "t.txt")
    assert ImageAsset.from_bytes(gif).mime_type == "image/gif"
    # The address says JPEG; what it holds is a PNG.
    asset = ImageAsset.from_base64(CASES["MF023"]["observed"]["value"])
    assert asset.mime_type == "image/png"
    assert "image/jpeg" in asset.notes[0]


@covers("MF024", "MF025")
def test_the_same_content_is_the_same_asset_and_other_content_never(tmp_path: Path) -> None:
    data = png(255, 0, 0)
    text = base64.b64encode(data).decode()
    (tmp_path / "a.png").write_bytes(data)
    (tmp_path / "b.png").write_bytes(data)
    same = [
        ImageAsset.from_bytes(data),
        ImageAsset.from_bytes(data, filename="named.png"),
        ImageAsset.from_bytes(data, mime_type="image/jpeg"),
        ImageAsset.from_base64(text),
        ImageAsset.from_base64(f"data:image/png;base64,{text}"),
        ImageAsset.from_path(tmp_path / "a.png"),
        ImageAsset.from_path(tmp_path / "b.png"),
    ]
    other: list[MediaAsset] = [
        ImageAsset.from_url("https://example.org/a.png"),
        ImageAsset.from_url("https://example.org/b.png"),
        ImageAsset.from_file_id("https://example.org/a.png"),
        blue(),
        ImageAsset.from_bytes(png(255, 0, 0, noise=b"X")),
        page(),
    ]

    assert {asset.fingerprint() for asset in same} == {f"sha256:{hashlib.sha256(data).hexdigest()}"}
    assert len({asset.fingerprint() for asset in [same[0], *other]}) == 7


# Tags --------------------------------------------------------------------------------------


TAG_CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "MF027": ({"imgs": [red(), blue()]}, {"pull_keys": {"imgs": "IMAGE:图"}}),
    "MF029": (
        {"imgs": [red(), red()]},
        {"pull_keys": {"imgs": "IMAGE:图"}, "reuse_attachment_tags": False},
    ),
    "MF030": ({"票据": red()}, {"pull_keys": {"票据": "IMAGE:票据图片"}}),
    "MF031": ({"x": red()}, {"pull_keys": {"x": "IMAGE:a [b]\n c"}}),
    "MF032": (
        {"receipt_image": red()},
        {
            "pull_keys": {"receipt_image": "IMAGE:票据图片"},
            "prompt_template": "[receipt_image_1 票据图片] {receipt_image}",
        },
    ),
    "MF033": (
        {"receipt_image": red(), "q": "看 [receipt_image_41 x]"},
        {"pull_keys": {"receipt_image": "IMAGE:票据图片"}},
    ),
}


@covers(*TAG_CASES)
@pytest.mark.parametrize("name", TAG_CASES)
def test_tags_are_given_alike(name: str) -> None:
    given, options = TAG_CASES[name]
    observed = CASES[name]["observed"]

    tags, prompt, _ = tagged(given, **options)

    assert tags == observed["tags"]
    for text in observed["ctx"].values():
        assert text in prompt


@covers("MF036")
def test_a_mixed_list_never_prints_an_asset() -> None:
    tags, prompt, message = tagged({"x": [red(), "s"]}, prompt_template="{x}")

    assert tags == ["[x_1 x]"]
    assert prompt == 'MESSAGE TO YOU:\n[\n  [x_1 x],\n  "s"\n]'
    assert media(message)[0].asset == red()


@covers("MF037", "MF038")
def test_an_absent_field_never_prints_its_declaration() -> None:
    _, prompt, _ = tagged({}, pull_keys={"p": "IMAGE:票据图片"}, prompt_template="请看 {p}")
    required = {"p": {"description": "票据", "modality": "IMAGE", "required": True}}

    assert prompt == "MESSAGE TO YOU:\n请看 "
    with pytest.raises(FieldError, match=r"Field 'p' .* received nothing"):
        tagged({}, pull_keys=required, prompt_template="请看 {p}")


# Skills ------------------------------------------------------------------------------------


def skill_folder(base: Path, text: str) -> Path:
    place = base / "bom"
    place.mkdir()
    (place / "SKILL.md").write_text(text, encoding="utf-8")
    (place / "guide.png").write_bytes(png(0, 255, 0))
    return place


@covers("MF074")
def test_the_seed_skill_is_read_alike(tmp_path: Path) -> None:
    text = (
        "---\nname: receipt-skill\nmedia:\n  - type: image\n    path: guide.png\n"
        "    mime_type: image/png\n---\n请始终把当前票据与参考图片进行比对。\n"
    )
    observed = CASES["MF074"]["observed"]

    skill = load_skill(skill_folder(tmp_path, text))

    for name in ("name", "description", "body"):
        assert getattr(skill, name) == observed[name]
    for name in ("examples", "templates", "references", "scripts"):
        assert [str(one) for one in getattr(skill, name)] == observed[name]
    assert list(skill.frontmatter) == observed["frontmatter_keys"]
    [medium] = skill.media
    assert (medium.modality, medium.source_kind, medium.mime_type) == ("IMAGE", "path", "image/png")


@covers("MF075", "MF076", "MF077", "MF078")
def test_what_is_no_skill_is_refused_alike(tmp_path: Path) -> None:
    place = skill_folder(tmp_path, "---\nname: x\n---\n\n")

    with pytest.raises(SkillParseError, match="must contain non-empty markdown instructions"):
        load_skill(place)
    with pytest.raises(SkillNotFoundError, match="does not exist"):
        load_skill(tmp_path / "nope")
    with pytest.raises(InvalidSkillPackageError, match="is not a directory"):
        load_skill(place / "SKILL.md")
    (place / "SKILL.md").write_text("---\n- a\n---\nbody")
    with pytest.raises(SkillParseError, match="expected a mapping"):
        load_skill(place)


@covers("MF079", "MF080")
def test_a_byte_order_mark_and_an_empty_front_matter_are_taken(tmp_path: Path) -> None:
    place = skill_folder(tmp_path, "\ufeff---\nname: x\n---\nbody")
    assert (load_skill(place).name, load_skill(place).body) == ("x", "body")

    (place / "SKILL.md").write_text("---\n---\nbody")
    assert (load_skill(place).name, load_skill(place).body) == ("bom", "body")


@covers("MF081", "MF082")
@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd"])
def test_a_skill_reads_nothing_outside_its_folder(tmp_path: Path, path: str) -> None:
    place = skill_folder(tmp_path, f"---\nmedia:\n- {{type: image, path: {path}}}\n---\nbody")

    with pytest.raises(SkillParseError, match="leads out of the skill's folder"):
        load_skill(place)


@covers("MF083")
def test_the_type_of_a_skills_picture_is_that_of_its_content(tmp_path: Path) -> None:
    place = skill_folder(tmp_path, "---\nmedia:\n- {type: image, path: g.jpg}\n---\nbody")
    Image.new("RGB", (2, 2), "red").save(place / "g.jpg")

    assert load_skill(place).media[0].mime_type == "image/jpeg"
    (place / "g.jpg").write_bytes(pdf())
    with pytest.raises(SkillParseError, match="PDF"):
        load_skill(place)


@covers("MF087")
def test_the_body_of_a_skill_is_no_template(tmp_path: Path) -> None:
    skill = load_skill(skill_folder(tmp_path, "Ask about {city} and {q}."))

    system, _, _ = Agent("a", "S", model=Replies("x"), skills=[skill]).observe({"q": "Rome"})

    assert system.endswith("Ask about {city} and {q}.")
