"""`%config AgentMagics`: an option, then what is set, then the environment, then the default."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image
from traitlets.config import Config

from agentcell.adapters.events import ModelResponseType
from agentcell.adapters.model import Model
from agentcell.adapters.registry import register
from agentcell.errors import CellError, UnknownModel
from agentcell.messages import media_blocks
from agentcell.session import Session
from agentcell_magics import current_session
from agentcell_magics.config import AgentMagics
from kernels import Kernel
from scripted import ScriptedModel


@pytest.fixture
def config(shell: InteractiveShell) -> AgentMagics:
    known: list[Any] = shell.configurables
    return next(one for one in known if isinstance(one, AgentMagics))


@pytest.fixture
def model(shell: InteractiveShell) -> ScriptedModel:
    assert shell
    model = ScriptedModel(["Yes."])
    current_session().model = model
    return model


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """What `%config` tells: IPython logs whatever a class says about a value."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    keep = Keep()
    logging.getLogger().addHandler(keep)
    yield lines
    logging.getLogger().removeHandler(keep)


class Ran:
    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            result = shell.run_cell(source)
        self.success, self.error = bool(result.success), result.error_in_exec
        shown = [str(one.data.get("text/plain", "")) for one in captured.outputs]
        self.text = "\n".join([*shown, captured.stdout])


def sent(model: ScriptedModel) -> dict[str, Any]:
    """The settings of the last request, and its instructions."""
    first = model.requests[-1][0]
    system = first["content"] if first["role"] == "system" else ""
    return {**model.settings[-1], "system": system}


def test_the_help_names_every_setting_what_is_in_force_and_the_order(
    shell: InteractiveShell, config: AgentMagics
) -> None:
    os.environ["AGENTCELL_DETAIL"] = "high"
    os.environ["AGENTCELL_PDF_AS"] = "nothing"
    shell.run_line_magic("config", "AgentMagics.temperature = 0.5")

    text = Ran(shell, "%config AgentMagics").text

    for name in config.trait_names(config=True):
        assert f"AgentMagics.{name}=" in text
        assert config.traits()[name].help
    assert "In force: 'high' (AGENTCELL_DETAIL)" in text
    assert "In force: 'local' (the default)" in text
    assert "AGENTCELL_PDF_AS is 'nothing'" in text
    assert "Current: 0.5" in text
    order = " ".join((AgentMagics.__doc__ or "").split())
    assert "an option on the cell's line; what was set here" in order
    assert "AgentMagics" in Ran(shell, "%config").text


def test_an_option_wins_over_the_setting_and_that_over_the_environment(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    Ran(shell, "%%agent\nhi")
    assert sent(model) == {"system": ""}

    os.environ.update(
        AGENTCELL_TEMPERATURE="0.1", AGENTCELL_MAX_TOKENS="7", AGENTCELL_SYSTEM="Env."
    )
    Ran(shell, "%%agent\nhi")
    assert sent(model) == {"temperature": 0.1, "max_tokens": 7, "system": "Env."}

    Ran(shell, "%config AgentMagics.temperature = 0.2\n%config AgentMagics.max_tokens = 8")
    Ran(shell, "%config AgentMagics.system = 'Set.'")
    Ran(shell, "%%agent\nhi")
    assert sent(model) == {"temperature": 0.2, "max_tokens": 8, "system": "Set."}

    Ran(shell, "%%agent -t 0.3 --max-tokens 9 -s Given.\nhi")
    assert sent(model) == {"temperature": 0.3, "max_tokens": 9, "system": "Given."}

    for name in ("temperature", "max_tokens", "system"):
        Ran(shell, f"%config AgentMagics.{name} = None")
    Ran(shell, "%%agent -c other\nhi")
    assert sent(model) == {"temperature": 0.1, "max_tokens": 7, "system": "Env."}


def test_instructions_that_a_cell_gave_or_ended_win_over_the_default(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    Ran(shell, "%config AgentMagics.system = 'Set.'")
    Ran(shell, "%%agent -s Given.\nhi")
    Ran(shell, "%%agent\nhi")
    assert sent(model)["system"] == "Given."

    Ran(shell, '%%agent -s ""\nhi')
    Ran(shell, "%%agent\nhi")
    assert sent(model)["system"] == ""

    Ran(shell, "%%agent --fresh\nhi")
    assert sent(model)["system"] == "Set."


def test_the_model_is_an_option_a_setting_the_environment_or_the_default(
    shell: InteractiveShell,
) -> None:
    for name in ("by-option", "by-setting", "by-environment"):
        register(name, lambda model_name, name=name: ScriptedModel([name], name=model_name))
    session = current_session()
    assert session.model_name.startswith("local/")

    os.environ["AGENTCELL_MODEL"] = "by-environment/m"
    assert "by-environment" in Ran(shell, "%%agent\nhi").text
    Ran(shell, "%config AgentMagics.model = 'by-setting/m'")
    assert "by-setting" in Ran(shell, "%%agent\nhi").text
    assert "by-option" in Ran(shell, "%%agent -m by-option/m\nhi").text
    Ran(shell, "%config AgentMagics.model = None")
    assert "by-environment" in Ran(shell, "%%agent\nhi").text


def test_the_model_that_was_chosen_last_holds_and_is_shown(
    shell: InteractiveShell, config: AgentMagics
) -> None:
    session = current_session()
    Ran(shell, "%config AgentMagics.model = 'openai/gpt-4.1'")
    assert session.chosen_model == "openai/gpt-4.1"

    Ran(shell, "%agent model local")
    assert (session.chosen_model, config.model) == ("local", "local")
    Ran(shell, "%config AgentMagics.quiet = True")
    assert session.chosen_model == "local"

    session.model = ScriptedModel()
    assert config.model == session.model.name
    assert isinstance(session.chosen_model, ScriptedModel)


def test_how_attachments_go_out_may_be_set(
    shell: InteractiveShell, model: ScriptedModel, tmp_path: Path
) -> None:
    Image.new("RGB", (3000, 30), "white").save(tmp_path / "wide.png")
    Image.new("RGB", (3000, 60), "white").save(tmp_path / "wider.png")

    def width() -> int:
        (block,) = media_blocks(model.requests[-1])
        return block.asset.width or 0

    Ran(shell, "%config AgentMagics.detail = 'auto'")
    Ran(shell, "%%agent --fresh -a wide.png\nhi")
    assert width() < 3000
    Ran(shell, "%%agent --fresh -a wider.png --detail original\nhi")
    assert width() == 3000


def test_quiet_may_be_set_and_one_cell_shows_all_the_same(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    assert model
    os.environ["AGENTCELL_QUIET"] = "true"
    assert "scripted" not in Ran(shell, "%%agent\nhi").text
    assert "scripted" in Ran(shell, "%%agent --no-quiet\nhi").text
    Ran(shell, "%config AgentMagics.quiet = False")
    assert "scripted" in Ran(shell, "%%agent\nhi").text
    assert "scripted" not in Ran(shell, "%%agent -q\nhi").text
    assert "both given" in Ran(shell, "%%agent -q --no-quiet\nhi").text


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("detail = 'low'", "AgentMagics.detail is 'low'; one of auto, high, original was expected"),
        ("temperature = -1", "AgentMagics.temperature is -1; a number from 0 was expected"),
        ("temperature = 'hot'", "a number from 0 was expected"),
        ("temperature = float('nan')", "a number from 0 was expected"),
        ("max_tokens = 0", "a whole number from 1 was expected"),
        ("max_tokens = True", "a whole number from 1 was expected"),
        ("max_tokens = 1.5", "a whole number from 1 was expected"),
        ("history_turns = -1", "a whole number from 0 was expected"),
        ("quiet = 'yes'", "True or False was expected"),
        ("approve = 'sometimes'", "one of ask, run, refuse, always, never was expected"),
        ("history = 'disk'", "one of notebook, memory was expected"),
        ("system = 7", "a text was expected"),
        ("model = ' '", "' ' is no model's name"),
        ("model = 'opnai/gpt'", "did you mean openai/gpt or"),
        ("modell = 'local'", "did you mean model?"),
        ("whatever = 1", "run %config AgentMagics to see them"),
    ],
)
def test_a_wrong_value_is_told_at_once_and_changes_nothing(
    shell: InteractiveShell, config: AgentMagics, logged: list[str], said: str, told: str
) -> None:
    before = {name: getattr(config, name) for name in config.trait_names(config=True)}

    Ran(shell, f"%config AgentMagics.{said}")

    assert told in "\n".join(logged)
    assert {name: getattr(config, name) for name in before} == before
    logged.clear()
    Ran(shell, "%config AgentMagics.pdf_as = 'text'")
    assert (logged, config.pdf_as) == ([], "text")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("AGENTCELL_DETAIL", "low", "one of auto, high, original was expected"),
        ("AGENTCELL_TEMPERATURE", "-1", "a number from 0 was expected"),
        ("AGENTCELL_TEMPERATURE", "inf", "a number from 0 was expected"),
        ("AGENTCELL_MAX_TOKENS", "many", "a whole number from 1 was expected"),
        ("AGENTCELL_HISTORY_TURNS", "all", "a whole number from 0 was expected"),
        ("AGENTCELL_QUIET", "perhaps", "True or False was expected"),
        ("AGENTCELL_APPROVE", "x" * 500, "one of ask, run"),
    ],
)
def test_a_wrong_environment_variable_fails_the_cell_with_its_name(
    shell: InteractiveShell, model: ScriptedModel, variable: str, value: str, told: str
) -> None:
    os.environ[variable] = value

    ran = Ran(shell, "%%agent\nhi")

    assert isinstance(ran.error, CellError)
    assert f"The environment variable {variable} is '{value[:10]}" in str(ran.error)
    assert told in str(ran.error)
    assert len(str(ran.error)) < 400
    assert model.requests == []


def test_a_profile_s_wrong_value_is_told_and_fails_cells_until_it_is_set_anew() -> None:
    given = Config()
    given.AgentMagics = Config(detail="low", quiet=True, modell="local")

    config = AgentMagics(given)

    assert config.in_force("quiet") is True
    assert len(config.remarks) == 2
    assert "AgentMagics.detail is 'low'" in config.remarks[0]
    assert "did you mean model?" in config.remarks[1]
    with pytest.raises(CellError, match="detail is 'low'"):
        config.check()
    anew = Config()
    anew.AgentMagics = Config(detail="high")
    config.update_config(anew)
    config.check()
    assert config.in_force("detail") == "high"


def test_a_profile_may_name_a_model_that_is_registered_only_later() -> None:
    given = Config()
    given.AgentMagics = Config(model="not-yet/m")

    assert AgentMagics(given).model == "not-yet/m"
    with pytest.raises(UnknownModel):
        AgentMagics().update_config(given)


def test_where_turns_are_kept_cannot_change_after_the_first_question(
    shell: InteractiveShell, config: AgentMagics, logged: list[str], tmp_path: Path
) -> None:
    Ran(shell, "%config AgentMagics.history = 'memory'")
    current_session().ask("hi", model=ScriptedModel())
    assert not (tmp_path / ".agentcell").exists()

    Ran(shell, "%config AgentMagics.history = 'notebook'")

    assert "AgentMagics.history is 'memory' since the first question here" in logged[0]
    assert config.history == "memory"
    logged.clear()
    Ran(shell, "%config AgentMagics.history = 'memory'")
    assert logged == []


def test_turns_are_kept_beside_the_notebook_by_default_and_where_the_environment_says(
    kernel: Kernel, tmp_path: Path
) -> None:
    ask = "from agentcell.magics import current_session\nr = current_session().ask('hi')"
    kernel.run("%env AGENTCELL_HISTORY=memory")
    kernel.run("%load_ext agentcell")
    assert kernel.run(ask).status == "ok"

    assert not (tmp_path / ".agentcell").exists()


class Caller(Model):
    """Calls the tool `note` once, and then answers."""

    def __init__(self) -> None:
        super().__init__("caller")

    def invoke(self, messages: Any, *_: Any, **__: Any) -> dict[str, Any]:
        if messages[-1]["role"] == "tool":
            return {"type": ModelResponseType.CONTENT, "content": "Done."}
        call = {"id": "c1", "name": "note", "arguments": {"text": "hi"}}
        return {"type": ModelResponseType.TOOL_CALL, "content": [call]}


def test_whether_tools_run_may_be_set(shell: InteractiveShell) -> None:
    current_session().model = Caller()
    shell.run_cell(
        "ran = []\ndef note(text: str) -> str:\n    ran.append(text)\n    return 'noted'"
    )

    Ran(shell, "%config AgentMagics.approve = 'refuse'")
    assert Ran(shell, "%%agent -T note\nhi").success
    assert shell.user_ns["ran"] == []
    assert Ran(shell, "%%agent -T note --approve run\nhi").success
    assert shell.user_ns["ran"] == ["hi"]
    os.environ["AGENTCELL_APPROVE"] = "never"
    Ran(shell, "%config AgentMagics.approve = 'always'")
    assert Ran(shell, "%%agent -T note\nhi").success
    assert shell.user_ns["ran"] == ["hi", "hi"]
    Ran(shell, "%config AgentMagics.approve = None")
    assert Ran(shell, "%%agent -T note\nhi").success
    assert shell.user_ns["ran"] == ["hi", "hi"]


def test_a_wrong_value_is_seen_in_a_kernel(kernel: Kernel) -> None:
    kernel.run("%load_ext agentcell")

    ran = kernel.run("%config AgentMagics.detail = 'low'")

    assert "AgentMagics.detail is 'low'; one of auto, high, original was expected" in ran.text
    assert "run %config AgentMagics.detail = 'auto'" in ran.text
    assert len(ran.text.splitlines()) <= 3


def test_how_many_earlier_turns_go_out_may_be_set(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    for number in range(4):
        Ran(shell, f"%%agent\nquestion {number}")

    def earlier() -> int:
        return len([one for one in model.requests[-1] if one["role"] == "user"]) - 1

    assert earlier() == 3
    os.environ["AGENTCELL_HISTORY_TURNS"] = "2"
    Ran(shell, "%%agent\nhi")
    assert earlier() == 2
    Ran(shell, "%config AgentMagics.history_turns = 1")
    Ran(shell, "%%agent\nhi")
    assert earlier() == 1
    Ran(shell, "%config AgentMagics.history_turns = 0")
    Ran(shell, "%%agent\nhi")
    assert earlier() == 6


def test_what_is_set_holds_for_python_code_and_panels_too(shell: InteractiveShell) -> None:
    model = ScriptedModel()
    os.environ["AGENTCELL_MAX_TOKENS"] = "7"
    session = current_session()
    session.ask("hi", model=model)
    assert sent(model) == {"max_tokens": 7, "system": ""}

    Ran(shell, "%config AgentMagics.temperature = 0.5")
    session.ask("hi", model=model)
    assert sent(model) == {"max_tokens": 7, "temperature": 0.5, "system": ""}


def test_a_session_of_python_code_has_defaults_of_its_own() -> None:
    from agentcell.request import Defaults

    session, model = Session(), ScriptedModel()
    session.defaults = Defaults(system="Be brief.", settings={"temperature": 0.5})
    session.ask("hi", model=model)
    assert sent(model) == {"system": "Be brief.", "temperature": 0.5}

    session.ask("hi", model=model, settings={"temperature": 1}, system="Be long.")
    assert sent(model) == {"system": "Be long.", "temperature": 1}
