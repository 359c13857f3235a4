from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell.testing import FakeModel
from agentcell_magics import current_session
from agentcell_magics.wording import add_language, choose, language, languages, placeholders, say
from agentcell_magics.wording.zh import ZH
from said_words import said

LOCALES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG", "AGENTCELL_LANGUAGE", "PYTEST_CURRENT_TEST")


@pytest.fixture(autouse=True)
def no_language(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in LOCALES:
        monkeypatch.delenv(name, raising=False)
    choose("auto")
    yield
    choose("auto")


def speaks_to_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this test look like no test: pytest names it anew after the fixtures."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)


def test_the_source_is_read_for_what_it_says() -> None:
    assert {"Asking {model} …", "Nothing is attached yet.", "{count} turns", "ok"} <= said()
    assert len(said()) > 80


@pytest.mark.parametrize("template", sorted(said()))
def test_every_text_of_the_magics_has_a_chinese_entry_with_the_same_names(template: str) -> None:
    assert placeholders(ZH[template]) == placeholders(template)


def test_no_chinese_entry_lost_its_names() -> None:
    assert [key for key, text in ZH.items() if placeholders(key) != placeholders(text)] == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "zh-Hans"}, "zh"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en:zh"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "fr"}, "zh"),
        ({"LANG": "C", "LANGUAGE": "zh"}, "en"),
        ({"AGENTCELL_LANGUAGE": "zh"}, "zh"),
        ({"AGENTCELL_LANGUAGE": "en", "LANG": "zh_CN"}, "en"),
        ({"AGENTCELL_LANGUAGE": "auto", "LANG": "zh_CN"}, "zh"),
        ({"AGENTCELL_LANGUAGE": "klingon", "LANG": "zh_CN"}, "en"),
        ({"PYTEST_CURRENT_TEST": "nbval", "LANG": "zh_CN"}, "en"),
    ],
)
def test_the_language_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    speaks_to_people(monkeypatch)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert language() == expected


def test_a_chosen_language_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    speaks_to_people(monkeypatch)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    choose("en")

    assert say("{count} turns", count=3) == "3 turns"
    choose("auto")
    assert say("{count} turns", count=3) == "3 轮"


def test_another_language_is_one_call_and_what_it_lacks_is_english() -> None:
    add_language("xx", {"Nothing is attached yet.": "Rien n'est joint."})
    choose("xx")

    assert "xx" in languages()
    assert say("Nothing is attached yet.") == "Rien n'est joint."
    assert say("Asking {model} …", model="m") == "Asking m …"


def test_a_translation_with_other_names_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold the same names"):
        add_language("fr", {"Asking {model} …": "Je demande à {modele} …"})


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="there are auto, en, "):
        choose("klingon")


def test_facts_with_braces_and_percent_signs_stay_as_they_are() -> None:
    assert say("Asked: {question}", question="{count} %s {0} {") == "Asked: {count} %s {0} {"


def test_a_cell_speaks_chinese_and_leaves_names_numbers_and_answers_alone(
    shell: InteractiveShell,
) -> None:
    shell.run_line_magic("config", "AgentMagics.language = 'zh'")
    current_session().model = FakeModel("The total is 27.95.", model_name="scripted")
    with capture_output() as captured:
        asked = shell.run_cell("%%agent\nHow much?")
        shell.run_cell("%agent")
        shell.run_cell("%agent history")
        shell.run_cell("%agent attachments")
    texts = [output.data["text/plain"] for output in captured.outputs]

    assert asked.success
    assert texts[0] == "The total is 27.95."
    assert texts[1].startswith("fake/scripted · ")
    assert "模型" in texts[2]
    assert "main (1 轮)" in texts[2]
    assert texts[3].startswith("轮次")
    assert texts[4] == "还没有附件。"
    shown = "\n".join(texts[1:]).replace("How much?", "")
    assert set(re.findall(r"[A-Za-z]{4,}", shown)) <= NAMES | {"agentcell"}


NAMES = {"fake", "scripted", "main", "tokens", "agentcell"}
"""Names and units; they are the same in every language."""


def test_an_error_keeps_its_sentence_and_its_frame_is_translated(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("config", "AgentMagics.language = 'zh'")
    shell.run_cell("%%agent\n \n")

    assert "CellError: This %%agent cell is empty.\n解决办法: write" in capsys.readouterr().out
