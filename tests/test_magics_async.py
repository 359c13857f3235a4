from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell.errors import CellError, Overloaded, Stopped
from agentcell.testing.fake_model import FakeModel
from agentcell.testing.replies import Reply
from agentcell_magics import current_session
from agentcell_magics.async_answer import AsyncAnswer
from agentcell_magics.background import background
from kernels import Kernel, Ran
from promptly import PROMPTLY

SETUP = """
%load_ext agentcell
import asyncio, time, threading
from agentcell.errors import Overloaded
from agentcell.testing import FakeModel, Call, Reply
from agentcell_magics import current_session
session = current_session()
def slow(*words, delay=0.05):
    return FakeModel(Reply(*words, delay=delay))
def look(seconds: float = 0.3) -> str:
    "Look."
    time.sleep(seconds)
    return "seen"
"""


@pytest.fixture
def ready(kernel: Kernel) -> Kernel:
    assert kernel.run(SETUP).status == "ok"
    return kernel


def updates(kernel: Kernel, cell: str, seconds: float) -> list[str]:
    """What the cell's displays were updated with after it ended, as plain text."""
    said = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            message = kernel.client.get_iopub_msg(timeout=0.1)
        except Exception:  # noqa: BLE001, S112 (nothing came)
            continue
        if message["msg_type"] == "update_display_data":
            assert message["parent_header"]["msg_id"] == cell
            said.append(message["content"]["data"]["text/plain"])
    return said


def begin(kernel: Kernel, source: str) -> tuple[str, Ran]:
    sent = kernel.start(source)
    return sent, kernel.finish(sent)


# -- in a kernel ---------------------------------------------------------------------------------


def test_the_cell_ends_at_once_and_its_display_follows(ready: Kernel) -> None:
    ready.run("session.model = slow(*['word '] * 100)")
    sent, ran = begin(ready, "%%agent --async -o story\nTell.")

    assert ran.status == "ok"
    assert ran.seconds < 100 * 0.05  # the answer takes longer
    assert ran.text == "Asking fake/model …"
    said = updates(ready, sent, 9)
    assert len(said) > 3
    assert said[-1].startswith("word word")
    assert "fake/model · 11 tokens in" in said[-1]
    assert ready.run("story").text == said[-1]
    assert ready.run("story.done, story.status, len(story.text)").text == "(True, 'complete', 500)"


def test_the_kernel_is_free_meanwhile_and_several_do_not_mix(ready: Kernel) -> None:
    ready.run(
        "session.model = FakeModel(*[Reply(*[w] * 40, delay=0.1) for w in ('a ', 'b ', 'c ')])"
    )
    cells = [begin(ready, f"%%agent --async -o {name} -c {name}\nTell.") for name in "xyz"]

    assert all(ran.seconds < 40 * 0.1 for _, ran in cells)  # an answer takes longer
    assert ready.run("1 + 1").text == "2"
    listed = ready.run("%agent running").text
    assert [name for name in "xyz" if f"  {name}  Tell." in listed] == ["x", "y", "z"]
    ran = ready.run("[str(await one) for one in (x, y, z)]")
    assert ran.text.split() == str(["a " * 40, "b " * 40, "c " * 40]).split()
    turns = ready.run("[(t.status, t.answer[:1]) for t in session.turns]").text
    assert sorted(eval(turns)) == [("complete", one) for one in "abc"]  # noqa: S307 (our own list)


def test_result_waits_and_an_interrupt_ends_only_the_waiting(ready: Kernel) -> None:
    ready.run("session.model = slow(*['w '] * 20, delay=0.1)")
    ready.run("%%agent --async -o h\nTell.")
    assert ready.run("h.wait(0.01), h.status").text == "(False, 'running')"
    assert ready.run("h.result(0.01)").ename == "TimeoutError"
    running = ready.start("h.result()")
    time.sleep(0.3)
    ready.interrupt()
    assert ready.finish(running, 10).ename == "KeyboardInterrupt"

    ran = ready.run("h.result().status, h.done")
    assert ran.text == "('complete', True)"


def test_cancel_keeps_what_came_and_result_says_so(ready: Kernel) -> None:
    ready.run("session.model = FakeModel(Reply(*['w '] * 90, delay=0.05), 'Hello.')")
    ready.run("%%agent --async -o h\nTell.")
    time.sleep(0.7)
    ready.run("h.cancel(), h.wait(2)")

    shown = ready.run("h").text
    assert shown.startswith("w w w")
    assert "Stopped: after" in shown
    assert ready.run("h.status, h.text[:4]").text == "('stopped', 'w w ')"
    failed = ready.run("h.result()")
    assert failed.ename == "Stopped"
    assert "The partial answer is kept." in failed.text
    assert ready.run("session.turns[-1].status").text == "'interrupted'"
    assert ready.run("await h").ename == "Stopped"
    assert ready.run("h.cancel()").text == "False"
    assert ready.run("%agent running").text == "Nothing is answered in the background."


def test_one_that_runs_can_be_stopped_without_its_name(ready: Kernel) -> None:
    ready.run("session.model = slow(*['w '] * 90)")
    ready.run("%%agent --async\nTell.")

    assert ready.run("%agent cancel").text == "Stopped: async_1. What came until then is kept."
    assert ready.run("%agent cancel").ename == "CellError"
    assert ready.run("%agent cancel a b").ename == "CellError"


def test_a_later_cell_says_that_it_does_not_see_it(ready: Kernel) -> None:
    ready.run("session.model = FakeModel(Reply(*['w '] * 30, delay=0.05), 'Hello.')")
    ready.run("%%agent --async -o h\nTell.")
    ran = ready.run("%%agent\nAnd?")

    assert ran.text.startswith("This question does not see an answer that is still on the way")
    assert ready.run("len(session.model.requests[1].messages)").text == "1"
    assert "does not see" not in ready.run("%%agent -c other\nAnd?").text
    ready.run("h.result()")
    assert "does not see" not in ready.run("%%agent\nAnd?").text


def test_running_the_cell_again_stops_its_earlier_run(ready: Kernel) -> None:
    ready.run("session.model = FakeModel(Reply(*['old '] * 60, delay=0.05), 'new')")
    ready.run("%%agent --async -o h\nTell.", cell_id="one")
    ready.run("old = h")
    ready.run("%%agent --async -o h\nTell.", cell_id="one")

    assert ready.run("h.result()").text == "Answer('new')"
    assert ready.run("old.status").text == "'stopped'"
    assert ready.run("[t.answer for t in session.turns]").text == "['new']"


def test_a_failure_is_in_the_display_and_raised_by_result(ready: Kernel) -> None:
    ready.run("session.model = FakeModel(Overloaded('Too much to do.', fix='wait.'))")
    sent, ran = begin(ready, "%%agent --async -o h\nTell.")
    assert ran.status == "ok"
    said = [ran.text, *updates(ready, sent, 1)]

    assert said[-1] == "Overloaded: Too much to do. (wait.)"
    assert ready.run("h.status").text == "'failed'"
    assert ready.run("h.result()").ename == "Overloaded"
    assert ready.run("await h").ename == "Overloaded"


def test_what_is_wrong_with_the_question_fails_the_cell(ready: Kernel) -> None:
    assert ready.run("%%agent --async -T nothing\nTell.").ename == "CellError"
    assert ready.run("%%agent --async\n ").ename == "CellError"


def test_tools_run_in_the_background_and_nobody_is_asked(ready: Kernel) -> None:
    ready.run("session.model = FakeModel(Call('look'), 'Seen.', Call('look'), 'Not seen.')")
    sent, ran = begin(ready, "%%agent --async -o h -T look\nLook.")
    assert ran.status == "ok"
    said = updates(ready, sent, 2)
    assert any("look() · running" in text for text in (ran.text, *said))
    assert "look() · 0.3 s · ok" in said[-1]
    assert "Seen." in said[-1]

    sent, _ = begin(ready, "%%agent --async -o h -T look --approve ask\nLook.")
    assert "refused" in updates(ready, sent, 2)[-1]


def test_a_schema_gives_the_handle_s_answer_its_value(ready: Kernel) -> None:
    ready.run("session.model = FakeModel('{\"value\": [1, 2]}')\nA = list[int]")
    ready.run("%%agent --async -o h --schema A\nTell.")

    assert ready.run("h.result().value").text == "[1, 2]"
    assert ready.run("h").text.startswith("```json\n[\n  1,\n  2\n]\n```")


def test_a_reset_meanwhile_is_told(ready: Kernel) -> None:
    ready.run("session.model = slow(*['w '] * 20)")
    ready.run("%%agent --async -o h\nTell.")
    time.sleep(0.3)
    ready.run("%agent reset")

    ran = ready.run("h.result()")
    assert ran.status == "ok" or ran.ename == "HistoryError"


def test_the_end_of_the_kernel_stops_it(ready: Kernel, tmp_path: Path) -> None:
    ready.run(
        "import atexit\n"
        "session.model = slow(*['w '] * 400)\n"
        "def last():\n"
        "    open('end.txt', 'w').write(f'{h.status} {session.turns[-1].status}')\n"
        "atexit.register(last)"
    )
    # What is registered first runs last: agentcell stops its answers before `last` looks.
    ready.run("%%agent --async -o h\nTell.")
    time.sleep(0.5)
    began = time.monotonic()
    ready.manager.shutdown_kernel(now=False)

    assert time.monotonic() - began < PROMPTLY
    assert (tmp_path / "end.txt").read_text() == "stopped interrupted"


# -- where displays cannot be updated --------------------------------------------------------------


@pytest.fixture
def no_updates(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel as nbval starts it: pytest's variable is in its environment."""
    import kernels

    with kernels.running(tmp_path, {"PYTEST_CURRENT_TEST": "a notebook"}) as kernel:
        kernel.run(SETUP)
        yield kernel


def test_where_displays_cannot_be_updated_it_is_answered_at_once(no_updates: Kernel) -> None:
    no_updates.run("session.model = slow(*['w '] * 5)")
    sent, ran = begin(no_updates, "%%agent --async -o h\nTell.")

    assert ran.text.startswith("w w w w w")
    assert len(ran.outputs) == 1
    assert no_updates.run("h.done, h.status").text == "(True, 'complete')"
    assert updates(no_updates, sent, 0.3) == []


def test_an_interrupt_there_stops_the_answer(no_updates: Kernel) -> None:
    no_updates.run("session.model = slow(*['w '] * 100)")
    running = no_updates.start("%%agent --async -o h\nTell.")
    time.sleep(1.5)
    no_updates.interrupt()
    ran = no_updates.finish(running, 10)

    assert ran.ename == "Stopped"
    assert "The partial answer is kept." in ran.text
    assert no_updates.run("session.turns[-1].status").text == "'interrupted'"


def test_what_a_tool_prints_in_the_background_goes_to_its_own_cell(ready: Kernel) -> None:
    ready.run("def says() -> str:\n    'Say.'\n    time.sleep(1)\n    print('said'); return 'x'")
    ready.run("session.model = FakeModel(Call('says'), 'Done.')")
    sent = ready.start("%%agent --async -o h -T says\nTell.")
    ready.finish(sent)
    other = ready.start("time.sleep(2.5)")
    printed: dict[str, Any] = {}
    end = time.monotonic() + 4
    while time.monotonic() < end and not printed:
        message = ready.client.get_iopub_msg(timeout=4)
        if message["msg_type"] == "stream":
            printed = message
    ready.client.get_shell_msg(timeout=10)

    assert printed["content"]["text"].strip() == "said"
    assert printed["parent_header"]["msg_id"] == sent != other


class Shown:
    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            result = shell.run_cell(source)
        self.result: Any = result.result
        self.error = result.error_in_exec
        self.text = "\n".join(str(one.data.get("text/plain", "")) for one in captured.outputs)


def test_in_a_console_the_handle_is_done(shell: InteractiveShell) -> None:
    current_session().model = FakeModel("Hello.")
    cell = Shown(shell, "%%agent --async -o h\nTell.")

    assert isinstance(cell.result, AsyncAnswer)
    assert cell.result is shell.user_ns["h"]
    assert cell.result.result() == "Hello."
    assert "Hello." in cell.text
    assert repr(cell.result) == "AsyncAnswer('h', complete, 6 characters)"


def test_in_a_console_a_failure_is_the_handle_s(shell: InteractiveShell) -> None:
    current_session().model = FakeModel(Overloaded("Too much.", fix="wait."))
    cell = Shown(shell, "%%agent --async\nTell.")

    assert cell.error is None
    assert cell.result.status == "failed"
    assert "Overloaded: Too much." in cell.text
    with pytest.raises(Overloaded):
        cell.result.result()


# -- the handle alone ------------------------------------------------------------------------------


def test_cancel_before_the_first_step_leaves_nothing(shell: InteractiveShell) -> None:  # noqa: ARG001
    session = current_session()
    session.model = FakeModel(Reply("a", "b", delay=1))
    handle = AsyncAnswer(session, session.prepare("?"), "h")
    handle.start()
    handle.cancel()

    assert handle.wait(5)
    assert handle.status == "stopped"
    with pytest.raises(Stopped):
        handle.result()


def test_cancel_needs_a_name_where_several_run(shell: InteractiveShell) -> None:  # noqa: ARG001
    session = current_session()
    session.model = FakeModel(Reply("a", "b", delay=1))
    running = background(session)
    with pytest.raises(CellError, match="Nothing is answered"):
        running.cancel(None)
    for conversation in ("x", "y"):
        request = session.prepare("?", conversation=conversation)
        running.begin(
            lambda name, request=request: AsyncAnswer(session, request, name),  # type: ignore[misc]
            None,
            updates=True,
        )

    with pytest.raises(CellError, match="2 questions are answered"):
        running.cancel(None)
    with pytest.raises(CellError, match="is called 'z'"):
        running.cancel("z")
    assert [one.name for one in running.cancel("all")] == ["async_1", "async_2"]
    assert running.running == []
