"""What is shipped: the wheel and the source archive, built and opened."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PACKAGES = {
    "agentcell": "src",
    "agentcell_magics": "magics",
    "agentcell_widgets": "widgets",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, made from the source archive, and the archive itself."""
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(ROOT)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return place


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def in_wheel(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_every_source_file_and_nothing_else(in_wheel: list[str]) -> None:
    wanted = {
        str(file.relative_to(ROOT / folder))
        for package, folder in PACKAGES.items()
        for file in (ROOT / folder / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    found = {name for name in in_wheel if ".dist-info/" not in name}

    assert found == wanted
    assert {Path(name).suffix for name in found} <= {".py", ".js", ".css", ".ttf", ".txt", ".typed"}


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_says_that_it_is_typed(in_wheel: list[str], package: str) -> None:
    assert f"{package}/py.typed" in in_wheel


def test_each_panel_ships_its_browser_files(in_wheel: list[str]) -> None:
    folders = {p.parent for p in map(Path, in_wheel) if p.suffix == ".js"}

    assert Path("agentcell_widgets/attachments") in folders
    for folder in folders:
        assert f"{folder}/{folder.name}.css" in in_wheel
        assert f"{folder}/__init__.py" in in_wheel


def test_the_licence_and_the_version_are_in_the_wheel(wheel: Path, in_wheel: list[str]) -> None:
    metadata_file = next(name for name in in_wheel if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(wheel) as archive:
        metadata = HeaderParser().parsestr(archive.read(metadata_file).decode())

    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in in_wheel)
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=3.11"
    assert {"local", "lab", "dev"} <= set(metadata.get_all("Provides-Extra", []))


def test_the_source_archive_holds_the_tests_and_no_left_over(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "tests/conftest.py"} <= names
    left_over = ("__pycache__", ".agentcell", ".ipynb_checkpoints", "out/", ".venv")
    assert [name for name in names if any(part in name for part in left_over)] == []


def test_the_installed_wheel_imports(wheel: Path, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(tmp_path / "installed"), str(wheel)], check=True)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r})\n"
        "import agentcell, agentcell.magics, agentcell.widgets\n"
        "import agentcell.testing.conformance\n"
        "import agentcell_magics, agentcell_widgets\n"
        "agentcell.Session()\n"
        "for module in (agentcell, agentcell_magics, agentcell_widgets): print(module.__file__)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )

    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert [line.startswith(str(tmp_path / "installed")) for line in lines] == [True] * 3
