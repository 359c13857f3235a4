"""Who makes a picture, and what it costs: choice, entry points, budgets, prices."""

from __future__ import annotations

import asyncio
import textwrap
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentcell.adapters.pricing import forget_price, set_price
from agentcell.budget import Budget, CostQuestion
from agentcell.errors import (
    BudgetExceeded,
    GenerationError,
    NoBackend,
    Stopped,
)
from agentcell.imaging.events import (
    Ended,
    Made,
)
from agentcell.imaging.wish import GenerationWish
from agentcell.session import Session
from drawn import picture
from generating_kit import FOX, KEY, ScriptedBackend, generated, using


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session("local", history=tmp_path)


# -- who makes it ---------------------------------------------------------------------------------


def test_nobody_set_up_says_how_to_set_somebody_up(session: Session) -> None:
    with pytest.raises(NoBackend) as caught:
        session.generator.plan(GenerationWish(prompt="a fox"))

    for way in ("OPENAI_API_KEY", "GEMINI_API_KEY", "AGENTCELL_MEDIA_URL", "procedural"):
        assert way in caught.value.fix
    with pytest.raises(NoBackend) as caught:
        session.generator.plan(GenerationWish(prompt="waves", kind="video"))
    assert "procedural" not in caught.value.fix


@pytest.mark.parametrize(
    ("variables", "kind", "name"),
    [
        ({"OPENAI_API_KEY": KEY}, "image", "openai"),
        ({"GEMINI_API_KEY": KEY}, "image", "gemini"),
        ({"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY}, "image", "openai"),
        ({"OPENAI_API_KEY": KEY, "GOOGLE_API_KEY": KEY}, "video", "gemini"),
        ({"OPENAI_API_KEY": KEY, "AGENTCELL_IMAGE_MODEL": "procedural"}, "image", "procedural"),
    ],
)
def test_whoever_is_set_up_is_asked_where_nobody_is_named(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    kind: Any,
    name: str,
) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)

    assert session.generator.backend_for(GenerationWish(prompt="x", kind=kind)).name == name


@pytest.mark.parametrize(
    ("model", "name", "own"),
    [
        ("openai/gpt-image-2", "openai", "gpt-image-2"),
        ("gpt-image-2", "openai", "gpt-image-2"),
        ("gemini-3-pro-image", "gemini", "gemini-3-pro-image"),
        ("openai", "openai", ""),
        ("hosted/a/b", "hosted", "a/b"),
        ("seedream-4-0-250828", "hosted", "seedream-4-0-250828"),
        ("procedural", "procedural", ""),
    ],
)
def test_a_model_names_its_maker(session: Session, model: str, name: str, own: str) -> None:
    wish = GenerationWish(prompt="x", model=model)
    backend, chosen = session.generator.backends.chosen(wish)

    assert (backend.name, chosen.model) == (name, own)


def test_a_maker_that_is_not_known_is_told_with_those_that_are(session: Session) -> None:
    with pytest.raises(GenerationError, match="'dall-e-3'") as caught:
        session.generator.plan(GenerationWish(prompt="x", model="dall-e-3"))

    assert "openai" in caught.value.fix


def test_another_packages_maker_is_found_by_its_entry_point(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site"
    (package / "painters-1.dist-info").mkdir(parents=True)
    (package / "painters-1.dist-info" / "METADATA").write_text("Name: painters\nVersion: 1\n")
    (package / "painters-1.dist-info" / "entry_points.txt").write_text(
        "[agentcell.image_backends]\nbrush = painters_for_tests:Brush\nrust = nowhere:Rust\n"
    )
    (package / "painters_for_tests.py").write_text(
        textwrap.dedent(
            """
            from agentcell.imaging.backend import ImageBackend
            from agentcell.imaging.events import Ended, Made
            from drawn import picture
            class Brush(ImageBackend):
                is_free = True
                async def run(self, wish, *, key):
                    yield Made(kind="image", data=picture("green"))
                    yield Ended(model=wish.model)
            """
        )
    )
    monkeypatch.syspath_prepend(str(package))

    generation = generated(session, GenerationWish(prompt="a fox", model="brush/thin"))

    assert (generation.backend, generation.model, generation.cost) == ("brush", "thin", Decimal(0))
    with pytest.raises(GenerationError, match="'rust'"):
        session.generator.plan(GenerationWish(prompt="x", model="rust"))


# -- what it costs --------------------------------------------------------------------------------


def test_what_a_job_cost_is_part_of_what_the_session_spent(session: Session) -> None:
    generated(using(session, ScriptedBackend()))
    generated(using(session, ScriptedBackend()))

    assert session.cost.usd == Decimal("0.08")
    assert Session(history=session.history).cost.usd == Decimal("0.08")


def test_a_job_of_unknown_cost_is_counted_as_one(session: Session) -> None:
    generation = generated(
        using(session, ScriptedBackend(Made(kind="image", data=picture()), Ended()))
    )

    assert generation.cost is None
    assert session.cost.unknown == 1


def test_a_job_that_would_pass_the_budget_is_not_sent(session: Session) -> None:
    backend = ScriptedBackend(cost=Decimal(3))
    using(session, backend)
    session.budget = Budget(usd=2)

    with pytest.raises(BudgetExceeded) as caught:
        generated(session)

    assert backend.asked == []
    assert session.generator.jobs() == ()
    assert "%agent budget 3.00 usd" in caught.value.fix
    assert "procedural" in caught.value.fix


def test_a_job_of_unknown_price_needs_a_person_where_there_is_a_budget(session: Session) -> None:
    backend = ScriptedBackend()
    using(session, backend)
    session.budget = Budget(usd=2)

    with pytest.raises(BudgetExceeded, match="not known") as caught:
        generated(session)
    assert 'set_price("scripted", per_image=…)' in caught.value.fix
    with pytest.raises(Stopped):
        generated(session, confirm=lambda _: False)
    assert backend.asked == []

    asked: list[CostQuestion] = []

    def yes(question: CostQuestion) -> bool:
        asked.append(question)
        return True

    generated(session, confirm=yes)

    assert asked[0].why == "unknown"
    assert asked[0].model == "scripted"
    assert len(backend.asked) == 1


def test_a_price_by_the_picture_that_a_person_gave_holds(session: Session) -> None:
    set_price("scripted/x", per_image="0.5")
    try:
        made = [Made(kind="image", data=picture(colour)) for colour in ("red", "blue")]
        using(session, ScriptedBackend(*made, Ended()))
        wish = GenerationWish(prompt="a fox", model="scripted/x", count=2)
        assert session.generator.plan(wish).price == Decimal(1)
        session.budget = Budget(usd=2, ask_above=1)

        assert generated(session, wish).cost == Decimal(1)
        assert session.cost.usd == Decimal(1)
        generated(session, wish)
        with pytest.raises(BudgetExceeded):
            generated(session, wish)
    finally:
        forget_price("scripted/x")


def test_a_price_that_is_asked_about_is_told_as_about_so_much(session: Session) -> None:
    using(session, ScriptedBackend(cost=Decimal("0.5")))
    session.budget = Budget(usd=2, ask_above="0.1")
    asked: list[str] = []

    def no(question: CostQuestion) -> bool:
        asked.append(str(question))
        return False

    with pytest.raises(Stopped):
        generated(session, confirm=no)

    assert asked == ["it costs about $0.50, with $2.00 of $2.00 left"]


def test_two_jobs_at_once_know_of_each_others_price(session: Session) -> None:
    backend = ScriptedBackend(cost=Decimal("1.5"))
    using(session, backend)
    session.budget = Budget(usd=2, ask_above=2)

    async def both() -> Any:
        first = session.generator.stream(FOX)
        await anext(first)  # it is paid for, and not done
        second = session.generator.stream(FOX)
        outcomes = await asyncio.gather(anext(second), return_exceptions=True)
        await first.aclose()
        await second.aclose()
        return outcomes

    (outcome,) = asyncio.run(both())

    assert isinstance(outcome, BudgetExceeded)
