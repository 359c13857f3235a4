from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import kernels
from agentcell import pytest_plugin
from agentcell.adapters.recording import MODES, Recording, RecordingMiss
from agentcell.errors import CellError
from agentcell.testing import ChatServer
from agentcell_magics import current_session
from agentcell_magics.config import AgentMagics

ASK = "openai-chat/one"


def run(shell: InteractiveShell, code: str) -> Any:
    return shell.run_cell(code, store_history=True).error_in_exec


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> object:
    with ChatServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def test_record_then_replay_without_a_server(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    file = tmp_path / "recordings" / "a.jsonl"
    server.reply("the first").reply("the second")
    assert run(shell, f"%agent record {file}") is None
    assert run(shell, f"%%agent {ASK} -o one\nHello") is None
    assert run(shell, f"%%agent {ASK} --fresh -o again\nHello") is None
    assert run(shell, f"%agent replay {file}") is None
    server.fail(500)
    assert run(shell, f"%%agent {ASK} --fresh -o now\nHello") is None

    names = ("one", "again", "now")
    assert [str(shell.user_ns[name]) for name in names] == ["the first"] * 3
    assert len(server.requests) == 1
    assert "the first" in capsys.readouterr().out


def test_a_miss_fails_the_cell_with_what_differs(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    server.reply("yes")
    run(shell, f"%agent record {tmp_path / 'a.jsonl'}")
    run(shell, f"%%agent {ASK}\nIs it red?")
    run(shell, "%agent replay")
    error = run(shell, f"%%agent {ASK} --fresh\nIs it rad?")

    assert isinstance(error, RecordingMiss)
    assert "'Is it red?'" in str(error)
    assert "'Is it rad?'" in str(error)
    assert len(str(error).splitlines()) <= 15
    assert len(server.requests) == 1


def test_or_ask_asks_and_keeps_nothing(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    server.reply("yes")
    file = tmp_path / "a.jsonl"
    run(shell, f"%agent record {file}")
    run(shell, f"%%agent {ASK}\nOne?")
    run(shell, f"%agent replay {file} --or-ask")
    assert run(shell, f"%%agent {ASK}\nTwo?") is None

    assert len(server.requests) == 2
    assert len(Recording(file)) == 1


def test_off_ends_it_and_again_asks_anew(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    server.reply("one").reply("two").reply("three")
    file = tmp_path / "a.jsonl"
    for line in (f"record {file}", "off", f"record {file} --again", f"replay {file}"):
        run(shell, f"%agent {'record off' if line == 'off' else line}")
        run(shell, f"%%agent {ASK} --fresh -o said\nHello")

    assert str(shell.user_ns["said"]) == "three"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("record", "No file of a recording is named"),
        ("replay", "No file of a recording is named"),
        ("record a b", "takes one file, but 2 words"),
        ("record a.jsonl --or-ask", "has no option '--or-ask'"),
        ("replay a.jsonl --again", "has no option '--again'"),
        ("recording all", "takes nothing, or prune"),
    ],
)
def test_a_line_that_cannot_be_read_is_told(shell: InteractiveShell, line: str, says: str) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    error = run(shell, f"%agent {line}")

    assert isinstance(error, CellError)
    assert says in str(error)


def test_the_environment_wins_where_a_file_is_known(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    server.reply("yes")
    monkeypatch.setenv("AGENTCELL_MODE", "replay")
    assert run(shell, f"%%agent {ASK}\nNo file is known, so it is asked") is None
    run(shell, f"%agent record {tmp_path / 'a.jsonl'}")
    assert isinstance(run(shell, f"%%agent {ASK}\nOne?"), RecordingMiss)
    monkeypatch.setenv("AGENTCELL_MODE", "play")
    error = run(shell, f"%%agent {ASK}\nOne?")

    assert isinstance(error, CellError)
    assert "AGENTCELL_MODE is 'play'; one of off, record" in str(error)
    assert len(server.requests) == 1


def test_a_recording_knows_who_was_asked_where_no_cell_says_it(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    server.reply("yes")
    monkeypatch.setenv("AGENTCELL_MODEL", ASK)
    file = tmp_path / "a.jsonl"
    run(shell, f"%agent record {file}")
    run(shell, "%%agent\nOne?")
    monkeypatch.delenv("AGENTCELL_MODEL")
    run(shell, f"%agent replay {file}")
    assert run(shell, "%%agent --fresh -o said\nOne?") is None

    assert shell.user_ns["said"].model == ASK


def test_what_a_file_holds_is_told_and_what_nobody_asked_for_is_taken_out(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    server.reply("yes")
    file = tmp_path / "a.jsonl"
    run(shell, f"%agent record {file}")
    run(shell, f"%%agent {ASK}\nOne?")
    run(shell, f"%%agent {ASK} --fresh\nTwo?")
    run(shell, "%agent record off")
    run(shell, f"%agent replay {file}")
    run(shell, f"%%agent {ASK} --fresh\nTwo?")
    capsys.readouterr()
    run(shell, "%agent recording")
    told = capsys.readouterr().out
    run(shell, "%agent recording prune")

    assert "not asked for  1" in told
    assert "One?" in told
    assert len(Recording(file)) == 1
    assert current_session().recorder.mode == "replay"


def test_a_key_that_the_process_knows_does_not_reach_the_file(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-proj-Zq8vW3nR5tY7uB1x"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    shell.run_line_magic("load_ext", "agentcell")
    server.reply(f"Your key is {key}, is it not?")
    file = tmp_path / "a.jsonl"
    run(shell, f"%agent record {file}")
    run(shell, f"%%agent {ASK}\nWhat is my key?")
    text = file.read_text(encoding="utf-8")

    assert "Your key is [key]" in text
    assert not any(key[at : at + 6] in text for at in range(8, len(key) - 5))


NOTEBOOK = """import os
os.environ['OPENAI_BASE_URL'] = {url!r}
%load_ext agentcell
%agent record"""


def test_the_notebooks_own_name_is_the_files(tmp_path: Path) -> None:
    with ChatServer() as server:
        server.reply("yes")
        with kernels.running(tmp_path, {"JPY_SESSION_NAME": "deep/tutorial.ipynb"}) as kernel:
            kernel.run(NOTEBOOK.format(url=server.url))
            kernel.run(f"%%agent {ASK}\nOne?")

    assert len(Recording(tmp_path / "recordings" / "tutorial.jsonl")) == 1


def test_config_says_what_holds_where_no_line_does(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    server.reply("one").reply("two")
    file = tmp_path / "a.jsonl"
    run(shell, f"%config AgentMagics.recording = {str(file)!r}")
    run(shell, "%config AgentMagics.mode = 'record'")
    run(shell, f"%%agent {ASK}\nOne?")
    run(shell, "%config AgentMagics.mode = 'replay'")
    assert run(shell, f"%%agent {ASK} --fresh\nOne?") is None
    assert isinstance(run(shell, f"%%agent {ASK} --fresh\nTwo?"), RecordingMiss)
    run(shell, "%agent record off")
    assert run(shell, f"%%agent {ASK} --fresh\nTwo?") is None

    assert len(server.requests) == 2
    assert len(Recording(file)) == 1


def test_another_file_in_config_is_used_from_then_on_and_none_takes_it_back(
    shell: InteractiveShell, server: ChatServer, tmp_path: Path
) -> None:
    shell.run_line_magic("load_ext", "agentcell")
    server.reply("yes")
    run(shell, "%config AgentMagics.mode = 'record'")
    for name in ("a.jsonl", "b.jsonl"):
        run(shell, f"%config AgentMagics.recording = {str(tmp_path / name)!r}")
        assert run(shell, f"%%agent {ASK} --fresh\nOne?") is None
    run(shell, "%config AgentMagics.recording = None")
    error = run(shell, f"%%agent {ASK} --fresh\nOne?")

    assert [len(Recording(tmp_path / name)) for name in ("a.jsonl", "b.jsonl")] == [1, 1]
    assert "No file of a recording is named" in str(error)
    assert len(server.requests) == 2


def test_configuration_and_pytest_know_the_same_modes() -> None:
    assert tuple(AgentMagics.mode.values or ()) == MODES
    assert pytest_plugin._MODES == MODES  # noqa: SLF001 (the table is what is tested)
