"""All four protocols, by the checks that every adapter must pass."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

import wire
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.testing import (
    AnthropicServer,
    ChatServer,
    GeminiServer,
    ResponsesServer,
    conformance,
)
from agentcell.testing.conformance import KEY, Subject

SUBJECTS = {
    "chat": Subject(LegacyOpenAIModel, ChatServer, functools.partial(wire.check, "chat")),
    "responses": Subject(OpenAIModel, ResponsesServer, functools.partial(wire.check, "responses")),
    "anthropic": Subject(
        AnthropicModel,
        AnthropicServer,
        functools.partial(wire.check, "anthropic"),
        ends=frozenset({"length", "refusal"}),
        extras=({"service_tier": "auto"}, {"metadata": {"user_id": "b"}}),
    ),
    "gemini": Subject(
        GeminiModel,
        GeminiServer,
        functools.partial(wire.check, "gemini"),
        key_header=("x-goog-api-key", KEY),
        ends=frozenset({"length", "content_filter"}),
        extras=({"serviceTier": "flex"}, {"generationConfig": {"seed": 7}}),
    ),
}


@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_the_adapter_conforms(subject: Subject, check: Callable[[Subject], None]) -> None:
    check(subject)
