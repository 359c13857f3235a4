"""Keys that are written out in cells: refused by our magics, warned about elsewhere, told never."""

from __future__ import annotations

import string
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from agentcell import GeminiModel, keys
from agentcell.errors import CellError
from agentcell.keys.literals import first_literal
from agentcell.testing import ChatServer
from agentcell_magics import current_session
from kernels import Kernel
from promptly import cpu_seconds
from scripted import ScriptedModel

ROOT = Path(__file__).parent.parent

_LETTERS = string.ascii_letters + string.digits


def random_text(length: int, letters: str = _LETTERS) -> str:
    """What a key is made of, the same in every run."""
    chosen = Random(length).choices(letters, k=length - 2)  # noqa: S311
    return "".join(chosen) + "7a"


PART = random_text(28)
OPENAI = f"sk-proj-{PART}"
HEX = random_text(32, "0123456789abcdef")

WRITTEN_OUT = [
    f'key = "{OPENAI}"',
    f"sk-{random_text(48)}",
    f"sk-ant-api03-{random_text(93, _LETTERS + '-_')}AA",
    f"sk-or-v1-{random_text(64, '0123456789abcdef')}",
    f"# AIza{random_text(35, _LETTERS)}",
    f"ghp_{random_text(36)}",
    f"github_pat_{random_text(22)}_{random_text(59)}",
    f"hf_{random_text(34)}",
    f"AKIA{random_text(16, string.ascii_uppercase + '234567').upper()}",
    f"gsk_{random_text(52)}",
    f"%env OPENAI_API_KEY={OPENAI}",
    f"%env MY_API_KEY={PART}",
    f"%env MY_API_KEY {PART}",
    f"%set_env MY_API_KEY {PART}",
    f"!export MY_API_KEY={PART}",
    f"MY_API_KEY={PART} python go.py",
    f'os.environ["MY_API_KEY"] = "{PART}"',
    f"os.environ['MY_API_KEY']='{PART}'",
    f'os.environ.setdefault("MY_API_KEY", "{PART}")',
    f'os.environ.update(MY_API_KEY="{PART}")',
    f"os.putenv('MY_API_KEY', '{PART}')",
    f'OpenAIModel("m", api_key="{PART}")',
    f'OpenAIModel("m", api_key = f"{PART}")',
    f'api_key: str = "{PART}"',
    f'api_key = ("{PART}")',
    f'api_key = """{PART}"""',
    f'{{"api_key": "{PART}"}}',
    f"api_key=b'{PART}'",
    f'AZURE_OPENAI_API_KEY = "{HEX}"',
    f'headers = {{"x-api-key": "{PART}"}}',
    f'headers = {{"Authorization": "Bearer {PART}"}}',
    f"curl -H 'Authorization: Bearer {PART}'",
    f'aws_secret_access_key="{random_text(40, _LETTERS + "+/")}"',
    f"-m openai --api-key {PART}",
    f"-m openai --api-key={OPENAI}",
    f'-s "{OPENAI}"',
    f"-a https://maps.example/a.png?key=AIza{random_text(35)}",
    f"-a https://example.org/a.png?api_key={PART}&x=1",
    f"text\\n{OPENAI}",
    f"https://example.org/?x=%3D{OPENAI}",
]

NOT_WRITTEN_OUT = [
    "",
    "import sklearn  # sk-learn, scikit-learn",
    'api_key="..."',
    'api_key="…"',
    'api_key="sk-..."',
    'api_key="sk-…"',
    'api_key="sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx"',
    'api_key="YOUR_API_KEY_GOES_HERE_123"',
    'api_key="<your key 1 goes here please>"',
    'api_key="test-key"',
    'api_key="no-key-needed"',
    'api_key="lm-studio"',
    "AKIAIOSFODNN7EXAMPLE",
    'api_key=os.environ["OPENAI_API_KEY"]',
    'api_key=os.getenv("OPENAI_API_KEY", "")',
    'api_key=userdata.get("OPENAI_API_KEY_2")',
    'api_key = get_key("my-service-2024-production")',
    "api_key=settings.openai_api_key_2",
    'os.environ["OPENAI_API_KEY"] = getpass("OpenAI key number 1 please")',
    "%env OPENAI_API_KEY",
    "export OPENAI_API_KEY=$(cat ~/key2/openai1.txt)",
    "export OPENAI_API_KEY=$OPENAI_API_KEY_PROD_2024a",
    "export OPENAI_API_KEY=${MY_OPENAI_SECRET_KEY_2024}",
    "How do I set my API key? With %env OPENAI_API_KEY=sk-your-key-here-0000, or how?",
    "The api_key parameter2isdocumentedbelow",
    "A key of sk-proj- is 164 characters long; sk-ant-api03- begins Anthropic's.",
    "task-force-2024-risk-assessment-abcdefghijkl1",
    "sk-bd09a2b5-63c8-4c9f-9dc1-1234567890ab",
    '<div class="sk-toggleable__content sk-estimator-doc-link-2 sk-documentationsection-2">',
    'digest = "d41d8cd98f00b204e9800998ecf8427e"',
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    'api_key_hash = "e3b0c44298fc1c149afbf4c8996fb924"',
    'uuid="123e4567-e89b-12d3-a456-426614174000"',
    'cache_key = "a1b2c3d4e5f6a7b8c9d0e1f2"',
    'primary_key="user_id_2024_primary_column_1"',
    "-a https://bucket.example/a.png?key=reports/2024/11/29/receipt-0001.png",
    'tokenizer_auth_token = "path/to/some/file-2024/abcdef1.bin"',
    "data:image/png;base64," + random_text(5000, _LETTERS + "+/"),
    'model.fit(X, y)\nprint(f"{key}: {value}")',
    '"AWS::ApiGateway::ApiKey": "48205d4ffd7feba3"',
    '("/oauth1/server/access_token", OAuth1ServerAccessTokenHandler)',
    "connect(api_key, TheClient2024ForThisNotebook1)",
]


@pytest.mark.parametrize("text", WRITTEN_OUT)
def test_a_key_that_is_written_out_is_seen_and_not_told(text: str) -> None:
    found = first_literal(f"x = 1\n{text}\n")

    assert found is not None
    assert found.line == 2
    assert PART[:6] not in found.what


@pytest.mark.parametrize("text", NOT_WRITTEN_OUT)
def test_what_is_no_key_is_not_taken_for_one(text: str) -> None:
    assert first_literal(text) is None


def test_no_module_and_no_notebook_of_this_project_seems_to_hold_a_key() -> None:
    patterns = ("src/**/*.py", "magics/**/*.py", "widgets/**/*.py", "*.md", "notebooks/*.ipynb")
    files = [file for pattern in patterns for file in ROOT.glob(pattern)]
    seen = [
        (file.name, found)
        for file in files
        if "testing" not in file.parts  # its servers take keys that open nothing else
        and (found := first_literal(file.read_text(encoding="utf-8")))
    ]

    assert seen == []


def test_a_known_key_counts_wherever_and_however_it_stands() -> None:
    known = {"MY_API_KEY": "correct-horse-battery"}

    found = first_literal("say correct-horse-battery aloud", known)

    assert found is not None
    assert found.what == "the key of MY_API_KEY"
    assert first_literal("say correct-horse-batteries aloud", known) is None


@pytest.mark.parametrize(
    ("unit", "end"),
    [("api_key " * 100, ""), ("a" * 1000, " key"), ("x-" * 500, ""), ("api_key:a|" * 50, "")],
    ids=["names", "letters", "pairs", "values"],
)
def test_a_strange_cell_costs_no_more_than_its_length(unit: str, end: str) -> None:
    def cost(times: int) -> float:
        text = f"key {unit * times}{end}"
        return cpu_seconds(lambda: first_literal(text))

    assert cost(60) < 6 * (cost(20) + 0.01)  # nine times would be the square of its length


class Ran:
    """What one cell showed, and how it ended."""

    def __init__(self, shell: InteractiveShell, source: str) -> None:
        with capture_output() as captured:
            self.result = shell.run_cell(source, store_history=True)
        self.outputs = [str(output.data.get("text/plain", "")) for output in captured.outputs]
        self.text = "\n".join([*self.outputs, captured.stdout, captured.stderr])

    @property
    def warnings(self) -> list[str]:
        return [said for said in self.outputs if "written out" in said]


@pytest.fixture
def model(shell: InteractiveShell) -> ScriptedModel:  # noqa: ARG001 (loads the extension first)
    model = ScriptedModel(["Hello."])
    current_session().model = model
    return model


@pytest.mark.parametrize(
    "cell",
    [
        f"%%agent\nWhat does this key open? {OPENAI}",
        f'%%agent -s "{OPENAI}"\nHello',
        f"%%agent -m openai --api-key {PART}\nHello",
        f"%%agent -a https://example.org/a.png?api_key={PART}\nHello",
        f"# a comment first\n%%agent\nHello\n\nMY_API_KEY={PART}",
        f"%agent model {OPENAI}",
        f"%agent key openai {OPENAI}",
        f"%view_image https://example.org/a.png?key=AIza{random_text(35)}",
    ],
)
def test_our_magics_refuse_it_before_anything_is_sent(
    shell: InteractiveShell, model: ScriptedModel, cell: str
) -> None:
    ran = Ran(shell, cell)

    assert isinstance(ran.result.error_in_exec, CellError)
    assert model.requests == []
    assert current_session().conversations == ()
    said = str(ran.result.error_in_exec)
    assert "nothing was sent" in said
    assert "history" in said
    assert "%agent key" in said
    assert PART[:6] not in said + ran.text
    assert len(said.splitlines()) <= 15


def test_a_variable_is_the_way_out_for_what_is_no_key(
    shell: InteractiveShell, model: ScriptedModel
) -> None:
    Ran(shell, f'example = "{PART}"')
    ran = Ran(shell, "%%agent\nIs {example} well mixed?")

    assert ran.result.success
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "cell",
    [
        f"import os\nos.environ['MY_API_KEY'] = '{PART}'",
        f"import os\nos.environ['A_API_KEY'] = '{PART}'; b = '{OPENAI}'; c = '{OPENAI}'",
        f"%env MY_API_KEY={PART}",
        f"from agentcell import OpenAIModel\nmodel = OpenAIModel('m', api_key='{PART}')",
    ],
)
def test_any_other_cell_runs_after_one_line_of_warning(shell: InteractiveShell, cell: str) -> None:
    ran = Ran(shell, cell)

    assert ran.result.success
    assert len(ran.warnings) == 1
    assert "Line" in ran.warnings[0]
    assert "\n" not in ran.warnings[0]
    assert PART[:6] not in ran.warnings[0]


def test_a_key_of_this_process_is_known_in_any_cell(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "correct-horse-battery-staple-9")
    time.sleep(2.1)  # known keys are collected every two seconds
    ran = Ran(shell, "x = 'correct-horse-battery-staple-9'")

    assert len(ran.warnings) == 1
    assert ran.warnings[0].startswith("Line 1 holds the key of MY_API_KEY, written out")


EXAMPLES = [
    """
from agentcell import Agent, OpenAIModel
agent = Agent(
    name="receipt_agent",
    model=OpenAIModel(model_name="gpt-4.1", api_key="..."),
    instructions="你是一个仔细的票据审核助手。",
    prompt_template="请检查 {receipt_image} 并回答：{question}",
    pull_keys={"question": "问题", "receipt_image": "IMAGE:票据图片"},
    push_keys={"answer": "答案"},
)
""",
    """
import os
from agentcell import OpenAIModel
model = OpenAIModel(api_key=os.getenv("OPENAI_API_KEY", ""), model_name="gpt-4o-mini")
""",
    "from agentcell import Model, ModelResponseType\nkey = 'sk-learn'  # y = x + 1",
]


@pytest.mark.parametrize("cell", EXAMPLES)
def test_an_ordinary_cell_runs_without_a_word(shell: InteractiveShell, cell: str) -> None:
    ran = Ran(shell, cell)

    assert ran.result.success
    assert ran.text.strip() == ""


def test_unloading_takes_the_watch_away_and_reloading_watches_once(
    shell: InteractiveShell,
) -> None:
    shell.run_line_magic("reload_ext", "agentcell")
    assert len(Ran(shell, f"x = '{OPENAI}'").warnings) == 1

    shell.run_line_magic("unload_ext", "agentcell")
    assert Ran(shell, f"x = '{OPENAI}'").warnings == []
    shell.run_line_magic("load_ext", "agentcell")


def test_the_watch_costs_a_normal_cell_less_than_a_fifth_of_a_millisecond(
    shell: InteractiveShell,
) -> None:
    source = (ROOT / "magics/agentcell_magics/cards.py").read_text(encoding="utf-8")[:1500]
    info: Any = type("Info", (), {"raw_cell": source, "silent": False})()
    calls = shell.events.callbacks["pre_run_cell"]
    looks = [call for call in calls if call.__module__ == "agentcell_magics.key_guard"]
    assert len(looks) == 1
    looks[0](info)

    assert cpu_seconds(lambda: [looks[0](info) for _ in range(100)]) / 100 < 0.0002


@pytest.fixture
def no_typed_key() -> Iterator[None]:
    yield
    keys.forget("OPENAI_API_KEY")


def test_the_command_shows_where_each_key_comes_from_and_no_part_of_it(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", OPENAI)

    ran = Ran(shell, "%agent key")

    assert ran.result.success
    assert "ANTHROPIC_API_KEY in the environment" in ran.text
    assert "none; looked for in the environment" in ran.text
    assert ran.text.count("openai") == 1
    for start in range(len(PART) - 5):
        assert PART[start : start + 6] not in ran.text


def test_of_two_variables_the_command_names_the_one_that_counts(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "one")
    assert "GEMINI_API_KEY in the environment" in Ran(shell, "%agent key").text

    monkeypatch.setenv("GOOGLE_API_KEY", "two")

    assert "GOOGLE_API_KEY in the environment" in Ran(shell, "%agent key").text
    assert GeminiModel("m")._origin().key_variable == "GOOGLE_API_KEY"  # noqa: SLF001


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%agent key nobody", "no provider of that name"),
        ("%agent key local", "needs no key"),
        ("%agent key openai my-secret-of-old", "never the key itself"),
        ("%agent key my-secret-of-old", "no provider of that name"),
        ("%agent key openai", "Nobody can type a key here"),
        ("%agent key --forget", "never the key itself"),
    ],
)
def test_the_command_refuses_what_it_cannot_do_and_repeats_nothing(
    shell: InteractiveShell, line: str, said: str
) -> None:
    ran = Ran(shell, line)

    assert isinstance(ran.result.error_in_exec, CellError)
    assert said in str(ran.result.error_in_exec)
    assert "my-secret" not in str(ran.result.error_in_exec)


def typing(kernel: Kernel, code: str, *answers: str) -> tuple[Any, list[dict[str, Any]]]:
    """Run a cell before which somebody sits who types `answers`."""
    client = kernel.client
    sent = client.execute(code, allow_stdin=True)
    kernel._started[sent] = time.monotonic()  # noqa: SLF001 (as `start` does)
    asked: list[dict[str, Any]] = []
    for answer in answers:
        message = client.get_stdin_msg(timeout=30)
        asked.append(message["content"])
        client.input(answer)
    return kernel.finish(sent), asked


def test_a_person_types_a_key_hidden_and_it_is_kept_for_the_session(
    kernel: Kernel,
) -> None:
    kernel.run("%load_ext agentcell")
    shown, asked = typing(kernel, "%agent key openai", OPENAI)

    assert asked == [{"prompt": "Key for openai: ", "password": True}]
    assert "kept until the kernel stops" in shown.text
    assert "typed in this session" in kernel.run("%agent key").text
    assert "is forgotten" in kernel.run("%agent key openai --forget").text
    assert "typed in this session" not in kernel.run("%agent key").text


def test_a_question_asks_for_the_key_that_is_nowhere(kernel: Kernel) -> None:
    with ChatServer("Hello.", key=OPENAI) as server:
        kernel.run(
            "%load_ext agentcell\nimport os\n"
            f"os.environ['http_proxy'] = 'http://127.0.0.1:{server.port}'\n"
            "os.environ['OPENAI_BASE_URL'] = 'http://api.example.test/v1'"
        )
        shown, asked = typing(kernel, "%%agent -m openai-chat/m\nHi", "two words", OPENAI)

        assert asked[0]["prompt"] == "Key for openai-chat, to be sent to api.example.test: "
        assert "Once more" in asked[1]["prompt"]
        assert "kept until the kernel stops" in shown.text
        assert "Hello." in shown.text
        again = kernel.run("%%agent -m openai-chat/m\nAnd now?")
        assert again.status == "ok"
        assert PART[:6] not in shown.text + again.text


def test_an_interrupted_question_for_a_key_sends_nothing(kernel: Kernel) -> None:
    kernel.run("%load_ext agentcell")
    sent = kernel.client.execute("%%agent -m openai-chat/m\nHi", allow_stdin=True)
    kernel._started[sent] = time.monotonic()  # noqa: SLF001 (as `start` does)
    kernel.client.get_stdin_msg(timeout=30)
    kernel.interrupt()

    assert kernel.finish(sent).ename == "Stopped"


def test_where_nobody_can_type_the_error_says_what_to_do(kernel: Kernel) -> None:
    kernel.run("%load_ext agentcell")
    ran = kernel.run("%%agent -m openai/gpt-4.1\nHi")

    assert ran.ename == "KeyMissing"
    assert "%agent key openai" in ran.traceback
    assert len(ran.traceback.splitlines()) <= 15


def test_unattended_runs_are_not_asked(kernel: Kernel) -> None:
    kernel.run("%load_ext agentcell\nimport os; os.environ['CI'] = '1'")
    shown, _ = typing(kernel, "%%agent -m openai/gpt-4.1\nHi")

    assert shown.ename == "KeyMissing"
