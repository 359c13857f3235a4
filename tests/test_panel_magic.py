"""`%agent panel` in a shell and in a kernel: what it opens, what it refuses, what it saves."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell_magics import current_session
from agentcell_magics.panel_command import KINDS
from kernels import Kernel

VIEW = "application/vnd.jupyter.widget-view+json"


def told(shell: InteractiveShell, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    result = shell.run_cell(line)

    assert not result.success
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%agent panel chta", "Fix: did you mean %agent panel chat?"),
        ("%agent panel nothing", "Fix: use one of attachments, chat, generate, history; or close"),
        ("%agent panel chat history", "takes one name, but 2 were given"),
    ],
)
def test_what_is_no_panel_is_refused_with_those_there_are(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    assert said in told(shell, line, capsys)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_opened_in_a_kernel_and_reads_without_one(kernel: Kernel, kind: str) -> None:
    kernel.run("%load_ext agentcell")
    ran = kernel.run(f"%agent panel {kind}")
    kernel.run("%agent panel close")

    assert ran.status == "ok", ran.evalue
    assert len(ran.data(VIEW)) == 1
    assert all(output["data"].get("text/plain") for output in ran.outputs[:2])


def test_without_a_name_the_chat_is_opened(kernel: Kernel) -> None:
    kernel.run("%load_ext agentcell")
    kernel.run("%agent panel")
    opened = kernel.run(
        "from agentcell_magics import panel_command, current_session\n"
        "print([type(one).__name__ for one in panel_command._open[current_session()].values()])"
    )
    closed = kernel.run("%agent panel close")

    assert opened.text.strip() == "['ChatPanel']"
    assert "Panels closed: 1." in closed.text


def test_the_attachments_panel_knows_the_notebook_s_variables(kernel: Kernel) -> None:
    kernel.run("%load_ext agentcell\nfrom PIL import Image\nshot = Image.new('RGB', (4, 4))")
    kernel.run("%agent panel attachments")
    names = kernel.run(
        "from agentcell_magics import panel_command, current_session\n"
        "(panel,) = panel_command._open[current_session()].values()\n"
        "print(panel.state()['names'])"
    )
    kernel.run("%agent panel close")

    assert names.text.strip() == "['shot']"


def test_closing_where_nothing_is_open_says_so(shell: InteractiveShell) -> None:
    with capture_output() as captured:
        shell.run_cell("%agent panel close")

    assert captured.outputs[0].data["text/plain"] == "Panels closed: 0."
    assert current_session().turns == ()
