"""The tool `image_generation`: what a model may ask for, and what it is told of the files."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentcell.assets.asset import ImageAsset
from agentcell.budget import Budget
from agentcell.errors import (
    AgentcellError,
    AttachmentError,
    BudgetExceeded,
    GenerationError,
    NoBackend,
    ToolError,
)
from agentcell.imaging.backend import ImageBackend
from agentcell.imaging.contract import ImageToolConfig, image_specs
from agentcell.imaging.events import Ended, Made
from agentcell.imaging.executor import image_generation_tool
from agentcell.imaging.wish import GenerationWish
from agentcell.session import Session
from drawn import picture

OPEN = ImageToolConfig(image_generation_enabled=True)


class Painter(ImageBackend):
    """Paints red, for 4 cents."""

    name = "painter"

    def __init__(self) -> None:
        self.asked: list[GenerationWish] = []

    def is_at_hand(self) -> bool:
        return True

    async def run(self, wish: GenerationWish, *, key: str) -> Any:
        del key
        self.asked.append(wish)
        yield Made(kind="image", data=picture())
        yield Ended(model="brush", cost=Decimal("0.04"))


@pytest.fixture
def painter() -> Painter:
    return Painter()


@pytest.fixture
def session(tmp_path: Path, painter: Painter) -> Session:
    session = Session("local", history=tmp_path)
    session.generator.backends.add(painter)
    session.image_tools = OPEN
    return session


def call(session: Session, **arguments: Any) -> str:
    tool = image_generation_tool(session)
    return str(asyncio.run(tool.function(**arguments)))


def test_the_model_is_told_the_contract_s_own_schema(session: Session) -> None:
    tool = image_generation_tool(session)
    (spec,) = image_specs(OPEN)

    assert tool.schema() == {
        "name": "image_generation",
        "description": spec.description,
        "parameters": dict(spec.parameters),
    }
    assert tool.needs_approval


def test_a_picture_is_stored_and_its_path_is_told_from_the_workspace_on(
    session: Session, tmp_path: Path
) -> None:
    said = call(session, prompt="a fox")

    first, *_ = said.splitlines()
    place = first.removeprefix("saved: ").partition(" ")[0]
    assert place.startswith("generated-media/job-")
    assert ImageAsset.from_path(tmp_path / place).width == 40
    assert "painter/brush; cost: $0.04" in said
    assert str(tmp_path) not in said


def test_an_output_path_and_a_format_are_followed(session: Session, tmp_path: Path) -> None:
    said = call(session, prompt="a fox", output_path="art/fox.webp", output_format="webp")

    assert "saved: art/fox.webp (image/webp, 40x30 pixels)" in said
    assert ImageAsset.from_path(tmp_path / "art" / "fox.webp").mime_type == "image/webp"


def test_the_configured_format_holds_where_a_call_says_nothing(session: Session) -> None:
    session.image_tools = ImageToolConfig(
        image_generation_enabled=True,
        image_generation_output_format="jpeg",  # type: ignore[arg-type]
    )

    assert "(image/jpeg, " in call(session, prompt="a fox")


def test_a_picture_in_the_workspace_may_be_edited(
    session: Session, painter: Painter, tmp_path: Path
) -> None:
    (tmp_path / "cat.png").write_bytes(picture("blue"))

    call(session, prompt="a hat", input_image_path="cat.png", size="1024x1024")

    (wish,) = painter.asked
    assert [one.load_bytes() for one in wish.references] == [picture("blue")]
    assert wish.size == "1024x1024"


@pytest.mark.parametrize("path", ["/etc/passwd", "../cat.png", "..%2fcat.png", "missing.png"])
def test_a_picture_that_may_not_be_seen_is_not_edited_and_nothing_is_sent(
    session: Session, painter: Painter, path: str
) -> None:
    with pytest.raises(AttachmentError):
        call(session, prompt="a hat", input_image_path=path)

    assert painter.asked == []


@pytest.mark.parametrize("path", ["/opt/fox.png", "../fox.png", ".ssh/fox.png", "fox.txt\0.png"])
def test_nothing_is_written_outside_and_nothing_is_paid_for_it(
    session: Session, painter: Painter, path: str
) -> None:
    with pytest.raises(AgentcellError):
        call(session, prompt="a fox", output_path=path)

    assert painter.asked == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"prompt": "   "},
        {"prompt": "a fox", "size": "huge"},
        {"prompt": "a fox", "output_format": "gif"},
        {"prompt": "a fox", "output_path": "fox.jpg"},
    ],
)
def test_arguments_that_mean_nothing_are_refused(
    session: Session, painter: Painter, arguments: dict[str, str]
) -> None:
    with pytest.raises(GenerationError):
        call(session, **arguments)

    assert painter.asked == []


def test_a_closed_gate_says_how_it_is_opened(session: Session) -> None:
    tool = image_generation_tool(session)
    session.image_tools = ImageToolConfig()

    with pytest.raises(ToolError, match="closed"):
        image_generation_tool(session)
    with pytest.raises(ToolError, match="closed"):  # one that was offered while it was open
        asyncio.run(tool.function(prompt="a fox"))


def test_without_anybody_who_paints_the_tool_is_not_offered(tmp_path: Path) -> None:
    session = Session("local", history=tmp_path)

    with pytest.raises(NoBackend):
        image_generation_tool(session, OPEN)


def test_what_costs_nothing_needs_no_approval(session: Session) -> None:
    session.generator.model["image"] = "procedural"

    assert not image_generation_tool(session).needs_approval
    assert "procedural/rules; cost: $0.00" in call(session, prompt="a fox", size="64x64")


def test_the_budget_holds_for_a_model_too(session: Session, painter: Painter) -> None:
    session.budget = Budget(usd=1)

    with pytest.raises(BudgetExceeded):
        call(session, prompt="a fox")

    assert painter.asked == []
