"""The public names: all there, all documented, all found by tools that only read."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import get_args, get_origin

import pytest

import agentcell
import agentcell.magics
import agentcell.widgets
import agentcell_magics
import agentcell_widgets

PUBLIC = (agentcell, agentcell.magics, agentcell.widgets, agentcell_magics, agentcell_widgets)

NAMES = [(module, name) for module in PUBLIC for name in module.__all__]


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_the_list_is_sorted_and_complete(module: object) -> None:
    names = list(module.__all__)  # type: ignore[attr-defined]
    shown = [name for name in dir(module) if not name.startswith("_")]
    own = [name for name in shown if not inspect.ismodule(getattr(module, name))]

    assert len(set(names)) == len(names)
    # The submodules that are loaded, and what an __init__ imports for itself, are no export.
    assert set(names) <= set(dir(module))
    assert sorted(set(own) - set(names) - {"annotations", "TYPE_CHECKING", "Any"}) == []


@pytest.mark.parametrize(
    ("module", "name"), NAMES, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_public_name_resolves_and_says_what_it_is(module: object, name: str) -> None:
    value = getattr(module, name)

    if get_origin(value) is None and not get_args(value):
        documentation = inspect.getdoc(value) or ""
        assert documentation.strip(), f"{name} has no docstring"
        assert "\n" not in documentation.split("\n\n", maxsplit=1)[0].strip() or documentation


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'agentcell' has no attribute 'Agnet'"):
        agentcell.Agnet  # noqa: B018


def test_star_import_gives_exactly_the_public_names() -> None:
    space: dict[str, object] = {}
    exec("from agentcell import *", space)  # noqa: S102

    assert set(space) - {"__builtins__"} == set(agentcell.__all__)


def test_editors_see_every_lazy_name() -> None:
    tree = ast.parse(Path(agentcell.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    } | {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}

    assert sorted(set(agentcell.__all__) - seen) == []
