"""Loading, unloading and reloading the extension: by hand, from a profile, beside other magics."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image

import kernels
from agentcell_magics import current_session
from kernels import Kernel
from scripted import ScriptedModel

PROFILE = """
c = get_config()
c.InteractiveShellApp.extensions = ["agentcell"]
c.AgentMagics.model = "local"
c.AgentMagics.quiet = True
c.HistoryManager.enabled = False
"""


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile of IPython's that loads the extension; its file may be added to."""
    folder = tmp_path / "ipython" / "profile_default"
    (folder / "startup").mkdir(parents=True)
    (folder / "ipython_config.py").write_text(PROFILE, encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return folder / "ipython_config.py"


def add(profile: Path, line: str) -> None:
    with profile.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def console(folder: Path, *cells: str) -> str:
    """Return what IPython in a terminal prints when these lines are typed."""
    ran = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--colors=nocolor", "--simple-prompt"],
        input="\n".join([*cells, "exit()", ""]),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
        check=True,
    )
    return ran.stdout + ran.stderr


def said(shell: InteractiveShell, source: str) -> str:
    with capture_output() as captured:
        shell.run_cell(source)
    shown = [str(one.data.get("text/plain", "")) for one in captured.outputs]
    return "\n".join([*shown, captured.stdout]).strip()


def magics(shell: InteractiveShell) -> set[tuple[str, str]]:
    return {(kind, name) for kind, table in shell.magics_manager.magics.items() for name in table}


@contextmanager
def registered(shell: InteractiveShell, name: str, kind: Any = "line_cell") -> Iterator[list[str]]:
    """Another extension's magic of that name; yields what it was called with."""
    called: list[str] = []
    shell.magics_manager.register_function(lambda line, *_: called.append(line), kind, name)
    yield called
    for table in shell.magics_manager.magics.values():
        table.pop(name, None)


def test_a_profile_loads_it_in_a_kernel(profile: Path, tmp_path: Path) -> None:
    assert profile.exists()
    with kernels.running(tmp_path) as kernel:
        ran = kernel.run("%agent model")
        assert (ran.status, ran.text.strip()) == ("ok", "Questions go to local/smollm2-135m.")
        assert "Current: 'local'" in kernel.run("%config AgentMagics").text
        assert kernel.complete("%%agent --atta") == ["--attach"]


def test_a_profile_loads_it_in_a_console_and_nothing_is_printed(
    profile: Path, tmp_path: Path
) -> None:
    assert profile.exists()
    text = console(tmp_path, "%agent model", "%config AgentMagics.quiet")

    assert "Questions go to local/smollm2-135m." in text
    assert "Out[2]: True" in text
    before = text.partition("In [1]")[0]
    assert before.strip() == ""


def test_a_wrong_value_in_a_profile_is_told_and_the_rest_is_there(
    profile: Path, tmp_path: Path
) -> None:
    add(profile, "c.AgentMagics.detail = 'low'")
    text = console(tmp_path, "%agent model", "%config AgentMagics.quiet")

    told = text.partition("In [1]")[0].strip()
    assert told.startswith("agentcell: ipython_config.py: AgentMagics.detail is 'low'; one of")
    assert len(told.splitlines()) == 1
    assert "Out[2]: True" in text

    with kernels.running(tmp_path) as kernel:
        ran = kernel.run("%%agent\nhi")
        assert ran.status == "error"
        assert "AgentMagics.detail is 'low'; one of auto, high, original" in ran.text
        kernel.run("%config AgentMagics.detail = 'high'")
        assert kernel.run("%%agent -n\nhi").status == "ok"


def test_a_setting_may_stand_on_the_command_line(profile: Path, tmp_path: Path) -> None:
    assert profile.exists()
    command = [sys.executable, "-m", "IPython", "--AgentMagics.temperature=0.5", "-c"]
    ran = subprocess.run(
        [*command, "%config AgentMagics.temperature"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=True,
    )

    assert "0.5" in ran.stdout


def test_a_magic_may_be_loaded_at_its_first_use(profile: Path, tmp_path: Path) -> None:
    profile.write_text(
        'c = get_config()\nc.MagicsManager.lazy_magics = {"agent": "agentcell"}\n', encoding="utf-8"
    )
    with kernels.running(tmp_path) as kernel:
        assert kernel.run("%agent model local").text.strip() == (
            "Questions go to local/smollm2-135m."
        )


def test_loading_prints_nothing_however_often(shell: InteractiveShell) -> None:
    before = magics(shell)
    for line in (
        "%reload_ext agentcell",
        "%load_ext agentcell_magics",
        "%load_ext agentcell.magics",
    ):
        assert said(shell, line) == ""

    assert magics(shell) == before
    ours = [one for one in shell.configurables if type(one).__name__ == "AgentMagics"]
    assert len(ours) == 1
    matchers = [one for one in shell.Completer.custom_matchers if "agentcell" in str(one)]
    assert len(matchers) == 1


def test_unloading_takes_all_away(shell: InteractiveShell) -> None:
    hooks = shell.events.callbacks
    said(shell, "%agent model local")
    said(shell, "%unload_ext agentcell")
    said(shell, "1")  # the cell that unloads ends after it

    assert not [name for _, name in magics(shell) if "agent" in name or name == "view_image"]
    assert "agentcell" not in str(shell.Completer.custom_matchers)
    assert "agentcell" not in str(shell.input_transformers_cleanup)
    assert "agentcell" not in str(shell.input_transformers_post)
    assert "agentcell" not in str({name: list(kept) for name, kept in hooks.items()})
    config = said(shell, "%config")
    assert "AgentMagics" not in config
    user = vars(shell.magics_manager.user_magics)
    assert not {"agent", "view_image"} & user.keys()
    assert not shell.run_cell("%%agent\nhi").success


def test_reloading_keeps_the_session_and_what_was_set(
    shell: InteractiveShell, tmp_path: Path
) -> None:
    Image.new("RGB", (60, 90), "white").save(tmp_path / "a.png")
    session, model = current_session(), ScriptedModel(["Yes."])
    session.model = model
    said(shell, "%config AgentMagics.temperature = 0.5")
    said(shell, "%%agent -c taxes -a a.png\nhi")

    for again in ("%reload_ext agentcell", "%unload_ext agentcell\n%load_ext agentcell"):
        said(shell, again)
        assert current_session() is session
        assert session.model is model
        assert session.conversations == ("taxes",)
        assert [block.tag for block in session.attachments] == ["[a_1 a]"]
        said(shell, "%%agent -c taxes\nand now?")
        assert model.settings[-1] == {"temperature": 0.5}
    assert len(session.turns) == 3


@pytest.mark.parametrize("name", ["agent", "view_image"])
@pytest.mark.parametrize("kind", ["line", "cell", "line_cell"])
def test_a_name_that_is_taken_is_told_in_one_line_and_ours_gets_a_prefix(
    shell: InteractiveShell, name: str, kind: str
) -> None:
    said(shell, "%unload_ext agentcell")
    with registered(shell, name, kind) as called:
        told = said(shell, "%load_ext agentcell")
        if name == "view_image" and kind == "cell":
            assert told == ""  # ours is called with one sign alone
            return
        assert len(told.splitlines()) == 1
        assert f"{name} is taken by another extension; use agentcell_{name}." in told
        ours = "%agentcell_agent model local" if name == "agent" else "%agentcell_view_image"
        assert "local" in said(shell, ours) or "one path or variable" in said(shell, ours)
        said(shell, f"%{name} theirs" if "line" in kind else f"%%{name} theirs\nx")
        assert called == ["theirs"]
        said(shell, "%unload_ext agentcell")
        assert not [one for _, one in magics(shell) if one.startswith("agentcell_")]
        said(shell, f"%{name} again" if "line" in kind else f"%%{name} again\nx")
        assert called == ["theirs", "again"]
    assert said(shell, "%load_ext agentcell") == ""


def test_with_one_kind_taken_both_are_left(shell: InteractiveShell) -> None:
    said(shell, "%unload_ext agentcell")
    with registered(shell, "agent", "cell"):
        told = said(shell, "%load_ext agentcell")

        assert told.startswith("agentcell: %/%%agent is taken")
        assert ("line", "agent") not in magics(shell)
        assert {("line", "agentcell_agent"), ("cell", "agentcell_agent")} <= magics(shell)


def test_a_magic_that_took_the_name_since_stays(shell: InteractiveShell) -> None:
    with registered(shell, "agent") as called:
        said(shell, "%unload_ext agentcell")
        said(shell, "%agent one")
        assert called == ["one"]

        told = said(shell, "%load_ext agentcell")
        assert "use agentcell_agent" in told
        said(shell, "%agent two\n%agentcell_agent model local")
        assert called == ["one", "two"]
    assert said(shell, "%reload_ext agentcell") == ""
    assert "local" in said(shell, "%agent model local")


def test_another_s_cells_of_that_name_stay_as_they_are(shell: InteractiveShell) -> None:
    with registered(shell, "agent") as called:
        result = shell.run_cell("# a comment\n%%agent theirs\nx")
        assert not result.success  # as IPython has it: a cell magic stands in the first line
        assert called == []


def test_the_person_s_own_alias_counts_as_taken(shell: InteractiveShell) -> None:
    said(shell, "%unload_ext agentcell")
    said(shell, "%alias_magic --line view_image lsmagic")

    assert "use agentcell_view_image" in said(shell, "%load_ext agentcell")
    del shell.magics_manager.magics["line"]["view_image"]


def test_with_both_names_taken_it_says_so(shell: InteractiveShell) -> None:
    said(shell, "%unload_ext agentcell")
    with registered(shell, "agent") as one, registered(shell, "agentcell_agent") as other:
        told = said(shell, "%load_ext agentcell")
        assert "agent and agentcell_agent are taken by other extensions" in told
        said(shell, "%agent x\n%agentcell_agent y")
        assert (one, other) == (["x"], ["y"])


def test_a_magic_that_another_loads_late_counts_as_taken(shell: InteractiveShell) -> None:
    said(shell, "%unload_ext agentcell")
    shell.magics_manager.lazy_magics = {**shell.magics_manager.lazy_magics, "agent": "their.module"}

    assert "use agentcell_agent" in said(shell, "%load_ext agentcell")


def test_the_session_outlives_an_unload_in_a_kernel(kernel: Kernel) -> None:
    kernel.run("%load_ext agentcell")
    kernel.run("from agentcell.magics import current_session\nbefore = current_session()")
    kernel.run("%config AgentMagics.model = 'local'")
    assert kernel.run("%%agent -q\nhi").status == "ok"

    assert kernel.run("%reload_ext agentcell").text == ""
    kept = kernel.run("print(current_session() is before, len(before.turns), before.chosen_model)")
    assert kept.text.strip() == "True 1 local"
    assert kernel.run("%unload_ext agentcell").text == ""
    assert kernel.run("%agent").status == "error"


def test_loading_in_a_folder_that_is_gone_does_no_harm(shell: InteractiveShell) -> None:
    folder = Path.cwd() / "gone"
    folder.mkdir()
    os.chdir(folder)
    folder.rmdir()
    try:
        assert said(shell, "%reload_ext agentcell") == ""
    finally:
        os.chdir(folder.parent)
