"""The public names: all there, all documented, all found by tools that only read."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_args, get_origin

import pytest

import agentcell
import agentcell.magics
import agentcell.testing
import agentcell.testing.conformance
import agentcell.widgets
import agentcell_magics
import agentcell_widgets

PUBLIC = (
    agentcell,
    agentcell.magics,
    agentcell.testing,
    agentcell.testing.conformance,
    agentcell.widgets,
    agentcell_magics,
    agentcell_widgets,
)

NAMES = [(module, name) for module in PUBLIC for name in module.__all__]


def defined(module: ModuleType) -> set[str]:
    """The names that a module's own text defines at its top, but for those with an underscore."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    names = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: str(module.__name__))
def test_the_list_of_public_names_is_sorted_and_complete(module: ModuleType) -> None:
    names = module.__all__

    order = sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert names == order  # constants, classes, functions
    assert defined(module) <= set(names)
    assert set(names) <= set(dir(module))


@pytest.mark.parametrize(
    ("module", "name"), NAMES, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_public_name_resolves_and_says_what_it_is(module: ModuleType, name: str) -> None:
    value = getattr(module, name)

    if get_origin(value) is None and not get_args(value):
        documentation = inspect.getdoc(value) or ""
        assert documentation.strip(), f"{name} has no docstring"


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'agentcell' has no attribute 'Agnet'"):
        agentcell.Agnet  # noqa: B018


def test_star_import_gives_exactly_the_public_names() -> None:
    space: dict[str, object] = {}
    exec("from agentcell import *", space)  # noqa: S102

    assert set(space) - {"__builtins__"} == set(agentcell.__all__)


def test_editors_and_mypy_see_every_lazy_name_where_it_is() -> None:
    """What `TYPE_CHECKING` imports is what `__getattr__` finds at run time."""
    tree = ast.parse(Path(agentcell.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: f"{node.module}"
        for branch in tree.body
        if isinstance(branch, ast.If)
        for node in branch.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("agentcell")
        for alias in node.names
    }

    assert set(agentcell.__all__) == {*seen, *defined(agentcell)}
    for name, module in seen.items():
        assert getattr(agentcell, name) is getattr(import_module(module), name)
