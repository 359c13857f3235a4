from __future__ import annotations

import io

from PIL import Image

from agentcell.assets.asset import ImageAsset
from agentcell.prompts.fields import FieldSpec
from agentcell.prompts.session_tags import SessionTags


def picture(color: str = "red") -> ImageAsset:
    file = io.BytesIO()
    Image.new("RGB", (4, 3), color).save(file, "PNG")
    return ImageAsset.from_bytes(file.getvalue())


RECEIPT = FieldSpec("receipt", "Receipt")


def test_the_same_picture_in_the_same_field_keeps_its_tag() -> None:
    tags = SessionTags()

    assert tags.tag(picture(), RECEIPT) == "[receipt_1 Receipt]"
    assert tags.tag(picture("blue"), RECEIPT) == "[receipt_2 Receipt]"
    assert tags.tag(picture(), RECEIPT) == "[receipt_1 Receipt]"


def test_another_label_makes_another_tag_and_the_old_one_comes_back_with_the_old_label() -> None:
    tags = SessionTags()
    given = [
        tags.tag(picture(), FieldSpec("receipt", label)) for label in ("A", "B", "A", "B", "C")
    ]

    assert given == [
        "[receipt_1 A]",
        "[receipt_2 B]",
        "[receipt_1 A]",
        "[receipt_2 B]",
        "[receipt_3 C]",
    ]


def test_a_label_that_must_be_changed_for_a_tag_keeps_its_tag_as_well() -> None:
    tags = SessionTags()
    labels = ["a [b]\n c", "x" * 200, "_7 and _8 ", ""]
    first = [tags.tag(picture(), FieldSpec("ein Bild_3", label)) for label in labels]

    assert [tags.tag(picture(), FieldSpec("ein Bild_3", label)) for label in labels] == first
    assert first[0] == "[ein_Bild_3_1 a (b) c]"


def test_numbers_in_the_text_are_not_given_again() -> None:
    tags = SessionTags()
    tags.see("as in [receipt_4 Old]")

    assert tags.tag(picture(), RECEIPT) == "[receipt_5 Receipt]"
