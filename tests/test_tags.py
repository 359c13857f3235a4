"""Tags: the names of attachments."""

from __future__ import annotations

import threading

import pytest

from agent_kit import blue, page, png, red
from agentcell.assets.asset import ImageAsset, PdfAsset
from agentcell.messages import MediaMessageBlock
from agentcell.prompts.tags import (
    MAX_COUNTED,
    TagRegistry,
    announced_tag,
    announcement,
    find_tags,
    is_announcement,
    same_as,
)


@pytest.mark.parametrize(
    ("field", "description", "tag"),
    [
        ("receipt_image", "票据图片", "[receipt_image_1 票据图片]"),
        ("票据", "票据图片", "[attachment_1 票据图片]"),
        ("a.b-c", "d", "[a_b_c_1 d]"),
        ("  _x_ ", "d", "[x_1 d]"),
        ("票据image", "d", "[image_1 d]"),
        ("x", "", "[x_1 x]"),
        ("x", "a [b]\n c", "[x_1 a (b) c]"),
        ("x", " \t\n ", "[x_1 x]"),
        ("", "", "[attachment_1 image.png]"),
        ("x", "d" * 100, f"[x_1 {'d' * 80}]"),
        ("x", "🧾 bon", "[x_1 🧾 bon]"),
        ("x", "a\u202eb\x00c\u2028d", "[x_1 abc d]"),
        ("x", "\ud800", "[x_1 x]"),
    ],
)
def test_a_tag_is_made_of_field_number_and_label(field: str, description: str, tag: str) -> None:
    assert TagRegistry().reserve(red(), field, description) == (tag, True)


def test_an_unnamed_field_takes_the_label_from_the_file() -> None:
    asset = PdfAsset.from_bytes(page().load_bytes(), filename="政策[1].pdf")

    assert TagRegistry().reserve(asset, "", "")[0] == "[attachment_1 政策(1).pdf]"


def test_one_content_has_one_tag_wherever_it_comes_from() -> None:
    tags = TagRegistry()
    named = ImageAsset.from_bytes(png(255, 0, 0), filename="other.png")

    first = tags.reserve(red(), "a", "d")

    assert tags.reserve(named, "b", "e") == (first[0], False)
    assert tags.reserve(red(), "a", "d", fresh=True) == ("[a_2 d]", True)
    assert tags.tag_of(red()) == "[a_1 d]"
    assert tags.tag_of(blue()) is None


def test_fields_with_the_same_prefix_count_together() -> None:
    tags = TagRegistry()

    assert tags.reserve(red(), "票据", "甲")[0] == "[attachment_1 甲]"
    assert tags.reserve(blue(), "发票", "乙")[0] == "[attachment_2 乙]"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("[x_41 y]", 42),
        ("a [x_2 y] b [x_7 z] c [x_3 q]", 8),
        ("[x_7]", 1),
        ("[x_7\ny]", 1),
        ("x_7 y", 1),
        ("[xx_7 y]", 1),
        ("[X_7 y]", 1),
        ("[x_007 y]", 8),
        ("[[x_7 y", 8),
        ("[x_" + "9" * 5_000 + " y]", 1),
        (f"[x_{MAX_COUNTED} y]", MAX_COUNTED + 1),
        (f"[x_{MAX_COUNTED} y] [x_{MAX_COUNTED + 1} y]", MAX_COUNTED + 2),
        ("[x_999999999 y]", 1),
        ("[x_７ y]", 1),
    ],
)
def test_numbers_in_use_are_passed_and_stay_bounded(text: str, number: int) -> None:
    assert TagRegistry([text]).reserve(red(), "x", "d")[0] == f"[x_{number} d]"


def test_a_tag_from_history_is_taken_as_it_stands_the_last_one_counting() -> None:
    tags = TagRegistry()

    tags.adopt("[x_3 d]", red())
    tags.adopt("<picture of mine>", blue())
    tags.adopt("[x_5 d]", red())

    assert tags.reserve(red(), "x", "d") == ("[x_5 d]", False)
    assert tags.reserve(blue(), "x", "d") == ("<picture of mine>", False)
    assert tags.reserve(page(), "x", "d") == ("[x_6 d]", True)


def test_threads_never_get_one_name_for_two_attachments() -> None:
    tags = TagRegistry()
    got: list[str] = []

    def work(start: int) -> None:
        for at in range(50):
            asset = ImageAsset.from_url(f"https://example.org/{start}/{at}.png")
            got.append(tags.reserve(asset, "x", "d")[0])

    threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(got)) == len(got) == 400


@pytest.mark.parametrize("asset", [red(), page()])
def test_an_announcement_names_tag_and_kind_and_is_known_again(asset: ImageAsset) -> None:
    block = MediaMessageBlock(asset, "x", "[x_1 a, b: c]")
    line = announcement(block)

    assert block.tag in line
    assert ("image" in line) == isinstance(asset, ImageAsset)
    for one in (line, announcement(block, before="[x_9 d]"), same_as(line)):
        assert is_announcement(one)
        assert announced_tag(one) == block.tag
    assert not is_announcement(f"He said: {line}")
    assert not is_announcement(f"{line}\nmore")
    assert not is_announcement(f"What is on {block.tag}?")


def test_tags_are_found_in_a_text() -> None:
    text = (
        "On [receipt_image_1 票据 图片] and [x_12 d]; not [1], [a](b), [x_1], a[x_1 ], [note 1 x]."
    )

    found = find_tags(text)

    assert [tag for _, _, tag in found] == ["[receipt_image_1 票据 图片]", "[x_12 d]"]
    assert all(text[start:end] == tag for start, end, tag in found)
    assert find_tags("[" * 50_000 + "a_1 b") == []
