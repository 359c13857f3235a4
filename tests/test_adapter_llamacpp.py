"""Three adapters against a server that nobody here wrote: llama.cpp's, with a real model."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentcell.adapters.local.server as server_file
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.local.weights import installed_weights
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.remote import RemoteModel
from agentcell.errors import AuthenticationError, BadRequest, TooLarge
from media import ImageAsset, block, png
from promptly import PROMPTLY

pytestmark = pytest.mark.local_model

ASK = [{"role": "user", "content": "What is the capital of France? One short sentence."}]
SHORT = {"max_tokens": 24, "temperature": 0}
CLASSES: list[type[RemoteModel]] = [LegacyOpenAIModel, OpenAIModel, AnthropicModel]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("xllamacpp")
    weights = installed_weights()
    if weights is None:
        pytest.skip("the embedded model's weights are not installed")
    config = {
        "gguf": str(weights),
        "alias": "smollm2",
        "key": "sk-llama",
        "threads": 1,
        "context_tokens": 1024,
        "kept_folder": str(tmp_path_factory.mktemp("kept")),
        "sys_path": sys.path,
    }
    command = [sys.executable, str(Path(server_file.__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(config).encode() + b"\n")
        process.stdin.flush()
        said = json.loads(process.stdout.readline())
        yield said["address"] + "/v1"
        process.stdin.close()


def model(kind: type[RemoteModel], address: str, key: str = "sk-llama") -> RemoteModel:
    return kind("smollm2", key, address, max_retries=1)


@pytest.mark.parametrize("kind", CLASSES)
def test_it_answers_and_is_asked_again(kind: type[RemoteModel], address: str) -> None:
    talker = model(kind, address)

    first = talker.invoke(ASK, None, SHORT)
    follow_up = [*ASK, first["assistant_message"], {"role": "user", "content": "And of Spain?"}]
    second = talker.invoke(follow_up, None, SHORT)

    assert "Paris" in first["content"]
    assert first["finish_reason"] == "stop"
    assert first["usage"].output_tokens > 0
    assert "Madrid" in second["content"]


def test_a_short_limit_is_a_finish_by_length(address: str) -> None:
    """By Chat only: by Responses this server says "completed" whatever ended the answer."""
    result = model(LegacyOpenAIModel, address).invoke(ASK, None, {"max_tokens": 3})

    assert result["finish_reason"] == "length"


@pytest.mark.parametrize("kind", CLASSES)
def test_a_tool_round_is_understood(kind: type[RemoteModel], address: str) -> None:
    tool = {"name": "capital", "description": "d", "parameters": {"type": "object"}}
    call = {"id": "c1", "name": "capital", "arguments": {"of": "France"}}
    messages: list[dict[str, Any]] = [
        *ASK,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Paris"},
    ]

    assert model(kind, address).invoke(messages, [tool], SHORT)["content"]


def test_an_answer_follows_a_schema(address: str) -> None:
    """By Chat only: by Responses this server reads no schema."""
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }

    result = model(LegacyOpenAIModel, address).invoke(ASK, None, {"schema": schema, **SHORT})

    assert list(json.loads(result["content"])) == ["city"]


@pytest.mark.parametrize("kind", CLASSES)
def test_what_it_refuses_has_its_type(kind: type[RemoteModel], address: str) -> None:
    talker = model(kind, address)
    image = block(ImageAsset.from_bytes(png()))

    with pytest.raises(TooLarge, match="context size"):
        talker.invoke([{"role": "user", "content": "word " * 3000}])
    with pytest.raises(BadRequest, match="image input is not supported"):
        talker.invoke([{"role": "user", "content": [image, "What is it?"]}])
    with pytest.raises(AuthenticationError, match="401"):
        model(kind, address, "sk-wrong-key").invoke(ASK)


@pytest.mark.parametrize("kind", CLASSES)
def test_after_an_answer_that_was_closed_the_next_is_served(
    kind: type[RemoteModel], address: str
) -> None:
    talker = model(kind, address)
    stream = talker.stream([{"role": "user", "content": "Tell a long story about a fox."}])
    next(stream)

    stream.close()  # type: ignore[attr-defined]
    began = time.monotonic()

    assert talker.invoke(ASK, None, SHORT)["content"]
    assert time.monotonic() - began < PROMPTLY
