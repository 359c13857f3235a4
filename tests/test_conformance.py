"""The suite itself: who does as every adapter must passes, and each wrong is found by its check."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from agentcell.adapters.capabilities import ModelCapabilities
from agentcell.adapters.events import Finished, ModelResponseType, TextDelta
from agentcell.adapters.model import Model
from agentcell.errors import ModelError
from agentcell.testing import ChatServer, FakeModel
from agentcell.testing.conformance import (
    CHECKS,
    KEY,
    AdapterConformance,
    Check,
    Subject,
    checks,
    report,
    run,
)
from own_chat import OwnChat

BY_NAME = {check.name: check for check in CHECKS}


class MyModel(Model):
    """An adapter as the first chapter writes it."""

    def __init__(self, model_name: str, api_key: str, base_url: str | None = None) -> None:  # noqa: ARG002
        super().__init__(model_name=model_name, invoke_settings=None)

    def invoke(  # type: ignore[override]  # as it is written there
        self,
        messages: Any,  # noqa: ARG002
        tools: Any,  # noqa: ARG002
        settings: Any = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> dict[str, Any]:
        return {"type": ModelResponseType.CONTENT, "content": "..."}


SUBJECTS = {
    "the first chapter's": Subject(lambda: MyModel("my-model", KEY)),
    "a fake model": Subject(FakeModel),
    "a stranger's": Subject(lambda url: OwnChat("own-model", KEY, url), ChatServer),
}


@pytest.mark.parametrize(
    ("subject", "check"),
    [
        pytest.param(subject, check, id=f"{name}-{check}")
        for name, subject in SUBJECTS.items()
        for check in checks(subject)
    ],
)
def test_it_does_what_every_adapter_must(subject: Subject, check: Check) -> None:
    check(subject)


def test_each_check_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(CHECKS)


def test_the_report_tells_of_every_check_whether_it_applies() -> None:
    own = Subject(lambda url: OwnChat("m", KEY, url), ChatServer)

    told = report(own)

    assert {*told.applied, *told.left_out} == set(BY_NAME)
    assert told.left_out["pieces_come_as_they_are_sent"] == "it does not stream"
    assert told.left_out["a_pdf_reaches_the_service"] == "it declares to take no PDFs"
    assert told.left_out["extras_reach_the_wire"].startswith("make() takes no **options")
    assert "an_image_reaches_the_service" in told.applied
    for name in BY_NAME:
        assert name in str(told)


def test_it_runs_without_pytest_and_lists_what_failed() -> None:
    class Silent(MyModel):
        def invoke(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {"type": "content", "content": None}

    told = run(Subject(lambda: Silent("m", KEY)))

    assert not told.passed
    assert "its_answer_is_text_or_calls" in told.failed
    assert "it_is_a_model_with_a_name" not in told.failed
    assert "FAILED  its_answer_is_text_or_calls: AssertionError: 'type' is 'content'" in str(told)
    assert run(Subject(lambda: MyModel("m", KEY))).passed


# -- wrongs, each found ----------------------------------------------------------------------


class Nameless(OwnChat):
    provider = ""


class Talkative(OwnChat):
    def __repr__(self) -> str:
        return f"OwnChat({self.api_key})"


class Eager(OwnChat):
    def __init__(self, *facts: str) -> None:
        super().__init__(*facts)
        with urllib.request.urlopen(f"{self.base_url}/models", timeout=5):  # noqa: S310
            pass


class Endless(OwnChat):
    able = ModelCapabilities(image_input=True)

    def stream(self, *given: Any, **more: Any) -> Any:
        yield TextDelta(self.invoke(*given, **more)["content"])


class Doubled(Endless):
    def stream(self, *given: Any, **more: Any) -> Any:
        yield TextDelta(self.invoke(*given, **more)["content"])
        yield Finished(reason="stop")
        yield Finished(reason="stop")


class Late(Endless):
    """Says that it streams, and waits for the whole answer."""

    def stream(self, *given: Any, **more: Any) -> Any:
        try:
            yield TextDelta(self.invoke(*given, **more)["content"])
        except ModelError:
            yield TextDelta("?")
        yield Finished(reason="stop")


class Meddling(OwnChat):
    def encoded(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for message in messages:
            message.setdefault("name", "me")
        return super().encoded(messages)


class Remembering(OwnChat):
    def __init__(self, *facts: str) -> None:
        super().__init__(*facts)
        self.past: list[dict[str, Any]] = []

    def encoded(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.past += super().encoded(messages)
        return self.past


class Forgetful(OwnChat):
    def encoded(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return super().encoded(messages[-1:])


class Pasting(OwnChat):
    """Encodes what is encoded already."""

    def message(self, message: dict[str, Any]) -> dict[str, Any]:
        said = super().message(message)
        if isinstance(said["content"], str):
            said["content"] = json.dumps(said["content"])
        return said


class Blind(OwnChat):
    def part(self, block: Any) -> dict[str, Any]:
        if hasattr(block, "tag"):
            return {"type": "text", "text": block.tag}
        return super().part(block)


class Keyless(OwnChat):
    def headers(self) -> dict[str, str]:
        return {"content-type": "application/json"}


class Untyped(OwnChat):
    def refusal(self, status: int, text: str) -> ModelError:
        return ModelError(f"{status}", fix=text[:0])


class Leaking(OwnChat):
    def refusal(self, status: int, text: str) -> ModelError:
        error = super().refusal(status, text)
        error.problem += text
        return error


class Trusting(OwnChat):
    """Takes half an answer for a whole one."""

    def decoded(self, data: bytes) -> dict[str, Any]:
        try:
            return super().decoded(data)
        except ModelError:
            return {"type": ModelResponseType.CONTENT, "content": data.decode(errors="replace")}


class Toolless(OwnChat):
    def decoded(self, data: bytes) -> dict[str, Any]:
        result = super().decoded(data)
        return {"type": ModelResponseType.CONTENT, "content": str(result["content"])}


class Ignoring(OwnChat):
    able = ModelCapabilities(image_input=True, tools=False, streaming=False)

    def invoke(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> dict[str, Any]:
        del tools
        return super().invoke(messages)


class Overcautious(OwnChat):
    def ready(self, *_: Any, **__: Any) -> Any:
        raise ModelError("No attachments here.", fix="leave them out.")


class Careless(OwnChat):
    able = ModelCapabilities(streaming=False)

    def check_media(self, messages: Any) -> None: ...

    def check_source(self, *_: Any) -> None: ...


class Mixing(OwnChat):
    """Keeps its question on itself."""

    def encoded(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.asked = super().encoded(messages)
        time.sleep(0.02)
        return self.asked


WRONGS: list[tuple[type[OwnChat], str]] = [
    (Nameless, "it_is_a_model_with_a_name"),
    (Talkative, "it_is_a_model_with_a_name"),
    (Eager, "making_it_opens_nothing"),
    (Endless, "its_stream_is_its_answer_in_pieces"),
    (Doubled, "its_stream_is_its_answer_in_pieces"),
    (Late, "pieces_come_as_they_are_sent"),
    (Meddling, "what_it_is_given_stays_as_it_is"),
    (Remembering, "earlier_turns_reach_the_service_in_order"),
    (Forgetful, "earlier_turns_reach_the_service_in_order"),
    (Pasting, "the_question_reaches_the_service"),
    (Keyless, "the_question_reaches_the_service"),
    (Blind, "an_image_reaches_the_service"),
    (Untyped, "each_refusal_has_its_error"),
    (Leaking, "each_refusal_has_its_error"),
    (Trusting, "what_breaks_off_is_no_answer"),
    (Toolless, "tools_go_there_and_back"),
    (Ignoring, "tools_it_cannot_call_are_refused"),
    (Overcautious, "an_image_is_taken"),
    (Careless, "an_image_is_refused_before_any_request"),
    (Mixing, "many_calls_at_once_do_not_mix"),
]


@pytest.mark.parametrize(
    ("wrong", "name"), WRONGS, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_wrong_is_found_by_its_check(wrong: type[OwnChat], name: str) -> None:
    subject = Subject(lambda url: wrong("own-model", KEY, url), ChatServer)
    check = BY_NAME[name]
    assert check.why_not(subject) == ""

    with pytest.raises(Exception) as caught:  # noqa: PT011 (whatever the adapter ends in)
        check(subject)

    assert str(caught.value)


def test_what_makes_no_model_is_told() -> None:
    with pytest.raises(TypeError, match="a Model was expected"):
        report(Subject(lambda: "no model"))  # type: ignore[arg-type, return-value]

    class TestMine(AdapterConformance):
        pass

    with pytest.raises(TypeError, match=r"TestMine must define make"):
        TestMine().subject()


def test_each_body_can_be_checked() -> None:
    seen: list[Any] = []

    class TestMine(AdapterConformance):
        server = ChatServer

        def make(self, server_url: str) -> Model:
            return OwnChat("own-model", self.key, server_url)

        def check_body(self, body: Any) -> None:
            seen.append(body)
            assert "temperature" in body, "this service wants a temperature"

    with pytest.raises(AssertionError, match="wants a temperature"):
        BY_NAME["the_question_reaches_the_service"](TestMine().subject())
    assert seen[0]["model"] == "own-model"


def test_it_runs_under_unittest_too(tmp_path: Path) -> None:
    code = FIVE_LINES.replace("(AdapterConformance)", "(AdapterConformance, TestCase)")
    code = f"from unittest import TestCase\n{code}"
    (tmp_path / "test_mine.py").write_text(
        code.format(make='OwnChat("own-model", self.key, server_url)')
    )
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, "-m", "unittest", "-q", "test_mine"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )

    own = report(SUBJECTS["a stranger's"])
    assert f"Ran {len(CHECKS)} tests" in ran.stderr
    assert f"OK (skipped={len(own.left_out)})" in ran.stderr


FIVE_LINES = """
from agentcell.testing import ChatServer
from agentcell.testing.conformance import AdapterConformance
from own_chat import OwnChat

class TestMine(AdapterConformance):
    server = ChatServer

    def make(self, server_url):
        return {make}
"""


def pytest_on(tmp_path: Path, make: str) -> str:
    (tmp_path / "test_mine.py").write_text(FIVE_LINES.format(make=make))
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-rs", "-W", "error", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, "test_mine.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    return ran.stdout + ran.stderr


def test_five_lines_in_a_strangers_test_file_are_enough(tmp_path: Path) -> None:
    said = pytest_on(tmp_path, 'OwnChat("own-model", self.key, server_url)')

    own = report(Subject(lambda url: OwnChat("m", KEY, url), ChatServer))
    assert f"{len(own.applied)} passed, {len(own.left_out)} skipped" in said
    assert "does not apply: it declares to take no PDFs" in said


def test_what_fails_there_shows_the_values(tmp_path: Path) -> None:
    said = pytest_on(tmp_path, 'OwnChat("own-model", "another key", server_url)')

    assert "the key did not come" in said
    assert re.search(r"assert 'another key' == 'sk-conf", said)


def test_the_library_does_not_load_it_and_it_does_not_load_pytest() -> None:
    code = (
        "import sys, agentcell, agentcell.session\n"
        "assert 'agentcell.testing' not in sys.modules\n"
        "import agentcell.testing.conformance\n"
        "print(sorted({'pytest', 'openai', 'httpx2', 'PIL', 'IPython'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


def test_without_asserts_nothing_is_said_to_be_well() -> None:
    code = (
        "from agentcell.testing import FakeModel\n"
        "from agentcell.testing.conformance import Subject, run\n"
        "print(run(Subject(FakeModel)).passed)"
    )
    command = [sys.executable, "-O", "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False", ran.stderr
