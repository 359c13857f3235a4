"""Names to models: every spelling, every server, other packages, and what no name means."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcell.adapters import registry
from agentcell.adapters.events import ModelResponseType
from agentcell.adapters.local_servers import LocalServerModel
from agentcell.adapters.model import Model
from agentcell.adapters.registry import locate, models, providers, resolve
from agentcell.errors import ConnectionFailed, ModelError, UnknownModel
from agentcell.testing import ChatServer, failure, unused_url


class EchoModel(Model):
    """A third party's adapter: it has written `invoke` and nothing else."""

    provider = "echo"

    def __init__(self, model_name: str, api_key: str | None = None) -> None:
        super().__init__(model_name)
        self.api_key = api_key

    def invoke(self, messages: Any, *_: Any, **__: Any) -> dict[str, Any]:
        return {"type": ModelResponseType.CONTENT, "content": messages[-1]["content"]}


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OLLAMA_HOST", "AGENTCELL_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    before = dict(registry._providers), dict(registry._aliases)  # noqa: SLF001 (put back below)
    yield
    registry._providers.clear()  # noqa: SLF001
    registry._providers.update(before[0])  # noqa: SLF001
    registry._aliases.clear()  # noqa: SLF001
    registry._aliases.update(before[1])  # noqa: SLF001


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai/gpt-4.1", "openai", "gpt-4.1"),
        ("openai:gpt-4.1", "openai", "gpt-4.1"),
        (" OpenAI/gpt-4.1 ", "openai", "gpt-4.1"),
        ("openai-chat/gpt-4.1", "openai-chat", "gpt-4.1"),
        ("openai/a-model-of-tomorrow", "openai", "a-model-of-tomorrow"),
        ("gpt-4.1", "openai", "gpt-4.1"),
        ("gpt-99-whatever", "openai", "gpt-99-whatever"),
        ("o3", "openai", "o3"),
        ("anthropic/claude-opus-5-5", "anthropic", "claude-opus-5-5"),
        ("claude-of-tomorrow", "anthropic", "claude-of-tomorrow"),
        ("anthropic", "anthropic", "claude-haiku-5-5"),
        ("gemini:gemini-4-argon", "gemini", "gemini-4-argon"),
        ("gemini-flash-latest", "gemini", "gemini-flash-latest"),
        ("gemini", "gemini", "gemini-3.8-flash"),
        ("openai", "openai", "gpt-6-luna"),
        ("ollama/qwen2.5:7b", "ollama", "qwen2.5:7b"),
        ("ollama:qwen2.5:7b", "ollama", "qwen2.5:7b"),
        ("ollama/hf.co/x/y:Q4", "ollama", "hf.co/x/y:Q4"),
        ("lmstudio/org/model-name", "lmstudio", "org/model-name"),
        ("vllm:Qwen/Qwen3-8B", "vllm", "Qwen/Qwen3-8B"),
        ("llamacpp", "llamacpp", "default"),
    ],
)
def test_a_name_finds_its_model(name: str, provider: str, model: str) -> None:
    found = resolve(name)

    assert (found.provider, found.model_name) == (provider, model)
    assert found.name == f"{provider}/{model}"


def test_the_local_model_is_what_no_name_means_without_a_key() -> None:
    info, name = locate(registry.default_name())

    assert (info.name, name) == ("local", "smollm2-135m")
    assert locate("local")[0].name == "local"


def test_no_name_means_the_provider_whose_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert resolve().name == "openai/gpt-6-luna"
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert registry.default_name() == "local"


@pytest.mark.parametrize(
    ("variable", "provider"),
    [
        ("ANTHROPIC_API_KEY", "anthropic"),
        ("ANTHROPIC_AUTH_TOKEN", "anthropic"),
        ("GEMINI_API_KEY", "gemini"),
        ("GOOGLE_API_KEY", "gemini"),
    ],
)
def test_each_variable_that_may_hold_a_key_makes_its_provider_the_one(
    variable: str, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "k")

    assert registry.default_name() == provider


def test_no_name_means_what_the_environment_says_above_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("AGENTCELL_MODEL", "ollama/qwen2.5:7b")

    assert resolve().name == "ollama/qwen2.5:7b"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("opnai/gpt-4.1", "openai/gpt-4.1"),
        ("olama:x:7b", "ollama:x:7b"),
        ("lcoal", "local"),
        ("gtp-4.1", "openai/gpt-4.1"),
        ("nobody/anything", "the providers are local, openai"),
        ("gpt-oss:20b", "write provider/model"),
    ],
)
def test_an_unknown_name_says_which_are_near(name: str, hint: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        resolve(name)

    assert hint in caught.value.fix


@pytest.mark.parametrize("name", ["", "  ", "/", ":", "/gpt-4.1", "openai/", "ollama", "vllm/ "])
def test_a_name_that_names_no_model_is_refused_unless_there_is_a_default(name: str) -> None:
    if name == "openai/":
        with pytest.raises(UnknownModel):
            resolve(name)
        return
    with pytest.raises(UnknownModel):
        resolve(name)


def test_an_alias_stands_for_a_model_or_a_provider() -> None:
    registry.alias("Fast", "openai/gpt-4o-mini")
    registry.alias("mine", "ollama")
    registry.alias("quick", "fast")

    assert resolve("fast").name == "openai/gpt-4o-mini"
    assert resolve("quick").name == "openai/gpt-4o-mini"
    assert resolve("mine/qwen2.5:7b").name == "ollama/qwen2.5:7b"
    assert "fast" in models()
    registry.alias("a", "b")
    registry.alias("b", "a")
    with pytest.raises(UnknownModel, match="leads back to itself"):
        resolve("a")
    with pytest.raises(ValueError, match="provider's name already"):
        registry.alias("openai", "local")


def test_a_registered_provider_is_found_and_given_the_arguments() -> None:
    registry.register("Echo", EchoModel, default_model="parrot", key_variable="ECHO_KEY")

    model = resolve("echo", api_key="k")

    assert isinstance(model, EchoModel)
    assert (model.name, model.api_key) == ("echo/parrot", "k")
    assert model.invoke([{"role": "user", "content": "Hi"}])["content"] == "Hi"
    assert next(info for info in providers() if info.name == "echo").source == "registered"
    assert "echo/parrot" in models()


def test_a_registered_model_without_a_provider_bears_the_name_it_was_asked_for_by() -> None:
    class Plain(Model):
        def invoke(self, *_: Any, **__: Any) -> dict[str, Any]:
            raise NotImplementedError

    registry.register("plain", Plain)

    assert resolve("plain/x").name == "plain/x"
    assert Plain("x").name == "custom/x"


def test_a_registered_provider_can_be_the_one_whose_key_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry.register("echo", EchoModel, default_model="parrot", key_variable="ECHO_KEY")
    monkeypatch.setenv("ECHO_KEY", "k")

    assert registry.default_name() == "echo"


def test_what_cannot_be_registered_is_refused() -> None:
    with pytest.raises(ValueError, match="no provider's name"):
        registry.register("a/b", EchoModel)
    with pytest.raises(TypeError, match="a class, a function"):
        registry.register("echo", 5)  # type: ignore[arg-type]
    registry.register("wrong", lambda _name: "no model")  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelError, match="a Model was expected"):
        resolve("wrong/x")


def test_another_package_brings_its_provider_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "parrot.py").write_text(
        "from agentcell.adapters.model import Model\n"
        "class Parrot(Model):\n"
        "    provider = 'parrot'\n"
        "    def invoke(self, messages, tools=None, settings=None, **kwargs): ...\n"
    )
    info = tmp_path / "parrot-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[agentcell.adapters]\nparrot = parrot:Parrot\nopenai = parrot:Parrot\n"
    )
    code = (
        "import sys\n"
        "from agentcell.adapters import registry\n"
        "names = {info.name: info.source for info in registry.providers()}\n"
        "assert 'parrot' not in sys.modules\n"
        "print(names['parrot'], names['openai'], registry.resolve('parrot/grey').name)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])},
    )

    assert done.stdout.split() == ["parrot", "built-in", "parrot/grey"]


def test_the_list_for_completion_needs_no_sdk_and_no_network() -> None:
    code = (
        "import sys\n"
        "from agentcell.adapters import registry\n"
        "assert 'openai/gpt-4.1' in registry.models()\n"
        "assert 'ollama/' in registry.models()\n"
        "assert {'local', 'openai', 'openai-chat', 'ollama', 'lmstudio', 'vllm', 'llamacpp'}"
        " <= {info.name for info in registry.providers()}\n"
        "registry.resolve('openai/gpt-4.1'); registry.resolve('ollama/x')\n"
        "print(*{'openai', 'httpx2', 'pydantic', 'PIL'} & set(sys.modules))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("provider", "variable", "usual"),
    [
        ("ollama", "OLLAMA_BASE_URL", "http://127.0.0.1:11434/v1"),
        ("lmstudio", "LMSTUDIO_BASE_URL", "http://127.0.0.1:1234/v1"),
        ("vllm", "VLLM_BASE_URL", "http://127.0.0.1:8000/v1"),
        ("llamacpp", "LLAMACPP_BASE_URL", "http://127.0.0.1:8080/v1"),
    ],
)
def test_a_local_server_has_its_usual_address_and_a_variable_for_another(
    provider: str, variable: str, usual: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")

    def url(**options: Any) -> str:
        model = resolve(f"{provider}/m", **options)
        assert isinstance(model, LocalServerModel)
        return model.base_url

    assert url() == usual
    monkeypatch.setenv(variable, "http://gpu-box:9000/")
    assert url() == "http://gpu-box:9000/v1"
    assert url(base_url="https://far.example/api/v1") == "https://far.example/api/v1"
    with ChatServer() as server:
        monkeypatch.setenv(variable, server.url.removesuffix("/v1"))
        resolve(f"{provider}/m").invoke([{"role": "user", "content": "Hi"}])
    assert server.requests[0].headers["authorization"] == "Bearer no-key-needed"
    assert server.requests[0].body["model"] == "m"


def test_a_local_server_is_sent_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "token-abc123")
    with ChatServer(key="token-abc123") as server:
        model = resolve("vllm/m", base_url=server.url)
        assert model.invoke([{"role": "user", "content": "Hi"}])["content"] == "Hello."


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),  # noqa: S104 (what it listens on)
        ("0.0.0.0:8123", "http://127.0.0.1:8123/v1"),
        (":8123", "http://127.0.0.1:8123/v1"),
        ("gpu-box", "http://gpu-box:11434/v1"),
        ("http://gpu-box:8123/", "http://gpu-box:8123/v1"),
        ("https://ollama.example", "https://ollama.example/v1"),
    ],
)
def test_ollamas_own_variable_counts_too(
    host: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)

    model = resolve("ollama/m")

    assert isinstance(model, LocalServerModel)
    assert model.base_url == url


def test_what_fails_at_a_local_server_says_how_to_start_it_and_how_to_bring_a_model() -> None:
    messages = [{"role": "user", "content": "Hi"}]
    with pytest.raises(ConnectionFailed) as caught:
        resolve("ollama/m", base_url=unused_url()).invoke(messages)
    assert "ollama serve" in caught.value.fix
    missing = failure(404, 'model "m" not found, try pulling it first')
    with ChatServer(missing) as server, pytest.raises(UnknownModel) as unknown:
        resolve("ollama/m", base_url=server.url).invoke(messages)
    assert unknown.value.fix == "run `ollama pull m`."
