"""What CONTRIBUTING.md and README.md quote exists."""

from __future__ import annotations

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PAGES = ["CONTRIBUTING.md", "README.md"]

CODE = re.compile(r"`([^`\n]+)`")

OURS = ("src/", "magics/", "widgets/", "tests/", "notebooks/", "benchmarks/", "docs/", ".ci/")


def quoted(page: str) -> list[str]:
    """Every piece of code on the page, inline and fenced, one command or path each."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    inline = CODE.findall(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return [*inline, *(line for block in fenced for line in block.splitlines())]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_the_make_commands_exist(page: str) -> None:
    named = {code.split()[1] for code in quoted(page) if re.fullmatch(r"make \w+.*", code)}

    assert named
    assert named <= make_targets()


@pytest.mark.parametrize("page", PAGES)
def test_the_files_exist(page: str) -> None:
    named = {word for code in quoted(page) for word in code.split() if word.startswith(OURS)}

    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_modules_that_are_run_exist(page: str) -> None:
    found = [re.search(r"python -m ([\w.]+)", code) for code in quoted(page)]

    missing = [match[1] for match in found if match and find_spec(match[1]) is None]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_the_pictures_and_links_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"\]\((?!https?:)([^)#]+)", text)

    assert [name for name in named if not (ROOT / name).exists()] == []


def test_contributing_has_the_three_checklists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    for heading in ("Add an adapter", "Add a magic", "Add a widget"):
        section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
        assert len(re.findall(r"^\d\. ", section, re.MULTILINE)) >= 5, heading


def test_make_help_names_every_target() -> None:
    ran = subprocess.run(
        ["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert set(re.findall(r"make ([a-z-]+)", ran.stdout)) == make_targets()
