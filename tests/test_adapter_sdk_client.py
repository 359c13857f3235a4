"""What the vendors' own packages are used for: accounts, errors, and nothing before that."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from typing import Any

import anthropic
import openai
import pytest
from PIL import Image

from agentcell.adapters.anthropic import VERSION, AnthropicModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.assets.asset import ImageAsset
from agentcell.errors import (
    AuthenticationError,
    BadRequest,
    ModelError,
    Overloaded,
    RateLimited,
    TooLarge,
    UnknownModel,
)
from agentcell.testing import AnthropicServer, ChatServer, Reply, ResponsesServer

HI: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]


class FarChat(LegacyOpenAIModel):
    """One whose server counts as far away, though it runs here."""

    is_local = property(lambda _: False)


class FarAnthropic(AnthropicModel):
    """The same."""

    is_local = property(lambda _: False)


def root_of(url: str) -> str:
    return url.removesuffix("/v1")


@pytest.mark.parametrize("kind", ["LegacyOpenAIModel", "OpenAIModel", "AnthropicModel"])
def test_an_answer_comes_before_the_vendors_package_is_imported(kind: str) -> None:
    servers = {"LegacyOpenAIModel": ChatServer, "OpenAIModel": ResponsesServer}
    with servers.get(kind, AnthropicServer)("fine") as server:
        url = root_of(server.url) if kind == "AnthropicModel" else server.url
        code = (
            f"import sys, agentcell; model = agentcell.{kind}('m', 'k', {url!r})\n"
            "print(model.invoke([{'role': 'user', 'content': 'Hi'}])['content'])\n"
            "print(sorted({'openai', 'anthropic', 'pydantic', 'PIL'} & sys.modules.keys()))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )

    assert done.stdout.splitlines() == ["fine", "[]"]


@pytest.mark.parametrize(
    ("status", "ours", "theirs"),
    [
        (400, BadRequest, openai.BadRequestError),
        (401, AuthenticationError, openai.AuthenticationError),
        (403, AuthenticationError, openai.PermissionDeniedError),
        (404, UnknownModel, openai.NotFoundError),
        (413, TooLarge, openai.APIStatusError),
        (429, RateLimited, openai.RateLimitError),
        (503, Overloaded, openai.InternalServerError),
    ],
)
def test_a_refusal_of_openais_has_its_own_error_as_the_cause(
    status: int, ours: type[ModelError], theirs: type[openai.APIStatusError]
) -> None:
    key = "sk-test-0123456789"
    error = {"message": f"the model m: not so, {key}", "code": "because", "type": "t"}
    reply = Reply(status=status, raw=json.dumps({"error": error}), headers={"x-request-id": "r1"})
    with ChatServer(reply) as server, pytest.raises(ModelError) as caught:
        LegacyOpenAIModel("m", key, server.url, max_retries=0).invoke(HI)

    cause = caught.value.__cause__
    assert type(caught.value) is ours
    assert type(cause) is theirs
    assert (cause.status_code, cause.code, cause.type, cause.request_id) == (
        status,
        "because",
        "t",
        "r1",
    )
    assert key not in f"{caught.value!r} {caught.value} {cause!r} {cause} {cause.args} {cause.body}"


@pytest.mark.parametrize(
    ("status", "theirs"),
    [
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
    ],
)
def test_a_refusal_of_anthropics_has_its_own_error_as_the_cause(
    status: int, theirs: type[anthropic.APIStatusError]
) -> None:
    raw = json.dumps({"type": "error", "error": {"type": "x", "message": "no"}})
    with AnthropicServer(Reply(status=status, raw=raw)) as server:
        model = AnthropicModel("m", "sk-ant-1234567890", root_of(server.url), max_retries=0)
        with pytest.raises(ModelError) as caught:
            model.invoke(HI)

    assert isinstance(caught.value.__cause__, theirs)


@pytest.mark.parametrize("raw", ["", "<html>no</html>", "[1]", '"no"', "null", '{"error": null}'])
def test_a_refusal_in_any_form_has_a_cause(raw: str) -> None:
    with ChatServer(Reply(status=400, raw=raw)) as server, pytest.raises(BadRequest) as caught:
        LegacyOpenAIModel("m", "sk-test", server.url).invoke(HI)

    assert isinstance(caught.value.__cause__, openai.BadRequestError)


def test_without_the_vendors_package_a_refusal_is_told_all_the_same() -> None:
    class Bare(LegacyOpenAIModel):
        package = "a_package_that_is_not_installed"

    with ChatServer("fine", Reply(status=401, raw="no")) as server:
        model = Bare("m", "sk-test", server.url)
        assert model.invoke(HI)["content"] == "fine"
        with pytest.raises(AuthenticationError):
            model.invoke(HI)


def test_an_account_in_the_environment_is_named_as_by_openais_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: gate\nX-Team: blue")
    with ChatServer("fine", key="sk-test") as server:
        model = FarChat("m", "sk-test", server.url, extra_headers={"x-team": "red"})
        assert model.invoke(HI)["content"] == "fine"

    headers = server.requests[0].headers
    assert headers["openai-organization"] == "org-1"
    assert headers["openai-project"] == "proj-1"
    assert headers["x-gateway"] == "gate"
    assert headers["x-team"] == "red"
    assert headers["accept"] == "text/event-stream"
    assert "OpenAI" in headers["user-agent"]


def test_headers_in_the_environment_go_to_anthropic_and_may_hold_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(
        "ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer of-the-gateway\nX-Gateway: gate"
    )
    with AnthropicServer("fine") as server:
        model = FarAnthropic("m", "sk-test", root_of(server.url))
        assert model.invoke(HI)["content"] == "fine"

    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer of-the-gateway"
    assert headers["x-gateway"] == "gate"
    assert headers["anthropic-version"] == VERSION


def test_the_version_is_that_of_anthropics_client() -> None:
    client = anthropic.Anthropic(api_key="k")

    assert client.default_headers["anthropic-version"] == VERSION


def test_a_header_given_with_a_call_wins_whatever_its_case() -> None:
    with AnthropicServer("fine") as server:
        model = AnthropicModel("m", "sk-test", root_of(server.url))
        model.invoke(HI, extra_headers={"Anthropic-Version": "2023-06-01", "USER-AGENT": "mine"})

    headers = server.requests[0].headers
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["user-agent"] == "mine"


@pytest.mark.parametrize("large", [False, True])
def test_a_redirect_is_followed_without_the_key_to_another_host(*, large: bool) -> None:
    pixels = hashlib.shake_128(b"0").digest(400 * 400 * 3)
    picture = io.BytesIO()
    Image.frombytes("RGB", (400, 400), pixels).save(picture, "PNG")
    content: Any = ImageAsset.from_bytes(picture.getvalue()) if large else "Hi"
    messages = [{"role": "user", "content": content}]
    with ResponsesServer("there") as other:
        away = Reply(status=307, raw="", headers={"location": f"{other.url}/responses"})
        with ResponsesServer(away) as server:
            model = OpenAIModel("m", "sk-test", server.url)

            assert model.invoke(messages)["content"] == "there"

    assert other.bodies == server.bodies
    assert other.bodies[0]["input"] == model.encode(messages)["input"]
    assert "authorization" not in other.requests[0].headers
