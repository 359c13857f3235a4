"""Tab in a magic's line and in a question, asked of a real completer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from IPython.core.completer import Completion, provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from PIL import Image

from agentcell.adapters.registry import alias
from agentcell.assets.asset import asset_from_path
from agentcell_magics import current_session
from agentcell_magics.options import AGENT_OPTIONS, VIEW_OPTIONS
from agentcell_magics.words import tokens
from kernels import Kernel
from promptly import cpu_seconds
from scripted import ScriptedModel


@dataclass(frozen=True)
class Tab:
    """Asks a shell for completions; ``|`` in a text is the cursor (default: the end)."""

    shell: InteractiveShell

    def found(self, text: str) -> list[Completion]:
        before, _, after = text.partition("|")
        with provisionalcompleter():
            return list(self.shell.Completer.completions(before + after, len(before)))

    def __call__(self, text: str) -> list[str]:
        return [one.text for one in self.found(text)]

    def ours(self, text: str) -> list[str]:
        """What our matcher alone offers: where it has nothing, the shell has its own."""
        before, _, after = text.partition("|")
        context = type("Context", (), {})()
        context.full_text, context.cursor_line = before + after, before.count("\n")
        context.cursor_position = len(before.rpartition("\n")[2])
        result = self.shell.Completer.custom_matchers[-1](context)
        if result["completions"]:
            assert before.endswith(result["matched_fragment"])
        return [one.text for one in result["completions"]]

    def results(self, text: str) -> list[str]:
        """What the cell reads after each completion was taken."""
        before, _, after = text.partition("|")
        whole = before + after
        return [whole[: one.start] + one.text + whole[one.end :] for one in self.found(text)]


@pytest.fixture
def tab(shell: InteractiveShell) -> Tab:
    return Tab(shell)


@pytest.fixture
def folder(tmp_path: Path, shell: InteractiveShell) -> Path:
    """Files of all kinds, in the folder that the shell works in."""
    assert shell
    Image.new("RGB", (60, 90), "white").save(tmp_path / "receipt.png")
    data = (tmp_path / "receipt.png").read_bytes()
    for name in ("sub/文.png", "my dir/a b.png", "skills/receipts/x.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    names = ("my file.png", "it's.png", 'q"uote.png', "home.png", ".hidden.png", "b,c.PDF", "scan")
    for name in (*names, "notes.md", "runs.jsonl", "runs.png", "two\nlines.png", "both'\".png"):
        (tmp_path / name).write_bytes(data)
    os.environ["HOME"] = str(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%%agent --at", ["--attach"]),
        ("%%agent --fresh --fr", []),
        ("%%agent -n --dry", []),
        ("%%agent -nq --dry", []),
        ("%%agent -a receipt.png --at", ["--attach"]),
        ("%%agent -s 'be -q brief' --qui", ["--quiet"]),
        ("%%agent -m loc", ["local/smollm2-135m"]),
        ("%%agent -mloc", ["-mlocal/smollm2-135m"]),
        ("%%agent loc", ["local/smollm2-135m"]),
        ("%%agent local:", ["local:smollm2-135m"]),
        ("%%agent smollm", ["local/smollm2-135m"]),
        ("%%agent -m local loc", []),
        ("%%agent local loc", []),
        ("%%agent --model=loc", ["--model=local/smollm2-135m"]),
        ("%%agent --detail=h", ["--detail=high"]),
        ("%%agent --detail ", ["auto", "high", "original"]),
        ("%%agent --pdf-as i", ["images"]),
        ("%%agent -c ta", ["taxes"]),
        ("%%agent -c my", ['"my trip"']),
        ('%%agent -c "my', ['"my trip"']),
        ("%%agent -i receipt=im", ["receipt=IMAGE:"]),
        ("%%agent -a r=receipt.png -i r", ["r="]),
        ("%%agent -a rec", ["receipt.png"]),
        ("%%agent -a r=rec", ["r=receipt.png"]),
        ('%%agent -a "my f', ['"my file.png"']),
        ('%%agent -a "my f|"', ['"my file.png']),
        ("%%agent -a my\\", []),
        ("%%agent -a my", ['"my file.png"', '"my dir/']),
        ('%%agent -a "my dir/', ['"my dir/a b.png"']),
        ("%%agent -a x=my", ['x="my file.png"', 'x="my dir/']),
        ('%%agent -a "x=my f', ['"x=my file.png"']),
        ('%%agent -a x="my f', ['x="my file.png"']),
        ("%%agent -a 'my f", ["'my file.png'"]),
        ("%%agent -a “my f", ["“my file.png”"]),
        ("%%agent -a it", ['"it\'s.png"']),
        ("%%agent -a 'it", []),
        ("%%agent -a q", ["'q\"uote.png'"]),
        ('%%agent -a "q', ['"q\\"uote.png"']),
        ("%%agent -a both", ['"both\'\\".png"']),
        ("%%agent -a tw", []),
        ("%%agent -a ./rec", ["./receipt.png"]),
        ("%%agent -a ~", ["~/"]),
        ("%%agent -a ~/ho", ["~/home.png"]),
        ("%%agent -a sub/", ["sub/文.png"]),
        ("%%agent -a sub/../rec", ["sub/../receipt.png"]),
        ("%%agent -a su", ["sub/"]),
        ("%%agent -a .h", [".hidden.png"]),
        ("%%agent -a b", ["b,c.PDF", '"both\'\\".png"']),
        ("%%agent -a RECE", ["receipt.png"]),
        ("%%agent -a sc", ["scan"]),
        ("%%agent -a s", ["skills/", "sub/"]),
        ("%%agent -a no", ["notes.md"]),
        ("# a comment\n%%agent -a rec", ["receipt.png"]),
        ("\n  %%agent -a rec", ["receipt.png"]),
        ("%agent hi", ["history"]),
        ("x = 1\n%agent hi", ["history"]),
        ("said = %agent hi", ["history"]),
        ("%agent model loc", ["local/smollm2-135m"]),
        ("%agent model local loc", []),
        ("%agent nothing loc", []),
        ("%agent key openai-c", ["openai-chat"]),
        ("%agent key openai --f", ["--forget"]),
        ("%agent replay run", ["runs.jsonl"]),
        ("%agent replay runs.jsonl --", ["--or-ask", "--timing"]),
        ("%agent replay --timing --", ["--or-ask"]),
        ("%agent record of", ["off"]),
        ("%agent recording ", ["prune"]),
        ("%agent cancel ", []),
        ("%%agent --approve n", ["never"]),
        ("%%agent --skill s", ["skills/", "sub/"]),
        ("%%agent --skill sub/", []),
        ("%agent forget rec", ["receipt_1"]),
        ("%view_image rec", ["receipt.png"]),
        ("%view_image receipt.png rec", []),
        ("%view_image receipt.png --detail h", ["high"]),
        ("%view_image b", ['"both\'\\".png"']),
    ],
)
def test_tab_offers(tab: Tab, folder: Path, text: str, offered: list[str]) -> None:
    session = current_session()
    for name in ("taxes", "my trip"):
        session.ask("How much?", conversation=name, model=ScriptedModel())
    receipt = asset_from_path(folder / "receipt.png")
    session.ask("?", attach={"receipt": receipt}, conversation="taxes", model=ScriptedModel())

    assert tab.ours(text) == offered
    if offered:
        assert tab(text) == offered


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("begun", ["", "-", "--", "-n -q --fr", "-a receipt.png --"])
def test_only_options_that_are_not_given_are_offered(tab: Tab, begun: str) -> None:
    offered = set(tab(f"%%agent {begun}"))
    options = [option for option in AGENT_OPTIONS if set(option.flags) & offered]

    assert options
    assert not {"dry_run", "quiet"} & {o.key for o in options} or "-n" not in begun
    assert all(one.startswith(begun.rpartition(" ")[2]) for one in offered)


def test_every_option_is_offered(tab: Tab) -> None:
    for magic, options in (("%%agent", AGENT_OPTIONS), ("%view_image", VIEW_OPTIONS)):
        flags = [flag for option in options for flag in option.flags]
        assert sorted(tab(f"{magic} -")) == sorted(flags)
        assert sorted(tab(f"{magic} --")) == sorted(f for f in flags if f.startswith("--"))


def test_an_empty_line_offers_options_and_models(tab: Tab) -> None:
    offered = tab("%%agent ")

    assert {"--model", "--attach", "local/smollm2-135m"} <= set(offered)
    assert "-m" not in offered


def test_models_and_aliases_are_offered_without_network(tab: Tab) -> None:
    alias("tab-quick", "openai/gpt-4.1")

    assert tab("%%agent -m tab-q") == ["tab-quick"]
    assert "openai/gpt-4.1" in tab("%%agent -m openai/gpt-4")
    assert "openai:gpt-4.1" in tab("%%agent -m openai:gpt-4")
    assert "openai/gpt-4.1" in tab("%%agent -m gpt-4.1")


@pytest.mark.usefixtures("folder")
def test_variables_are_offered_where_they_are_meant(tab: Tab, shell: InteractiveShell) -> None:
    shell.run_cell(
        "from PIL import Image\nfrom pathlib import Path\nfrom agentcell import Answer\nimport os\n"
        "v_image = Image.new('RGB', (9, 9)); v_path = Path('receipt.png'); v_text = 'hi'\n"
        "v_list = [v_image]; v_dict = {'type': 'object'}; _v_hidden = 1\n"
        "def v_function(x: int) -> int: return x\n"
        "class v_class: pass\n"
    )

    assert tab("%view_image v_") == ["v_image", "v_path", "v_list"]
    assert tab("%%agent -T v_f") == ["v_function"]
    assert tab("%%agent -T v_text.up") == ["v_text.upper"]
    assert tab("%%agent --schema v_") == ["v_class", "v_dict"]
    assert tab("%%agent -o v_") == ["v_image", "v_path", "v_text", "v_list", "v_dict"]
    assert tab("%%agent\n{v_") == ["v_image", "v_path", "v_list", "v_text", "v_dict"]
    assert tab("%%agent\n{_v") == ["_v_hidden"]
    assert tab("%%agent -a v_line=receipt.png\nOn {v_l") == ["v_line", "v_list"]
    assert tab("%%agent -i v_f") == []
    assert tab("%%agent -i v_i") == ["v_image="]


def test_turns_are_offered_by_number_and_with_several_conversations_by_name(tab: Tab) -> None:
    session = current_session()
    for number in range(3):
        session.ask(f"Question {number}", model=ScriptedModel())
    assert tab.ours("%agent forget ") == ["3", "2", "1"]

    session.ask("?", conversation="my trip", model=ScriptedModel())
    assert tab.ours("%agent forget ") == ["main", '"my trip"']
    assert tab.ours("%agent forget main ") == ["3", "2", "1"]
    assert tab.ours('%agent forget "my trip" ') == ["1"]
    assert tab.ours("%agent history m") == ["main", '"my trip"']
    assert tab.ours("%agent history main --") == ["--all"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%%agent\n@rec", ["@receipt.png"]),
        ("%%agent\nWhat is on @rec", ["@receipt.png"]),
        ("%%agent\nWhat is on @rec|, and why?", ["@receipt.png"]),
        ("%%agent\n(@sub/", ["@sub/文.png"]),
        ("%%agent\n@su", ["@sub/"]),
        ("%%agent\n@my", ['@"my file.png"', '@"my dir/']),
        ('%%agent\n@"my f', ['@"my file.png"']),
        ('%%agent\n@"my f|"', ['@"my file.png']),
        ('%%agent\n@"my dir/', ['@"my dir/a b.png"']),
        ("%%agent\n@~/ho", ["@~/home.png"]),
        ("%%agent\n@it", ["@it's.png"]),
        ("%%agent\n请看@rec", ["@receipt.png"]),
        ("%%agent\n@receipt.png and @my f", []),
        ("%%agent\nme@rec", []),
        ("%%agent\n@tool", []),
        ("%%agent\n%view_image rec", []),
        ("%%agent\n%agent hi", []),
        ("# %%agent\n@rec", []),
        ("%%time\n@rec", []),
        ("x = 1\n%%agent\n@rec", []),
    ],
)
def test_tab_completes_a_mention_in_a_question(tab: Tab, text: str, offered: list[str]) -> None:
    assert tab.ours(text) == offered
    if offered:
        assert tab(text) == offered


@pytest.mark.usefixtures("folder")
def test_a_mention_that_tab_wrote_is_one(tab: Tab, shell: InteractiveShell) -> None:
    current_session().model = ScriptedModel(["Yes."])
    for text in ("%%agent\nSee @rec", "%%agent\nSee @my", '%%agent\nSee @"my f', "%%agent\n@it"):
        for cell in tab.results(text):
            if cell.endswith("/"):
                continue
            shell.run_cell(cell)
            assert "[receipt_1 receipt]" in current_session().turns[-1].question


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("begun", ["", "m", '"', "'", "“", "x=", 'x="', "x='", '"x=', "b", "q"])
def test_what_tab_writes_is_read_as_one_word(tab: Tab, begun: str) -> None:
    cells = tab.results(f"%%agent -a {begun}")

    for cell in cells:
        line = cell.removeprefix("%%agent ")
        whole = line + ('"' if line.endswith("/") and '"' in line else "")
        whole += "'" if whole.endswith("/") and "'" in line else ""
        whole += "”" if whole.endswith("/") and "“" in line else ""
        word = tokens(whole)[1]
        assert Path(word.removeprefix("x=")).exists()


@pytest.mark.parametrize(
    "text",
    [
        *(
            "%%agent -a ~nosuchuser/",
            "%%agent -a x\0",
            "%%agent -s 'a b -",
            "%%agent -s ",
            "%agent",
        ),
        *("%%agent -a " + "x" * 9000, "%%agent -a /etc/../..//\udc80", "%%agentx -", "%%agent"),
        *("%%agent -o 1", "%%agent -t ", "%%agent -a none/", "%view_image", "%%agent\n{{x"),
    ],
)
def test_nothing_is_offered_where_there_is_nothing(tab: Tab, text: str) -> None:
    assert tab.ours(text) == []
    tab(text)


def test_tab_in_a_question_s_braces_may_be_python_s(tab: Tab, shell: InteractiveShell) -> None:
    shell.user_ns["os"] = os

    assert "path" in [one.text.removeprefix(".") for one in tab.found("%%agent\n{os.pa")]


def test_names_in_double_braces_are_no_slots(tab: Tab, shell: InteractiveShell) -> None:
    shell.user_ns["variable_one"] = 1

    kinds = {one.type for one in tab.found("%%agent\n{{variable_o")}
    assert "variable" not in kinds
    assert [one.type for one in tab.found("%%agent\n{{{variable_o")] == ["variable"]


def test_another_s_magic_of_that_name_is_left_alone(tab: Tab, shell: InteractiveShell) -> None:
    shell.magics_manager.register_function(lambda *_: None, "line_cell", "agent")
    try:
        assert tab.ours("%%agent --at") == tab.ours("%agent hi") == []
        shell.run_line_magic("reload_ext", "agentcell")
        assert tab("%%agentcell_agent --at") == ["--attach"]
        assert tab("%agentcell_agent hi") == ["history"]
    finally:
        for kind in ("line", "cell"):
            del shell.magics_manager.magics[kind]["agent"]


class Strange:
    """An object on which nothing may be asked."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_strange_objects_among_the_variables_do_no_harm(tab: Tab, shell: InteractiveShell) -> None:
    shell.user_ns["v_strange"] = Strange()
    shell.user_ns["v_fine"] = 1

    for text in ("%%agent\n{v_", "%view_image v_", "%%agent -o v_", "%%agent -i v_"):
        tab(text)
    assert "v_fine" in tab("%%agent\n{v_")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(st.text(st.sampled_from("-=\"'“”\\~/.@{} \nabmrs\0\udc80文")), st.booleans())
def test_no_line_is_too_strange(tab: Tab, typed: str, in_body: bool) -> None:
    text = f"%%agent{chr(10) if in_body else ' '}{typed}"

    tab.ours(text.replace("|", ""))


def test_a_folder_of_ten_thousand_files_takes_no_time(tab: Tab, folder: Path) -> None:
    (folder / "many").mkdir()
    for number in range(10_000):
        (folder / "many" / f"scan {number:05}.png").touch()

    for text in (
        "%%agent -a many/",
        "%%agent -a many/scan",
        "%%agent\n@many/",
        "%view_image many/",
    ):
        assert len(tab.ours(text)) >= 200
        assert cpu_seconds(partial(tab.ours, text)) < 0.05
    last = tab("%%agent -a many/scan 0999") or tab('%%agent -a "many/scan 0999')
    assert len(last) == 10


def test_all_else_takes_less(tab: Tab, shell: InteractiveShell) -> None:
    for number in range(1_000):
        shell.user_ns[f"variable_{number}"] = [number]

    for text in ("%%agent ", "%%agent -", "%%agent -m ", "%agent ", "%%agent\n{var", "x = 1"):
        assert cpu_seconds(partial(tab.ours, text)) < 0.02


def test_tab_in_a_kernel_asks_no_network_and_loads_no_sdk(kernel: Kernel, tmp_path: Path) -> None:
    Image.new("RGB", (60, 90), "white").save(tmp_path / "receipt.png")
    kernel.run("%load_ext agentcell")

    assert kernel.complete("%%agent -m loc") == ["local/smollm2-135m"]
    assert kernel.complete("%%agent -a rec") == ["receipt.png"]
    assert kernel.complete("%%agent\nOn @rec") == ["@receipt.png"]
    assert "AgentMagics.model" in kernel.complete("%config AgentMagics.mo")
    loaded = kernel.run(
        "import sys; print([m for m in ('openai', 'anthropic', 'google.genai', 'PIL', 'httpx2')"
        " if m in sys.modules])"
    )
    assert loaded.text.strip() == "[]"
