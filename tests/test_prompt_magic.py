"""`%%agent --prompt FILE`: values of the line and the notebook, one question, one turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image

from agentcell import SimplePrompt
from agentcell.adapters import registry
from agentcell.messages import MediaMessageBlock, content_text
from agentcell.prompts.template import fill
from agentcell_magics import current_session
from agentcell_magics.prompt_option import prompted
from scripted import ScriptedModel

TASK = """---
temperature: 0.3
---
$system$
You read receipts.

$user$
Read this: %text%
"""


@pytest.fixture
def model(shell: InteractiveShell, tmp_path: Path) -> ScriptedModel:  # noqa: ARG001 (loads it)
    (tmp_path / "task.prompt").write_text(TASK, encoding="utf-8")
    Image.new("RGB", (60, 90), "white").save(tmp_path / "img.png")
    model = ScriptedModel(["Fine."])
    current_session().model = model
    return model


def run(shell: InteractiveShell, source: str) -> tuple[str, Any]:
    """What a cell showed, and its error."""
    with capture_output() as captured:
        result = shell.run_cell(source)
    texts = [str(one.data.get("text/plain", "")) for one in captured.outputs]
    return "\n".join([*texts, captured.stdout]), result.error_in_exec


def said(model: ScriptedModel, request: int = -1) -> list[tuple[str, str]]:
    return [(one["role"], content_text(one["content"])) for one in model.requests[request]]


def test_slots_and_images_come_from_variables(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    shell.user_ns.update(var="total 27.95 {img} {var}", img=Image.new("RGB", (4, 4)))

    shown, error = run(shell, "%%agent --prompt task.prompt text=var images=img")

    assert error is None
    (system, question) = said(model)
    assert system == ("system", "You read receipts.")
    assert question[1].endswith("Read this: total 27.95 {img} {var}")
    blocks = [b for b in model.requests[0][1]["content"] if isinstance(b, MediaMessageBlock)]
    assert [block.tag for block in blocks] == ["[img_1 img]"]
    assert model.settings == [{"temperature": 0.3}]
    assert "Asked: Read this: total 27.95" in shown
    assert "Fine." in shown


def test_what_is_no_variable_is_text_and_a_path(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    _, error = run(shell, '%%agent --prompt task.prompt text="a = b" images=img.png -t 1\n\n')

    assert error is None
    assert said(model)[1][1].endswith("Read this: a = b")
    assert "[img_1 img]" in said(model)[1][1]
    assert model.settings == [{"temperature": 1.0}]


def test_the_cells_text_fills_the_slot_text(shell: InteractiveShell, model: ScriptedModel) -> None:
    shell.user_ns.update(total=3)

    _, error = run(shell, "%%agent --prompt task.prompt\nWhat is {total}?\n%x%")

    assert error is None
    assert said(model)[1] == ("user", "Read this: What is {total}?\n%x%")


def test_images_are_placed_and_several_keep_their_order(
    shell: InteractiveShell, model: ScriptedModel, tmp_path: Path
) -> None:
    (tmp_path / "two.prompt").write_text(
        "$user$\nCompare %image:2% with %image:1%, not {img} or {{img_2}}. %images%", "utf-8"
    )
    Image.new("RGB", (5, 5), "red").save(tmp_path / "other.png")
    shell.user_ns.update(both=["img.png", Path("other.png")])

    _, error = run(shell, "%%agent --prompt two.prompt images=img.png images=other.png -a img.png")
    assert error is None
    assert said(model)[-1][1].endswith(
        "Compare [other_1 other] with [img_1 img], not {img} or {{img_2}}. "
    )

    _, error = run(shell, "%%agent --fresh --prompt two.prompt images=both")
    assert error is None
    assert "Compare [other_1 other] with [img_1 img]" in said(model)[-1][1]


def test_a_prompts_examples_are_sent_with_its_question_alone(
    shell: InteractiveShell, model: ScriptedModel, tmp_path: Path
) -> None:
    (tmp_path / "shots.prompt").write_text("$user$\n2+2\n$assistant$\n4\n$user$\n%q%", "utf-8")

    run(shell, "%%agent --prompt shots.prompt q=3+3")
    run(shell, "%%agent\nAnd now?")

    assert said(model, 0) == [("user", "2+2"), ("assistant", "4"), ("user", "3+3")]
    assert said(model, 1) == [("user", "3+3"), ("assistant", "Fine."), ("user", "And now?")]


def test_the_files_instructions_stay_in_force_and_the_lines_go_before_them(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    run(shell, "%%agent --prompt task.prompt text=a")
    run(shell, "%%agent\nMore?")
    run(shell, '%%agent --fresh --prompt task.prompt text=a -s "Be kind."')

    assert said(model, 1)[0] == ("system", "You read receipts.")
    assert said(model, 2)[0] == ("system", "Be kind.")


def test_the_model_is_the_lines_else_the_files_else_the_sessions(
    shell: InteractiveShell,
    model: ScriptedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class Named(ScriptedModel):
        def __init__(self, name: str, **_: Any) -> None:
            super().__init__(["x"], name=name)
            asked.append(name)

    monkeypatch.setattr(registry, "_providers", dict(registry._providers))  # noqa: SLF001
    registry.register("fileprovider", Named)
    (tmp_path / "m.prompt").write_text("---\nmodel: fileprovider/file\n---\n$user$\nQ", "utf-8")
    for line in ("m.prompt", "m.prompt -m fileprovider/cell", "task.prompt text=a"):
        assert run(shell, f"%%agent --prompt {line}")[1] is None
    assert run(shell, "%%agent fileprovider/first --prompt m.prompt")[1] is None

    assert asked == ["file", "cell", "first"]
    assert len(model.requests) == 1


def test_settings_of_the_line_go_before_the_files_and_these_before_the_notebooks(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    shell.run_line_magic("config", "AgentMagics.temperature = 1.5")
    shell.run_line_magic("config", "AgentMagics.max_tokens = 7")

    run(shell, "%%agent\nhi")
    run(shell, "%%agent --prompt task.prompt text=a")
    run(shell, "%%agent --prompt task.prompt text=a -t 0.9")

    assert [one["temperature"] for one in model.settings] == [1.5, 0.3, 0.9]
    assert {one["max_tokens"] for one in model.settings} == {7}


def test_a_prompt_may_be_a_variable(shell: InteractiveShell, model: ScriptedModel) -> None:
    shell.user_ns.update(task=SimplePrompt.from_text("$user$\n%q%!", name="task"), q="Hi")

    _, error = run(shell, "%%agent --prompt task q=q")

    assert error is None
    assert said(model) == [("user", "Hi!")]


def test_a_dry_run_sends_nothing(shell: InteractiveShell, model: ScriptedModel) -> None:
    shown, error = run(shell, "%%agent -n --prompt task.prompt text=a images=img.png")

    assert error is None
    assert model.requests == []
    assert "Read this: a" in shown


def test_a_misspelt_variable_is_hinted_at(shell: InteractiveShell, model: ScriptedModel) -> None:
    shell.user_ns.update(invoice_text="x")

    shown, _ = run(shell, "%%agent --prompt task.prompt text=invoice_txt")

    assert "did you mean the variable invoice_text?" in shown
    assert said(model)[1][1] == "Read this: invoice_txt"


WRONG = [
    ("--prompt none.prompt text=a", "is not there"),
    ("--prompt task.prompt", "wants values that were not given: text."),
    ("--prompt task.prompt txt=a", "no slot %txt%; its slots are: text."),
    ("--prompt task.prompt text=a text=b", "text= is given twice"),
    ("--prompt task.prompt text=a\nbody", "given twice: by the line, and by the cell's text"),
    ("--prompt plain.prompt\nbody", "has no slot %text% for it"),
    ("--prompt place.prompt", "place for image 1, but 0 were given"),
    ("--prompt prefill.prompt", "ends with $assistant$"),
    ("--prompt shot.prompt images=img.png", "before its last $user$"),
    ("--prompt broken.prompt", "broken.prompt, line 1: there is no section $tool$"),
    ("--prompt task.prompt text=a images=none.png", "none.png"),
    ("--prompt task.prompt text=nothing", "The value of 'text' is None"),
    ("--prompt task.prompt text=a images=number", "Field 'number' expects modality"),
    ("--prompt task.prompt a b", "takes one model"),
    ("--prompt", "--prompt needs a value"),
    ("text=a", "text=a fills a slot of a prompt file, but no --prompt"),
]


@pytest.mark.parametrize(("line", "says"), WRONG)
def test_what_is_wrong_is_told_and_nothing_sent(
    shell: InteractiveShell, model: ScriptedModel, tmp_path: Path, line: str, says: str
) -> None:
    for name, text in {
        "plain": "$user$\nHi",
        "place": "$user$\n%image:1%",
        "prefill": "$user$\nQ\n$assistant$\nA",
        "shot": "$user$\n%image:1%\n$assistant$\nA\n$user$\nQ",
        "broken": "$tool$\n",
    }.items():
        (tmp_path / f"{name}.prompt").write_text(text, encoding="utf-8")
    shell.user_ns.update(nothing=None, number=3)

    shown, error = run(shell, f"%%agent {line}")

    assert error is not None
    assert says in str(error)
    assert len(shown.splitlines()) <= 15
    assert model.requests == []


def test_tab_offers_prompt_files_slots_and_values(
    shell: InteractiveShell,
    model: ScriptedModel,  # noqa: ARG001 (writes the file)
) -> None:
    shell.user_ns.update(notes="x", img=Image.new("RGB", (2, 2)))
    completer: Any = shell.Completer

    def offered(line: str) -> list[str]:
        text = f"{line}\n"
        with provisionalcompleter():
            return [one.text for one in completer.completions(text, len(line))]

    assert offered("%%agent --prompt ta") == ["task.prompt"]
    assert offered("%%agent --prompt task.prompt te") == ["text="]
    assert offered("%%agent --prompt task.prompt ")[:2] == ["text=", "images="]
    assert offered("%%agent --prompt task.prompt text=not") == ["text=notes"]
    assert offered("%%agent --prompt task.prompt text=a images=im")[:1] == ["images=img"]
    assert "images=img.png" in offered("%%agent --prompt task.prompt text=a images=im")
    assert offered("%%agent --prompt none.prompt te") == []


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_value_names_an_attachment(value: str) -> None:
    text = f"{value}{{img}}{{{{img}}}}{{{{{{img}} {{img}}}}"
    prompt = SimplePrompt.from_text("$user$\n%q%", name="p")
    image = Image.new("RGB", (2, 2))

    variables = {"p": prompt, "v": text, "img": image}
    made = prompted("p", [("q", "v"), ("images", "img")], "", variables)

    assert fill(made.text, {"img": "[TAG]"}.get) == text
