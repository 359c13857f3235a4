"""All four protocols, by the checks that every adapter must pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import wire
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.remote import RemoteModel
from agentcell.testing import (
    AnthropicServer,
    ChatServer,
    GeminiServer,
    ProviderServer,
    ResponsesServer,
)
from agentcell.testing.conformance import CHECKS, KEY, Check, Subject

MODELS: dict[str, tuple[type[RemoteModel], type[ProviderServer]]] = {
    "chat": (LegacyOpenAIModel, ChatServer),
    "responses": (OpenAIModel, ResponsesServer),
    "anthropic": (AnthropicModel, AnthropicServer),
    "gemini": (GeminiModel, GeminiServer),
}


def subject_of(name: str) -> Subject:
    model_class, server = MODELS[name]

    def make(url: str, **options: Any) -> RemoteModel:
        return model_class("scripted-model", KEY, url, **options)

    def check_body(body: Mapping[str, Any]) -> None:
        wire.check(name, body)

    return Subject(make, server, check_body)


SUBJECTS = {name: subject_of(name) for name in MODELS}


@pytest.mark.parametrize("check", CHECKS, ids=str)
@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_the_adapter_conforms(subject: Subject, check: Check) -> None:
    if not check.why_not(subject):
        check(subject)
