"""A notebook's history in a real kernel, which is started again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import kernels
from agentcell_magics.cells import notebook_place

SETUP = """
%load_ext agentcell
from agentcell import Model, ModelResponseType
from agentcell.magics import current_session
class Echo(Model):
    def invoke(self, messages, tools=None, settings=None, **options):
        asked = [m["content"] for m in messages if m["role"] == "user"]
        return {"type": ModelResponseType.CONTENT, "content": " < ".join(asked[::-1])}
session = current_session()
session.model = Echo("echo")
"""


def test_a_notebook_goes_on_after_its_kernel_was_started_again(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    named = {"JPY_SESSION_NAME": str(tmp_path / "deep" / "a.ipynb")}
    with kernels.running(tmp_path, named) as kernel:
        kernel.run(SETUP)
        assert list(tmp_path.rglob(".agentcell")) == []
        kernel.run("%cd /")
        kernel.run("%%agent\none", cell_id="1")
        kernel.run("%%agent\ntwo", cell_id="2")
    with kernels.running(tmp_path / "deep", named) as kernel:
        kernel.run(SETUP)
        third = kernel.run("%%agent -q\nthree", cell_id="3")
        again = kernel.run("%%agent -q\ntwo again", cell_id="2")
        stale = kernel.run("print([turn.stale for turn in session.turns])")

    assert third.text.strip() == "three < two < one"
    assert again.text.strip() == "two again < one"
    assert stale.text.strip() == "[False, False, True]"
    assert list(tmp_path.rglob(".agentcell")) == [tmp_path / "deep" / ".agentcell"]


def test_a_console_begins_anew_and_can_go_on_with_what_was_before(tmp_path: Path) -> None:
    with kernels.running(tmp_path) as kernel:
        kernel.run(SETUP)
        kernel.run("%%agent\none")
    with kernels.running(tmp_path) as kernel:
        kernel.run(SETUP)
        second = kernel.run("%%agent -q\ntwo")
        kernel.run("session.restore('last')")
        third = kernel.run("%%agent -q\nthree")

    assert second.text.strip() == "two"
    assert third.text.strip() == "three < two < one"


def test_prompts_of_a_console_in_jupyterlab_belong_to_one_life(tmp_path: Path) -> None:
    named = {"JPY_SESSION_NAME": str(tmp_path / "console-1-3f0a")}
    with kernels.running(tmp_path, named) as kernel:
        kernel.run(SETUP)
        kernel.run("%%agent\none", cell_id="prompt-1")
        again = kernel.run("%%agent -q\none again", cell_id="prompt-1")
    with kernels.running(tmp_path, named) as kernel:
        kernel.run(SETUP)
        other = kernel.run("%%agent -q\ntwo", cell_id="prompt-2")

    assert again.text.strip() == "one again"
    assert other.text.strip() == "two"


def test_the_magics_can_keep_all_in_memory(tmp_path: Path) -> None:
    with kernels.running(tmp_path, {"AGENTCELL_HISTORY": "memory"}) as kernel:
        kernel.run(SETUP)
        kernel.run("%%agent\none", cell_id="1")
        second = kernel.run("%%agent -q\ntwo", cell_id="2")

    assert second.text.strip() == "two < one"
    assert list(tmp_path.iterdir()) == []


def test_in_a_cell_trouble_is_one_line_above_the_answer(tmp_path: Path) -> None:
    (tmp_path / ".agentcell").touch()
    with kernels.running(tmp_path) as kernel:
        kernel.run(SETUP)
        first = kernel.run("%%agent\none", cell_id="1")
        second = kernel.run("%%agent\ntwo", cell_id="2")

    assert first.status == "ok"
    assert first.text.count("kept in memory only") == 1
    assert "two < one" in second.text
    assert "memory" not in second.text


@pytest.mark.parametrize(
    ("variables", "name", "expected"),
    [
        ({}, "", (".", "console")),
        ({}, "{here}/n.ipynb", (".", "n.ipynb")),
        ({}, "sub/n.ipynb", (".", "n.ipynb")),
        ({}, "/no such folder/n.ipynb", (".", "n.ipynb")),
        ({}, "{here}/console-1-abc", (".", "console")),
        ({"__vsc_ipynb_file__": "{here}/v.ipynb"}, "{here}/n.ipynb", (".", "v.ipynb")),
        ({"__vsc_ipynb_file__": 3}, "", (".", "console")),
    ],
)
def test_the_notebook_is_known_by_what_its_host_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, Any],
    name: str,
    expected: tuple[str, str],
) -> None:
    here = str(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", name.format(here=here))
    shell = HostShell(
        {
            key: value.format(here=here) if isinstance(value, str) else value
            for key, value in variables.items()
        }
    )

    assert notebook_place(shell, tmp_path) == (tmp_path / expected[0], expected[1])


class HostShell(InteractiveShell):
    """As far as the place of its notebook is concerned."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.kernel, self.user_ns = object(), variables
