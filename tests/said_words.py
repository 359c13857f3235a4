"""The magics' source, to every sentence and word that they show."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import agentcell_magics

FOLDER = Path(agentcell_magics.__file__).parent

SHOWS = {"say", "word", "line", "rows", "status"}
NAME_IN_BRACES = re.compile(r"\{[a-z_]+\}")
NO_TEXTS = {"help.py", "options.py", "zh.py", "zh_each.py", "zh_generate.py"}


def said() -> set[str]:
    """Return the templates: what `say` and the cards are given, and what holds names in braces."""
    found: set[str] = set()
    for path in sorted(FOLDER.rglob("*.py")):
        if path.name not in NO_TEXTS and "__pycache__" not in path.parts:
            found.update(_in_file(ast.parse(path.read_text(encoding="utf-8"))))
    return found


def _in_file(tree: ast.Module) -> Iterator[str]:
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside_f = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node and isinstance(part, ast.Constant)
    }
    raised = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            hidden = id(node) in documents | inside_f | raised
            if not hidden and NAME_IN_BRACES.search(node.value):
                yield node.value
        elif isinstance(node, ast.Call) and _name(node) in SHOWS and node.args:
            yield from _constants(node.args[0])
            if _name(node) == "rows" and len(node.args) > 1:
                yield from _constants(node.args[1])


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _constants(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)) if re.search("[A-Za-z]", text):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from _constants(one)
            yield from _constants(other)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _constants(value)
