"""Models of other packages: one that works from a cell, and broken ones that hurt nobody else.

The packages are real: wheels, built here, unpacked on the path of a new process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

SKELETON = """
from agentcell import Model, ModelResponseType

class MyModel(Model):
    def __init__(self, model_name, api_key, base_url=None):
        super().__init__(model_name=model_name, invoke_settings=None)
        self.key = api_key

    def invoke(self, messages, tools, settings=None, **kwargs):
        said = messages[-1]["content"]
        text = f"{self.model_name} heard {said if isinstance(said, str) else said[0].text}"
        return {"type": ModelResponseType.CONTENT, "content": text}
"""


def install(folder: Path, package: str, points: str, module: str = SKELETON) -> None:
    """Build a wheel of a package with one module and one list of entry points; unpack it."""
    name = package.replace("-", "_")
    info = f"{name}-1.0.dist-info"
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}.py", module)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr(f"{info}/entry_points.txt", points)
        archive.writestr(f"{info}/RECORD", "")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    wheel.unlink()


def run(folder: Path, code: str, **environment: str) -> str:
    """Return what a new Python with those packages prints."""
    path = os.pathsep.join([str(folder / "site"), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FAILED = """
import json
from agentcell.adapters import registry
from agentcell.errors import ModelError
found = {}
for name in %s:
    try:
        found[name] = [registry.resolve(name).name]
    except ModelError as error:
        found[name] = [type(error).__name__, *str(error).splitlines(), error.provider]
registry.models()
print(json.dumps(found))
"""


def resolved(folder: Path, *names: str, **environment: str) -> dict[str, Any]:
    """Return the name of each model, or its error's class, lines and provider."""
    found: dict[str, Any] = json.loads(run(folder, FAILED % list(names), **environment))
    return found


@pytest.mark.parametrize("line", ["-m mine/small", "mine/small"])
def test_a_cell_asks_a_model_of_another_package(tmp_path: Path, line: str) -> None:
    install(tmp_path, "mine-models", "[agentcell.adapters]\nmine = mine_models:MyModel\n")
    code = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "agentcell")
shell.run_cell("%%agent LINE\\nIs anybody there?")
from agentcell_magics import current_session
print([turn.model for turn in current_session().turns])
shell.history_manager.end_session()
"""

    shown = run(tmp_path, code.replace("LINE", line))

    assert "small heard Is anybody there?" in shown
    assert "['mine/small']" in shown


def test_the_package_is_imported_only_for_a_model_of_its_own(tmp_path: Path) -> None:
    install(tmp_path, "mine-models", "[agentcell.adapters]\nmine = mine_models:MyModel\n")
    code = """
import sys
from agentcell.adapters import registry
print(next(info.source for info in registry.providers() if info.name == "mine"))
registry.models(); registry.resolve("local")
print("mine_models" in sys.modules, registry.resolve("mine:small").name)
"""

    assert run(tmp_path, code).split() == ["mine-models", "False", "mine/small"]


def test_a_key_that_it_must_have_comes_from_its_variable(tmp_path: Path) -> None:
    install(tmp_path, "mine-models", "[agentcell.adapters]\nmy-own = mine_models:MyModel\n")
    code = """
from agentcell.adapters import registry
print(registry.resolve("my-own/x").key, registry.resolve("my-own/x", api_key="given").key)
"""

    assert run(tmp_path, code, MY_OWN_API_KEY="sk-own").split() == ["sk-own", "given"]
    assert run(tmp_path, code).split() == ["None", "given"]


BROKEN = {
    "absent": ("no_such_module:MyModel", SKELETON, "ModuleNotFoundError: No module named"),
    "unimportable": ("{}:MyModel", "import no_such_library", "No module named 'no_such_library'"),
    "unreadable": ("{}:MyModel", "def (", "SyntaxError"),
    "leaving": ("{}:MyModel", "raise SystemExit(3)", "SystemExit: 3"),
    "misspelt": ("{}:MyModle", SKELETON, "AttributeError: module"),
    "nameless": ("{}", SKELETON, "'module:Class' was expected"),
    "garbage": ("a b:c d", SKELETON, "'module:Class' was expected"),
    "a-value": ("{}:MyModel", "MyModel = 5", "is a int, no class"),
    "no-model": ("{}:MyModel", "class MyModel:\n def __init__(self, name): ...", "made a MyModel"),
    "demanding": (
        "{}:MyModel",
        SKELETON.replace("base_url=None", "base_url"),
        "missing a required argument: 'base_url'",
    ),
    "failing": (
        "{}:MyModel",
        SKELETON.replace("self.key = api_key", "raise KeyError('MINE sk-abcdefghijklmnop123')"),
        "KeyError",
    ),
}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every broken package, and one that is well."""
    folder = tmp_path_factory.mktemp("crowd")
    for name, (value, module, _) in BROKEN.items():
        package = f"{name}-models"
        points = f"[agentcell.adapters]\n{name} = {value.format(package.replace('-', '_'))}\n"
        install(folder, package, points, module)
    install(folder, "mine-models", "[agentcell.adapters]\nmine = mine_models:MyModel\n")
    return folder


def test_a_broken_entry_point_is_a_short_error_that_names_its_package(crowd: Path) -> None:
    found = resolved(crowd, "mine/small", "openai/gpt-4.1", *(f"{name}/x" for name in BROKEN))

    assert found["mine/small"] == ["mine/small"]
    assert found["openai/gpt-4.1"] == ["openai/gpt-4.1"]
    for name, (_, _, words) in BROKEN.items():
        kind, *lines, provider = found[f"{name}/x"]
        text = "\n".join(lines)
        assert (kind, provider) == ("ModelError", name)
        assert f"{name}-models" in text
        assert words in text, text
        assert "Fix: " in text
        assert len(lines) <= 3
        assert "sk-abc" not in text


def test_in_a_cell_a_broken_one_is_a_few_lines_and_the_next_cell_is_well(crowd: Path) -> None:
    code = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "agentcell")
print("first", shell.run_cell("%%agent unimportable/x\\nHi").success)
print("second", shell.run_cell("%%agent mine/small\\nHi").success)
shell.history_manager.end_session()
"""
    shown = run(crowd, code)

    first = shown.partition("first False")[0]
    assert "ModelError: The provider 'unimportable' of the package unimportable-models" in first
    assert "Traceback" not in first
    assert len(first.splitlines()) <= 15
    assert "second True" in shown


def test_a_name_that_nobody_can_write_is_told_with_its_package(tmp_path: Path) -> None:
    points = "[agentcell.adapters]\nmy models = mine_models:MyModel\nmine = mine_models:MyModel\n"
    install(tmp_path, "mine-models", points)

    found = resolved(tmp_path, "my models/x", "mine/x")

    assert found["mine/x"] == ["mine/x"]
    assert found["my models/x"][0] == "UnknownModel"
    assert "the package mine-models calls a provider 'my models'" in "".join(found["my models/x"])


def test_nobody_takes_the_name_of_a_built_in_provider(tmp_path: Path) -> None:
    install(tmp_path, "mine-models", "[agentcell.adapters]\nOpenAI = mine_models:MyModel\n")

    code = "from agentcell.adapters import registry; print(type(registry.resolve('openai/x')))"
    assert "OpenAIModel" in run(tmp_path, code)


@pytest.mark.parametrize("points", ["[agentcell.adapters]\nno equals sign\n", "[[[\n=\n", "\x00"])
def test_a_list_that_cannot_be_read_hides_no_other(tmp_path: Path, points: str) -> None:
    install(tmp_path, "aaa-models", points)
    install(tmp_path, "mine-models", "[agentcell.adapters]\nmine = mine_models:MyModel\n")

    assert resolved(tmp_path, "mine/small") == {"mine/small": ["mine/small"]}


def test_a_package_without_a_name_is_no_obstacle(tmp_path: Path) -> None:
    install(tmp_path, "mine-models", "[agentcell.adapters]\nmine = nowhere:X\n")
    (tmp_path / "site" / "mine_models-1.0.dist-info" / "METADATA").unlink()

    (kind, *lines, _) = resolved(tmp_path, "mine/x")["mine/x"]

    assert kind == "ModelError"
    assert "a package without a name" in lines[0]
