"""Where a key comes from, in which order, and that no place can hang, raise or tell it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

from agentcell import LegacyOpenAIModel, keys
from agentcell.adapters.registry import default_name
from agentcell.errors import AuthenticationError, KeyMissing
from agentcell.keys import Question, keyring_store, llm_file
from agentcell.testing import ChatServer, Reply, failure
from promptly import PROMPTLY

NAME = "OPENAI_API_KEY"
OPENAI = (NAME,)
QUESTION = Question(provider="openai", host="api.openai.com")
TYPED = "sk-proj-tYp3dByAPersonAtTheN0tebook"


class Memory(KeyringBackend):
    """A keyring that works."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.asked = 0

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError


class Broken(Memory):
    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError(f"no bus, and {service} {username} is a secret")


class Silent(Memory):
    """Waits for a window that nobody sees."""

    def __init__(self) -> None:
        super().__init__()
        self.clicked = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.clicked.wait(20)
        return super().get_password(service, username)


class Forgetful(Memory):
    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep nothing, and say nothing."""


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(Memory())
    keys.on_missing(None)
    for name in (NAME, "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        keys.forget(name)
    keyring.set_keyring(before)


@pytest.fixture
def ring() -> Memory:
    ring = Memory()
    keyring.set_keyring(ring)
    return ring


def by_llm(folder: Path, **kept: str) -> None:
    note = {"// Note": "This file stores secret API credentials. Do not share!"}
    (folder / "keys.json").write_text(json.dumps(note | kept), encoding="utf-8")


@pytest.fixture
def llm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    return tmp_path


def test_places_are_asked_in_their_order(
    ring: Memory, llm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Question] = []

    def person(question: Question) -> str:
        asked.append(question)
        return TYPED

    keys.on_missing(person)
    found = keys.look(OPENAI, question=QUESTION).key
    assert found is not None
    assert (found.value, found.source, asked) == (TYPED, "typed", [QUESTION])
    keys.forget(NAME)

    by_llm(llm, openai="from-llm")
    assert source() == "llm"
    ring.kept["agentcell", NAME] = "from-keyring"
    keys.refused("anything")  # so that places that had nothing are asked again
    assert source() == "keyring"
    monkeypatch.setenv(NAME, "from-environment")
    assert source() == "environment"
    assert len(asked) == 1


def source() -> str:
    found = keys.look(OPENAI, question=QUESTION).key
    return found.source if found is not None else ""


def test_the_first_variable_that_is_set_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "second")
    assert keys.look(("GOOGLE_API_KEY", "GEMINI_API_KEY")).key is not None
    monkeypatch.setenv("GOOGLE_API_KEY", "first")

    found = keys.look(("GOOGLE_API_KEY", "GEMINI_API_KEY")).key
    assert found is not None
    assert (found.value, found.place) == ("first", "GOOGLE_API_KEY")


def test_a_slow_place_is_asked_once_and_again_after_its_key_was_refused(ring: Memory) -> None:
    ring.kept["agentcell", NAME] = "old"
    for _ in range(3):
        assert keys.look(OPENAI).key is not None
    assert ring.asked == 1

    ring.kept["agentcell", NAME] = "new"
    keys.refused("old")

    found = keys.look(OPENAI).key
    assert found is not None
    assert found.value == "new"


def test_a_slow_place_that_has_nothing_is_asked_once_where_llm_has_the_key(
    ring: Memory, llm: Path
) -> None:
    by_llm(llm, openai="from-llm")
    for _ in range(3):
        assert source() == "llm"

    assert ring.asked == 1


@pytest.mark.parametrize("backend", [Broken, Forgetful, Memory])
def test_a_keyring_without_the_key_or_without_its_wits_is_no_obstacle(
    backend: type[Memory],
) -> None:
    keyring.set_keyring(backend())

    search = keys.look(OPENAI)

    assert search.key is None
    assert "keyring" in search.looked_at[0]
    assert "secret" not in str(search)


def test_a_keyring_that_does_not_answer_is_left_after_its_time_and_not_asked_twice() -> None:
    silent = Silent()
    keyring.set_keyring(silent)
    began = time.monotonic()
    with pytest.raises(keyring_store.NoKeyring, match="does not answer"):
        keyring_store.read(NAME, patience=0.2)
    with pytest.raises(keyring_store.NoKeyring, match="does not answer"):
        keyring_store.read(NAME, patience=20)
    assert time.monotonic() - began < PROMPTLY

    silent.clicked.set()

    for _ in range(100):
        time.sleep(0.02)
        if not [t for t in threading.enumerate() if t.name == "agentcell-keyring"]:
            break
    assert keyring_store.read(NAME) == ""


def test_a_typed_key_is_kept_in_keyring_and_forgotten_there(ring: Memory) -> None:
    assert keys.keep(NAME, TYPED) == ""
    assert ring.kept == {("agentcell", NAME): TYPED}
    assert source() == "keyring"

    assert keys.forget(NAME) == ("keyring",)
    assert ring.kept == {}
    assert source() == ""


@pytest.mark.parametrize("backend", [Broken, Forgetful])
def test_where_keyring_keeps_nothing_the_process_does(backend: type[Memory]) -> None:
    keyring.set_keyring(backend())

    assert keys.keep(NAME, TYPED) != ""
    assert source() == "typed"
    assert keys.forget(NAME) == ("typed",)
    assert source() == ""


def test_nobody_is_asked_from_another_thread_or_where_nothing_asks(ring: Memory) -> None:
    assert ring.kept == {}
    assert keys.look(OPENAI, question=QUESTION).key is None
    keys.on_missing(lambda _: TYPED)
    found: list[keys.Search] = []
    thread = threading.Thread(target=lambda: found.append(keys.look(OPENAI, question=QUESTION)))
    thread.start()
    thread.join()

    assert found[0].key is None


def test_llms_names_and_its_file_are_read_anew_when_it_changes(llm: Path) -> None:
    by_llm(llm, claude="c", gemini="g", other="o")
    assert [llm_file.key_for(f"{n}_API_KEY") for n in ("OPENAI", "ANTHROPIC", "GEMINI")] == [
        *("", "c", "g")
    ]

    by_llm(llm, openai="oo", anthropic="aa", claude="c")

    assert llm_file.key_for("OPENAI_API_KEY") == "oo"
    assert llm_file.key_for("ANTHROPIC_API_KEY") == "aa"
    assert "// Note" not in llm_file.kept()


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"openai": 5}', '{"openai": ""}', "\udcff", "["])
def test_a_damaged_file_of_llms_holds_no_key(llm: Path, text: str) -> None:
    content = text.encode("utf-8", "surrogateescape") * (100_000 if text == "[" else 1)
    (llm / "keys.json").write_bytes(content)

    assert llm_file.key_for(NAME) == ""


def test_the_usual_place_of_llms_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LLM_USER_PATH", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert llm_file.path() == tmp_path / "io.datasette.llm" / "keys.json"


COLAB = """
import sys
from types import ModuleType

class SecretNotFoundError(Exception): pass

def get(name):
    if name == "OPENAI_API_KEY":
        return "from-colab"
    raise SecretNotFoundError(name)
"""


def test_colabs_store_is_asked_on_colab_alone(tmp_path: Path) -> None:
    package = tmp_path / "google" / "colab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "userdata.py").write_text(COLAB, encoding="utf-8")
    code = (
        "import sys; from agentcell import keys\n"
        "assert keys.look(('OPENAI_API_KEY',)).key is None\n"
        "assert 'google' not in sys.modules\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import google; google.__path__ = [*google.__path__, " + repr(str(package.parent)) + "]\n"
        "import google.colab\n"
        "print(keys.look(('OPENAI_API_KEY',)).key.place)\n"
        "print(keys.look(('GEMINI_API_KEY',)).looked_at)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "OPENAI_API_KEY in Colab's secrets"
    assert "Colab's secrets" in ran.stdout.splitlines()[1]


def test_the_default_model_counts_what_is_at_hand_and_does_not_import_keyring(llm: Path) -> None:
    code = (
        "import sys; from agentcell.adapters.registry import default_name\n"
        "print(default_name(), 'keyring' in sys.modules)"
    )

    def chosen() -> str:
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return ran.stdout.strip()

    assert chosen() == "local False"
    by_llm(llm, anthropic="sk-ant-x")
    assert chosen() == "anthropic False"


def test_the_default_model_counts_a_keyring_that_gave_a_key_before(ring: Memory) -> None:
    ring.kept["agentcell", NAME] = "from-keyring"
    assert default_name() == "local"

    keys.look(OPENAI)

    assert default_name() == "openai"


FAR = "http://api.example.test/v1"


@contextmanager
def far_away(*replies: Reply | str, key: str = "") -> Iterator[LegacyOpenAIModel]:
    """A model whose service is not on this machine: a proxy, which is, answers for it."""
    with ChatServer(*replies, key=key) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
        yield LegacyOpenAIModel("m", base_url=FAR, max_retries=0)


def answer(model: LegacyOpenAIModel) -> str:
    """Ask on a loop of its own, whose connections know the proxy."""
    result = asyncio.run(model.ainvoke([{"role": "user", "content": "Hi"}]))
    return str(result["content"])


def test_a_model_takes_the_key_from_keyring_and_its_error_says_so(ring: Memory) -> None:
    ring.kept["agentcell", NAME] = "sk-kept-in-keyring"
    with far_away("hello", key="sk-kept-in-keyring") as model:
        assert answer(model) == "hello"

        ring.kept["agentcell", NAME] = "sk-of-last-year"
        keys.refused("sk-kept-in-keyring")
        with pytest.raises(AuthenticationError) as caught:
            answer(model)
        assert "check OPENAI_API_KEY in keyring" in caught.value.fix

        ring.kept["agentcell", NAME] = "sk-kept-in-keyring"  # put right: the next run takes it
        assert answer(model) == "hello"


def test_a_person_is_asked_before_the_first_request_and_again_after_a_refusal(
    ring: Memory,
) -> None:
    assert ring.kept == {}
    answers = ["sk-mistyped", TYPED]
    asked: list[Question] = []

    def person(question: Question) -> str:
        asked.append(question)
        return answers.pop(0)

    keys.on_missing(person)
    with far_away("hello", key=TYPED) as model:
        with pytest.raises(AuthenticationError) as caught:
            answer(model)
        assert "as typed in this session" in caught.value.fix
        assert answer(model) == "hello"
        assert answer(model) == "hello"

    assert asked == [Question(provider="openai-chat", host="api.example.test")] * 2


def test_a_forbidden_request_does_not_forget_the_key(ring: Memory) -> None:
    ring.kept["agentcell", NAME] = "sk-right"
    with far_away(failure(403, "not in your country"), Reply("hello")) as model:
        with pytest.raises(AuthenticationError):
            answer(model)
        asked = ring.asked
        assert answer(model) == "hello"

    assert ring.asked == asked


@pytest.mark.parametrize("typed", ["", "   ", "two words", "sk-é", None])
def test_what_cannot_be_a_key_is_not_kept(ring: Memory, typed: str | None) -> None:
    assert ring.kept == {}
    keys.on_missing(lambda _: typed)

    assert keys.look(OPENAI, question=QUESTION).key is None
    with pytest.raises(KeyMissing):
        LegacyOpenAIModel("m").invoke([{"role": "user", "content": "Hi"}])


def test_known_keys_are_those_of_every_place_and_no_stand_ins(
    ring: Memory, llm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-" + "Rj29dkfLw0x7QmZt4uVb"
    monkeypatch.setenv("SOME_API_KEY", f" {secret} ")
    monkeypatch.setenv("OTHER_API_KEY", "EMPTY")
    monkeypatch.setenv("THIRD_API_KEY", "sk-your-key-goes-here")
    monkeypatch.setenv("MY_SETTING", secret + "x")
    ring.kept["agentcell", NAME] = secret + "r"
    by_llm(llm, mistral=secret + "m")

    assert keys.known() == {"SOME_API_KEY": secret, "mistral in llm's keys file": secret + "m"}
    assert keys.known(OPENAI, slow=True)["OPENAI_API_KEY in keyring"] == secret + "r"


def test_a_key_does_not_show_itself() -> None:
    key = keys.Key(value=TYPED, variable=NAME, source="typed")

    assert TYPED not in repr(key)
    assert TYPED not in str(keys.Search(key=key))
