"""Both of OpenAI's protocols, by the checks that every adapter must pass."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

import conformance
import wire
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from conformance import Subject
from servers import ChatServer, ResponsesServer

SUBJECTS = {
    "chat": Subject(LegacyOpenAIModel, ChatServer, functools.partial(wire.check, "chat")),
    "responses": Subject(OpenAIModel, ResponsesServer, functools.partial(wire.check, "responses")),
}


@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_the_adapter_conforms(subject: Subject, check: Callable[[Subject], None]) -> None:
    check(subject)
