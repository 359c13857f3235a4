"""A warning stands at the line of the person's own code that led to it, not at one of ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentcell import Agent, FieldSpec, RootGraph, SimplePrompt
from agentcell.testing import FakeModel

PNG = b"\x89PNG\r\n\x1a\n"


class _Passes:
    def step(self, given: dict[str, Any]) -> dict[str, Any]:
        return dict(given)


def _graph() -> RootGraph:
    nodes = [("passes", _Passes())]
    edges = [("entry", "passes"), ("passes", "exit")]
    return RootGraph("line", nodes=nodes, edges=edges).build()


def _jpeg_by_name(folder: Path) -> str:
    (folder / "photo.jpg").write_bytes(PNG)
    return str(folder / "photo.jpg")


WARNS: dict[str, Callable[[Path], object]] = {
    "an input that no edge carries": lambda _: _graph().invoke({"message": 1, "more": 2}),
    "a value without a slot": lambda _: SimplePrompt.of(("user", "Hi")).build_messages(more=1),
    "an image of another type": lambda folder: SimplePrompt.of(("user", "Hi")).build_messages(
        images=_jpeg_by_name(folder)
    ),
    "a declaration that is nearly one": lambda _: Agent(
        "a", model=FakeModel(), pull_keys={"photo": "IMGE:A photo"}
    ),
    "an input that is declared": lambda _: Agent(
        "a", model=FakeModel(), prompt_template="{q}", pull_keys={"q": FieldSpec("q")}
    ).observe({}),
}


@pytest.mark.parametrize("case", WARNS)
def test_a_warning_names_the_line_that_led_to_it(case: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        WARNS[case](tmp_path)

    assert [Path(one.filename).name for one in seen] == ["test_warned.py"]
