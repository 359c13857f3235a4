from __future__ import annotations

from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager

import kernels
from agentcell_magics.cells import agent_cell, asks_again, is_blank
from kernels import Kernel


@pytest.mark.parametrize(
    ("cell", "called"),
    [
        ("%%agent", "%%agent\n\n"),
        ("%%agent -m local?", "%%agent -m local?\n\n"),
        ("# one\n\n # two\n%%agent\nhi", "%%agent\nhi"),
        ("# one\n%%agentcell_agent\nhi", "%%agentcell_agent\nhi"),
        ("%%agent?", "%%agent?"),
        ("# one\n%%agents\nhi", "# one\n%%agents\nhi"),
        ("x = 1\n%%agent\nhi", "x = 1\n%%agent\nhi"),
        ("# only\n# comments", "# only\n# comments"),
        ("", ""),
    ],
)
def test_ipython_is_given_a_cell_that_it_calls_the_magic_for(cell: str, called: str) -> None:
    assert "".join(agent_cell(cell.splitlines(keepends=True))) == called


def test_a_cell_that_is_still_typed_does_not_look_complete() -> None:
    manager = TransformerManager()
    manager.cleanup_transforms.append(agent_cell)

    assert manager.check_complete("%%agent -m local")[0] == "incomplete"
    assert manager.check_complete("%%agent -m local\nWhat")[0] == "incomplete"


def test_a_second_question_is_found_by_its_line() -> None:
    assert asks_again("one\n%%agent -a x\ntwo") == 3
    assert asks_again("say %%agent\n%%agents\n %%agent") is None


@pytest.mark.parametrize(
    ("text", "blank"),
    [("", True), (" \n\t\u00a0", True), ("\u200b\ufeff\u2060", True), ("。", False)],
)
def test_what_a_person_cannot_see_is_blank(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


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

LOOP = "for q in {}:\n    get_ipython().run_cell_magic('agent', '-q', q)"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with kernels.running(tmp_path_factory.mktemp("cells")) as kernel:
        kernel.run(SETUP)
        yield kernel


def turns(kernel: Kernel) -> str:
    code = "print([t.question for name in session.conversations"
    return kernel.run(f"{code} for t in session.conversation(name).turns])").text.strip()


def test_a_cell_that_runs_again_is_answered_from_what_stands_above_it(notebook: Kernel) -> None:
    notebook.run("%agent reset")
    for cell in "abc":
        notebook.run(f"%%agent\n{cell}", cell_id=cell)
    ran = notebook.run("%%agent -q\nb edited", cell_id="b")

    assert ran.text.strip() == "b edited < a"
    assert turns(notebook) == "['a', 'b edited', 'c']"


def test_a_loop_in_a_cell_asks_one_question_after_the_other(notebook: Kernel) -> None:
    notebook.run("%agent reset")
    first = notebook.run(LOOP.format(["1", "2", "3"]), cell_id="loop")
    notebook.run("%%agent\nz", cell_id="z")
    again = notebook.run(LOOP.format(["4", "5"]), cell_id="loop")

    assert first.text.split("\n")[-1] == "3 < 2 < 1"
    assert again.text.split("\n")[-1] == "5 < 4"
    assert turns(notebook) == "['4', '5', 'z']"


def test_a_cell_that_names_another_conversation_moves_there(notebook: Kernel) -> None:
    notebook.run("%agent reset")
    notebook.run("%%agent\none", cell_id="a")
    notebook.run("%%agent -c ' side '\none", cell_id="a")

    assert notebook.run("print(session.conversations)").text.strip() == "('side',)"


def test_after_a_reload_everything_is_as_before(notebook: Kernel) -> None:
    notebook.run("%agent reset")
    notebook.run("%%agent\none", cell_id="a")
    assert notebook.run("%reload_ext agentcell").status == "ok"
    ran = notebook.run("%%agent -q\ntwo", cell_id="b")
    assert notebook.run("%unload_ext agentcell").status == "ok"
    without = notebook.run("%%agent -q\nthree", cell_id="c")
    notebook.run("%load_ext agentcell")
    after = notebook.run("%%agent -q\nthree", cell_id="c")

    assert ran.text.strip() == "two < one"
    assert "not found" in without.text
    assert after.text.strip() == "three < two < one"


def test_async_and_sync_questions_in_a_cell_s_own_loop(notebook: Kernel) -> None:
    notebook.run("%agent reset")
    ran = notebook.run(
        "import asyncio\n"
        "print(await session.aask('one'), '|', session.ask('two'))\n"
        "many = await asyncio.gather(*(session.aask(str(n), fresh=True) for n in range(5)))\n"
        "print(*many)"
    )

    assert ran.text.splitlines() == ["one | two < one", "0 1 2 3 4"]


def test_half_a_character_in_a_variable_is_told_by_its_name(notebook: Kernel) -> None:
    notebook.run("half = 'a\\ud800b'")
    ran = notebook.run("%%agent\n{half}")

    assert (ran.status, ran.ename) == ("error", "FieldError")
    assert len(ran.traceback.splitlines()) == 2
