"""What the files of the panels' pages may hold: words, never markup; every sentence translated."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import agentcell_widgets
from agentcell.widgets import AttachmentsPanel, ChatPanel, GenerationPanel, HistoryPanel
from agentcell.wording import placeholders
from agentcell_widgets.panel import Panel
from agentcell_widgets.panel.zh import ZH

FOLDER = Path(agentcell_widgets.__file__).parent
SCRIPTS = sorted(FOLDER.rglob("*.js"))
STYLES = sorted(FOLDER.rglob("*.css"))

PARSES_HTML = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment"
    r"|setHTML|srcdoc|\beval\(|new Function|setTimeout\(\s*[\"'`]"
)
ADDRESS = re.compile(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", re.IGNORECASE)
SPACE = "http://www.w3.org/2000/svg"
"""The name of a language, which nobody fetches."""

SENTENCE = re.compile(r"""\bt\(\s*"((?:[^"\\]|\\.)*)\"""")
TITLE = re.compile(r'openPanel\(\{[^}]*title: "([^"]+)"')

OURS = {
    "attachments": AttachmentsPanel,
    "chat": ChatPanel,
    "generation": GenerationPanel,
    "history": HistoryPanel,
}


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(FOLDER).as_posix() for path in paths]


@pytest.mark.parametrize("name", names(SCRIPTS))
def test_html_is_parsed_in_one_place_only(name: str) -> None:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    found = [line.strip() for line in lines if PARSES_HTML.search(line)]

    assert found == (["element.innerHTML = html;"] if name == "panel/panel.js" else [])


@pytest.mark.parametrize("name", names([*SCRIPTS, *STYLES]))
def test_nothing_is_fetched_from_anywhere(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8").replace(SPACE, "")

    assert ADDRESS.findall(text) == []
    assert "@import" not in text
    assert not re.search(r"^\s*import\b|\bimport\(", text, re.MULTILINE)


@pytest.mark.parametrize("name", names(STYLES))
def test_every_class_is_the_project_s_own(name: str) -> None:
    text = re.sub(r"/\*.*?\*/", "", (FOLDER / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    classes = set(re.findall(r"\.([a-zA-Z][\w-]*)(?=[^{}]*\{)", text))

    assert [
        one for one in classes if not one.startswith(("agentcell-", "jp-", "MathJax", "mjx"))
    ] == []


@pytest.mark.parametrize("name", OURS)
def test_every_sentence_of_a_page_is_translated(name: str) -> None:
    files = [*(FOLDER / "panel").glob("*.js"), *(FOLDER / name).glob("*.js")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    said = {ast.literal_eval(f'"{one}"') for one in SENTENCE.findall(text)}
    said |= set(TITLE.findall(text))
    known = {**ZH, **OURS[name].WORDS}

    assert len(said) > 15
    assert sorted(said - known.keys()) == []


@pytest.mark.parametrize("panel", OURS.values(), ids=OURS.keys())
def test_translations_hold_the_same_names(panel: type[Panel]) -> None:
    table = {**ZH, **panel.WORDS}

    assert [one for one, said in table.items() if placeholders(one) != placeholders(said)] == []
