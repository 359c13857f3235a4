"""Templates of nodes: what the nodes of one share, and what each has of its own."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from agentcell import (
    Agent,
    Factory,
    HistoryMemory,
    LocalModel,
    NodeTemplate,
    Shared,
    load_skill,
    tool,
)
from agentcell.agents.graph import (
    template_defaults,
    template_defaults_for,
    template_overrides,
    template_overrides_for,
)
from agentcell.testing.fake_model import FakeModel


class Part:
    """Keeps what it was made with."""

    def __init__(self, name: str, **options: Any) -> None:
        self.name = name
        self.options = options

    def step(self, given: Any) -> Any:
        return given


class Special(Part):
    """A class made from another."""


def test_a_template_shares_the_model_and_copies_memory_and_settings() -> None:
    model, memory = FakeModel(), HistoryMemory()
    settings = {"temperature": 0.5, "stop": ["x"]}
    base = NodeTemplate(Agent, model=model, memories=[memory], model_settings=settings)

    first, second = base.make("a"), base.make("b")

    assert (first.name, second.name) == ("a", "b")
    assert first.model is second.model is model
    assert len({id(first.history), id(second.history), id(memory)}) == 3
    assert first.model_settings == second.model_settings == settings
    assert first.model_settings["stop"] is not second.model_settings["stop"]


@pytest.mark.parametrize(
    "value", [1, 2.5, "text", b"bytes", None, True, int, len, FakeModel, threading.Lock]
)
def test_scalars_classes_and_functions_are_shared(value: Any) -> None:
    assert NodeTemplate(Part, x=value).make("a").options["x"] is value


@pytest.mark.parametrize("value", [[1, [2]], {"a": {"b": 1}}, ([1],), {1, 2}, bytearray(b"x")])
def test_collections_are_copied_to_their_depth(value: Any) -> None:
    made = NodeTemplate(Part, x=value).make("a").options["x"]

    assert made == value
    assert made is not value
    if isinstance(value, (list, dict)):
        inner, own = (
            [v[1] for v in (value, made)]
            if isinstance(value, list)
            else [v["a"] for v in (value, made)]
        )
        assert inner is not own


def test_shared_and_factory_stand_at_any_depth() -> None:
    one, count = [1], iter(range(10))
    base = NodeTemplate(Part, x={"shared": Shared(one), "made": [Factory(lambda: next(count))]})

    first, second = base.make("a").options["x"], base.make("b").options["x"]

    assert first["shared"] is second["shared"] is one
    assert (first["made"], second["made"]) == ([0], [1])


def test_what_cannot_be_copied_says_what_to_do_and_works_when_shared() -> None:
    lock = threading.Lock()

    with pytest.raises(TypeError, match=r"'x' holds lock.*Shared\(value\).*Factory"):
        NodeTemplate(Part, x=lock).make("a")

    assert NodeTemplate(Part, x=Shared(lock)).make("a").options["x"] is lock


def test_a_model_inside_a_list_is_shared_too() -> None:
    model = LocalModel()

    assert NodeTemplate(Part, x=[model]).make("a").options["x"][0] is model


def test_a_skill_is_shared(tmp_path: Any) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: s\n---\nBe brief.", encoding="utf-8")
    skill = load_skill(tmp_path)

    assert NodeTemplate(Part, x=skill).make("a").options["x"] is skill


def test_a_tool_is_shared_with_the_hidden_values_it_holds() -> None:
    @tool(hidden={"lock": threading.Lock()})
    def locked(lock: Any) -> bool:
        return bool(lock.locked())

    made = NodeTemplate(Agent, model=FakeModel(), tools=[locked]).make("a")

    assert made.tools["locked"] is locked


def test_calling_a_template_derives_one_and_leaves_it_as_it_was() -> None:
    base = NodeTemplate(Part, x=1)
    derived = base(y=2)

    assert base() is base
    assert derived.options == {"x": 1, "y": 2}
    assert base.options == {"x": 1}
    assert base(x=3).make("a").options == {"x": 3}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: NodeTemplate(Part, 1),
        lambda: NodeTemplate(Part, name="a"),
        lambda: NodeTemplate(Part)(1),
        lambda: NodeTemplate(Part)(name="a"),
        lambda: NodeTemplate(Part("a")),  # type: ignore[arg-type]
        lambda: Factory(3),  # type: ignore[arg-type]
    ],
)
def test_names_positions_and_wrong_kinds_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"."):
        wrong()


def test_an_option_that_the_class_does_not_know_is_told() -> None:
    with pytest.raises(TypeError, match="instrutions"):
        NodeTemplate(Agent, instrutions="x", model=FakeModel()).make("a")


def test_blocks_give_options_and_an_inner_one_wins() -> None:
    base = NodeTemplate(Part, x=1)

    with template_defaults(x=0, y=0), template_defaults(y=5):
        assert base.make("a").options == {"x": 1, "y": 5}
    with template_overrides(x=7), template_overrides(x=8):
        assert base.make("a").options == {"x": 8}
    assert base.make("a").options == {"x": 1}


def test_blocks_for_a_class_leave_others_alone() -> None:
    plain, special = NodeTemplate(Part, x=1), NodeTemplate(Special, x=1)

    with template_defaults_for(Special, y=2), template_overrides_for(Special, x=3):
        assert plain.make("a").options == {"x": 1}
        assert special.make("a").options == {"x": 3, "y": 2}
    with template_overrides_for(Part, x=4):
        assert special.make("a").options == {"x": 4}
