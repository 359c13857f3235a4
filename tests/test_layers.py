"""Code may import only from its own layer and those before it in this list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FOLDERS = {"agentcell": "src", "agentcell_widgets": "widgets", "agentcell_magics": "magics"}

LAYERS = [
    "agentcell.errors",
    "agentcell.wording",
    "agentcell.interrupting",
    "agentcell.warned",
    "agentcell.modality",
    "agentcell.loop",
    "agentcell.markdown_code",
    "agentcell.markdown_maths",
    "agentcell.safe_text",
    "agentcell.card",
    "agentcell.assets",
    "agentcell.messages",
    "agentcell.strict_json",
    "agentcell.openai_shape",
    "agentcell.prompts",
    "agentcell.keys",
    "agentcell.adapters",
    "agentcell.scan",
    "agentcell.history",
    "agentcell.answer",
    "agentcell.amounts",
    "agentcell.budget",
    "agentcell.batch",
    "agentcell.agents",
    "agentcell.imaging",
    "agentcell.metering",
    "agentcell.runner",
    "agentcell.request",
    "agentcell.asking",
    "agentcell.dry_attachment",
    "agentcell.dry_run",
    "agentcell.session",
    "agentcell.testing",
    "agentcell.checking",
    "agentcell.pytest_plugin",
    "agentcell.__main__",
    "agentcell_widgets",
    "agentcell_magics",
]

DOORS = {
    "agentcell": "",
    "agentcell.magics": "agentcell_magics",
    "agentcell.widgets": "agentcell_widgets",
}
"""Names for users only: no module of ours imports them, and each leads to one place."""

HEAVY = {
    *("IPython", "ipykernel", "ipywidgets", "anywidget", "traitlets"),
    *("openai", "anthropic", "google", "httpx2", "httpx"),
    *("PIL", "pypdfium2", "numpy", "pandas", "matplotlib", "pydantic", "markdown_it", "nh3"),
    *("faster_paddle", "rapidocr", "xllamacpp"),
    *("tqdm", "cloudpickle", "ipyparallel", "dask", "distributed"),
}
"""What `src/agentcell` may import only inside a function: none of it is loaded by %load_ext."""


def modules() -> dict[str, Path]:
    """Every module of the three packages, by the name it is imported by."""
    found = {}
    for package, folder in FOLDERS.items():
        for file in sorted((ROOT / folder / package).rglob("*.py")):
            parts = file.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


MODULES = modules()


def inside(name: str, place: str) -> bool:
    return f"{name}.".startswith(f"{place}.")


def layer_of(module: str) -> str | None:
    return next((layer for layer in LAYERS if inside(module, layer)), None)


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that the code imports, inside functions too; a name that is one as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import hides where it leads"
            base = node.module or ""
            deeper = [f"{base}.{alias.name}" for alias in node.names]
            found = [name for name in deeper if name in MODULES]
            yield from found or [base]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs when the module is imported."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            for part in ("body", "orelse", "handlers", "finalbody"):
                for child in getattr(node, part, []):
                    yield from at_import([child] if isinstance(child, ast.stmt) else child.body)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def parse(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def test_every_module_has_its_layer() -> None:
    assert [m for m in MODULES if layer_of(m) is None and m not in DOORS] == []


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    ours = [name for name in imports(parse(module)) if name.split(".")[0] in FOLDERS]
    if module in DOORS:
        wrong = [name for name in ours if DOORS[module] and not inside(name, DOORS[module])]
    else:
        layer = layer_of(module)
        allowed = LAYERS[: LAYERS.index(layer) + 1] if layer else []
        wrong = [name for name in ours if name in DOORS or layer_of(name) not in allowed]

    assert wrong == [], f"{module} may not import {wrong}"


@pytest.mark.parametrize(
    "module", [m for m in MODULES if m.startswith("agentcell.") or m == "agentcell"]
)
def test_nothing_heavy_is_imported_with_the_library(module: str) -> None:
    if module == "agentcell.widgets":
        return  # this door is opened only by who wants a widget
    heavy = [name for name in loads(module) if name.split(".")[0] in HEAVY]

    assert heavy == [], f"{module} must import {heavy} inside the function that needs it"


def loads(module: str) -> Iterator[str]:
    """Every module that is imported when `module` is."""
    statements = at_import(parse(module).body)
    return imports(ast.Module(body=list(statements), type_ignores=[]))


def test_there_are_no_import_cycles() -> None:
    within = {
        module: {name for name in loads(module) if name in MODULES and name not in DOORS}
        for module in MODULES
        if module not in DOORS
    }
    done: set[str] = set()
    path: list[str] = []

    def visit(module: str) -> None:
        assert module not in path, f"cycle: {' -> '.join([*path[path.index(module) :], module])}"
        if module in done:
            return
        path.append(module)
        for name in sorted(within[module] - {module}):
            visit(name)
        path.pop()
        done.add(module)

    for module in within:
        visit(module)
