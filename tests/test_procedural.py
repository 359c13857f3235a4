"""Pictures drawn by rule: always the same, honest about it, within limits."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from agentcell.assets.asset import ImageAsset
from agentcell.errors import AttachmentError, GenerationError
from agentcell.imaging.backends.procedural import ProceduralBackend
from agentcell.imaging.events import Ended, Made, Progressed
from agentcell.imaging.wish import GenerationWish
from drawn import mask, picture

BACKEND = ProceduralBackend()


def drawn(**wish: Any) -> list[Made]:
    wanted = GenerationWish(**{"prompt": "a red fox", "size": "160x120", **wish})
    BACKEND.check(wanted)

    async def all_of_it() -> list[Made]:
        events = [event async for event in BACKEND.run(wanted, key="")]
        assert isinstance(events[-1], Ended)
        assert any(isinstance(event, Progressed) for event in events)
        return [event for event in events if isinstance(event, Made)]

    return asyncio.run(all_of_it())


def pixels(made: Made) -> Image.Image:
    assert made.data is not None
    with Image.open(io.BytesIO(made.data)) as opened:
        return opened.convert("RGB")


def differs(one: Image.Image, other: Image.Image) -> tuple[int, int, int, int] | None:
    return ImageChops.difference(one, other).getbbox()


def test_the_same_prompt_seed_and_size_give_the_same_bytes() -> None:
    assert drawn(seed=3)[0].data == drawn(seed=3)[0].data


@pytest.mark.parametrize("other", [{"seed": 4}, {"prompt": "a blue fox"}, {"size": "120x160"}])
def test_another_prompt_seed_or_size_gives_another_picture(other: dict[str, Any]) -> None:
    assert drawn(seed=3)[0].data != drawn(**{"seed": 3, **other})[0].data


def test_without_a_seed_it_follows_from_the_prompt_and_is_told() -> None:
    first, second = drawn()[0], drawn()[0]

    assert first.data == second.data
    assert first.seed == second.seed
    assert first.data == drawn(seed=first.seed)[0].data


def test_several_pictures_differ_and_have_seeds_one_after_the_other() -> None:
    made = drawn(seed=3, count=3)

    assert [one.seed for one in made] == [3, 4, 5]
    assert len({one.data for one in made}) == 3


@pytest.mark.parametrize("size", ["64x64", "333x97", "1024x64"])
def test_a_picture_has_the_size_that_was_asked_for(size: str) -> None:
    assert "x".join(map(str, pixels(drawn(size=size)[0]).size)) == size


def test_each_picture_says_at_its_edge_that_no_model_drew_it() -> None:
    bottom = pixels(drawn(size="640x400")[0]).crop((0, 386, 300, 400))

    dark = sum(bottom.convert("L").histogram()[:90])
    light = sum(bottom.convert("L").histogram()[200:])
    assert dark > light > 100, "white letters on a dark strip"


def test_unwanted_words_get_no_shape() -> None:
    assert drawn(negative="fox")[0].data != drawn()[0].data


def test_only_what_the_mask_lets_change_is_painted_over() -> None:
    base = picture((10, 200, 30), (200, 160))
    reference, hole = ImageAsset.from_bytes(base), ImageAsset.from_bytes(mask((200, 160)))
    edited = pixels(drawn(references=(reference,), mask=hole, size="")[0])

    with Image.open(io.BytesIO(base)) as opened:
        before = opened.convert("RGB")
    strip = 20
    changed = differs(edited.crop((0, 0, 200, 160 - strip)), before.crop((0, 0, 200, 160 - strip)))
    assert changed is not None
    assert changed[2] <= 100, "nothing right of the mask's edge"


@pytest.mark.parametrize(
    ("hole", "said"),
    [
        (mask((100, 160)), "The mask has 100x160 pixels, and the picture to edit 200x160"),
        (picture("red", (200, 160)), "The mask has no transparent part"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_before_anything_is_drawn(
    hole: bytes, said: str
) -> None:
    base = ImageAsset.from_bytes(picture("blue", (200, 160)))

    with pytest.raises(GenerationError, match=said):
        drawn(references=(base,), mask=ImageAsset.from_bytes(hole), size="")


def test_without_a_mask_the_reference_shines_through_all_over() -> None:
    reference = ImageAsset.from_bytes(picture((0, 255, 0), (200, 160)))
    edited = pixels(drawn(references=(reference,), size="")[0])
    plain = pixels(drawn(size="200x160")[0])

    assert edited.size == (200, 160)
    above = (0, 0, 200, 140)
    green = edited.crop(above).resize((1, 1)).getpixel((0, 0))
    before = plain.crop(above).resize((1, 1)).getpixel((0, 0))
    assert isinstance(green, tuple)
    assert isinstance(before, tuple)
    assert green[1] > before[1]


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"size": "63x100"}, "64 to 4096 pixels"),
        ({"size": "100x4097"}, "64 to 4096 pixels"),
        ({"kind": "video", "size": ""}, "makes no videos"),
        ({"model": "gpt"}, "has no model 'gpt'"),
    ],
)
def test_what_it_cannot_draw_is_refused(wish: dict[str, Any], said: str) -> None:
    with pytest.raises(GenerationError, match=said):
        drawn(**wish)


def test_a_reference_that_is_elsewhere_is_refused() -> None:
    with pytest.raises(AttachmentError):
        drawn(references=(ImageAsset.from_url("https://example.org/a.png"),))


def test_a_reference_that_nothing_here_draws_is_an_error_that_says_so() -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'
    with pytest.raises(AttachmentError, match="cannot be drawn here"):
        drawn(references=(ImageAsset.from_bytes(drawing),))


def test_it_costs_nothing_and_is_nobodys_default() -> None:
    assert BACKEND.price(GenerationWish(prompt="x")) == 0
    assert not BACKEND.is_at_hand()


@settings(max_examples=25, deadline=None)
@given(
    st.text(st.characters(exclude_characters="\0"), min_size=1).filter(str.strip),
    st.integers(-(2**63), 2**63 - 1),
)
def test_any_text_and_any_seed_can_be_drawn(prompt: str, seed: int) -> None:
    assert pixels(drawn(prompt=prompt, seed=seed, size="64x64")[0]).size == (64, 64)
