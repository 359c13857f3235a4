from __future__ import annotations

import functools
import json
import time
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image

from agent_kit import png
from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.agents.tools import tool
from agentcell.errors import SkillError, Unsupported
from agentcell.history.reader_words import call_text
from agentcell.messages import ToolCall, content_text
from agentcell.session import Session
from agentcell.testing.fake_model import FakeModel
from agentcell.testing.replies import Call, Reply
from agentcell_magics import current_session
from kernels import Kernel

KERNEL_SETUP = """
%load_ext agentcell
from agentcell import tool
from agentcell.testing import FakeModel, Call, Reply
from agentcell_magics import current_session
paid = []
@tool(needs_approval=True)
def pay(amount: int, to: str = "Ada") -> str:
    "Pay."
    paid.append(amount)
    return "paid"
def asked():
    return current_session().model.requests[-1].messages[-1]["content"]
"""


class Shown:
    """What a cell showed and how it ended."""

    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            result = shell.run_cell(source)
        self.success = bool(result.success)
        self.error = result.error_in_exec
        self.result = result.result
        self.outputs: list[dict[str, Any]] = [one.data for one in captured.outputs]
        self.metadata: list[dict[str, Any]] = [one.metadata for one in captured.outputs]

    @property
    def text(self) -> str:
        return "\n".join(str(data.get("text/plain", "")) for data in self.outputs)


@pytest.fixture
def session(shell: InteractiveShell) -> Session:  # noqa: ARG001
    return current_session()


def say(*answers: Any) -> FakeModel:
    model = FakeModel(*answers)
    current_session().model = model
    return model


WEATHER = Call("weather", '{"town": "Oslo"}')


def weather(town: str) -> str:
    """Tell the weather."""
    return f"rain in {town}"


# -- names ---------------------------------------------------------------------------------------


def test_a_function_is_called_and_a_line_says_so(shell: InteractiveShell, session: Session) -> None:
    say(Reply("Let me see.", calls=[WEATHER]), "It rains.")
    shell.user_ns["weather"] = weather
    cell = Shown(shell, "%%agent -T weather\nHow is it?")

    assert cell.success
    before, tools, answer, footer = (one["text/plain"] for one in cell.outputs)
    assert before == "Let me see."
    assert tools == "weather(town='Oslo') · ok"
    assert answer == "It rains."
    assert footer.startswith("fake/model · 22 tokens in, 14 out")
    assert "<summary>weather(town=&#x27;Oslo&#x27;)" in cell.outputs[1]["text/html"].replace(
        "&#39;", "&#x27;"
    )
    assert "rain in Oslo" in cell.outputs[1]["text/html"]
    assert cell.metadata[2]["agentcell"]["tools"] == [{"name": "weather", "is_error": False}]
    assert session.turns[0].answer == "It rains."


def test_a_function_is_looked_up_when_the_cell_runs(shell: InteractiveShell) -> None:
    model = say(WEATHER, "a", WEATHER, "b")
    shell.run_cell("def weather(town: str) -> str:\n    'Tell.'\n    return 'old'")
    Shown(shell, "%%agent -T weather\n?")
    shell.run_cell("def weather(town: str) -> str:\n    'Tell.'\n    return 'new'")
    Shown(shell, "%%agent -T weather\n?")

    assert model.requests[1].messages[-1]["content"] == "old"
    assert model.requests[3].messages[-1]["content"] == "new"


class Shop:
    def __init__(self, stock: dict[str, int]) -> None:
        self.stock = stock

    def count(self, item: str) -> int:
        """Count an item."""
        return self.stock.get(item, 0)

    @tool(name="look_up")
    def search(self, item: str) -> str:
        """Look an item up."""
        return f"{item}: {self.stock[item]}"


@pytest.mark.parametrize(
    ("names", "called"),
    [
        ("-T shop.count", "count"),
        ("-T shop.search", "look_up"),
        ("-T count", "count"),
        ("-T twice", "twice"),
        ("-T fixed", "weather"),
        ("-T both", "weather"),
        ("--tool=weather", "weather"),
        ("-T weather -T shop.count", "count"),
    ],
)
def test_methods_tools_lambdas_partials_and_lists_are_tools(
    shell: InteractiveShell, names: str, called: str
) -> None:
    shop = Shop({"tea": 3})
    shell.user_ns.update(
        shop=shop,
        count=shop.count,
        twice=lambda item: item * 2,
        fixed=functools.partial(weather, town="Oslo"),
        both=[weather, shop.count],
        weather=weather,
    )
    model = say(Call(called, '{"item": "tea"}' if called != "weather" else "{}"), "Done.")
    cell = Shown(shell, f"%%agent {names}\n?")

    assert cell.success
    assert called in [one["name"] for one in model.requests[0].tools]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-T wether", "did you mean weather?"),
        ("-T nothing_like_it", "define it in a cell above"),
        ("-T number", "is an int; a function was expected"),
        ("-T shop.cuont", "did you mean count?"),
        ("-T nowhere", "there is no variable 'nowhere'"),
        ("-T weather -T weather", "Two tools are named 'weather'"),
        ("-T unknown_type", "type is not known"),
        ("--schema shop.Recept", "shop has no 'Recept'"),
        ("--max-rounds 0", "a whole number from 1"),
        ("--schema nothing", "there is no variable 'nothing'"),
        ("--schema number", "a pydantic model"),
        ("--skill nowhere", "nowhere"),
        ("--approve maybe", "one of ask, run, refuse"),
    ],
)
def test_what_cannot_be_used_is_told_before_anything_is_sent(
    shell: InteractiveShell, line: str, said: str
) -> None:
    def unknown_type(x: int) -> str:
        return str(x)

    unknown_type.__annotations__["x"] = "NotThere"
    shell.user_ns.update(weather=weather, number=5, shop=Shop({}), unknown_type=unknown_type)
    model = say("Hello.")
    cell = Shown(shell, f"%%agent {line}\n?")

    assert not cell.success
    assert said in str(cell.error)
    assert len(str(cell.error).splitlines()) <= 15
    assert model.requests == []


def test_a_model_without_tools_refuses_them(shell: InteractiveShell) -> None:
    shell.user_ns["weather"] = weather
    current_session().model = FakeModel(capabilities=ModelCapabilities(tools=False))
    cell = Shown(shell, "%%agent -T weather\n?")

    assert isinstance(cell.error, Unsupported)


def test_quiet_shows_the_answer_alone(shell: InteractiveShell) -> None:
    shell.user_ns["weather"] = weather
    say(WEATHER, "It rains.")
    cell = Shown(shell, "%%agent -q -T weather\n?")

    assert [one["text/plain"] for one in cell.outputs] == ["It rains."]


# -- what tools return and how they fail ---------------------------------------------------------


def test_a_tool_that_raises_is_shown_and_told(shell: InteractiveShell) -> None:
    def broken() -> str:
        """Break."""
        raise KeyError("shelf\x1b[31m\nsecond line")

    shell.user_ns["broken"] = broken
    model = say(Call("broken"), "It is broken.")
    cell = Shown(shell, "%%agent -T broken\n?")

    assert cell.success
    assert "broken() · failed: KeyError" in cell.text
    assert "\x1b" not in cell.text
    assert "KeyError" in model.requests[1].messages[-1]["content"]


def test_nothing_that_a_tool_or_a_model_says_of_it_becomes_markup(shell: InteractiveShell) -> None:
    evil = "</summary><script>alert(1)</script> ![x](http://x/y.png) \x1b[31m\u202e"

    def fetch(page: str) -> str:
        """Fetch."""
        return page + evil

    shell.user_ns["fetch"] = fetch
    given = json.dumps({"page": evil, evil: 1})
    said = [
        Call("fetch", json.dumps({"page": evil})),
        Call(evil, given, "2"),
        Call("fetch", evil, "3"),
    ]
    say(Reply(calls=said), "Done.")
    cell = Shown(shell, "%%agent -T fetch\n?")

    assert cell.success
    for data in cell.outputs:
        for kind in ("text/html", "text/markdown"):
            shown = data.get(kind, "")
            assert "<script" not in shown
            assert kind == "text/html" or "![x](http" not in shown
        assert "\x1b" not in str(data.get("text/plain", ""))
        assert "\u202e" not in "".join(map(str, data.values()))
    assert len(cell.outputs[0]["text/plain"].splitlines()) == 3


def test_what_a_tool_draws_is_shown_and_sent(shell: InteractiveShell, session: Session) -> None:
    def image() -> Any:
        """Draw."""
        return Image.new("RGB", (30, 20), "red")

    def chart() -> Any:
        """Plot."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 1))
        figure.add_subplot().plot([1, 2])
        return figure

    def table() -> Any:
        """Tabulate."""
        import pandas as pd  # type: ignore[import-untyped]  # it carries no types

        return pd.DataFrame({"a": [1, 2]})

    shell.user_ns.update(image=image, chart=chart, table=table)
    say(Reply(calls=[Call("image"), Call("chart", id="2"), Call("table", id="3")]), "Nice.")
    cell = Shown(shell, "%%agent -T image -T chart -T table\n?")

    assert cell.success
    tags = [block.tag for block in session.attachments]
    assert [tag.split("_")[0] for tag in tags[:2]] == ["[image", "[chart"]
    pictures = [data for data in cell.outputs if "image/png" in data or "image/jpeg" in data]
    assert len(pictures) == len(tags)


def test_the_same_cell_run_again_replaces_its_tool_rounds(kernel: Kernel) -> None:
    kernel.run(KERNEL_SETUP)
    kernel.run("current_session().model = FakeModel(Call('pay', '{\"amount\": 1}'), 'a')")
    for length in ("(1, 4)", "(1, 2)"):
        kernel.run("%%agent -T pay --approve run\nPay.", cell_id="one")
        ran = kernel.run("len(current_session().turns), len(current_session().turns[0].messages)")
        assert ran.text == length


# -- leave ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("", False),
        ("--approve run", True),
        ("--approve always", True),
        ("--approve ask", False),
        ("--approve refuse", False),
        ("--approve never", False),
    ],
)
def test_where_nobody_can_be_asked_a_tool_that_needs_leave_runs_only_if_it_was_given(
    kernel: Kernel, line: str, runs: bool
) -> None:
    kernel.run(KERNEL_SETUP)
    kernel.run("current_session().model = FakeModel(Call('pay', '{\"amount\": 5}'), 'Done.')")
    cell = kernel.run(f"%%agent -T pay {line}\nPay.")

    assert cell.status == "ok"
    assert kernel.run("paid").text == ("[5]" if runs else "[]")
    if not runs:
        assert "refused: the call was not allowed" in cell.text
        assert "not allowed" in kernel.run("asked()").text
    if line in ("", "--approve ask"):
        assert "--approve run" in cell.text


def test_a_function_of_the_notebook_runs_unasked_unless_it_is_said(shell: InteractiveShell) -> None:
    shell.user_ns["weather"] = weather
    say(WEATHER, "a", WEATHER, "b")

    assert "· ok" in Shown(shell, "%%agent -T weather\n?").text
    assert "refused" in Shown(shell, "%%agent -T weather --approve ask\n?").text


@pytest.mark.parametrize(
    ("typed", "paid", "asked"),
    [
        (["y", "y"], "[5, 6]", 2),
        (["n", "y"], "[6]", 2),
        (["a"], "[5, 6]", 1),
        (["what?", "YES", "no"], "[5]", 3),
        (["", ""], "[]", 2),
    ],
)
def test_a_person_at_the_kernel_is_asked_in_one_line(
    kernel: Kernel, typed: list[str], paid: str, asked: int
) -> None:
    kernel.run(KERNEL_SETUP)
    kernel.run(
        "current_session().model = FakeModel(Reply(calls=[Call('pay', '{\"amount\": 5}', 'a'),"
        ' Call(\'pay\', \'{"amount": 6, "to": "Bo\\\\nb"}\', \'b\')]), "Done.")'
    )
    client = kernel.client
    sent = client.execute("%%agent -T pay\nPay.", allow_stdin=True)
    kernel._started[sent] = time.monotonic()  # noqa: SLF001 (as `start` does)
    questions = []
    for answer in typed:
        questions.append(client.get_stdin_msg(timeout=20)["content"]["prompt"])
        client.input(answer)
    ran = kernel.finish(sent, 20)

    assert ran.status == "ok"
    assert len(questions) == asked
    assert questions[0].startswith("Run pay(amount=5)? y = yes")
    assert "\n" not in "".join(questions)
    assert kernel.run("paid").text == paid


def test_an_interrupt_of_the_question_stops_the_cell_and_runs_nothing(kernel: Kernel) -> None:
    kernel.run(KERNEL_SETUP)
    kernel.run("current_session().model = FakeModel(Call('pay', '{\"amount\": 5}'), 'Done.')")
    client = kernel.client
    sent = client.execute("%%agent -T pay\nPay.", allow_stdin=True)
    kernel._started[sent] = time.monotonic()  # noqa: SLF001 (as `start` does)
    client.get_stdin_msg(timeout=20)
    kernel.interrupt()
    ran = kernel.finish(sent, 20)

    assert ran.ename == "Stopped"
    assert "pay(amount=5) · stopped" in ran.text
    assert kernel.run("paid").text == "[]"
    assert kernel.run("%%agent\nGo on.").status == "ok"


# -- skills --------------------------------------------------------------------------------------


def test_a_skill_holds_from_its_cell_on(shell: InteractiveShell, tmp_path: Path) -> None:
    folder = tmp_path / "my skill"
    folder.mkdir()
    (folder / "guide.png").write_bytes(png(0, 255, 0))
    (folder / "SKILL.md").write_text(
        "---\nname: brief\nmedia:\n- {type: image, path: guide.png}\n---\nBe brief.",
        encoding="utf-8",
    )
    model = say("a", "b", "c")
    Shown(shell, '%%agent --skill "my skill"\n1')
    Shown(shell, "%%agent\n2")
    Shown(shell, '%%agent --skill ""\n3')

    first, second, third = (asked.messages for asked in model.requests)
    assert "Be brief." in content_text(first[0]["content"])
    assert second[0] == first[0]
    assert third[0]["role"] == "user"


def test_a_folder_without_a_skill_is_told(shell: InteractiveShell, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    say("a")
    cell = Shown(shell, "%%agent --skill empty\n1")

    assert isinstance(cell.error, SkillError)


# -- a call on one line --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (ToolCall("1", "f", {}), "f()"),
        (ToolCall("1", "f", {"a": "x\ny", "b": [1]}), r"f(a='x\ny', b=[1])"),
        (ToolCall("1", "f", {}, '{"a": '), 'f({"a": )'),
        (ToolCall("1", "f", {"a": "x" * 90}), "f(a='" + "x" * 35 + "… (57 characters more)"),
        (ToolCall("1", "f", {"a\u202e": "\u202eb"}), None),
    ],
)
def test_a_call_is_written_on_one_line(call: ToolCall, said: str | None) -> None:
    text = call_text(call, 40)

    assert "\n" not in text
    assert "\u202e" not in text
    assert said is None or text == said
