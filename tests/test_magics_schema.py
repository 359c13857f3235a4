from __future__ import annotations

import json
import time
from typing import Any

import pydantic
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image, ImageDraw, ImageFont

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.answer import Answer
from agentcell.errors import AnswerError
from agentcell.testing.fake_model import FakeModel
from agentcell.testing.replies import Reply
from agentcell_magics import current_session
from kernels import Kernel


class Receipt(pydantic.BaseModel):
    total: float
    shop: str


GOOD = '{"total": 27.95, "shop": "Aldi"}'
BY_SCHEMA = ModelCapabilities(structured_output=True)


def cell(shell: InteractiveShell, source: str) -> tuple[Any, list[dict[str, Any]]]:
    with capture_output() as captured:
        result = shell.run_cell(source)
    return result.error_in_exec, [one.data for one in captured.outputs]


@pytest.fixture(params=[True, False])
def able(request: pytest.FixtureRequest) -> ModelCapabilities:
    """A model that answers by a schema of itself, and one that is told it."""
    return ModelCapabilities(structured_output=request.param)


def say(*answers: Any, able: ModelCapabilities = BY_SCHEMA) -> FakeModel:
    model = FakeModel(*answers, capabilities=able)
    current_session().model = model
    return model


@pytest.mark.parametrize(
    ("defined", "said", "value"),
    [
        ("class A(pydantic.BaseModel):\n    x: int", '{"x": 5}', "A(x=5)"),
        ("@dataclasses.dataclass\nclass A:\n    x: int", '{"x": 5}', "A(x=5)"),
        ("class A(typing.TypedDict):\n    x: int", '{"x": 5}', "{'x': 5}"),
        (
            "class B(pydantic.BaseModel):\n    x: int\nA = list[B]",
            '{"value": [{"x": 5}]}',
            "[B(x=5)]",
        ),
        ("A = typing.Literal['yes', 'no']", '{"value": "no"}', "'no'"),
        (
            "A = {'type': 'object', 'properties': {'x': {'type': 'integer'}}}",
            '{"x": 5}',
            "{'x': 5}",
        ),
    ],
)
def test_the_variable_holds_the_object(
    shell: InteractiveShell, able: ModelCapabilities, defined: str, said: str, value: str
) -> None:
    say(said, able=able)
    shell.run_cell(f"import pydantic, dataclasses, typing\n{defined}")
    error, _ = cell(shell, "%%agent --schema A -o it\n?")

    assert error is None
    assert repr(shell.user_ns["it"]) == value
    assert current_session().turns[0].answer == said


def test_the_value_is_shown_as_json_in_a_code_block(shell: InteractiveShell) -> None:
    say(f"Here you are: {GOOD} ", able=ModelCapabilities())
    shell.user_ns["Receipt"] = Receipt
    _, outputs = cell(shell, "%%agent --schema Receipt\n?")

    assert outputs[0]["text/markdown"] == (
        '```json\n{\n  "total": 27.95,\n  "shop": "Aldi"\n}\n```'
    )
    assert outputs[1]["text/plain"].startswith("fake/model · ")


def test_what_looks_like_html_or_a_fence_in_a_value_stays_text(shell: InteractiveShell) -> None:
    evil = "``` <script>alert(1)</script> ![x](http://x/y.png)"
    say(json.dumps({"total": 1, "shop": evil}))
    shell.user_ns["Receipt"] = Receipt
    _, outputs = cell(shell, "%%agent --schema Receipt\n?")

    shown = outputs[0]["text/markdown"]
    assert "<script" not in shown
    assert "![" not in shown
    assert "``` <script>" in outputs[0]["text/plain"]


def test_a_wrong_answer_is_asked_for_again_and_not_shown(shell: InteractiveShell) -> None:
    model = say("It is 27.95.", GOOD)
    shell.user_ns["Receipt"] = Receipt
    error, outputs = cell(shell, "%%agent --schema Receipt -o it\n?")

    assert error is None
    assert shell.user_ns["it"] == Receipt(total=27.95, shop="Aldi")
    assert len(model.requests) == 2
    assert "It is" not in str(outputs)


def test_an_answer_that_stays_wrong_fails_the_cell_and_is_shown(shell: InteractiveShell) -> None:
    say("It is 27.95.", "Really, 27.95!")
    shell.user_ns["Receipt"] = Receipt
    error, outputs = cell(shell, "%%agent --schema Receipt -o it\n?")

    assert isinstance(error, AnswerError)
    assert "Receipt wants: it holds no JSON" in str(error)
    assert outputs[0]["text/markdown"] == "Really, 27.95!"
    assert "it" not in shell.user_ns
    assert current_session().turns[0].answer == "Really, 27.95!"


def test_an_answer_that_was_cut_says_how_to_allow_more(shell: InteractiveShell) -> None:
    model = say(Reply('{"total": 27.9', finish="length"))
    shell.user_ns["Receipt"] = Receipt
    error, _ = cell(shell, "%%agent --schema Receipt\n?")

    assert isinstance(error, AnswerError)
    assert error.fix == "raise max_tokens."
    assert len(model.requests) == 1


def test_later_cells_go_on_from_it_without_the_schema(shell: InteractiveShell) -> None:
    model = say(GOOD, "Yes.", able=ModelCapabilities())
    shell.user_ns["Receipt"] = Receipt
    cell(shell, "%%agent --schema Receipt\nHow much?")
    cell(shell, "%%agent\nSure?")

    texts = [one["content"] for one in model.requests[1].messages]
    assert texts == ["How much?", GOOD, "Sure?"]


def test_the_session_gives_an_answer_with_its_value(shell: InteractiveShell) -> None:  # noqa: ARG001
    say(GOOD)
    answer = current_session().ask("How much?", schema=Receipt)

    assert isinstance(answer, Answer)
    assert answer == GOOD
    assert answer.value == Receipt(total=27.95, shop="Aldi")
    assert current_session().ask("And in words?").value is None


def test_an_interrupt_keeps_what_came(kernel: Kernel) -> None:
    kernel.run(
        "%load_ext agentcell\nfrom agentcell_magics import current_session\n"
        "from agentcell.testing import FakeModel, Reply\n"
        'current_session().model = FakeModel(Reply(*[\'{"x": \'] * 50, delay=0.1), "Hello.")\n'
        "A = dict[str, int]"
    )
    running = kernel.start("%%agent --schema A\n?")
    time.sleep(1.5)
    kernel.interrupt()
    ran = kernel.finish(running, 20)

    assert ran.ename == "Stopped"
    assert '{"x": ' in ran.text
    assert kernel.run("%%agent\nGo on.").status == "ok"


def test_the_embedded_reader_fills_a_schema(shell: InteractiveShell) -> None:
    image = Image.new("RGB", (420, 120), "white")
    font = ImageFont.load_default(28)
    ImageDraw.Draw(image).text((10, 10), "ALDI\nTOTAL  27.95", fill="black", font=font)

    class Total(pydantic.BaseModel):
        total: float

    shell.user_ns.update(Total=Total, receipt=image)
    pytest.importorskip("faster_paddle")
    error, _ = cell(shell, "%%agent local --schema Total -o it\nWhat is the total on {receipt}?")

    assert error is None
    assert shell.user_ns["it"] == Total(total=27.95)


@pytest.mark.parametrize(
    ("cell_line", "said"),
    [
        ("wanted = None\n", "wanted is None; a class or a JSON schema was expected"),
        ("wanted = 5\n", "An int was given as the schema"),
    ],
)
def test_a_schema_that_is_none_is_refused_and_nothing_is_sent(
    shell: InteractiveShell, cell_line: str, said: str
) -> None:
    model = say(GOOD)
    shell.run_cell(cell_line)
    error, _ = cell(shell, "%%agent --schema wanted\n?")

    assert said in str(error)
    assert model.requests == []


def test_types_of_python_itself_need_no_variable_and_others_are_told_how(
    shell: InteractiveShell,
) -> None:
    say('{"value": 5}')
    error, _ = cell(shell, "%%agent --schema int -o number\n?")
    assert error is None
    assert shell.user_ns["number"] == 5

    error, _ = cell(shell, "%%agent --schema list[int]\n?")
    assert str(error) == (
        "--schema list[int] is not the name of a variable.\n"
        "Fix: put it into a variable, for example wanted = list[int], and write --schema wanted."
    )
