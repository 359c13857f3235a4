"""`%agent budget`, costs below answers and in the status, in a real shell and real kernels."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import kernels
from agentcell import AgentcellError, LegacyOpenAIModel, OpenAIModel, RecordingModel
from agentcell.adapters.pricing import forget_price, set_price
from agentcell.budget import Budget
from agentcell.errors import BudgetExceeded, CellError
from agentcell.testing import Call, ChatServer, Reply, ResponsesServer
from agentcell_magics import current_session
from kernels import Kernel

KEY = "sk-q8Zp2WvX9mRt4Ls8Yb3"


class Cell:
    """What a cell showed and how it ended."""

    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            result = shell.run_cell(source)
        self.error = result.error_in_exec or result.error_before_exec
        self.outputs: list[dict[str, Any]] = [output.data for output in captured.outputs]
        self.metadata: list[dict[str, Any]] = [o.metadata or {} for o in captured.outputs]
        self.text = "\n".join(str(d.get("text/plain", "")) for d in self.outputs) + captured.stdout


@pytest.fixture(autouse=True)
def prices() -> Iterator[None]:
    for name in ("openai/paid", "openai-chat/paid"):
        set_price(name, input=1_000, output=1_000)
    set_price("openai/cheap", input="0.001", output="0.001")
    set_price("openai/gift", input=0, output=0)
    yield
    for name in ("openai/paid", "openai-chat/paid", "openai/gift", "openai/cheap"):
        forget_price(name)


@pytest.fixture
def server(shell: InteractiveShell) -> Iterator[ResponsesServer]:  # noqa: ARG001
    reply = Reply("27.95", usage=(100, 20, 40, 5))
    with ResponsesServer(reply) as server:
        current_session().model = OpenAIModel("paid", KEY, server.url)
        yield server


def model(server: ResponsesServer, name: str) -> OpenAIModel:
    return OpenAIModel(name, KEY, server.url)


# -- what is shown -------------------------------------------------------------------------------


def test_the_line_below_an_answer_says_what_it_cost(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    assert server.url
    cell = Cell(shell, "%%agent -o total\nhi")
    footer, facts = cell.outputs[-1], cell.metadata[0]["agentcell"]

    assert "20 out · $0.12 · " in footer["text/plain"]
    assert "$0.12" in footer["text/html"]
    assert facts["cost"] == "0.12"
    assert facts["usage"] == {
        "input_tokens": 100,
        "output_tokens": 20,
        "cached_tokens": 40,
        "reasoning_tokens": 5,
    }
    assert json.dumps(facts)
    assert str(shell.user_ns["total"].cost) == "0.12"


def test_what_is_free_says_nothing_and_the_unknown_only_with_a_budget(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    session = current_session()
    session.model = model(server, "gift")
    free = Cell(shell, "%%agent\nhi")
    assert "$" not in free.text
    assert free.metadata[0]["agentcell"]["cost"] == "0"
    assert "cost" not in Cell(shell, "%agent").text
    session.model = model(server, "nobody-knows")
    unknown = Cell(shell, "%%agent\nhi")
    assert "cost" not in unknown.text
    assert unknown.metadata[0]["agentcell"]["cost"] is None
    session.model = model(server, "cheap")
    assert "· < $0.0001 ·" in Cell(shell, "%%agent\nhi").text
    session.budget = Budget(usd=2)
    session.model = RecordingModel(model(server, "nobody-knows"), Path("r.jsonl"), "record")
    session.budget = None
    Cell(shell, "%%agent --fresh\nhi")
    session.budget = Budget(usd=2)
    replayed = Cell(shell, "%%agent --fresh\nhi")
    assert "· cost unknown ·" in replayed.text


def test_the_status_tells_cost_and_budget(shell: InteractiveShell, server: ResponsesServer) -> None:
    Cell(shell, "%%agent\nhi")
    Cell(shell, "%agent budget 2.00 usd")
    assert "cost          $0.12" in Cell(shell, "%agent").text
    assert "budget        $2.00, $1.88 left" in Cell(shell, "%agent").text
    current_session().budget = None
    current_session().ask("hi", model=model(server, "nobody-knows"))

    assert "at least $0.12 (1 turn of unknown cost)" in Cell(shell, "%agent").text


def test_quiet_cells_stay_quiet(shell: InteractiveShell, server: ResponsesServer) -> None:
    assert server.url
    assert "$" not in Cell(shell, "%%agent -q\nhi").text


def test_a_background_answer_tells_its_cost(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    assert server.url
    cell = Cell(shell, "%%agent --async -o later\nhi")

    assert cell.error is None
    later = shell.user_ns["later"]
    assert str(later.result(10).cost) == "0.12"
    assert "$0.12" in str(later._display._bundle(later.result()))  # noqa: SLF001


def test_a_replayed_cell_shows_the_same_and_spends_nothing(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    Cell(shell, "%agent record r.jsonl")
    first = Cell(shell, "%%agent\nhi")
    Cell(shell, "%agent replay r.jsonl")
    Cell(shell, "%agent reset")
    Cell(shell, "%agent budget 0.13")
    again = Cell(shell, "%%agent\nhi")

    assert first.outputs[-1] == again.outputs[-1]
    assert len(server.requests) == 1
    assert "spent   $0.12" in Cell(shell, "%agent budget").text


# -- the command ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "budget"),
    [
        ("2", Budget(usd=2)),
        ("2.00 usd", Budget(usd=2)),
        ("$2", Budget(usd=2)),
        ('"2 usd"', Budget(usd=2)),
        ("0", Budget(usd=0)),
        ("2 usd --ask-above 0.10", Budget(usd=2, ask_above="0.1")),
        ("--ask-above=$0.10 2", Budget(usd=2, ask_above="0.1")),
        ("--ask-above 0.10 usd 2 usd", Budget(usd=2, ask_above="0.1")),
        ("off", None),
        ("OFF", None),
    ],
)
def test_a_budget_is_set(shell: InteractiveShell, line: str, budget: Budget | None) -> None:
    cell = Cell(shell, f"%agent budget {line}")

    assert cell.error is None
    assert current_session().budget == budget
    assert ("none" if budget is None else "left") in cell.text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2 eur", "not in eur"),
        ("€2", "not in €"),
        ("2,50", "without commas"),
        ("-1", "US dollars"),
        ("abc", "US dollars"),
        ("2 3", "US dollars"),
        ("off 2", "takes nothing more"),
        ("off --ask-above 1", "takes nothing more"),
        ("--nope", "no option"),
        ("-x 2", "no option"),
        ("2 --ask-above", "needs an amount"),
        ("2 --ask-above=", "needs an amount"),
        ("2 --ask-above 1 --ask-above 2", "given twice"),
        ("2 --ask-above eur", "US dollars"),
        ("--ask-above 0.1", "there is none"),
        ("99999999", "1,000,000"),
        ('"2', "not closed"),
    ],
)
def test_a_line_that_says_no_budget_changes_nothing(
    shell: InteractiveShell, line: str, said: str
) -> None:
    cell = Cell(shell, f"%agent budget {line}")

    assert isinstance(cell.error, CellError)
    assert said in str(cell.error)
    assert current_session().budget is None


def test_the_threshold_can_be_set_alone_and_stays(shell: InteractiveShell) -> None:
    Cell(shell, "%agent budget 2 --ask-above 0.05")
    Cell(shell, "%agent budget 3")
    Cell(shell, "%%agent local -n\nhi")
    assert current_session().budget == Budget(usd=3, ask_above="0.05")
    Cell(shell, "%agent budget --ask-above 0.5")
    Cell(shell, "%%agent local -n\nhi")

    assert current_session().budget == Budget(usd=3, ask_above="0.5")
    assert "'3.00'" in Cell(shell, "%config AgentMagics").text


def test_config_and_the_environment_set_it_too(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = current_session()
    monkeypatch.setenv("AGENTCELL_BUDGET", "$5")
    Cell(shell, "%%agent local -n\nhi")
    assert session.budget == Budget(usd=5)
    Cell(shell, "%config AgentMagics.budget = '2 usd'")
    Cell(shell, "%config AgentMagics.ask_above = 0.3")
    assert session.budget == Budget(usd=2, ask_above="0.3")
    Cell(shell, "%config AgentMagics.budget = 'off'")
    assert session.budget is None
    Cell(shell, "%config AgentMagics.budget = None")
    Cell(shell, "%config AgentMagics.ask_above = None")
    Cell(shell, "%%agent local -n\nhi")
    assert session.budget == Budget(usd=5)
    session.budget = Budget(usd=7)
    Cell(shell, "%%agent local -n\nhi")

    assert session.budget == Budget(usd=7)
    assert "'7.00'" in Cell(shell, "%config AgentMagics").text


@pytest.mark.parametrize("value", ["'2 eur'", "True", "-1", "'abc'", "[2]", "float('nan')"])
def test_a_setting_that_is_no_amount_is_refused(
    shell: InteractiveShell, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    """IPython logs what is wrong in a setting, and raises nothing."""
    Cell(shell, f"%config AgentMagics.budget = {value}")

    assert "US dollars such as '2.00' or 'off' was expected" in caplog.text
    assert current_session().budget is None


def test_a_wrong_word_of_the_environment_stops_every_question(
    shell: InteractiveShell, server: ResponsesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTCELL_BUDGET", "two")
    cell = Cell(shell, "%%agent\nhi")

    assert isinstance(cell.error, AgentcellError)
    assert "AGENTCELL_BUDGET" in str(cell.error)
    assert server.requests == []


# -- who is asked --------------------------------------------------------------------------------


def test_a_question_over_the_budget_is_refused_and_the_old_answer_stays(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    Cell(shell, "%%agent --max-tokens 10\nhi")
    Cell(shell, "%agent budget 0.125")
    cell = Cell(shell, "%%agent --max-tokens 10\nmore")

    assert isinstance(cell.error, BudgetExceeded)
    assert "No answer." in cell.text
    assert len(server.requests) == len(current_session().turns) == 1


def test_where_nobody_can_answer_it_is_refused_without_asking(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    Cell(shell, "%agent budget 100 --ask-above 0.001")
    cell = Cell(shell, "%%agent --max-tokens 10\nhi")  # a test run has no input
    handle = Cell(shell, "%%agent --async -o later --max-tokens 10\nhi")

    assert isinstance(cell.error, BudgetExceeded)
    assert "nobody can be asked here" in str(cell.error)
    with pytest.raises(BudgetExceeded, match="in the background"):
        shell.user_ns["later"].result(10)
    assert handle.error is None
    assert server.requests == []


SETUP = """
%load_ext agentcell
from agentcell_magics import current_session
from agentcell.testing import FakeModel, Reply
from agentcell import set_price
set_price("fake/model", input=1000, output=1000)
model = FakeModel("Done.", "Done.", "Done.")
current_session().model = model
"""


@pytest.mark.parametrize(
    ("typed", "status", "count"),
    [(["y"], "ok", 1), (["what?", "是"], "ok", 1), (["n"], "error", 0), ([""], "error", 0)],
)
def test_a_person_at_the_kernel_is_asked(
    kernel: Kernel, typed: list[str], status: str, count: int
) -> None:
    assert kernel.run(SETUP + "print(model.name)").text.strip() == "fake/model"
    kernel.run("%agent budget 100 usd --ask-above 0.001")
    client = kernel.client
    sent = client.execute("%%agent --max-tokens 10\nhi", allow_stdin=True)
    kernel._started[sent] = time.monotonic()  # noqa: SLF001 (as `start` does)
    questions = []
    for answer in typed:
        questions.append(client.get_stdin_msg(timeout=20)["content"]["prompt"])
        client.input(answer)
    ran = kernel.finish(sent, 20)

    assert ran.status == status
    assert ran.ename == ("" if status == "ok" else "Stopped")
    assert questions[0].startswith("It costs about $0.0")
    assert "with $100.00 of $100.00 left. Send it? y = yes, n = no: " in questions[0]
    assert "\n" not in questions[0]
    assert kernel.run("len(current_session().turns)").text == str(count)


def test_an_interrupt_of_the_question_sends_nothing(kernel: Kernel) -> None:
    kernel.run(SETUP)
    kernel.run("%agent budget 100 usd --ask-above 0.001")
    client = kernel.client
    sent = client.execute("%%agent --max-tokens 10\nhi", allow_stdin=True)
    kernel._started[sent] = time.monotonic()  # noqa: SLF001 (as `start` does)
    client.get_stdin_msg(timeout=20)
    kernel.interrupt()
    ran = kernel.finish(sent, 20)

    assert ran.ename == "Stopped"
    assert kernel.run("len(current_session().turns)").text == "0"
    assert kernel.run("%agent budget 200 usd --ask-above 100").status == "ok"
    assert kernel.run("%%agent --max-tokens 10\nhi").status == "ok"


def test_a_restarted_kernel_remembers_what_was_spent(tmp_path: Path) -> None:

    said = []
    for _ in range(2):
        with kernels.running(tmp_path) as kernel:
            kernel.run(SETUP)
            kernel.run("%%agent --max-tokens 10\nhi", cell_id="a")
            kernel.run("%agent reset")
            said.append(kernel.run("str(current_session().cost)").text)

    first, second = (float(one.strip("'$")) for one in said)
    assert 0 < first < second


def test_under_nbclient_it_is_refused_at_once(tmp_path: Path) -> None:
    cells = [SETUP, "%agent budget 100 --ask-above 0.001", "%%agent --max-tokens 10\nhi"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = notebook.cells[-1].outputs

    assert outputs[-1]["ename"] == "BudgetExceeded"
    assert "nobody can be asked here" in "\n".join(outputs[-1]["traceback"])


def test_tool_rounds_of_a_cell_stop_at_the_budget(
    shell: InteractiveShell, server: ResponsesServer
) -> None:
    assert server.url
    Cell(shell, "def look() -> str:\n    'Look.'\n    return 'nothing'")
    with ChatServer(*[Reply("", calls=[Call("look", "{}")], usage=(150, 20))] * 9) as chat:
        session = current_session()
        session.model = LegacyOpenAIModel("paid", KEY, chat.url)
        session.budget = Budget(usd="1", ask_above=20)
        cell = Cell(shell, "%%agent -T look --max-tokens 40\ngo")

        assert isinstance(cell.error, BudgetExceeded)
        assert 1 < len(chat.requests) < 9
    assert session.cost.usd <= session.budget.usd
    assert "look()" in cell.text


def test_tab_knows_the_command(kernel: Kernel) -> None:
    kernel.run("%load_ext agentcell")

    assert "budget" in kernel.complete("%agent bud")
    assert "off" in kernel.complete("%agent budget o")
    assert "--ask-above" in kernel.complete("%agent budget 2 --")
